"""What a server says before it is an SSH server to us, and which host key it presents."""

from __future__ import annotations

from typing import Any

from tui.remote.ssh_library import asyncssh

REFUSAL = b"Not allowed at this time"  # sshd 9.8 and newer: of a penalised source, and beyond MaxStartups
MOST_BYTES = 1024


class Listener(asyncssh.SSHClient):
    """The client's side of one handshake."""

    def __init__(self) -> None:
        self.presented: asyncssh.SSHKey | None = None  # a key that is not on file
        self._connection: asyncssh.SSHClientConnection | None = None
        self._said = b""

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Keep the connection that asyncssh has begun, and listen until its server greets."""
        self._connection = conn
        take: Any = conn.data_received

        def listen(data: bytes, *more: Any) -> None:
            self._said = (self._said + data)[-MOST_BYTES:]
            if b"SSH-" in self._said:
                del conn.__dict__["data_received"]
            take(data, *more)

        conn.__dict__["data_received"] = listen

    def validate_host_public_key(self, _host: str, _addr: str, _port: int, key: asyncssh.SSHKey) -> bool:
        """Keep the key, so that nobody has to connect again for it; it is trusted only when it is on file."""
        self.presented = key
        return False

    @property
    def heard(self) -> bool:
        """Whether the server's version line has arrived."""
        return self._connection is not None and bool(self._connection.get_extra_info("server_version"))

    @property
    def not_allowed(self) -> bool:
        """Whether the server refused us before it greeted."""
        return REFUSAL in self._said and not self.heard

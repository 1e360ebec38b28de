"""Choose the algorithms of asyncssh, and keep what a server sends before the login."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tui.model.lean_asyncssh import asyncssh, lean
from tui.remote.ssh_options import OPTIONS
from tui.remote.ssh_settings import SshSettings, matches
from tui.remote.sshfile import ConfigError

with lean():
    from asyncssh.agent import SSHAgentKeyPair
    from asyncssh.encryption import get_encryption_algs
    from asyncssh.kex import get_kex_algs
    from asyncssh.mac import get_mac_algs
    from asyncssh.public_key import get_certificate_algs, get_public_key_algs

# by option of ssh_config(5)
ALGORITHMS: dict[str, Callable[[], Sequence[bytes]]] = {
    "kexalgorithms": get_kex_algs,
    "ciphers": get_encryption_algs,
    "macs": get_mac_algs,
    "hostkeyalgorithms": lambda: [*get_certificate_algs(), *get_public_key_algs()],
    "casignaturealgorithms": get_public_key_algs,
    "pubkeyacceptedalgorithms": lambda: [*get_certificate_algs(), *get_public_key_algs()],
}

__all__ = ["ALGORITHMS", "SSHAgentKeyPair", "asyncssh"]


# sshd 9.8 and newer: for a penalised address, and beyond MaxStartups
REFUSAL = b"Not allowed at this time"
MOST_BYTES = 1024


class Listener(asyncssh.SSHClient):
    """Client side of one handshake."""

    def __init__(self) -> None:
        self.presented: asyncssh.SSHKey | None = None  # a key that is not on file
        self._connection: asyncssh.SSHClientConnection | None = None
        self._said = b""

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Keep the connection that asyncssh has started, and what its server sends up to the
        greeting.
        """
        self._connection = conn
        take: Any = conn.data_received

        def listen(data: bytes, *more: Any) -> None:
            self._said = (self._said + data)[-MOST_BYTES:]
            if b"SSH-" in self._said:
                del conn.__dict__["data_received"]
            take(data, *more)

        conn.__dict__["data_received"] = listen

    def validate_host_public_key(
        self, _host: str, _addr: str, _port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Keep the server's key, which saves a second connection to collect it.

        Returns False: only keys on file are trusted.
        """
        self.presented = key
        return False

    @property
    def heard(self) -> bool:
        """Whether the server's version line has arrived."""
        return self._connection is not None and bool(
            self._connection.get_extra_info("server_version")
        )

    @property
    def not_allowed(self) -> bool:
        """Whether the server refused this client before greeting it."""
        return REFUSAL in self._said and not self.heard


# Measured on 256 hosts: curve25519 and AES-GCM cost the least CPU. The rest of asyncssh's own lists
# follows.
FAST = {
    "kexalgorithms": "^curve25519-sha256,curve25519-sha256@libssh.org",
    "ciphers": "^aes128-gcm@openssh.com,aes256-gcm@openssh.com",
}
CERTIFICATE = "-cert-v01@openssh.com"
ARGUMENTS = {
    "kexalgorithms": "kex_algs",
    "ciphers": "encryption_algs",
    "macs": "mac_algs",
    "hostkeyalgorithms": "server_host_key_algs",
}


def algorithms_of(settings: SshSettings) -> Iterator[tuple[str, str]]:
    """Yield names and values of asyncssh's algorithm arguments.

    Raises ConfigError if asyncssh supports no algorithm of a list.
    """
    for option, argument in ARGUMENTS.items():
        asked = settings.text(option)
        listed = known_part(asked, ALGORITHMS[option]) if asked else FAST.get(option, "")
        if asked and not listed and asked[0] not in "+-^":
            raise unsupported(option, settings)
        if listed or option in FAST:
            yield argument, listed or FAST[option]
    accepted = allowed_algorithms(settings, "pubkeyacceptedalgorithms")
    if accepted:
        yield "signature_algs", ",".join(dict.fromkeys(map(signature_of, accepted)))


def allowed_algorithms(settings: SshSettings, option: str) -> tuple[str, ...]:
    """Return which of asyncssh's algorithms an option allows; empty if the option is not set.

    Raises ConfigError.
    """
    asked = settings.text(option)
    if not asked:
        return ()
    sign, words = (asked[0], asked[1:].split(",")) if asked[0] in "+-^" else ("", asked.split(","))
    names = [name.decode() for name in ALGORITHMS[option]()]
    if sign in ("+", "^"):  # added to ssh's own, all of which asyncssh supports
        return tuple(names)
    allowed = tuple(
        name for name in names if any(matches(name, word) for word in words) == (sign == "")
    )
    if not allowed:
        raise unsupported(option, settings)
    return allowed


def unsupported(option: str, settings: SshSettings) -> ConfigError:
    """Return the error for a list of algorithms, all of which are unknown to asyncssh."""
    place, asked = settings.at(option), settings.text(option)
    return ConfigError(f"{OPTIONS[option].name}{place}: asyncssh supports none of {asked}")


def signature_of(algorithm: str) -> str:
    """Return the signature algorithm of a key's or a certificate's algorithm."""
    return algorithm.replace(CERTIFICATE, "@openssh.com" if algorithm.startswith("sk-") else "")


def known_part(asked: str, known: Callable[[], Sequence[bytes]]) -> str:
    """Return the list without names and patterns that asyncssh does not know and would reject."""
    sign = asked[0] if asked[0] in "+-^" else ""
    names = [name.decode() for name in known()]
    kept = [
        word for word in asked[len(sign) :].split(",") if any(matches(name, word) for name in names)
    ]
    return f"{sign}{','.join(kept)}" if kept else ""

"""Whether an SSH agent is forwarded, and so ends with the session it came with."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

PEER_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7)
TIMEOUT_S = 1.0
# of sshd: its pid; of ssh-agent: the pid that started it
OLD_NAME = re.compile(r"/ssh-[^/]+/agent\.(\d+)$")
NEW_NAME = re.compile(r"/s\.[^/]+\.sshd\.[^/]+$")  # OpenSSH 10.1, in ~/.ssh/agent


def is_forwarded(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether sshd listens on an agent's socket.

    If the owner is hidden, decided by the socket's name.
    """
    if (owner := owner_of(path)) is not None:
        return owner.startswith("sshd")
    if NEW_NAME.search(str(Path(path).resolve())):
        return True
    match = OLD_NAME.search(str(Path(path).resolve()))
    return match is not None and "SSH_CONNECTION" in environ and not has_agent_beside(int(match[1]))


def owner_of(path: str) -> str | None:
    """Return the name of the process that listens on a socket, None if unknown."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT_S)
            client.connect(path)
            raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size)
        return command_of(PEER_CREDENTIALS.unpack(raw)[0])
    except OSError:
        return None


def command_of(pid: int) -> str | None:
    """Return a process's name; None if it is gone or hidden."""
    try:
        return (
            Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip() or None
        )
    except OSError:
        return None


def has_agent_beside(pid: int) -> bool:
    """Return whether an ssh-agent has this pid or one of the next: it forks after naming its
    socket.
    """
    return any(command_of(other) == "ssh-agent" for other in range(pid, pid + 4))

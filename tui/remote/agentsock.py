"""Whether the keys of an SSH agent come over a forwarded connection, which ends with the session
that brought it.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

PEER_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7)
TIMEOUT_S = 1.0
# of sshd: its pid; of ssh-agent: the pid it was started from
OLD_NAME = re.compile(r"/ssh-[^/]+/agent\.(\d+)$")
NEW_NAME = re.compile(r"/s\.[^/]+\.sshd\.[^/]+$")  # OpenSSH 10.1, in ~/.ssh/agent


def is_forwarded(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether sshd listens on an agent's socket.

    Where its owner is hidden, judged by its name.
    """
    if (owner := owner_of(path)) is not None:
        return owner.startswith("sshd")
    if NEW_NAME.search(str(Path(path).resolve())):
        return True
    match = OLD_NAME.search(str(Path(path).resolve()))
    return match is not None and "SSH_CONNECTION" in environ and not has_agent_beside(int(match[1]))


def owner_of(path: str) -> str | None:
    """Return the name of the process that listens on a socket, or None when it cannot be told."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT_S)
            client.connect(path)
            raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size)
        return command_of(PEER_CREDENTIALS.unpack(raw)[0])
    except OSError:
        return None


def command_of(pid: int) -> str | None:
    """Return a process's name; None when it is gone or hidden."""
    try:
        return (
            Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip() or None
        )
    except OSError:
        return None


def has_agent_beside(pid: int) -> bool:
    """Whether an ssh-agent runs under this pid or the next few: it forks once it has named its
    socket.
    """
    return any(command_of(other) == "ssh-agent" for other in range(pid, pid + 4))

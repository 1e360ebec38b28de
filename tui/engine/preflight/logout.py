"""Effects of a logout on runs: systemd ends processes, a forwarded agent loses its keys."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.address import HostAddress
from tui.model.bounded import read_text
from tui.model.operands import Clause, clause
from tui.remote.transport import HostError
from tui.remote.way_base import is_over_ssh
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.remote.connections import Connections

DEADLINE_S = 3.0
LOGIND_PROPERTY = (
    *("busctl", "get-property", "org.freedesktop.login1", "/org/freedesktop/login1"),
    *("org.freedesktop.login1.Manager", "KillUserProcesses"),
)
LOGIND_FILES = ("logind.conf", "logind.conf.d/*.conf")
LOGIND_FOLDERS = ("usr/lib/systemd", "run/systemd", "etc/systemd")
KILLS = "systemd ends runs, and tmux, when you log out (KillUserProcesses=yes)"
KILLS_ADVICE = "loginctl enable-linger, then: systemd-run --user --scope benchtui"
PEER_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7)
TIMEOUT_S = 1.0
# the number is the pid of sshd, or the pid that started ssh-agent
OLD_NAME = re.compile(r"/ssh-[^/]+/agent\.(\d+)$")
NEW_NAME = re.compile(r"/s\.[^/]+\.sshd\.[^/]+$")  # OpenSSH 10.1, in ~/.ssh/agent


def ends_at_logout(environ: Mapping[str, str], root: Path = Path("/")) -> bool | None:
    """Return whether systemd ends this process when its user logs out; None if unknown.

    systemd ends a scope of the login session whether or not the user lingers. Processes of the
    user's service manager live as long as the manager: with linger, forever (logind.conf(5),
    loginctl(1)).
    """
    user = environ.get("USER") or environ.get("LOGNAME") or ""
    if not (root / "run/systemd/system").is_dir() or user == "root":  # KillExcludeUsers=root
        return False
    kills = kill_user_processes(environ, root)
    if not kills:
        return kills
    managed = re.search(r"/user@\d+\.service/", text_of(root / "proc/self/cgroup"))
    return not (managed and lingers(user, root))


def logout_warning(environ: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """Return a warning if a run started here would not survive a logout, with the remedy; else
    None.
    """
    return f"{KILLS}: {KILLS_ADVICE}" if ends_at_logout(environ, root) else None


def lingers(user: str, root: Path = Path("/")) -> bool:
    """Return whether the user's service manager survives the last logout."""
    return (root / "var/lib/systemd/linger" / user).exists()


def kill_user_processes(environ: Mapping[str, str], root: Path = Path("/")) -> bool | None:
    """Return KillUserProcesses from the running logind, else from its configuration files, else
    None.
    """
    answer = output_of(LOGIND_PROPERTY, environ)
    if answer in ("b true", "b false"):
        return answer == "b true"
    files = [
        path
        for folder in LOGIND_FOLDERS
        for glob in LOGIND_FILES
        for path in sorted((root / folder).glob(glob))
    ]
    return last_setting("".join(f"{text_of(path)}\n" for path in files))


def last_setting(text: str) -> bool | None:
    """Return the last KillUserProcesses in logind.conf texts; None if there is none.

    A commented-out line gives the built-in default.
    """
    builtin = re.findall(r"^#\s*KillUserProcesses=(\w+)", text, re.MULTILINE)
    chosen = re.findall(r"^KillUserProcesses=(\w+)", text, re.MULTILINE)
    values = [*builtin[-1:], *chosen]
    return values[-1].lower() in ("yes", "true", "on", "1") if values else None


def output_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Return what a command prints, stripped; None if it is missing, fails, or times out."""
    program = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *command[1:]],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()


def text_of(path: Path) -> str:
    """Return a file's text; empty if it cannot be read."""
    try:
        return read_text(path, errors="replace")
    except OSError:
        return ""


def agent_may_go(environ: Mapping[str, str]) -> bool:
    """Return whether the SSH agent of this login session is a forwarded one."""

    path = environ.get("SSH_AUTH_SOCK")
    return bool(path) and is_forwarded(str(path), environ)


def forwarded_agent(by_agent: Mapping[str, str], environ: Mapping[str, str]) -> Clause | None:
    """Return a warning if servers accepted keys from a forwarded agent; else None.

    `by_agent`: socket of the accepted agent, by server.
    """

    forwarded = {path for path in dict.fromkeys(by_agent.values()) if is_forwarded(path, environ)}
    names = [name for name, path in by_agent.items() if path in forwarded]
    return clause("forwarded-agent", hosts=names) if names else None


async def agent_warning(
    hosts: Sequence[HostAddress], connections: Connections, environ: Mapping[str, str]
) -> str | None:
    """Return a warning if a run on these hosts would depend on a forwarded agent; else None.

    Logs in to one host per kind of login, without asking questions. Contacts no host if there is no
    forwarded agent.
    """
    import asyncio

    if not agent_may_go(environ):
        return None
    chosen = await asyncio.to_thread(one_of_each, hosts, connections)
    await asyncio.gather(*(connections.connect(host) for host in chosen), return_exceptions=True)
    told = forwarded_agent(connections.by_agent, environ)
    return run_text(told) if told else None


def one_of_each(hosts: Iterable[HostAddress], connections: Connections) -> list[HostAddress]:
    """Return one host per way to log in (user, key files, agent, bastions), without `local`."""
    found: dict[object, HostAddress] = {}
    for host in hosts:
        if is_over_ssh(host):
            with contextlib.suppress(HostError):
                way = connections.resolve(host)
                found.setdefault(
                    (way.user, way.identities, way.agent, way.identities_only, way.jumps), host
                )
    return list(found.values())


def is_forwarded(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether sshd owns an agent's socket.

    Decides by the socket's name if the owner is hidden.
    """
    if (owner := owner_of(path)) is not None:
        return owner.startswith("sshd")
    if NEW_NAME.search(str(Path(path).resolve())):
        return True
    match = OLD_NAME.search(str(Path(path).resolve()))
    return match is not None and "SSH_CONNECTION" in environ and not has_agent_beside(int(match[1]))


def owner_of(path: str) -> str | None:
    """Return the name of the process that listens on a socket; None if unknown."""
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
    """Return whether this pid or a slightly higher one belongs to an ssh-agent.

    An agent forks after naming its socket.
    """
    return any(command_of(other) == "ssh-agent" for other in range(pid, pid + 4))

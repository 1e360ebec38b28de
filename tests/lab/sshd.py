"""A lab of real sshd instances on 127.0.0.1, each with its own port and host key, all reached
through one ssh_config.

`SshdLab` is a context manager; the fixture `lab` (tests/conftest.py) starts one per test session
with hosts h1..h4. sshd instances end by pid. They log in as the user that runs the tests.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import asyncssh

from tests.leftovers import mark
from tests.patience import PATIENCE_S
from tui.model.address import HostAddress

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
SSHD_PATH = "/usr/local/bin:/usr/bin:/bin"  # what every user's PATH has in a session


def set_env(root: Path, *more: str) -> str:
    """Return the option that makes a lab host a machine of its own.

    A bash of level 2 reads no ~/.bashrc: that of whoever runs the tests may start a hundred
    processes a session.
    """
    return " ".join(["SetEnv SHLVL=1", f"BENCHTUI_LOCKS={root / 'locks'}", *more, mark()])


@dataclass
class LabHost:
    """One sshd: `name` as in the ssh_config, `directory` is this host's own working directory."""

    name: str
    root: Path
    directory: Path
    client_public_key: Path
    options: Sequence[str] = ()
    wrapper: Sequence[str] = ()
    program: str = SSHD
    port: int = 0
    key: asyncssh.SSHKey = field(
        default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519")
    )
    process: subprocess.Popen[bytes] | None = None

    @property
    def public_key(self) -> str:
        """The host key as it stands in known_hosts: type and base64."""
        return " ".join(self.key.export_public_key().decode().split()[:2])

    @property
    def known_hosts_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.public_key}\n"

    @property
    def fingerprint(self) -> str:
        return self.key.get_fingerprint("sha256")

    @property
    def log(self) -> str:
        """What sshd has said so far."""
        return (self.root / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start sshd and wait until it accepts connections.

        On a port of its own, kept over restarts.
        """
        for _ in range(5):
            self.port = self.port or free_port()
            self._launch()
            if self._accepts():
                return
            self.stop()
            self.port = 0
        raise RuntimeError(f"sshd of {self.name} does not start: {self.log}")

    def stop(self) -> None:
        """End the listening sshd; sessions that are open stay open."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def sessions(self) -> list[int]:
        """Pids of the sshd processes that serve this host's open connections."""
        if self.process is None:
            return []
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if parent_of(pid) == self.process.pid]

    def _launch(self) -> None:
        (self.root / "host_key").write_bytes(self.key.export_private_key("openssh"))
        (self.root / "host_key").chmod(0o600)
        (self.root / "sshd_config").write_text(self._config())
        with (self.root / "log").open("ab") as log:
            command = [
                *self.wrapper,
                self.program,
                "-D",
                "-e",
                "-f",
                str(self.root / "sshd_config"),
            ]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _config(self) -> str:
        own = {option.split()[0] for option in self.options}
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.root / 'host_key'}",
            f"AuthorizedKeysFile {self.client_public_key}",
            f"PidFile {self.root / 'pid'}",
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            set_env(self.root),
            "MaxStartups 500:30:600",
            "MaxSessions 100",
            "Subsystem sftp internal-sftp",
            "LogLevel VERBOSE",
        ]
        lines = [*self.options, *(line for line in lines if line.split()[0] not in own)]
        return "\n".join(lines) + "\n"

    def _accepts(self) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while (
            self.process is not None and self.process.poll() is None and time.monotonic() < deadline
        ):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 5) as link,
            ):
                if link.recv(4) == b"SSH-":  # a free port of this range may connect to itself
                    return True
            time.sleep(0.02)  # until the port answers, with a deadline
        return False


class SshdLab:
    """`hosts` real sshd instances under `root`.

    `ssh_config` lists them as h1..hN with their keys already known; `ssh_config_unknown` is the
    same with an empty known_hosts file. `extra_config` is put into every sshd_config, in place of
    the usual lines of these options (for example ``("ForceCommand true",)``). Each host has a
    `directory` of its own.
    """

    def __init__(
        self,
        root: Path,
        hosts: int = 4,
        prefix: str = "h",
        extra_config: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        program: str = SSHD,
    ) -> None:
        self.root = root
        self.wrapper = wrapper
        self.program = program
        self.user = getpass.getuser()
        root.mkdir(parents=True, exist_ok=True)
        self.client_key = self._client_key()
        self.hosts = [
            self._host(f"{prefix}{number}", extra_config) for number in range(1, hosts + 1)
        ]
        self.ssh_config = root / "ssh_config"
        self.ssh_config_unknown = root / "ssh_config_unknown"
        self.known_hosts = root / "known_hosts"
        self.empty_known_hosts = root / "known_hosts_empty"

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        try:
            for host in self.hosts:
                host.start()
        except BaseException:
            self.stop()
            raise
        self.write_config()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for host in self.hosts:
            for pid in host.sessions():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 15)
            host.stop()

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.hosts]

    def host(self, name: str) -> LabHost:
        return next(host for host in self.hosts if host.name == name)

    def address(self, name: str, *, known: bool = True) -> HostAddress:
        """How to reach a lab host; with `known=False` its key is in no known_hosts file."""
        return HostAddress(
            name=name, ssh_config=str(self.ssh_config if known else self.ssh_config_unknown)
        )

    def addresses(self, count: int | None = None) -> list[HostAddress]:
        return [self.address(name) for name in self.names[:count]]

    def write_config(self) -> None:
        """Write the ssh_config and known_hosts files from the hosts as they are now."""
        self.known_hosts.write_text("".join(host.known_hosts_line for host in self.hosts))
        self.empty_known_hosts.write_text("")
        self.ssh_config.write_text(self._ssh_config(self.known_hosts))
        self.ssh_config_unknown.write_text(self._ssh_config(self.empty_known_hosts))

    def _ssh_config(self, known_hosts: Path) -> str:
        blocks = [
            f"Host {host.name}\n  HostName 127.0.0.1\n  Port {host.port}\n  User {self.user}\n "
            f" IdentityFile {self.client_key}\n  IdentitiesOnly yes\n  UserKnownHostsFile"
            f" {known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
            for host in self.hosts
        ]
        return "\n".join(blocks)

    def _client_key(self) -> Path:
        key = asyncssh.generate_private_key("ssh-ed25519")
        path = self.root / "client_key"
        path.write_bytes(key.export_private_key("openssh"))
        path.chmod(0o600)
        (self.root / "client_key.pub").write_bytes(key.export_public_key())
        return path

    def _host(self, name: str, extra_config: Sequence[str]) -> LabHost:
        root, directory = self.root / f"sshd-{name}", self.root / f"data-{name}"
        root.mkdir()
        directory.mkdir()
        return LabHost(
            name,
            root,
            directory,
            self.root / "client_key.pub",
            extra_config,
            self.wrapper,
            self.program,
        )


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections.

    It is held, so that nobody listens there meanwhile and none goes to itself.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def parent_of(pid: int) -> int | None:
    """Return the parent of a process, or None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])

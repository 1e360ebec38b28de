"""A real Slurm on this machine: one controller, a slurmd for each node, munge; everything below one
directory.

Nodes are called as the lab's sshd hosts, h1..h4, so that what Slurm allocates can be reached by SSH
as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.lab.sshd import free_port
from tests.patience import PATIENCE_S

SBIN = "/usr/sbin:/sbin:/usr/local/sbin"
PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "salloc", "squeue")


def missing() -> str:
    """Why there can be no Slurm here; empty when there can."""
    path = f"{os.environ.get('PATH', '')}:{SBIN}"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if lacking:
        return f"needs {', '.join(lacking)} (Debian: slurmctld, slurmd, slurm-client, munge)"
    return "" if os.geteuid() == 0 else "slurmd has to be started as root"


class SlurmLab:
    """A context manager; `environ` has what makes every command of Slurm speak to this one."""

    def __init__(self, root: Path, nodes: int = 4) -> None:
        self.root = root
        self.nodes = nodes
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environ = {"SLURM_CONF": str(root / "slurm.conf")}

    def __enter__(self) -> Self:
        self.root.chmod(0o755)
        try:
            self._munge()
            self._write_conf()
            self._start("slurmctld", "-D", "-f", self.environ["SLURM_CONF"])
            for number in range(1, self.nodes + 1):
                self._start("slurmd", "-D", "-N", f"h{number}", "-f", self.environ["SLURM_CONF"])
            wait_until(
                lambda: (
                    self.run("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(self.nodes)
                ),
                self.log,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if (self.root / "slurm.conf").exists():
            self.run("scancel", "--user=0")
            self._await_keepers()
            self._await_steps()
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _await_keepers(self) -> None:
        """Wait for those who release allocations: without Slurm they would try for ten minutes."""
        mine = f"SLURM_CONF={self.environ['SLURM_CONF']}".encode()
        deadline = time.monotonic() + PATIENCE_S
        while any(mine in environ and b"benchtui-keeper" in words for words, environ in running()):
            assert time.monotonic() < deadline, "a keeper is still running"
            time.sleep(0.1)

    def _await_steps(self) -> None:
        """Wait for the daemons of ended steps: without a controller they would stay for ever."""
        mine = f"SLURM_CONF={self.environ['SLURM_CONF']}".encode()
        deadline = time.monotonic() + PATIENCE_S
        while any(mine in environ and b"slurmstepd" in words for words, environ in running()):
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)

    def run(self, *words: str) -> str:
        """Run a command of Slurm and return what it prints."""
        done = subprocess.run(
            words,
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return done.stdout

    def jobs(self) -> list[str]:
        """Ids of all jobs that are there."""
        return self.run("squeue", "-h", "-o", "%i").split()

    def log(self) -> str:
        """What the daemons have said."""
        return "\n".join(
            path.read_text(errors="replace")[-2000:] for path in sorted(self.root.glob("*.log"))
        )

    def _munge(self) -> None:
        folder = self.root / "m"
        folder.mkdir(mode=0o700)
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o400)
        files = {"key-file": folder / "key", "log-file": folder / "log", "pid-file": folder / "pid"}
        files["seed-file"] = folder / "seed"
        sock = self.root / "munge.sock"
        self._start(
            "munged",
            "-F",
            "--force",
            "-S",
            str(sock),
            *(f"--{name}={path}" for name, path in files.items()),
        )
        wait_until(sock.exists, self.log)

    def _write_conf(self) -> None:
        here, root = socket.gethostname().split(".")[0], self.root
        ports = [free_port() for _ in range(self.nodes)]
        lines = [
            "ClusterName=lab",
            f"SlurmctldHost={here}(127.0.0.1)",
            f"SlurmctldPort={free_port()}",
            "SlurmUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={root / 'munge.sock'}",
            "CredType=cred/munge",
            f"StateSaveLocation={root / 'state'}",
            f"SlurmdSpoolDir={root / 'spool'}/%n",
            f"SlurmdPidFile={root}/%n.pid",
            f"SlurmctldPidFile={root / 'ctld.pid'}",
            f"SlurmctldLogFile={root / 'ctld.log'}",
            f"SlurmdLogFile={root}/%n.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "ReturnToService=2",
            "MpiDefault=none",
            "KillWait=2",
            *(
                f"NodeName=h{number} NodeHostname={here} NodeAddr=127.0.0.1 Port={port} CPUs=2"
                " State=UNKNOWN"
                for number, port in enumerate(ports, 1)
            ),
            (
                f"PartitionName=p Nodes=h[1-{self.nodes}] Default=YES MaxTime=60 DefaultTime=10"
                " State=UP"
            ),
        ]
        (root / "state").mkdir()
        (root / "spool").mkdir()
        (root / "slurm.conf").write_text("\n".join([*lines, ""]))

    def _start(self, name: str, *arguments: str) -> None:
        program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SBIN}")
        assert program is not None
        with (self.root / f"{name}.start.log").open("ab") as log:
            self.processes.append(
                subprocess.Popen(
                    [program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **self.environ},
                )
            )


def running() -> Iterator[tuple[bytes, bytes]]:
    """Yield command line and environment of every process."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                yield (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()


def wait_until(condition: object, log: object) -> None:
    """Wait for a condition."""
    assert callable(condition) and callable(log)
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Slurm does not start: {log()}")
        time.sleep(0.1)

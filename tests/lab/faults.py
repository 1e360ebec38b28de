"""Processes of a run on lab hosts, and what can be done to them: each is one pid, checked to be the
run's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.lab.sshd import LabHost, parent_of
from tests.patience import wait_until


class HostLoad:
    """The processes that one host runs for one task.

    `remote_dir` is the task's private directory.
    """

    def __init__(self, run_id: str, host: str, remote_dir: Path) -> None:
        self.run_id = run_id
        self.host = host
        self.remote_dir = remote_dir

    @property
    def supervisor(self) -> int:
        """The agent's shell that holds the lease."""
        return int((self.remote_dir / "pid").read_text().split()[0])

    @property
    def main(self) -> int:
        """The load generator's first process."""
        return int((self.remote_dir / "load").read_text().split()[0])

    @property
    def runner(self) -> int:
        """The agent's shell that waits for the load."""
        return parent_of(self.main) or 0

    @property
    def guard(self) -> int:
        """The agent's shell that stands behind the supervisor."""
        return int((self.remote_dir / "guard").read_text().split()[0])

    def watchers(self) -> list[int]:
        """Supervisor and guard of every task that this host has of the run: of the load, and of
        telemetry.
        """
        found = []
        for name in ("pid", "guard"):
            for path in self.remote_dir.parent.glob(f"*/{name}"):
                if not (path.parent / "done").exists():
                    found.append(int(path.read_text().split()[0]))
        return found

    def workers(self) -> list[int]:
        """The load generator's other processes."""
        main = self.main
        return [pid for pid in marked(self.run_id, self.host) if parent_of(pid) == main]


def marked(run_id: str, host: str | None = None) -> list[int]:
    """Pids of all processes that carry a run's mark (and a host's), whoever is their parent.

    Zombies have none.
    """
    marks = {f"BENCHTUI_RUN={run_id}".encode()} | (
        {f"BENCHTUI_HOST={host}".encode()} if host else set()
    )
    return [pid for pid, words in environments() if marks <= words]


def shells(run_id: str) -> list[int]:
    """Pids of the agent's own shells that work for a run: they outlive its load, and write down how
    it ended.
    """
    mark = f"BENCHTUI_AGENT={run_id}/".encode()
    return [pid for pid, words in environments() if any(word.startswith(mark) for word in words)]


def environments() -> Iterator[tuple[int, set[bytes]]]:
    """Yield pid and environment of every process that we may look at."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield int(entry.name), set((entry / "environ").read_bytes().split(b"\0"))


def forget_on_hosts(run_id: str, roots: Iterable[Path] = (Path("/"),)) -> None:
    """End what a run left on hosts that it lost, and remove its directories, though shells still
    write in them.
    """
    end_marked(run_id)
    wait_until(lambda: _forgotten(run_id, roots), f"nothing of {run_id} on hosts")


def directories(run_id: str, roots: Iterable[Path] = (Path("/"),)) -> list[Path]:
    """A run's private directories on hosts that see these roots."""
    return [path for root in roots for path in (root / "tmp").glob(f".benchtui-*/{run_id}")]


def _forgotten(run_id: str, roots: Iterable[Path]) -> bool:
    found = directories(run_id, roots)
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return not found and not shells(run_id)


def end_marked(run_id: str) -> None:
    """End what is left of one run of ours: for cleaning up after a test that failed."""
    for _ in range(20):
        pids = marked(run_id)
        if not pids:
            return
        for pid in pids:
            kill(pid)
        time.sleep(0.05)


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> bool:
    """Send a signal to one process; False when it is gone."""
    if pid <= 1:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process for a while."""
    kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        kill(pid, signal.SIGCONT)


def kill_sessions(host: LabHost) -> int:
    """SIGKILL the sshd processes that serve a host's open connections; return how many."""
    return sum(kill(pid) for pid in host.sessions())

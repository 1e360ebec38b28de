"""What a run costs the host that is measured, apart from the load: processes started, and seconds
of CPU.

The host is an sshd in a PID namespace of its own, so that its process numbers count its forks
alone.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.command import benchtui
from tests.lab.sshd import LabHost, SshdLab, parent_of

NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
SHORT_S, LONG_S = 2, 12
LOAD = Path(__file__).parents[2] / "faults" / "load.yaml"
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Processes that were started, and CPU seconds of those that have ended."""

    forks: int
    cpu_s: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.forks - other.forks, self.cpu_s - other.cpu_s)


def children_of(pid: int) -> list[int]:
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [each for each in pids if parent_of(each) == pid]


def so_far(host: LabHost) -> Cost:
    """The cost of a namespaced host up to now; waits until nothing but sshd is left in it."""
    assert host.process is not None
    (init,) = children_of(host.process.pid)
    deadline = time.monotonic() + 60
    while children_of(init):
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes stay on {host.name}: {children_of(init)}")
        time.sleep(0.05)
    enter = ["nsenter", "--target", str(init), "--pid", "--mount"]
    last = subprocess.run(
        [*enter, "cat", "/proc/sys/kernel/ns_last_pid"], check=True, capture_output=True, text=True
    )
    times = Path(f"/proc/{init}/stat").read_text().rpartition(")")[2].split()
    return Cost(int(last.stdout), sum(map(int, times[11:15])) / TICKS_A_SECOND)


def cost_of_run(lab: SshdLab, root: Path, runtime_s: int, *more: str) -> Cost:
    """The cost of one run with a load of some seconds."""
    before = so_far(lab.hosts[0])
    hosts = ["--hosts", "h1", "--ssh-config", str(lab.ssh_config)]
    settings = ["--set", f"directory={root}", "--set", f"runtime={runtime_s}s"]
    done = benchtui(root / "home", "run", str(LOAD), *hosts, *settings, *more)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return so_far(lab.hosts[0]) - before


def main() -> int:
    """Print the cost of a run with a short load, and what each further second adds."""
    os.environ.setdefault("BENCHTUI_LOCKS", tempfile.mkdtemp())
    if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode != 0:
        print("host cost: no PID namespaces here")
        return 0
    with (
        tempfile.TemporaryDirectory() as folder,
        SshdLab(Path(folder) / "lab", hosts=1, wrapper=NAMESPACE) as lab,
    ):
        root = Path(folder)
        (root / "home").mkdir()
        cost_of_run(lab, root, SHORT_S)  # lays out the file
        short, long = cost_of_run(lab, root, SHORT_S), cost_of_run(lab, root, LONG_S)
    each = long - short
    print(f"cost of one run to its host (with fio itself, a load of {SHORT_S} s)")
    print(f"  {short.forks} processes, {short.cpu_s:.2f} s of CPU")
    seconds = LONG_S - SHORT_S
    print(
        f"  each further second: {each.forks / seconds:.1f} processes, {each.cpu_s / seconds:.3f} s"
        " of CPU"
    )
    return 0

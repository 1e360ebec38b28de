"""The same to all hosts at once, `uname -r`: ours, parallel-ssh, pdsh, clush. Time, CPU here and
there.

Each opens connections for it, and the start of the program counts. SIZES=16,64 chooses how many
hosts.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.e2e.command import environment
from tests.lab.sshd import SshdLab
from tests.long.bench import peers
from tests.long.bench.kept import ROOT, Row, told
from tui.model.address import HostAddress
from tui.remote.connections import Connections
from tui.remote.transport import Completed

SIZES = tuple(int(word) for word in os.environ.get("SIZES", "16,64,256").split(","))
TIMES = int(os.environ.get("TIMES", "3"))
COMMAND = "uname -r"
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PARALLEL_SSH = """
import json, sys
from pssh.clients import ParallelSSHClient
from pssh.config import HostConfig
ports, user, key = json.loads(sys.argv[1])
configs = [HostConfig(port=port, user=user, private_key=key) for port in ports]
client = ParallelSSHClient(["127.0.0.1"] * len(ports), host_config=configs, pool_size=len(ports))
out = client.run_command("uname -r")
client.join(out)
assert all(each.exit_code == 0 for each in out), [each.exception for each in out]
"""


async def ours(lab: SshdLab | Given) -> None:
    """Connect to all hosts and run the command in a shell of each, as the engine does."""
    async with Connections(ssh_config=lab.ssh_config) as connections:

        async def on(name: str) -> Completed:
            transport = await connections.connect(lab.address(name))
            return await transport.run(COMMAND.encode(), 60)

        done = await asyncio.gather(*(on(name) for name in lab.names))
        assert all(each.exit_status == 0 for each in done)


def programs(lab: SshdLab, root: Path) -> dict[str, Sequence[str | Path] | None]:
    """Return the command of each program; None for one that is not installed."""
    names, config = ",".join(lab.names), str(lab.ssh_config)
    with (root / "hosts.json").open("w") as file:
        json.dump({"config": config, "names": lab.names}, file)
    pssh, clush = peers.program("parallel-ssh", "python"), peers.program("ClusterShell", "clush")
    pdsh = peers.on_path("pdsh")
    given = json.dumps([[host.port for host in lab.hosts], lab.user, str(lab.client_key)])
    many = str(len(lab.hosts))
    return {
        "benchtui": [sys.executable, "-m", "tests.long.bench.fan_out", str(root / "lab.json")],
        "parallel-ssh": [pssh, "-c", PARALLEL_SSH, given] if pssh else None,
        "pdsh": [pdsh, "-R", "ssh", "-S", "-f", many, "-w", names, COMMAND] if pdsh else None,
        "clush": [clush, "-S", "-f", many, "-o", f"-F {config}", "-w", names, COMMAND]
        if clush
        else None,
    }


def host_cpu_s(lab: SshdLab) -> float:
    """CPU of all hosts so far: their sshd, and the sessions of theirs that have ended."""
    found = 0
    for host in lab.hosts:
        assert host.process is not None
        fields = Path(f"/proc/{host.process.pid}/stat").read_text().rpartition(")")[2].split()
        found += sum(map(int, fields[11:15]))
    return found / TICKS_A_SECOND


def forks() -> int:
    """Processes started on this machine since it was booted."""
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes"))


def cost(
    words: Sequence[str | Path], lab: SshdLab, root: Path
) -> tuple[float, float, float, float]:
    """Run a program.

    Return seconds, its CPU with all its children, and per host CPU and forks of this machine.
    """
    before, begun, started = host_cpu_s(lab), time.monotonic(), forks()
    environ = environment(root) | {
        "PDSH_SSH_ARGS_APPEND": f"-F {lab.ssh_config}",
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.Popen([str(word) for word in words], env=environ, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{words[0]}: {said.decode(errors='replace')[-800:]}")
    settled(lab)
    hosts = len(lab.hosts)
    return (
        seconds,
        used.ru_utime + used.ru_stime,
        (host_cpu_s(lab) - before) / hosts,
        (forks() - started) / hosts,
    )


def settled(lab: SshdLab) -> None:
    """Wait until no session is open any more: only what has ended counts."""
    while any(host.sessions() for host in lab.hosts[:: max(1, len(lab.hosts) // 8)]):
        time.sleep(0.1)


def rows_of(hosts: int) -> list[Row]:
    """Measure every program over so many hosts, in turn."""
    with tempfile.TemporaryDirectory() as folder, SshdLab(Path(folder) / "lab", hosts=hosts) as lab:
        root = Path(folder)
        (root / "lab.json").write_text(json.dumps([str(lab.ssh_config), lab.names]))
        found = programs(lab, root)
        costs: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in found}
        for _ in range(TIMES):
            for name, words in found.items():
                if words is not None:
                    costs[name].append(cost(words, lab, root))
    return [row_of(hosts, name, costs[name]) for name in found]


def row_of(hosts: int, name: str, costs: Sequence[tuple[float, float, float, float]]) -> Row:
    """Return the medians of one program."""
    if not costs:
        return {"hosts": hosts, "program": name, "time, s": "not installed"}
    pick: Callable[[int], float] = lambda place: median(each[place] for each in costs)  # noqa: E731
    return {"hosts": hosts, "program": name, "time, s": pick(0), "client CPU, s": pick(1),
            "CPU of each host, s": pick(2), "forks on the machine per host": pick(3)}  # fmt: skip


def main() -> int:
    """Print all sizes."""
    rows = [row for hosts in SIZES for row in rows_of(hosts)]
    return told(
        "fan_out",
        rows,
        f"Medians of {TIMES}, in turn; hosts are sshd on loopback and share the cores.",
    )


class Given:
    """The part of a lab that ours needs, read from a file by the process that is measured."""

    def __init__(self, path: Path) -> None:
        config, self.names = json.loads(path.read_text())
        self.ssh_config = Path(config)

    def address(self, name: str) -> HostAddress:
        """How to reach a host."""
        return HostAddress(name=name, ssh_config=str(self.ssh_config))


if __name__ == "__main__":
    asyncio.run(ours(Given(Path(sys.argv[1]))))

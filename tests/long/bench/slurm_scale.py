"""What many Slurm nodes cost the jump host: one srun for all of them, and an srun for each shell.

Real Slurm, with all its slurmd on this machine; each node prints SAMPLE_BYTES a second, as the
output of a load does. `NODES=4,16,64` chooses sizes, `SECONDS_=20` how long.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.command import environ_of, pids
from tests.lab.slurm import SlurmLab, missing
from tests.long.bench.kept import Row, told
from tests.transports.slurm_runs import words_of
from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.connections import Connections
from tui.remote.transport import Channel, Transport
from tui.remote.way_command import PipedTransport
from tui.remote.way_slurm import step_of

NODES = [int(size) for size in os.environ.get("NODES", "4,16,64").split(",")]
SECONDS = float(os.environ.get("SECONDS_", "20"))
SAMPLE_BYTES = 45_000
# a second of fio's output: keys that repeat, figures that do not
PRINTS = """awk 'BEGIN { srand(7); for (s = 0; s < 600; s++) { n = 0; while (n < %d) {
line = sprintf("\\"%%d\\" : %%d,\\n", rand() * 100000, rand() * 1000); n += length(line)
printf "%%s", line }; fflush(); system("sleep 1") } }'
"""


async def measured(lab: SlurmLab, size: int, *, together: bool) -> Row:
    """Connect all nodes, make a call on each, and follow their output for a while."""
    (job,) = lab.jobs()
    addresses = [HostAddress(f"h{at + 1}", transport="slurm", through=job) for at in range(size)]
    row: Row = {"nodes": size, "sruns": "one" if together else "one for each shell"}
    async with Connections() as connections:
        began = time.monotonic()
        transports = await asyncio.gather(
            *(reach(address, connections, together=together) for address in addresses)
        )
        await asyncio.gather(*(Agent(each, "bench").tasks() for each in transports))
        row["connect and first call, s"] = time.monotonic() - began
        script = (PRINTS % SAMPLE_BYTES).encode()
        channels = await asyncio.gather(*(each.open(script) for each in transports))
        read = asyncio.gather(*(follow(channel) for channel in channels))
        await asyncio.sleep(2)
        own, theirs, began = cpu_here(), cpu_of(sruns(lab)), time.monotonic()
        await asyncio.sleep(SECONDS)
        took = time.monotonic() - began
        found = sruns(lab)
        row["processes"] = len(found)
        row["private memory, MiB"] = sum(map(private_kb, found)) / 1024
        row["srun CPU per node, %"] = (cpu_of(found) - theirs) / took * 100 / size
        row["own CPU per node, %"] = (cpu_here() - own) / took * 100 / size
        for channel in channels:
            channel.drop()  # type: ignore[attr-defined]
        await read
        row["received, KB/s per node"] = sum(read.result()) / size / (took + 2) / 1000
        await asyncio.gather(*(each.close() for each in transports))
    return row


async def reach(address: HostAddress, connections: Connections, *, together: bool) -> Transport:
    """Return a connection of either kind."""
    if together:
        return await connections.connect(address)
    return PipedTransport(address, step_of(address), os.environ)


async def follow(channel: Channel) -> int:
    """Read to the end; return how much it was."""
    size = 0
    while data := await channel.read(65536):
        size += len(data)
    return size


def sruns(lab: SlurmLab) -> list[int]:
    """Pids of the srun processes that carry channels."""
    mine = f"SLURM_CONF={lab.environ['SLURM_CONF']}".encode()
    return [pid for pid in pids() if words_of(pid)[0].endswith(b"srun") and mine in environ_of(pid)]


def private_kb(pid: int) -> int:
    """Memory that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def cpu_here() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_of(found: list[int]) -> float:
    """CPU seconds of processes."""
    ticks = 0
    for pid in found:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure every size both ways."""
    if why := missing():
        print(f"slurm_scale: {why}", file=sys.stderr)
        return 1
    rows: list[Row] = []
    for size in NODES:
        with tempfile.TemporaryDirectory() as folder, SlurmLab(Path(folder), size) as lab:
            os.environ.update(lab.environ)
            lab.run("salloc", "--no-shell", f"-N{size}", "-t", "30")
            for together in (True, False):
                rows.append(asyncio.run(measured(lab, size, together=together)))
                print(rows[-1], flush=True)
                subprocess.run(["sleep", "3"], check=True)
    return told("slurm_scale", rows, "slurmd, nodes and jump host on one machine")


if __name__ == "__main__":
    sys.exit(main())

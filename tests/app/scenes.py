"""Scenes for pictures of the Live screen: a run as it stands at one moment, on a clock that stands still.

Not a test: ``python -m tests.app.scenes SCENE [--hosts 64] [--theme dark] [--replay 1]``.
Scenes: plain (all well), lag (one host at a quarter), troubled (a laggard, a silent host, a lost one, a stall).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names
from tests.app.stage import Stage

SEED = 7
BUSY = {"cpu.busy": 34.0, "core.busy": 61.0, "core.softirq": 5.0, "core.number": 3.0, "gen.cpu": 240.0}
BUSY |= {"gen.thread": 55.0, "gen.procs": 4.0, "nic.eth0.rx": 1.1e9, "nic.eth0.tx": 2.1e7, "dev.nvme0n1.busy": 71.0}
BUSY |= {"dev.nvme0n1.queue": 23.0, "dev.nvme0n1.rd": 1.1e9, "dev.nvme0n1.wr": 0.0}


def scene(name: str, home: Path, hosts: int = 8, seconds: int = 100, stream: Path = READS) -> RunMaker:
    """Return a run in the middle of its load."""
    run_dir = home / "runs" / RUN_ID
    maker = RunMaker(run_dir, host_names(hosts), stream, runtime_s=180).begin().layout(2, 2).go()
    chance = random.Random(SEED)
    maker.together = True
    maker.pace = {host: chance.gauss(1.0, 0.008) for host in maker.hosts}
    for host in maker.hosts:
        maker.look_at(host, {key: value * chance.uniform(0.9, 1.1) for key, value in BUSY.items()})
    if name != "plain" and hosts > 2:
        maker.pace[maker.hosts[hosts * 2 // 3]] = 0.25
    if name != "troubled":
        return maker.measure(seconds)
    return troubled(maker, seconds)


def troubled(maker: RunMaker, seconds: int) -> RunMaker:
    """Let a stall pass over all hosts, then lose one, and have another fall silent."""
    maker.measure(seconds // 2)
    usual, maker.pace = maker.pace, dict.fromkeys(maker.hosts, 0.03)
    maker.measure(4)
    maker.pace = usual
    maker.measure(seconds // 4)
    lost, silent = maker.hosts[-1:], maker.hosts[1:2] if len(maker.hosts) > 2 else []
    for host in lost if len(maker.hosts) > 1 else []:
        maker.fail(host, "host-lost", "no answer for 30 s: the connection broke, its load ends with its lease")
    return maker.measure(seconds // 4 - 12, silent=lost).measure(8, silent=[*lost, *silent])


def main(argv: Sequence[str]) -> int:
    """Open the app on a scene."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=["plain", "lag", "troubled"])
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--mix", action="store_true", help="reads and writes")
    parser.add_argument("--end", action="store_true", help="the run is over")
    parser.add_argument("--theme", default="dark")
    parser.add_argument("--symbols", default=None)
    parser.add_argument("--replay", type=float, default=None)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        maker = scene(args.scene, Path(folder), args.hosts, args.seconds, MIX if args.mix else READS)
        if args.end:
            maker.finish()
        app = Stage(Path(folder), maker.run_dir, args.replay, theme=args.theme, symbols=args.symbols)
        app.wall = maker.now
        app.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

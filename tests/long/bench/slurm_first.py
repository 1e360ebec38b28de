"""From nothing to the first percentile over four nodes of a real Slurm with one command: slurmd on
this machine.

`TIMES=5` chooses how often. Nodes are allocated, checked and given back each time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.e2e.command import command, environment
from tests.lab.slurm import SlurmLab, missing
from tests.long.bench.kept import Row, told
from tui.journal.reader import read_events
from tui.model.event import PhaseStarted, RunStarted, Sample
from tui.model.plain_data import parse_utc
from tui.model.rundir import JOURNAL_FILE

TIMES = int(os.environ.get("TIMES", "5"))
NODES = 4
TERMS = ("rw=randread", "bs=4k", "direct=0", "size=16M", "runtime=15s")


def first_p99(lab: SlurmLab, home: Path, target: Path) -> Row:
    """Run once.

    Return the seconds until GO, and until the first second of every node had been merged.
    """
    words = command(
        "run",
        "fio",
        *TERMS,
        f"directory={target}",
        "--hosts",
        f"slurm:@p,nodes={NODES},time=5m",
        "--yes",
    )
    began = time.time()
    done = subprocess.run(
        words, env=environment(home) | lab.environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    (run_dir,) = (home / "runs").iterdir()
    zero, row, seen = 0.0, Row(), set[str]()
    for event in read_events(run_dir / JOURNAL_FILE):
        if isinstance(event, RunStarted) and (created := parse_utc(event.utc)) is not None:
            zero = created.timestamp() - event.t - began
        if isinstance(event, PhaseStarted) and event.phase == "measure":
            row["GO, s"] = zero + event.t
        if isinstance(event, Sample) and event.phase == "measure" and event.host not in seen:
            seen.add(event.host)
            row["p99 over all nodes, s"] = zero + event.t
    if len(seen) < NODES:
        raise RuntimeError(f"{len(seen)} of {NODES} nodes measured")
    return row


def main() -> int:
    """Run it a few times and tell the medians."""
    if why := missing():
        print(f"slurm_first: {why}", file=sys.stderr)
        return 1
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, SlurmLab(Path(folder)) as lab:
        for trial in range(TIMES):
            home, target = Path(folder) / f"home-{trial}", Path(folder) / f"target-{trial}"
            for place in (home, target):
                place.mkdir()
            rows.append(first_p99(lab, home, target))
    found = {name: median(row[name] for row in rows) for name in rows[0]}
    return told(
        "slurm_first",
        [found],
        f"medians of {len(rows)} runs on {NODES} nodes, from the start of the command",
    )


if __name__ == "__main__":
    sys.exit(main())

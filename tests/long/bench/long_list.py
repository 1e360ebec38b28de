"""What a list of 10,000 runs costs: CPU of a cold process, the first time, from the index,
filtered, without one.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.samples.events import DATA
from tui.library.build import write_record
from tui.library.runs import INDEX_FILE
from tui.library.summary import summarize, write_summary

HERE = Path(__file__).parents[3]
RUNS, TIMES, TARGET_S = 10_000, 5, 0.5
LONG_AGO_S = 1_700_000_000


def make_runs(runs: Path, count: int) -> None:
    """Put runs with their summaries into a directory.

    Their records are one file with many names.
    """
    source = runs.parent / "source"
    shutil.copytree(DATA / "mix", source)
    write_record(source)
    os.utime(source / "run.json", (LONG_AGO_S, LONG_AGO_S))
    summary = summarize(source)
    assert summary is not None
    for number in range(count):
        day, second = divmod(number, 20_000)
        run_id = f"2026{1 + day // 28:02}{1 + day % 28:02}T{second // 3600:02}{second // 60 % 60:02}{second % 60:02}Z"
        target = runs / f"{run_id}-weka-read-iops-{number:04x}"
        target.mkdir(parents=True)
        os.link(source / "run.json", target / "run.json")
        summary.headline_value, summary.run_id = 1000.0 + number, target.name
        write_summary(target, summary)
        os.utime(target, (LONG_AGO_S, LONG_AGO_S))


def cost_s(home: Path, *words: str) -> tuple[float, float]:
    """CPU and wall seconds of one verb, all its processes."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "runs", "list", *words],
        cwd=HERE,
        env={**os.environ, "HOME": str(home), "BENCHTUI_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def row(title: str, found: list[tuple[float, float]]) -> float:
    """Print medians and return that of CPU."""
    cpu, wall = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"  {title:<42}{cpu:>7.3f} s CPU{wall:>7.3f} s wall", flush=True)
    return float(cpu)


def main() -> int:
    """Print a row for each kind of list; 1 when the ordinary one is over its target."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_runs(home / "runs", RUNS)
        index = home / "runs" / INDEX_FILE
        print(f"{RUNS} runs listed, medians of {TIMES}")
        row("an empty store", [cost_s(home / "nowhere") for _ in range(TIMES)])
        row("the first time, index written", [cost_s(home)])
        print(f"  {'size of the index':<42}{index.stat().st_size / 1e6:>7.1f} MB")
        cpu = row("runs list", [cost_s(home) for _ in range(TIMES)])
        row(
            "runs list profile:test --limit 20",
            [cost_s(home, "profile:test", "--limit", "20") for _ in range(TIMES)],
        )
        row("runs list --sort headline", [cost_s(home, "--sort", "headline") for _ in range(TIMES)])
        row("runs list --json", [cost_s(home, "--json") for _ in range(TIMES)])
    return int(cpu > TARGET_S)

"""Percentiles of a cluster against the truth, fio's log of every single I/O; beside what shortcuts
would have said.

Three hosts write to memory and one to a disk with O_SYNC, so that hosts differ as a straggler does.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.command import benchtui, only_run
from tests.lab.sshd import SshdLab
from tests.long.bench.kept import Row, told
from tests.long.bench.logging_fio import logging_fio

HOSTS = 4
SHOWN = ("50", "95", "99", "99.9")
PROFILE = """\
profile: bench/truth
version: 1
title: Percentiles against every single I/O
tool: fio
params:
  directory: {default: /tmp, kind: directory}
fio:
  global: {ioengine: psync, sync: 1, time_based: 1, runtime: 10, size: 4M, rate_iops: 1500}
  jobs:
    truth: {rw: randwrite, bs: 4k, directory: "{directory}/{host}/.", write_lat_log: "{host}"}
  extra_options: [write_lat_log]
prepare: {layout: true}
headline: {metric: iops, direction: write}
"""


def every_io(logs: Path) -> dict[str, list[int]]:
    """Return the completion latencies of every I/O in ns by host, ascending."""
    found: dict[str, list[int]] = {}
    for path in sorted(logs.glob("*_clat.*log*")):
        values = sorted(int(line.split(",")[1]) for line in path.read_text().splitlines() if line)
        found[path.name.partition("_")[0]] = values
    return found


def nearest_rank(values: list[int], percentile: float) -> float:
    """Return a percentile by its definition."""
    return values[max(0, -(-len(values) * int(percentile * 1000) // 100_000) - 1)]


def main() -> int:
    """Measure once and hold the percentiles against the logs."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory(dir="/dev/shm") as memory,
        SshdLab(
            Path(folder) / "lab",
            HOSTS,
            extra_config=logging_fio(Path(folder), Path(folder) / "logs"),
        ) as lab,
    ):
        root, logs = Path(folder), Path(folder) / "logs"
        (root / lab.names[0]).mkdir()
        for name in lab.names[1:]:
            (Path(memory) / name).mkdir()
            (root / name).symlink_to(Path(memory) / name)
        (root / "truth.yaml").write_text(PROFILE)
        hosts = ["--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config)]
        more = ["--set", f"directory={root}", "--yes"]
        done = benchtui(root / "home", "run", root / "truth.yaml", *hosts, *more)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        results = json.loads((only_run(root / "home") / "run.json").read_text())["steps"][0][
            "results"
        ]
        logged = every_io(logs)
    note = f"{sum(map(len, logged.values()))} I/Os of {HOSTS} hosts."
    return told("true_percentiles", rows_of(results, logged), note)


def rows_of(results: dict[str, Any], logged: dict[str, list[int]]) -> list[Row]:
    """Return a row a percentile."""
    whole = sorted(value for values in logged.values() for value in values)
    together = results["aggregate"]["write"]["clat"]["percentiles_ns"]
    alone = [host["write"]["clat"]["percentiles_ns"] for host in results["per_host"].values()]
    rows = []
    for name in SHOWN:
        truth, said = nearest_rank(whole, float(name)), together[name]
        each = [host[name] for host in alone]
        shown = (
            ("benchtui", said),
            ("mean of hosts", sum(each) / len(each)),
            ("worst host", max(each)),
        )
        errors = {f"{who}, % off": 100 * (value / truth - 1) for who, value in shown}
        rows.append(
            {
                "percentile": f"p{name}",
                "every I/O, µs": truth / 1000,
                "benchtui, µs": said / 1000,
                **errors,
            }
        )
    return rows

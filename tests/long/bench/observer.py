"""The observer effect, A B A B: the same load by fio alone, and under benchtui with telemetry, in
turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import mean, stdev

from tests.e2e.command import benchtui, only_run
from tests.long.bench.kept import Row, told

ROUNDS, RUNTIME_S = max(2, int(os.environ.get("TIMES", "4"))), 8
OPTIONS = {"ioengine": "null", "rw": "randread", "bs": "4k", "size": "1G", "time_based": "1"}
OPTIONS["runtime"] = f"{RUNTIME_S}s"
PROFILE = f"""\
profile: bench/observed
version: 1
title: The observer effect
tool: fio
prepare: {{layout: false}}
fio:
  global: {json.dumps(OPTIONS)}
  jobs: {{load: {{numjobs: 1}}}}
headline: {{metric: iops, direction: read}}
"""


def alone(root: Path) -> float:
    """IOPS of fio alone, asked for a status each second by nobody."""
    words = [
        "fio",
        "--output-format=json",
        "--name=load",
        *(f"--{name}={value}" for name, value in OPTIONS.items()),
    ]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["jobs"][0]["read"]["iops"])


def under_benchtui(root: Path, place: int) -> float:
    """IOPS of the same load as a run on this machine."""
    home = root / f"home{place}"
    home.mkdir()
    done = benchtui(home, "run", root / "observed.yaml", "--hosts", "local")
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    record = json.loads((only_run(home) / "run.json").read_text())
    return float(record["steps"][0]["results"]["aggregate"]["read"]["iops"])


def main() -> int:
    """Print both sides and how far apart they are."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "observed.yaml").write_text(PROFILE)
        sides: dict[str, list[float]] = {"fio alone": [], "under benchtui": []}
        for place in range(ROUNDS):
            sides["fio alone"].append(alone(root))
            sides["under benchtui"].append(under_benchtui(root, place))
    base = mean(sides["fio alone"])
    rows: list[Row] = [
        {"side": side, "IOPS": mean(found), "between rounds, %": 100 * stdev(found) / mean(found),
         "against fio alone, %": 100 * (mean(found) / base - 1)}
        for side, found in sides.items()
    ]  # fmt: skip
    note = (
        f"{ROUNDS} rounds of {RUNTIME_S} s, fio's null engine at full speed: a load that has no"
        " device to wait for."
    )
    return told("observer", rows, note)

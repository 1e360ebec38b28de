"""Real elbencho on four sshd hosts: every figure is elbencho's own, files are removed, a stop keeps
what was measured.

Skipped where elbencho is not installed: no distribution packages it.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, start
from tests.lab.sshd import SSHD_PATH, SshdLab
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        shutil.which("elbencho", path=SSHD_PATH) is None, reason="elbencho is not installed"
    ),
]


MEASURED = re.compile(rb'"type":"sample"[^\n]*"phase":"measure"')


def run(lab: SshdLab, home: Path, profile: str, target: Path, *sets: str) -> dict[str, Any]:
    """Run a preset on four hosts and return its record."""
    words = [word for each in (f"directory={target}", *sets) for word in ("--set", each)]
    hosts = ["--hosts", "h[1-4]", "--ssh-config", str(lab.ssh_config)]
    done = benchtui(home, "run", profile, *hosts, *words, "--json", "--cleanup")
    assert done.returncode in (0, 1), done.stderr  # so short a run is judged invalid
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["state"] == "complete", done.stderr
    return record


def phases(run_dir: Path, step: int, host: str) -> list[dict[str, Any]]:
    """The JSON objects that elbencho itself printed."""
    text = gzip.decompress(
        (run_dir / "raw" / f"{step}.measure.{host}.out.gz").read_bytes()
    ).decode()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_the_figures_of_four_hosts_are_those_that_elbencho_printed(
    lab: SshdLab, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("target")
    sets = ("size=8M", "threads=2", "iodepth=2", "time=2s")
    record = run(lab, tmp_path, "elbencho/large-randread", target, *sets)
    (run_dir,) = (tmp_path / "runs").iterdir()
    printed = {host: phases(run_dir, 0, host)[-1]["last_done"] for host in lab.names}
    results = record["steps"][0]["results"]
    whole = results["aggregate"]["read"]
    assert whole["bytes"] == sum(int(each["bytes"]) for each in printed.values())
    counts: Counter[str] = Counter()
    for host, each in printed.items():
        mine = results["per_host"][host]["read"]
        assert abs(mine["iops"] - int(each["iops"])) <= 1
        assert mine["lat"]["mean_ns"] == int(each["latency"]["IO"]["avg_us"]) * 1000
        counts.update(
            {
                row["range"]: int(row["count"])
                for row in each["latency"]["IO"]["histogram"]["buckets"]
            }
        )
    assert whole["lat"]["n"] == sum(counts.values()) == whole["ios"]
    assert sorted(whole["lat"]["histogram"]["n"]) == sorted(counts.values())
    assert whole["lat"]["bucket_width"] == pytest.approx(0.1892, abs=1e-4)
    assert list(target.iterdir()) == []


def test_a_suite_of_phases_runs_on_files_of_all_hosts_and_leaves_nothing(
    lab: SshdLab, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("target")
    record = run(
        lab, tmp_path, "elbencho/files", target, "size=4k", "threads=2", "dirs=2", "files=5"
    )
    found = [set(step["results"]["aggregate"]) for step in record["steps"]]
    assert found == [
        {"mkdirs"},
        {"write", "write-files"},
        {"stat"},
        {"read", "read-files"},
        {"rmfiles"},
        {"rmdirs"},
    ]
    files = [
        next(iter(record["steps"][at]["results"]["aggregate"].values()))["ios"] for at in (1, 2, 4)
    ]
    assert files == [4 * 2 * 2 * 5] * 3
    assert list(target.iterdir()) == []


def test_a_stop_keeps_what_was_measured(
    lab: SshdLab, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("target")
    sets = [f"directory={target}", "size=8M", "threads=1", "iodepth=1", "time=10m"]
    words = [word for each in sets for word in ("--set", each)]
    going = start(
        tmp_path,
        "run",
        "elbencho/large-randread",
        "--hosts",
        "h[1-2]",
        "--ssh-config",
        lab.ssh_config,
        *words,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while not any(
            MEASURED.search(each.read_bytes()) for each in tmp_path.glob("runs/*/journal.jsonl")
        ):
            assert time.monotonic() < end and going.poll() is None
            time.sleep(0.1)
        assert benchtui(tmp_path, "stop", "last").returncode == 0
        going.wait(PATIENCE_S)
    finally:
        if going.poll() is None:
            going.send_signal(signal.SIGKILL)
            going.wait()
        going.communicate()
    (record,) = (json.loads(each.read_text()) for each in tmp_path.glob("runs/*/run.json"))
    read = record["steps"][0]["results"]["aggregate"]["read"]
    assert read["ios"] > 0 and read["lat"]["percentiles_ns"]["50"] > 0

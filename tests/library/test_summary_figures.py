"""What lists show beside a headline: bandwidth, p99 and throughput of the step and direction it
comes from.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.library.summary import RunSummary, ordered, summarize

RUNS = DATA.parent / "runs"
MEASURED = ["plain", "sweep", "recovered", "aborted"]


def listed(name: str) -> RunSummary:
    found = summarize(RUNS / name, keep=False)
    assert found is not None
    return found


@pytest.mark.parametrize("name", MEASURED)
def test_figures_are_those_of_the_step_of_the_headline(name: str) -> None:
    record = json.loads((RUNS / name / "run.json").read_text())
    headline = record["headline"]
    step = record["steps"][headline["step"]]
    figures = step["results"]["aggregate"][headline["direction"]]
    run = listed(name)
    assert run.bw_bytes_per_s == figures["bw_bytes_per_s"]
    assert run.p99_ns == figures[step["latency_kind"] or "clat"]["percentiles_ns"]["99"]


@pytest.mark.parametrize("name", MEASURED)
def test_throughput_over_time_has_the_mean_of_the_series(name: str) -> None:
    record = json.loads((RUNS / name / "run.json").read_text())
    columns = record["steps"][record["headline"]["step"]]["series"]["columns"]
    cluster = [column["iops"] for column in columns if column["host"] is None]
    total = [sum(filter(None, second)) for second in zip(*cluster, strict=True) if any(second)]
    known = [value for value in listed(name).iops_over_time if value is not None]
    assert known and max(known) <= max(total) + 0.001 and min(known) >= min(total) - 0.001
    if len(total) <= 16:
        assert known == pytest.approx(total)


def test_a_percentile_of_too_few_ios_is_not_listed(tmp_path: Path) -> None:
    run_dir = tmp_path / "20261120T101530Z-few-0001"
    shutil.copytree(RUNS / "plain", run_dir)
    record = json.loads((run_dir / "run.json").read_text())
    step = record["steps"][record["headline"]["step"]]
    latency = step["results"]["aggregate"][record["headline"]["direction"]][
        step["latency_kind"] or "clat"
    ]
    latency["percentiles_behind"] = {"99": 9.9}
    (run_dir / "run.json").write_text(json.dumps(record))
    found = summarize(run_dir, keep=False)
    assert found is not None and found.p99_ns is None


def test_the_least_p99_and_the_most_bandwidth_come_first_and_runs_without_last() -> None:
    runs = [
        RunSummary("none", None, "", [], "failed"),
        RunSummary("slow", None, "", [], "complete", p99_ns=2000, bw_bytes_per_s=1.0),
        RunSummary("fast", None, "", [], "complete", p99_ns=1000, bw_bytes_per_s=2.0),
    ]
    for order in ("p99", "bandwidth"):
        assert [run.run_id for run in ordered(runs, order)] == ["fast", "slow", "none"]

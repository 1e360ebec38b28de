"""Several jobs over two sshd hosts: the percentiles of each, live and in the record, are the merge
of fio's own.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui
from tests.e2e.test_four_hosts import DATA, PERCENTILES, independent_percentile, last_object
from tests.lab.sshd import SshdLab
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.metrics.buckets import SHOWN_PERCENTILES
from tui.metrics.histogram import label

pytestmark = pytest.mark.e2e

JOBS = [
    ("reader", "read", "clat"),
    ("scan", "read", "clat"),
    ("writer", "write", "clat"),
    ("writer", "sync", "lat"),
]
each_job = pytest.mark.parametrize(
    ("job", "direction", "kind"), JOBS, ids=[f"{job}-{way}" for job, way, _ in JOBS]
)


@pytest.fixture(scope="module")
def done(lab: SshdLab, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    home, target = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("target")
    hosts = ["--hosts", "h[1-2]", "--ssh-config", str(lab.ssh_config)]
    ended = benchtui(
        home, "run", DATA / "two-jobs.yaml", *hosts, "--set", f"directory={target}", "--json"
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout), next((home / "runs").iterdir())


def merged(run_dir: Path, job: str, direction: str, kind: str) -> tuple[dict[int, int], int]:
    """The buckets that fio printed last of a job, added over both hosts, and the highest
    maximum.
    """
    counts: Counter[int] = Counter()
    highest = 0
    for host in ("h1", "h2"):
        entries = last_object(run_dir / "raw" / f"0.measure.{host}.out.gz")["jobs"]
        entry = next(entry for entry in entries if entry["jobname"] == job)
        latency = entry[direction][f"{kind}_ns"]
        counts.update({int(value): count for value, count in latency["bins"].items()})
        highest = max(highest, latency["max"])
    return dict(counts), highest


@each_job
def test_the_record_has_the_merge_of_each_job(
    done: tuple[dict[str, Any], Path], job: str, direction: str, kind: str
) -> None:
    counts, highest = merged(done[1], job, direction, kind)
    ours = done[0]["steps"][0]["results"]["jobs"][job][direction][kind]
    assert ours["n"] == sum(counts.values())
    assert ours["percentiles_ns"] == {
        p: min(independent_percentile(counts, p), highest) for p in PERCENTILES
    }


@each_job
def test_live_has_the_merge_of_each_job(
    done: tuple[dict[str, Any], Path], job: str, direction: str, kind: str
) -> None:
    counts, highest = merged(done[1], job, direction, kind)
    view = (
        fold_all(RunState(), read_events(done[1] / "journal.jsonl"))
        .current.jobs[job]
        .cluster[direction]
    )
    assert view.so_far.total == sum(counts.values())
    expected = {
        label(p): min(independent_percentile(counts, label(p)), highest) for p in SHOWN_PERCENTILES
    }
    assert view.so_far_percentiles == {**expected, "max": highest}


def test_jobs_of_one_direction_add_up_to_it(done: tuple[dict[str, Any], Path]) -> None:
    results = done[0]["steps"][0]["results"]
    assert (
        sum(results["jobs"][job]["read"]["ios"] for job in ("reader", "scan"))
        == results["aggregate"]["read"]["ios"]
    )


def test_what_one_job_alone_does_is_in_the_journal_once(done: tuple[dict[str, Any], Path]) -> None:
    lines = [json.loads(line) for line in (done[1] / "journal.jsonl").read_text().splitlines()]
    measured = [
        line["jobs"] for line in lines if line["type"] == "sample" and line["phase"] == "measure"
    ]
    assert measured and all(jobs["writer"].get("write") is None for jobs in measured)
    assert all(
        "jobs" not in line
        for line in lines
        if line["type"] == "sample" and line["phase"] == "layout"
    )

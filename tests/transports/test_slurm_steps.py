"""Runs on the nodes of a real Slurm, reached by steps of their job: allocate, measure, merge, release."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, start
from tests.lab.slurm import SlurmLab, missing
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.e2e]

SPEC = "slurm:@p,nodes=4,time=20m"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    with SlurmLab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def home(home: Path, slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in slurm.environ.items():
        monkeypatch.setenv(name, value)
    return home


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def measured_seconds(journal: Path) -> int:
    """How many samples of the measurement have come."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return sum('"type":"sample"' in line and '"phase":"measure"' in line for line in lines)


def test_one_command_allocates_measures_merges_and_releases(slurm: SlurmLab, home: Path) -> None:
    short = ("--set", "runtime=3s", "--set", f"directory={home}", "--yes", "--json")
    done = benchtui(home, "run", "demo/quick", "--hosts", SPEC, *short)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["state"] == "complete"
    assert [host["transport"] for host in record["hosts"]] == ["slurm"] * 4
    assert all(host["facts"]["allocation_ends"] > record["created_utc"] for host in record["hosts"])
    assert set(record["steps"][0]["results"]["per_host"]) == {"h1", "h2", "h3", "h4"}
    (source,) = record["sources"]
    assert (source["spec"], source["hosts"]) == (SPEC, ["h1", "h2", "h3", "h4"])
    wait_for(lambda: slurm.jobs() == [], "the job is still there")


def test_a_job_that_is_cancelled_ends_the_run_by_name(slurm: SlurmLab, home: Path) -> None:
    process = start(
        *(home, "run", "demo/quick", "--hosts", "slurm:@p,nodes=2", "--yes", "--detach"),
        *("--set", "runtime=300", "--set", f"directory={home}", "--lease", "10s"),
    )
    run_id = process.communicate(timeout=PATIENCE_S)[0].strip()
    journal = next(home.rglob(run_id)) / "journal.jsonl"
    wait_for(lambda: measured_seconds(journal) >= 4, "nothing is measured")
    (job,) = slurm.jobs()
    slurm.run("scancel", job)
    wait_for(lambda: (journal.parent / "run.json").exists(), "the run goes on")
    record = json.loads(benchtui(home, "runs", "show", run_id, "--json").stdout)
    assert record["state"] == "partial"
    assert {host["detail"] for host in record["hosts"]} == {f"allocation {job} ended: cancelled"}
    assert "h1" in record["steps"][0]["results"]["per_host"]
    shutil.rmtree(f"/tmp/.benchtui-{os.geteuid()}/{run_id}")  # nobody can reach it on nodes that are gone

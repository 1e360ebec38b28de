"""Runs on the nodes of a real Slurm, reached by steps of their job: allocate, measure, merge, release."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui
from tests.lab.slurm import SlurmLab, missing
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.e2e]


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


def test_one_command_allocates_measures_merges_and_releases(slurm: SlurmLab, home: Path) -> None:
    short = ("--set", "runtime=3s", "--yes", "--json")
    done = benchtui(home, "run", "demo/quick", "--hosts", "slurm:@p,nodes=4", *short)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["state"] == "complete"
    assert [host["transport"] for host in record["hosts"]] == ["slurm"] * 4
    assert set(record["steps"][0]["results"]["per_host"]) == {"h1", "h2", "h3", "h4"}
    (source,) = record["sources"]
    assert (source["spec"], source["hosts"]) == ("slurm:@p,nodes=4", ["h1", "h2", "h3", "h4"])
    wait_for(lambda: slurm.jobs() == [], "the job is still there")

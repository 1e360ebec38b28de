"""Nodes of a real Slurm: of jobs, and of allocations that end with whoever uses them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import command, environment
from tests.lab.slurm import SlurmLab, missing
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S
from tui.engine.inputs.hosts import Fleet
from tui.model.problem import UsageError
from tui.model.quantities import seconds_of
from tui.sources.base import SourceContext
from tui.sources.slurm.source import parse_wanted

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"
needs_slurm = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    with SlurmLab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def fleet(slurm: SlurmLab, tmp_path: Path) -> Fleet:
    context = SourceContext({**os.environ, **slurm.environ}, tmp_path)
    return Fleet(None, Path(os.devnull), context)


def refusal(fleet: Fleet, spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        fleet.resolve([spec])
    (problem,) = caught.value.problems
    return str(problem)


def wait_for_no_jobs(slurm: SlurmLab) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while slurm.jobs():
        assert time.monotonic() < deadline, slurm.jobs()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30:00", 1800), ("1:00:00", 3600), ("2-01:00:00", 176400), ("45", 45), ("UNLIMITED", None)],
)
def test_times_of_slurm_are_seconds(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no partition given; allowed: slurm:@PARTITION"),
        ("p,nods=3", "unknown option 'nods' (did you mean 'nodes'?)"),
        ("p,nodes=x", "nodes: 'x' is not a number from 1 to 4096"),
        ("p,time=soon", "time: 'soon' is not a time such as 30m or 2h"),
        ("p,nodes=1,nodes=2", "nodes is given twice"),
        ("p,account=;rm", "account: ';rm' is not allowed"),
    ],
)
def test_a_mistyped_request_says_what_is_allowed(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_wanted(text)
    assert told in str(caught.value)


@needs_slurm
def test_the_nodes_of_a_job_are_hosts(slurm: SlurmLab, fleet: Fleet) -> None:
    slurm.run("salloc", "--no-shell", "-N2", "-t", "7")
    (job,) = slurm.jobs()
    try:
        assert [host.name for host in fleet.resolve([f"slurm:{job}"])] == ["h1", "h2"]
        (use,) = fleet.uses
        assert use.how == f"Slurm job {job}"
        assert use.left_s is not None and 0 < use.left_s <= 420
        assert f"your running jobs: {job}" in refusal(fleet, "slurm:99999")
        inside = {"SLURM_JOB_ID": job, "SLURM_JOB_NODELIST": "h[1-2]"}
        there = Fleet(
            None, None, fleet.context._replace(environ={**fleet.context.environ, **inside})
        )
        assert [host.name for host in there.resolve(["slurm:"])] == ["h1", "h2"]
    finally:
        slurm.run("scancel", job)
        wait_for_no_jobs(slurm)


@needs_slurm
def test_only_a_run_may_allocate(fleet: Fleet) -> None:
    assert "only run, capacity, ab and hosts check allocate nodes" in refusal(fleet, "slurm:@p")


@needs_slurm
def test_what_slurm_cannot_give_is_reported_and_leaves_no_job(
    slurm: SlurmLab, fleet: Fleet
) -> None:
    fleet.context = fleet.context._replace(may_allocate=True)
    assert "no partition 'pp' (did you mean 'p'?); partitions: p" in refusal(fleet, "slurm:@pp")
    assert "slurm:@p,nodes=9: Slurm cannot satisfy the request: PartitionConfig" in refusal(
        fleet, "slurm:@p,nodes=9"
    )
    assert slurm.jobs() == []


@needs_slurm
def test_the_wait_for_nodes_is_reported_and_has_an_end(slurm: SlurmLab, fleet: Fleet) -> None:
    said: list[str] = []
    fleet.context = fleet.context._replace(may_allocate=True, tell=said.append)
    slurm.run("salloc", "--no-shell", "-N4", "--exclusive")
    (other,) = slurm.jobs()
    assert "no allocation within 4 s" in refusal(fleet, "slurm:@p,nodes=2,wait=4s")
    assert "waiting for 2 nodes in partition p" in said[0]
    assert slurm.jobs() == [other]
    slurm.run("scancel", other)
    wait_for_no_jobs(slurm)


@needs_slurm
def test_a_check_gives_the_nodes_back(slurm: SlurmLab, lab: SshdLab, home: Path) -> None:
    done = run(
        slurm, home, "hosts", "check", "slurm:@p,nodes=2", "--ssh-config", str(lab.ssh_config)
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["host", "h1", "h2"]
    wait_for_no_jobs(slurm)


@needs_slurm
def test_a_run_that_is_longer_than_its_job_is_refused(
    slurm: SlurmLab, lab: SshdLab, home: Path
) -> None:
    before = newest_job(slurm)
    options = ("--set", "runtime=110s", "--ssh-config", str(lab.ssh_config), "--yes")
    done = run(slurm, home, "run", "demo/quick", "--hosts", "slurm:@p,nodes=1,time=2m", *options)
    assert done.returncode == 2
    assert "the requested allocation ends in" in done.stderr
    assert newest_job(slurm) <= before, "nodes were allocated for it"


@needs_slurm
def test_a_run_that_is_longer_than_the_time_limit_of_its_partition_is_refused(
    slurm: SlurmLab, lab: SshdLab, home: Path
) -> None:
    options = ("--set", "runtime=1h", "--ssh-config", str(lab.ssh_config), "--yes")
    done = run(slurm, home, "run", "demo/quick", "--hosts", "slurm:@p,nodes=1", *options)
    assert done.returncode == 2
    assert "ends in" in done.stderr and "Slurm job" in done.stderr
    wait_for_no_jobs(slurm)


@needs_slurm
def test_a_check_of_all_hosts_allocates_nothing(slurm: SlurmLab, lab: SshdLab, home: Path) -> None:
    (home / "inventory.yaml").write_text(
        'groups: {io: {from: "slurm:@p,nodes=2"}, all: {from: ["@io", "local"]}}'
    )
    before = newest_job(slurm)
    done = run(slurm, home, "hosts", "check", "--ssh-config", str(lab.ssh_config))
    assert {"@io left out", "@all left out"} <= {
        line.removeprefix("benchtui: ").partition(":")[0] for line in done.stderr.splitlines()
    }
    assert newest_job(slurm) <= before


@needs_slurm
@pytest.mark.e2e
def test_an_allocation_lasts_as_long_as_the_engine_and_is_released_when_that_is_killed(
    slurm: SlurmLab, lab: SshdLab, home: Path
) -> None:
    options = ("--ssh-config", str(lab.ssh_config), "--yes", "--detach", "--lease", "10s")
    long = ("--set", "runtime=300", "--set", f"directory={home}", "--hosts", "slurm:@p,nodes=2")
    done = run(slurm, home, "run", str(LOAD), *long, *options)
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    engine = int((next(home.rglob(run_id)) / "engine.pid").read_text().split()[0])
    assert len(slurm.jobs()) == 1
    os.kill(engine, signal.SIGKILL)
    wait_for_no_jobs(slurm)


def newest_job(slurm: SlurmLab) -> int:
    """Number of the newest job, which may have ended; 0 without any."""
    return max(map(int, slurm.run("squeue", "-h", "-t", "all", "-o", "%i").split()), default=0)


def run(slurm: SlurmLab, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run benchtui to its end, with this Slurm."""
    return subprocess.run(
        command(*words),
        env={**environment(home), **slurm.environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )

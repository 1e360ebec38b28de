"""Runs on the nodes of a real Slurm, reached by steps of their job: allocate, measure, merge,
release.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes, start
from tests.lab.faults import directories, forget_on_hosts
from tests.lab.slurm import SlurmLab, missing
from tests.patience import PATIENCE_S, wait_until
from tests.transports.slurm_runs import kill, measured, sruns, step_daemons
from tui.journal.rundir import load_plan
from tui.model.address import HostAddress
from tui.remote.way_slurm import AsSlurmStep
from tui.testing.transports import check_transport
from tui.text.run_texts import run_text

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.e2e]

SPEC = "slurm:@p,nodes=4,time=20m"
NODES = ("h1", "h2", "h3", "h4")
LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmLab]:
    with SlurmLab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def home(home: Path, slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in slurm.environ.items():
        monkeypatch.setenv(name, value)
    return home


def detached(home: Path, *more: str) -> Path:
    """The directory of a run on two nodes that were allocated for it, once both have measured for
    some seconds.
    """
    for host in NODES:
        (home / "data" / host).mkdir(parents=True)
    load = ("--set", f"directory={home / 'data'}", "--yes", "--detach", *more)
    started = start(home, "run", LOAD, "--hosts", "slurm:@p,nodes=2", *load)
    run_id, told = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 0, told
    run_dir = home / "runs" / run_id.strip()
    journal = run_dir / "journal.jsonl"
    wait_until(
        lambda: [len(ios) > 2 for ios in measured(journal).values()] == [True, True],
        "nothing is measured",
    )
    return run_dir


def hosts_of(run_dir: Path) -> list[str]:
    """The nodes that Slurm has chosen."""
    return [host.name for host in load_plan(run_dir).hosts]


def record_of(run_dir: Path) -> dict[str, Any]:
    """The record of a run, once it has ended."""
    wait_until((run_dir / "run.json").exists, "the run is still running")
    record: dict[str, Any] = json.loads((run_dir / "run.json").read_text())
    return record


@pytest.mark.usefixtures("home")
async def test_steps_of_a_job_keep_the_contract_of_transports(slurm: SlurmLab) -> None:
    slurm.run("salloc", "--no-shell", "-N1", "-t", "5")
    (job,) = slurm.jobs()
    there = HostAddress("h1", transport="slurm", through=job)
    try:
        await check_transport(
            AsSlurmStep(), there, HostAddress("h1", transport="slurm", through="99999")
        )
    finally:
        slurm.run("scancel", job)
    wait_until(lambda: slurm.jobs() == [], "the job is still there")


def test_one_command_allocates_measures_merges_and_releases(slurm: SlurmLab, home: Path) -> None:
    short = ("--set", "runtime=3s", "--set", f"directory={home}", "--yes", "--json")
    done = benchtui(home, "run", LOAD, "--hosts", SPEC, *short)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["state"] == "complete"
    assert [host["transport"] for host in record["hosts"]] == ["slurm"] * 4
    assert all(host["facts"]["allocation_ends"] > record["created_utc"] for host in record["hosts"])
    assert set(record["steps"][0]["results"]["per_host"]) == {"h1", "h2", "h3", "h4"}
    (source,) = record["sources"]
    assert (source["spec"], source["hosts"]) == (SPEC, ["h1", "h2", "h3", "h4"])
    wait_until(lambda: slurm.jobs() == [], "the job is still there")


def blames_the_job_alone(record: dict[str, Any], job: str) -> None:
    """Reason, problems and findings name the end of the job; none of them blames a host."""
    ended = f"allocation {job} ended: cancelled"
    assert run_text(record["reason"]) == ended
    (step,) = record["steps"]
    assert {(each["code"], run_text(each["message"])) for each in step["errors"]} == {
        ("allocation-ended", ended)
    }
    (finding,) = [each for each in record["findings"] if each["id"] == "host-loss"]
    assert [run_text(quote) for quote in finding["operands"]["quotes"]] == [ended]
    assert "hosts" not in finding["scope"]


def test_a_job_that_is_cancelled_ends_the_run_by_name(slurm: SlurmLab, home: Path) -> None:
    run_dir = detached(home, "--set", "runtime=300", "--lease", "10s")
    (job,) = slurm.jobs()
    slurm.run("scancel", job)
    record = record_of(run_dir)
    assert record["state"] == "partial"
    blames_the_job_alone(record, job)
    assert {run_text(host["detail"]) for host in record["hosts"]} == {
        f"allocation {job} ended: cancelled"
    }
    assert set(record["steps"][0]["results"]["per_host"]) == set(hosts_of(run_dir))
    again = benchtui(home, "runs", "recover", run_dir.name)
    assert again.returncode == 2, "nothing can be collected"
    wait_until(lambda: not marked_processes(run_dir.name), "the load is still running")
    forget_on_hosts(run_dir.name)  # nobody can reach it on nodes that are gone


CANCELS_AT_THE_BARRIER = """#!{python}
# passes on nothing from the barrier on before the job is cancelled
import os, subprocess, sys
from pathlib import Path

child = subprocess.Popen(["{srun}", *sys.argv[1:]], stdin=subprocess.PIPE)
while data := os.read(0, 65536):
    for journal in Path(os.environ["BENCHTUI_HOME"]).glob("runs/*/journal.jsonl"):
        if '"phase":"barrier"' in journal.read_text():
            jobs = subprocess.run(["squeue", "-h", "-o", "%i"], capture_output=True, text=True)
            subprocess.run(["scancel", *jobs.stdout.split()])
    try:
        child.stdin.write(data)
        child.stdin.flush()
    except BrokenPipeError:
        break
os._exit(child.wait())
"""


def test_a_job_that_is_cancelled_at_the_barrier_ends_the_run_by_name(
    slurm: SlurmLab, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    srun = tmp_path / "srun"
    words = {"{srun}": str(shutil.which("srun")), "{python}": sys.executable}
    text = CANCELS_AT_THE_BARRIER
    for word, meant in words.items():
        text = text.replace(word, meant)
    srun.write_text(text)
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    load = ("--set", f"directory={home}", "--yes", "--json")
    done = benchtui(home, "run", LOAD, "--hosts", "slurm:@p,nodes=2", *load)
    record = json.loads(done.stdout)
    (job,) = {source["how"].split()[-1] for source in record["sources"]}
    assert (done.returncode, record["state"]) == (4, "failed")
    blames_the_job_alone(record, job)
    forget_on_hosts(record["run_id"])


def test_no_second_is_lost_with_srun(slurm: SlurmLab, home: Path) -> None:
    run_dir = detached(home, "--set", "runtime=8")
    kill(sruns(slurm.environ["SLURM_CONF"]))
    ends_with_every_second(run_dir)


@pytest.mark.slow
def test_no_second_is_lost_with_slurmstepd(slurm: SlurmLab, home: Path) -> None:
    run_dir = detached(home, "--set", "runtime=8")
    kill(step_daemons(hosts_of(run_dir)[0], slurm.environ["SLURM_CONF"]))  # srun does not notice
    ends_with_every_second(run_dir)


def ends_with_every_second(run_dir: Path) -> None:
    record = record_of(run_dir)
    assert record["state"] == "complete"
    told = {
        host: each["read"]["ios"]
        for host, each in record["steps"][0]["results"]["per_host"].items()
    }
    assert {host: sum(ios) for host, ios in measured(run_dir / "journal.jsonl").items()} == told
    assert not marked_processes(run_dir.name)
    assert not directories(run_dir.name)


def test_a_killed_engine_leaves_no_load_and_no_allocation(slurm: SlurmLab, home: Path) -> None:
    run_dir = detached(home, "--set", "runtime=300", "--lease", "10s")
    kill([int((run_dir / "engine.pid").read_text().split()[0])])
    wait_until(lambda: not marked_processes(run_dir.name), "the load is still running")
    wait_until(lambda: slurm.jobs() == [], "the job is still there")
    assert benchtui(home, "runs", "recover", run_dir.name).returncode == 4
    record = record_of(run_dir)
    assert record["state"] == "partial"
    assert set(record["steps"][0]["results"]["per_host"]) == set(hosts_of(run_dir))
    forget_on_hosts(run_dir.name)  # nobody can reach it on nodes that are gone

"""What limits a run is put to the test: real loads that wait for themselves, so that a busy machine
says the same.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.e2e.command import benchtui, marked_processes, measures, start
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.engine.launch import create_run
from tui.engine.plan.search import proof_plan
from tui.journal.rundir import load_plan
from tui.judge.proof import NO_MORE
from tui.model.search import LoadChange, Prediction, ProofQuestion

pytestmark = pytest.mark.e2e

# wide: this machine is busy with other tests
ALIKE = Prediction("iops_per_host", least=0.5, most=1.6, above=1.8)
TIMES = 5  # that a machine with much else to do may leave it open
PROFILE = """\
profile: own/waiting
title: One worker that waits 50 ms between reads
tool: fio
params:
  directory: {kind: directory, default: /mnt}
fio:
  global: {ioengine: psync, time_based: 1, runtime: 6s, directory: "{directory}/{host}", size: 1M, thinktime: 50000}
  jobs:
    one: {rw: randread, bs: 4k}
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""


@pytest.fixture(scope="module")
def proved(lab: SshdLab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home with a run of two hosts, its bottleneck proved at once; and the run."""
    root = tmp_path_factory.mktemp("proved")
    (root / "home" / "profiles").mkdir(parents=True)
    (root / "target").mkdir()
    (root / "home" / "profiles" / "waiting.yaml").write_text(PROFILE)
    words = ["--ssh-config", str(lab.ssh_config), "--set", f"directory={root / 'target'}"]
    words += ["--prove-bottleneck", "--json"]
    for _ in range(TIMES):
        done = benchtui(root / "home", "run", "own/waiting", "--hosts", "h1", *words)
        assert done.returncode == 0, done.stderr
        printed = json.loads(done.stdout)
        if printed["steps"][0]["bottleneck"]["proof"]["outcome"] != "could-not-tell":
            break
    first = root / "home" / "runs" / printed["run_id"]
    (first / "printed.json").write_text(done.stdout)  # later tests prove it again
    (first / "shown.txt").write_text(benchtui(root / "home", "runs", "show", first.name).stdout)
    return root / "home", first


def record(run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_dir / "run.json").read_text())
    return found


def the_other(home: Path, runs: Sequence[Path]) -> Path:
    (run_dir,) = set((home / "runs").iterdir()) - set(runs)
    return run_dir


def test_both_records_say_that_it_agreed(proved: tuple[Path, Path]) -> None:
    home, first = proved
    bottleneck = json.loads((first / "printed.json").read_text())["steps"][0]["bottleneck"]
    assert bottleneck["kind"] in ("concurrency", "client-cpu"), "as busy as the machine is"
    second = home / "runs" / bottleneck["proof"]["run_id"]
    own = record(second)["proves"]
    assert (own["outcome"], bottleneck["proof"]["outcome"]) == ("agreed", "agreed")
    assert own["run_id"] == first.name
    assert own["ratio"] == bottleneck["proof"]["ratio"] == pytest.approx(2.0, rel=0.3)


def test_the_run_is_printed_with_what_was_shown(proved: tuple[Path, Path]) -> None:
    said = (proved[1] / "shown.txt").read_text()
    assert "counter-experiment: agreed: twice as many" in " ".join(said.split())


def test_a_bottleneck_that_is_wrong_is_refuted_and_the_run_is_told(
    proved: tuple[Path, Path],
) -> None:
    home, first = proved
    wrong = ProofQuestion(
        first.name, 0, "storage", "the storage", (LoadChange("twice-in-flight", NO_MORE),), {}
    )
    for _ in range(TIMES):
        before = list((home / "runs").iterdir())
        run_dir = create_run(proof_plan(load_plan(first), wrong, 5.0), home / "runs")
        assert benchtui(home, "engine", run_dir).returncode == 0
        assert the_other(home, before) == run_dir
        if (outcome := record(run_dir)["proves"]["outcome"]) != "could-not-tell":
            break
    assert outcome == "disagreed"
    assert record(first)["steps"][0]["bottleneck"]["proof"]["outcome"] == "disagreed", (
        "the newest counts"
    )


def test_a_counter_experiment_that_is_interrupted_leaves_the_run_as_it_was(
    home: Path, tmp_path: Path
) -> None:
    (home / "profiles").mkdir()
    (home / "profiles" / "waiting.yaml").write_text(PROFILE.replace("6s", "2s"))
    words = [
        "--hosts",
        "local",
        "--set",
        f"directory={tmp_path}",
        "--cleanup",
        "--prove-bottleneck",
        "--json",
    ]
    process = start(home, "run", "own/waiting", *words)
    wait_until(lambda: len(list(home.glob("runs/*/journal.jsonl"))) == 2, "prove")
    first, second = sorted(
        (home / "runs").iterdir(), key=lambda path: (path / "plan.json").stat().st_mtime
    )
    before = record(first)
    wait_until(lambda: measures(second), "a measurement of the load as it was")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    printed = json.loads(out)
    assert (process.returncode, printed["run_id"], printed["state"]) == (
        130,
        first.name,
        "complete",
    ), err
    assert printed["headline"]["value"] == before["headline"]["value"]
    assert printed["verdict"] == before["verdict"]
    assert printed["steps"][0]["bottleneck"]["proof"]["outcome"] == "could-not-tell"
    assert f"the counter-experiment is {second.name}; it is incomplete" in err
    assert f"benchtui runs resume {second.name}" in err
    assert not marked_processes(first.name) and not marked_processes(second.name)
    assert not (tmp_path / "local").exists(), "both runs have removed their files"


@pytest.mark.slow
def test_a_load_that_is_held_at_a_rate_does_more_without(
    home: Path, lab: SshdLab, tmp_path: Path
) -> None:
    (home / "profiles").mkdir()
    paced = PROFILE.replace("own/waiting", "own/paced").replace("thinktime: 50000", "rate_iops: 50")
    (home / "profiles" / "paced.yaml").write_text(paced)
    (tmp_path / "target").mkdir()
    words = [
        "--hosts",
        "h1",
        "--ssh-config",
        str(lab.ssh_config),
        "--set",
        f"directory={tmp_path / 'target'}",
    ]
    done = benchtui(home, "run", "own/paced", *words, "--cleanup", "--prove-bottleneck", "--json")
    assert done.returncode == 0, done.stderr
    bottleneck = json.loads(done.stdout)["steps"][0]["bottleneck"]
    proof = bottleneck["proof"]
    assert (bottleneck["kind"], proof["change"], proof["outcome"]) == ("rate", "no-rate", "agreed")
    assert proof["unchanged"] == pytest.approx(50, rel=0.1)
    assert list((tmp_path / "target").iterdir()) == [], "each of the two runs has removed its files"


@pytest.mark.slow
def test_one_that_is_stopped_could_not_tell_and_resumed_it_measures_both_loads_again(
    proved: tuple[Path, Path],
) -> None:
    home, first = proved
    before, shown = (
        list((home / "runs").iterdir()),
        record(first)["steps"][0]["bottleneck"]["proof"],
    )
    process = start(home, "runs", "prove", first.name, "--runtime", "6s", "--yes")
    wait_until(lambda: len(list((home / "runs").iterdir())) > len(before), "another run")
    run_dir = the_other(home, before)
    wait_until(lambda: measures(run_dir, 1), "a measurement of the changed load")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert record(run_dir)["proves"]["outcome"] == "could-not-tell"
    assert "the counter-experiment is incomplete" in " ".join(out.split())
    assert record(first)["steps"][0]["bottleneck"]["proof"] == shown, (
        "what another one showed stays"
    )
    resumed = benchtui(home, "runs", "resume", run_dir.name)
    assert resumed.returncode == 0, resumed.stderr
    assert "2 steps to go" in resumed.stderr and "0 of 2 steps already done" in resumed.stderr
    assert [step["attempt"] for step in record(run_dir)["steps"]] == [2, 2]
    proof = record(first)["steps"][0]["bottleneck"]["proof"]
    assert (proof["run_id"], proof["outcome"], record(run_dir)["proves"]["outcome"]) == (
        run_dir.name,
        "agreed",
        "agreed",
    )


@pytest.mark.slow
def test_half_of_two_hosts_that_each_wait_for_themselves(
    proved: tuple[Path, Path], lab: SshdLab
) -> None:
    home, first = proved
    plan = load_plan(first)
    both = [
        "--hosts",
        "h1,h2",
        "--ssh-config",
        str(lab.ssh_config),
        "--set",
        f"directory={plan.target}",
    ]
    before = list((home / "runs").iterdir())
    assert benchtui(home, "run", "own/waiting", *both).returncode in (0, 1)
    two = the_other(home, before)
    question = ProofQuestion(
        two.name, 0, "client-cpu", "words", (LoadChange("half-hosts", ALIKE),), {}
    )
    run_dir = create_run(proof_plan(load_plan(two), question, 5.0), home / "runs")
    assert benchtui(home, "engine", run_dir).returncode == 0
    found = record(run_dir)
    assert [list(step["results"]["per_host"]) for step in found["steps"]] == [["h1", "h2"], ["h1"]]
    assert found["proves"]["outcome"] == "agreed"


def test_the_verb_plans_it_and_refuses_what_is_none(proved: tuple[Path, Path]) -> None:
    home, first = proved
    planned = benchtui(home, "runs", "prove", first.name, "--dry-run", "--runtime", "3s")
    assert planned.returncode == 0, planned.stderr
    assert f"as the bottleneck of {first.name}" in planned.stdout and "runtime=3s" in planned.stdout
    other = next(path for path in (home / "runs").iterdir() if load_plan(path).proves is not None)
    again = benchtui(home, "runs", "prove", other.name)
    assert (again.returncode, again.stdout) == (2, "")
    assert (
        f"is itself a counter-experiment on {first.name}" in again.stderr
        or "itself" in again.stderr
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--detach"],
            "--prove-bottleneck cannot be used with --detach: it waits for the run to end",
        ),
        (
            ["--no-telemetry"],
            "--prove-bottleneck cannot be used with --no-telemetry: it needs host telemetry",
        ),
    ],
)
def test_what_it_cannot_go_with_is_refused(home: Path, words: list[str], told: str) -> None:
    done = benchtui(home, "run", "demo/quick", "--hosts", "local", "--prove-bottleneck", *words)
    assert (done.returncode, done.stderr) == (2, f"benchtui: {told}\n")


def test_a_run_that_is_gone_is_not_missed(proved: tuple[Path, Path]) -> None:
    home, first = proved
    question = ProofQuestion(
        "20200101T000000Z-gone-0000",
        0,
        "storage",
        "w",
        (LoadChange("twice-in-flight", NO_MORE),),
        {},
    )
    plan = proof_plan(load_plan(first), question, 4.0)
    run_dir = create_run(replace(plan, telemetry=False), home / "runs")
    assert benchtui(home, "engine", run_dir).returncode == 0
    assert record(run_dir)["proves"]["run_id"] == "20200101T000000Z-gone-0000"

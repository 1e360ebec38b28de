"""`benchtui ab`: how many runs an experiment takes, which runs count, and what it says when the
time is up.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.records import IOPS, run, step
from tui.analysis.measured import NoiseFloors, measure
from tui.cli.ab import (
    AbTest,
    check_belongs,
    concluded,
    interim_result,
    obstacles_of,
    print_runs_needed,
)
from tui.cli.shared.common import run_store
from tui.model.address import HostAddress
from tui.model.plan import Headline, Plan, ProfileRef
from tui.model.problem import UsageError
from tui.model.record import RunRecord

SPREAD = (0.97, 0.98, 1.0, 1.0, 1.02, 1.03)  # 2.28 % in the deviation


def experiment(room: int, *sides: str) -> AbTest:
    """An experiment with one run of side A, or those of `sides`, and time for so many in all."""
    ref = ProfileRef("test/p", 1, "", "", "")
    params: dict[str, str | int | float | bool] = {"numjobs": 1, "directory": "/mnt/a"}
    plan = Plan(ref, params, [HostAddress("h1")], [], headline=Headline("iops", "read"))
    made = AbTest("mine", {}, {"A": plan, "B": plan}, 0.05, 0.0, room)
    for at, side in enumerate(sides or "A"):
        made.records[side].append(
            run(step(IOPS + 100 * at, count=0), run_id=f"2026010{at + 1}T000000Z-x")
        )
        (run_store().runs_dir / f"2026010{at + 1}T000000Z-x").mkdir(parents=True, exist_ok=True)
    return made


def measured(home: Path, spread: tuple[float, ...]) -> None:
    NoiseFloors(home / "noise.json").keep(measure([run(step(IOPS * factor)) for factor in spread]))


def test_a_noise_floor_sizes_the_experiment_and_this_is_reported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(home, SPREAD)
    found = experiment(100)
    print_runs_needed(found)
    said = capsys.readouterr().err
    assert said == (  # 95 x (0.0228 / ln 1.05)² x 7 / 5, to the next even number
        "identical runs differ by 2.3 % (noise floor): detecting a change of 5 % with 90 % power"
        " needs at most 30 runs, half of that on average\n"
    )
    print_runs_needed(found)
    assert capsys.readouterr().err == "", "it is said once"


def test_a_short_time_limit_is_reported(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, SPREAD)
    print_runs_needed(experiment(12))
    assert "at most 30 runs" in (said := capsys.readouterr().err)
    assert said.endswith("; only 12 fit in the time limit, so the result may stay undecided\n")


def test_a_quiet_target_needs_no_more_than_the_least(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(home, (1.0, 1.0, 1.001, 1.001))
    print_runs_needed(experiment(100))
    assert "needs at most 10 runs" in capsys.readouterr().err


def test_without_a_noise_floor_of_this_configuration_the_runs_say_how_many_it_takes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    NoiseFloors(home / "noise.json").keep(
        measure([run(step(IOPS * each, params={"numjobs": 9})) for each in SPREAD])
    )
    found = experiment(100, *"AB")
    assert interim_result(found) is None
    assert (found.most, capsys.readouterr().err) == (100, "")
    found = experiment(100, *"ABBA")
    interim_result(found)
    assert found.most == 20  # 1.6 %, by two degrees of freedom
    assert "continuing to at most 20 runs" in capsys.readouterr().err


def test_when_the_time_ends_on_an_odd_run_it_says_what_it_could_have_detected(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = experiment(6, *"ABBAA")
    assert concluded(found, interim_result(found)) == 3
    out = capsys.readouterr().out
    assert "undecided: out of time; 4 runs can detect a change of" in out
    assert "To continue: --name mine --within DURATION" in out


def changed(name: str) -> RunRecord:
    """A run of side A but for one thing."""
    record = run(run_id="20260101T000000Z-x")
    if name == "profile":
        record.profile.tag = "test/q"
    elif name == "hosts":
        record.hosts[0].name = "h2"
    else:
        record.profile.params["numjobs"] = 8
    return record


@pytest.mark.parametrize(("name", "said"), [
    ("profile", "profile test/q, now test/p"), ("hosts", "hosts h2, now h1"),
    ("numjobs", "numjobs 8, now 1"),
])  # fmt: skip
def test_a_run_that_was_measured_otherwise_belongs_to_no_side(name: str, said: str) -> None:
    found = experiment(12)
    check_belongs(found, "A", found.records["A"][0])
    with pytest.raises(
        UsageError, match=f"was measured differently: {said}; choose another --name"
    ):
        check_belongs(found, "A", changed(name))


def test_sides_that_cannot_be_compared_have_no_better_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = experiment(12, *"ABBA")
    assert obstacles_of(found) == []
    for record in found.records["B"]:
        record.steps[0].params["iodepth"] = 4
    assert concluded(found, interim_result(found)) == 3
    assert "the sides are not comparable: iodepth: A not set, B 4" in capsys.readouterr().out

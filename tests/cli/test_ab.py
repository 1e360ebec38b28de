"""`benchtui ab`: how many runs an experiment makes, by what was measured before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.results.compare_runs import IOPS, run, step
from tui.cli.ab import MOST_RUNS, Experiment, size
from tui.model.plan import Plan, ProfileRef
from tui.results.compare.noise import NoiseFloors, measure

SPREAD = (0.97, 0.98, 1.0, 1.0, 1.02, 1.03)  # 2.28 % in the deviation


def experiment(room: int) -> Experiment:
    """An experiment with one run of side A and time for so many in all."""
    plan = Plan(ProfileRef("test/p", 1, "", "", ""), {}, [], [])
    made = Experiment("mine", {}, plan, 0.05, 0.0, most=min(MOST_RUNS, room), room=room)
    made.records["A"].append(run())
    return made


def measured(home: Path, spread: tuple[float, ...]) -> None:
    NoiseFloors(home / "noise.json").keep(measure([run(step(IOPS * factor)) for factor in spread]))


def test_a_noise_floor_sizes_the_experiment_and_it_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, SPREAD)
    found = experiment(room=100)
    size(found)
    assert found.most == 22  # 95 x (0.0228 / ln 1.05)², to the next even number
    said = capsys.readouterr().err
    assert said == (
        "runs of the same differ by 2.3 % (noise floor): a change of 5 % takes 22 runs at most, half as many in the "
        "mean, to be found in 9 of 10 cases\n"
    )
    size(found)
    assert capsys.readouterr().err == "", "it is said once"


def test_where_time_is_short_for_that_it_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(home, SPREAD)
    found = experiment(room=12)
    size(found)
    assert found.most == 12
    assert "22 runs at most" in (said := capsys.readouterr().err)
    assert said.endswith("; there is time for 12, so it may stay unknown\n")


def test_a_quiet_target_needs_no_more_than_the_least(home: Path) -> None:
    measured(home, (1.0, 1.0, 1.001, 1.001))
    found = experiment(room=100)
    size(found)
    assert found.most == 10


def test_without_a_noise_floor_of_this_configuration_nothing_changes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    NoiseFloors(home / "noise.json").keep(measure([run(step(IOPS * each, params={"numjobs": 9})) for each in SPREAD]))
    found = experiment(room=100)
    size(found)
    assert (found.most, capsys.readouterr().err) == (MOST_RUNS, "")

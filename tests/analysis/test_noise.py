from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.records import IOPS, repeated, run, step
from tui.analysis.compare import compare
from tui.analysis.measured import NoiseFloors, measure


@pytest.fixture
def floors(tmp_path: Path) -> NoiseFloors:
    """The floor of six runs, 3 % apart."""
    found = NoiseFloors(tmp_path / "noise.json")
    found.keep(measure([run(step(IOPS * factor)) for factor in (0.97, 0.98, 1.0, 1.0, 1.02, 1.03)]))
    return found


def test_a_floor_is_the_deviation_of_the_same_and_is_found_again(floors: NoiseFloors) -> None:
    kept = NoiseFloors.read(floors.path).floor(run(), "read.iops")
    assert kept is not None
    assert (kept.n, round(kept.cov, 4)) == (6, 0.0228)
    assert kept.of_one_run == pytest.approx(2.5706 * 2**0.5 * kept.cov)


def test_single_runs_that_differ_less_than_the_floor_do_not_differ(floors: NoiseFloors) -> None:
    a, b = run(), run(step(IOPS * 1.06, seed=2))
    assert compare([a], [b], floors).word == "inconclusive"
    assert compare([a], [run(step(IOPS * 1.2, seed=2))], floors).word == "better"


def test_of_repetitions_the_floor_is_their_deviation(floors: NoiseFloors) -> None:
    values = [IOPS * each for each in (0.99, 1.0, 1.001, 1.01)]
    found = compare([repeated(values)], [repeated([each * 1.05 for each in values])], floors)
    assert found.word == "better"


@pytest.mark.parametrize("change", ["target", "params", "hosts"])
def test_a_floor_is_of_one_configuration(floors: NoiseFloors, change: str) -> None:
    other = run()
    if change == "target":
        other.target = "/mnt/other"
    elif change == "params":
        other.profile.params["numjobs"] = 8
    else:
        other.hosts[0].name = "h9"
    assert floors.floor(other, "read.iops") is None


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    assert NoiseFloors.read(tmp_path / "none.json").floor(run(), "read.iops") is None

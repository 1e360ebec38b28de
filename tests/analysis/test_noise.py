from __future__ import annotations

from math import exp
from pathlib import Path

import pytest

from tests.samples.records import IOPS, repeated, run, step
from tui.analysis.compare import compare
from tui.analysis.measured import Floor, NoiseFloors, levels, measure
from tui.model.record import RunRecord


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


def test_what_is_detectable_is_what_compare_detects(floors: NoiseFloors) -> None:
    kept = floors.floor(run(), "read.iops")
    assert kept is not None
    records = [run()]
    level = levels(records, ["read.iops", "read.p99", "read.mean"])
    assert level == {"read.iops": 0.04, "read.p99": 0.005, "read.mean": 0.005}
    least = kept.detectable(level["read.iops"])
    assert least == pytest.approx(exp(2.7565 * 2**0.5 * kept.cov) - 1, rel=1e-3)
    for times, word in ((1.001, "better"), (0.999, "inconclusive")):
        other = run(step(IOPS * (1 + least * times), seed=2))
        assert compare(records, [other], floors).word == word
    assert Floor(6, 0.0001).detectable(0.04) == 0.02, "smaller changes are never reported"


def test_the_floor_of_an_imported_load_is_not_that_of_one_with_other_options(
    tmp_path: Path,
) -> None:
    def imported(factor: float, **options: str) -> RunRecord:
        record = run(step(IOPS * factor))
        record.state = "imported"
        record.steps[0].options = dict(options)
        return record

    floors = NoiseFloors(tmp_path / "noise.json")
    floors.keep(measure([imported(factor, bs="4k") for factor in (1.0, 1.01)]))
    assert floors.floor(imported(1.0, bs="4k"), "read.iops") is not None
    assert floors.floor(imported(1.0, bs="64k"), "read.iops") is None
    assert floors.floor(run(), "read.iops") is None


def test_repetitions_within_runs_count_as_one_run(tmp_path: Path) -> None:
    near = (0.999, 1.0, 1.0, 1.001)
    apart = [repeated([IOPS * run * each for each in near]) for run in (0.95, 1.0, 1.05)]
    assert not measure(apart[:1]).figures, "one run shows no noise between runs"
    found = measure(apart).figures["read.iops"]
    assert (found.n, round(found.cov, 3)) == (3, 0.05)


def test_a_floor_of_an_older_version_that_counted_repetitions_is_not_used(tmp_path: Path) -> None:
    made = measure([repeated([IOPS]), repeated([IOPS * 1.01])])
    made.figures = {name: Floor(8, each.cov) for name, each in made.figures.items()}
    floors = NoiseFloors(tmp_path / "noise.json")
    floors.keep(made)
    assert NoiseFloors.read(floors.path).floor(repeated([IOPS]), "read.iops") is None


def test_single_runs_that_differ_less_than_the_floor_do_not_differ(floors: NoiseFloors) -> None:
    a, b = run(), run(step(IOPS * 1.06, seed=2))
    assert compare([a], [b], floors).word == "inconclusive"
    assert compare([a], [run(step(IOPS * 1.2, seed=2))], floors).word == "better"


def test_of_repetitions_the_floor_is_their_deviation(floors: NoiseFloors) -> None:
    values = [IOPS * each for each in (0.99, 1.0, 1.001, 1.01)]
    a, b = ([run(step(each * factor)) for each in values] for factor in (1, 1.05))
    assert compare(a, b, floors).word == "better"


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

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec import convert

from tests.samples.records import run, step
from tui.analysis.setup import (
    PointMeasurement,
    PointSetup,
    SearchSetup,
    head_of,
    measured,
    measured_at,
)
from tui.analysis.trend import change_points, trends_of
from tui.library.summary import RunSummary
from tui.model.host_record import HostRecord
from tui.model.record import RunRecord
from tui.model.step_record import PreconditionRecord
from tui.text.line import plain_lines
from tui.text.plot import MARKS
from tui.view.trend import others_lines, trend_chart, trend_lines


def history(values: list[float], target: str = "/mnt/a", unit: str = "iops") -> list[RunSummary]:
    return [
        RunSummary(f"r{at:03}", f"2026-01-01T00:00:{at:02}Z", "test/p", ["h1"], "complete",
            f"read {value:.0f} IOPS",
                   value, unit, target=target)
        for at, value in enumerate(values)
    ]  # fmt: skip


def noisy(*levels: float, each: int = 8, seed: int = 1) -> list[float]:
    random = np.random.default_rng(seed)
    return [float(level * value) for level in levels for value in random.normal(1, 0.01, each)]


def test_a_step_in_the_history_is_found_at_its_place() -> None:
    (found,) = change_points(noisy(1000, 900))
    assert found.at == 8
    assert found.ratio == pytest.approx(0.9, abs=0.02)


def test_two_steps_are_two_changes() -> None:
    assert [each.at for each in change_points(noisy(1000, 900, 1100))] == [8, 16]


def test_noise_alone_seldom_has_a_change() -> None:
    found = [bool(change_points(noisy(1000, each=24, seed=seed))) for seed in range(40)]
    assert sum(found) <= 4


def test_a_step_that_does_not_matter_is_none() -> None:
    assert (
        change_points([1000.0 + at % 2 for at in range(8)] + [1010.0 + at % 2 for at in range(8)])
        == []
    )


def test_fewer_than_eight_runs_cannot_tell() -> None:
    (found,) = trends_of(history(noisy(1000, 500, each=3)), "test/p")
    assert found.changes == ()
    assert "8 runs are required" in "\n".join(plain_lines(trend_lines(found, None)))


def test_each_target_has_a_history_of_its_own_and_unfit_runs_are_counted() -> None:
    runs = [*history(noisy(1000, 900)), *history([5.0], "/mnt/b")]
    runs[0].verdict, runs[1].state = "invalid", "partial"
    found = trends_of(runs, "test/p")
    assert [(each.target, len(each.runs), each.left_out) for each in found] == [
        ("/mnt/a", 14, 2),
        ("/mnt/b", 1, 0),
    ]
    assert [each.target for each in trends_of(runs, "test/p", "/mnt/b")] == ["/mnt/b"]


def test_the_change_is_in_the_table_and_in_the_chart() -> None:
    (found,) = trends_of(history(noisy(1000, 900)), "test/p")
    lines = plain_lines(trend_lines(found, None))
    (changed,) = [line for line in lines if "since this run" in line]
    assert changed.startswith("r008") and "worse since this run: -" in changed
    assert any(MARKS[1] in line for line in plain_lines(trend_chart(found, 80))[1:])


def test_of_latencies_more_is_worse() -> None:
    (found,) = trends_of(history(noisy(1000, 1200), unit="ns"), "test/p")
    assert any("worse since this run: +" in line for line in plain_lines(trend_lines(found, None)))


# -- what was measured otherwise is another history


def alike(**parts: str) -> PointSetup:
    return PointSetup(tuple(parts.items()))


def test_other_parameters_are_another_history_and_no_regression() -> None:
    runs = history(noisy(1000, 500))
    small, large = alike(bs="4k", hosts="h1"), alike(bs="64k", hosts="h1")
    setups = {run.run_id: large if at < 8 else small for at, run in enumerate(runs)}
    (found,) = trends_of(
        runs, "test/p", setups_of=lambda run: [PointMeasurement("", setups[run.run_id])]
    )
    assert (found.runs[0].run_id, len(found.runs), found.changes) == ("r008", 8, ())
    (other,) = found.others
    assert (other.runs, other.newest.run_id, other.differs) == (8, "r007", "bs 64k, here 4k")
    (asked,) = trends_of(
        runs,
        "test/p",
        setups_of=lambda run: [PointMeasurement("", setups[run.run_id])],
        like={"": large},
    )
    assert asked.setup == large
    every = trends_of(
        runs, "test/p", setups_of=lambda run: [PointMeasurement("", setups[run.run_id])], every=True
    )
    assert {each.setup for each in every} == {small, large} and not any(
        each.others for each in every
    )


def test_what_was_measured_otherwise_is_named_with_how_to_see_it() -> None:
    runs = history([1000.0, 500.0])
    look = {
        "r000": [PointMeasurement("", alike(hosts="h1, h2", tool="fio 3"))],
        "r001": [PointMeasurement("", alike(tool="fio 3"))],
    }
    (found,) = trends_of(runs, "test/p", setups_of=lambda run: look[run.run_id])
    text = "\n".join(plain_lines(others_lines([found], 80)))
    assert (
        "1 run, newest r000:" in text and "hosts h1, h2, here none" in text and "--like RUN" in text
    )
    assert max(map(len, text.splitlines())) <= 80


def test_runs_without_a_headline_are_counted_as_left_out() -> None:
    runs = history([1000.0, 1001.0])
    runs.append(
        RunSummary("r9", "2026-01-02T00:00:00Z", "test/p", ["h1"], "failed", target="/mnt/a")
    )
    (found,) = trends_of(runs, "test/p")
    assert found.left_out == 1


@pytest.mark.parametrize(("state", "counts"), [("found", True), ("unfinished", False)])
def test_only_capacities_that_were_found_are_part_of_a_history(state: str, counts: bool) -> None:
    head = head_of(run())
    head.search = convert({"kind": "capacity", "answer": {"state": state}}, SearchSetup)
    (point,) = measured(head)
    assert bool(trends_of(history([1000.0]), "test/p", setups_of=lambda _: [point])) == counts


@pytest.mark.parametrize(("change", "said"), [
    (lambda record: record.steps[0].params.update(bs=65536), "bs 65536, here none"),
    (lambda record: record.hosts.append(HostRecord(name="h2")), "hosts h1, h2, here h1"),
    (lambda record: record.provenance.tool_versions.update(h1="fio-2.99"), "tool fio 2, here fio"),
    (lambda record: setattr(record.profile, "version", 2), "profile version 2, here 1"),
    (lambda record: setattr(record.profile, "text", "fio: {global: {bs: 64k}}"),
        "different profile text"),
    (lambda record: setattr(record, "latency_kind", "lat"), "latency counted lat, here clat"),
    (lambda record: setattr(record, "precondition", PreconditionRecord(left_out=True)),
     "preconditioning skipped yes, here none"),
])  # fmt: skip
def test_a_record_tells_how_it_was_measured(change: Callable[[RunRecord], None], said: str) -> None:
    one, other = run(), run()
    change(other)
    (ours,), (theirs,) = (measured(head_of(each)) for each in (one, other))
    assert theirs.setup.differs(ours.setup) == said


@pytest.mark.parametrize("change", [
    lambda record: record.steps[0].params.update(directory="/mnt/elsewhere"),
    lambda record: setattr(record.profile, "text", "title: another one\nthresholds: ['iops < 1']"),
    lambda record: setattr(record, "run_id", "20260202T000000Z-b"),
])  # fmt: skip
def test_places_and_words_of_people_are_the_same_history(
    change: Callable[[RunRecord], None],
) -> None:
    one, other = run(), run()
    change(other)
    assert measured(head_of(one)) == measured(head_of(other))


def test_points_are_distinguished_by_what_is_not_swept(tmp_path: Path) -> None:
    record = run(
        *(
            step(index=at, point={"bs": bs}, params={"bs": bs, "numjobs": 4})
            for at, bs in enumerate((4, 8))
        )
    )
    (tmp_path / "run.json").write_text(record.to_json())
    found = measured_at(tmp_path)
    assert [each.point for each in found] == ["test/p bs=4", "test/p bs=8"]
    assert dict(found[0].setup.parts)["numjobs"] == "4" and "bs" not in dict(found[0].setup.parts)
    assert found[0].setup == found[1].setup


def test_a_counter_experiment_is_no_part_of_a_history_and_a_damaged_record_no_error(
    tmp_path: Path,
) -> None:
    record = json.loads(run().to_json())
    record["proves"] = {"run_id": "x"}
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert measured_at(tmp_path) == []
    (tmp_path / "run.json").write_text("{")
    assert measured_at(tmp_path) == [PointMeasurement()]


def test_kept_records_tell_how_they_were_measured() -> None:
    """Those of older versions, too."""
    for name in ("plain", "sweep", "mdtest"):
        for each in measured_at(Path(__file__).parent.parent / "data" / "runs" / name):
            parts = dict(each.setup.parts)
            assert parts["hosts"] and parts["profile version"] and len(parts) > 4

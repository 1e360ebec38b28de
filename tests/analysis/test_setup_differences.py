"""Differences in how two sides were judged and held."""

from __future__ import annotations

from tests.samples.records import run, step
from tui.analysis.setup_differences import differences
from tui.model.record import RunRecord
from tui.model.search_record import SearchRecord


def test_thresholds_of_checks_that_only_one_side_changed_are_listed() -> None:
    a, b = [run(step(1000.0), run_id="a")], [run(step(1000.0), run_id="b")]
    b[0].thresholds = {"client-cpu.host": 101.0}
    found = [each for each in differences(a, b, ()) if "client-cpu.host" in each.b]
    assert [(each.a, each.blocks) for each in found] == [("none", False)]


def test_capacities_that_were_not_held_as_long_are_listed() -> None:
    def searched(held_s: float | None) -> RunRecord:
        capacity = {"value": 1000.0, "low": 990.0, "high": 1010.0}
        answer = {"state": "found", "capacity": capacity, "unit": "iops", "held_s": held_s}
        search = SearchRecord.model_validate(
            {"kind": "capacity", "most_points": 9, "answer": answer}
        )
        return run(step(1000.0), run_id=f"r{held_s}").model_copy(update={"search": search})

    found = differences([searched(300.0)], [searched(None)])
    assert [(each.a, each.b) for each in found if "held" in each.what] == [("5 min", "not held")]
    assert not [
        each for each in differences([searched(300.0)], [searched(300.0)]) if "held" in each.what
    ]

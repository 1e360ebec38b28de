from __future__ import annotations

import numpy as np
import pytest

from tui.results.compare.trend import change_points, trend_chart, trend_lines, trends_of
from tui.results.store.summary import RunSummary
from tui.text.line import plain_lines


def history(values: list[float], target: str = "/mnt/a", unit: str = "iops") -> list[RunSummary]:
    return [
        RunSummary(f"r{at:03}", f"2026-01-01T00:00:{at:02}Z", "test/p", ["h1"], "complete", f"read {value:.0f} IOPS",
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
    assert change_points([1000.0 + at % 2 for at in range(8)] + [1010.0 + at % 2 for at in range(8)]) == []


def test_fewer_than_eight_runs_cannot_tell() -> None:
    (found,) = trends_of(history(noisy(1000, 500, each=3)), "test/p")
    assert found.changes == ()
    assert "8 runs are needed" in "\n".join(plain_lines(trend_lines(found, None)))


def test_each_target_has_a_history_of_its_own_and_unfit_runs_are_counted() -> None:
    runs = [*history(noisy(1000, 900)), *history([5.0], "/mnt/b")]
    runs[0].verdict, runs[1].state = "invalid", "partial"
    found = trends_of(runs, "test/p")
    assert [(each.target, len(each.runs), each.left_out) for each in found] == [("/mnt/a", 14, 2), ("/mnt/b", 1, 0)]
    assert [each.target for each in trends_of(runs, "test/p", "/mnt/b")] == ["/mnt/b"]


def test_the_change_stands_in_the_table_and_in_the_chart() -> None:
    (found,) = trends_of(history(noisy(1000, 900)), "test/p")
    lines = plain_lines(trend_lines(found, None))
    (changed,) = [line for line in lines if "from here on" in line]
    assert changed.startswith("r008") and "worse from here on: -" in changed
    assert any("x" in line for line in plain_lines(trend_chart(found, 80))[1:])


def test_of_latencies_more_is_worse() -> None:
    (found,) = trends_of(history(noisy(1000, 1200), unit="ns"), "test/p")
    assert any("worse from here on: +" in line for line in plain_lines(trend_lines(found, None)))

"""Steady state by SNIA's rule, and which rounds are of one window."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tui.engine.session.history import read_history
from tui.journal.rundir import load_plan
from tui.metrics.figures import over_hosts, value_of
from tui.metrics.steady import (
    Round,
    SteadyWindow,
    change_in,
    is_steady,
    round_of,
    window_of,
    window_over,
)
from tui.model.plan import Headline, Precondition

DATA = Path(__file__).parents[1] / "data"

RULE = Precondition("round", number=1, rounds=25, window=5, range=0.2, slope=0.1)
RATES = st.lists(st.floats(1.0, 1e6), min_size=2, max_size=12)


def rounds(*values: float | None, hosts: tuple[str, ...] = ("h1", "h2")) -> list[Round]:
    return [Round(value, hosts) for value in values]


def known(window: SteadyWindow | None) -> SteadyWindow:
    assert window is not None
    return window


def test_a_window_has_its_range_and_its_excursion_as_shares_of_the_mean() -> None:
    window = known(window_of([90, 95, 100, 105, 110]))
    assert [window.range, window.slope] == pytest.approx([0.2, 0.2])


def test_one_round_that_sticks_out_makes_a_range_and_no_slope() -> None:
    window = known(window_of([100, 100, 130, 100, 100]))
    assert [window.range, window.slope] == pytest.approx([30 / 106, 0.0])


@given(RATES, st.floats(0.001, 1000.0))
def test_a_window_does_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    one, other = known(window_of(values)), known(window_of([value * factor for value in values]))
    assert other.range == pytest.approx(one.range, rel=1e-6, abs=1e-9)
    assert other.slope == pytest.approx(one.slope, rel=1e-6, abs=1e-9)


@given(RATES)
def test_a_window_backwards_drifts_as_much(values: list[float]) -> None:
    assert known(window_of(values[::-1])).slope == pytest.approx(
        known(window_of(values)).slope, rel=1e-6, abs=1e-9
    )


@given(RATES)
def test_a_line_moves_by_less_than_twice_the_range(values: list[float]) -> None:
    window = known(window_of(values))
    assert window.slope <= 2 * window.range + 1e-9


@given(st.floats(1.0, 1e6), st.integers(2, 9))
def test_rounds_that_are_all_the_same_are_steady(value: float, count: int) -> None:
    window = known(window_of([value] * count))
    assert [window.range, window.slope] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_the_window_is_over_the_last_rounds() -> None:
    values = (900.0, 500.0, 100.0, 101.0, 99.0, 100.0, 100.0)
    assert known(window_over(RULE, rounds(*values))).means == values[-5:]
    assert is_steady(RULE, rounds(*values))


def test_too_few_rounds_are_no_window() -> None:
    assert window_over(RULE, rounds(1.0, 1.0, 1.0, 1.0)) is None
    assert not is_steady(RULE, rounds(1.0, 1.0, 1.0, 1.0))


def test_a_round_without_a_figure_begins_the_window_again() -> None:
    assert window_over(RULE, rounds(1.0, 1.0, 1.0, None, 1.0, 1.0)) is None


def test_rounds_of_more_hosts_are_not_of_the_same_window() -> None:
    before = rounds(200.0, 200.0, 200.0)
    assert window_over(RULE, [*before, *rounds(100.0, 100.0, hosts=("h1",))]) is None


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ((90.0, 110.0, 90.0, 110.0, 100.0), True),  # range 20 %, slope 4 %
        ((89.0, 111.0, 90.0, 110.0, 100.0), False),  # range 22 %
        ((95.0, 97.5, 100.0, 102.5, 105.0), True),  # slope 10 %
        ((94.0, 97.0, 100.0, 103.0, 106.0), False),  # slope 12 %
    ],
)
def test_both_rules_have_to_hold(values: tuple[float, ...], steady: bool) -> None:
    assert is_steady(RULE, rounds(*values)) is steady


FIGURES: tuple[tuple[Literal["iops", "bandwidth", "latency"], float | None], ...] = (
    ("iops", None),
    ("bandwidth", None),
    ("latency", None),
    ("latency", 99.0),
)
HEADLINES = [
    Headline(metric, name, at) for metric, at in FIGURES for name in ("read", "write", "mixed")
]


@pytest.mark.parametrize("headline", HEADLINES, ids=str)
@pytest.mark.parametrize("kind", ["clat", "lat"])
def test_a_round_has_the_same_figure_as_a_measurement_of_its_hosts(
    headline: Headline, kind: str
) -> None:
    """Of each host only the latencies that it takes are merged."""
    run_dir = DATA / "runs" / "plain"
    plan = replace(load_plan(run_dir), headline=headline, latency_kind=kind)
    results = read_history(run_dir / "journal.jsonl").at(0).results
    hosts = tuple(plan.steps[0].hosts)
    expected = value_of(headline, over_hosts([results[host].dirs for host in hosts]), kind)
    assert len(hosts) > 1
    assert expected is not None or headline.direction == "write"
    assert round_of(plan, plan.steps[0], results) == Round(expected, hosts)


def test_hosts_without_a_whole_result_are_not_of_a_round() -> None:
    run_dir = DATA / "runs" / "plain"
    plan = load_plan(run_dir)
    results = read_history(run_dir / "journal.jsonl").at(0).results
    first, *others = plan.steps[0].hosts
    for broken in (replace(results[first], errors=[5]), replace(results[first], final=False), None):
        assert round_of(plan, plan.steps[0], {**results, first: broken}).hosts == tuple(others)


def test_a_disturbed_second_hides_no_change() -> None:
    values = [640.0, 650, 645, 90, 648, 655, 500, 240, 238, 244, 241, 20, 239, 242]
    found = change_in(values)
    assert found is not None and found.after < 0.5 * found.before
    assert change_in([640.0, 650, 645, 90, 648, 655, 652, 640, 641, 644, 20, 639, 642, 650]) is None


def test_random_walks_seldom_look_like_a_change() -> None:
    rng, found = Random(5), 0
    for _ in range(300):
        steps = accumulate(rng.gauss(0, 30) for _ in range(rng.randint(12, 24)))
        found += change_in([max(1000 + each, 0.0) for each in steps]) is not None
    assert found <= 6

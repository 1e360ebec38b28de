"""Histograms whose latencies were multiplied have empty buckets; those of any clock do not count."""

from __future__ import annotations

from math import erf, log, sqrt
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tui.metrics.buckets import bucket_edges, index_to_value, value_to_index
from tui.workloads.fio.grids import holes_in

IOS = 2_000_000
MEANS = st.floats(20_000, 2_000_000)
SPREADS = st.floats(0.5, 1.2)


def below(value: float, mean: float, spread: float) -> float:
    return 0.5 * (1 + erf(log(max(value, 1e-9) / mean) / spread / sqrt(2)))


def measured(mean: float, spread: float, tick: float, rng: Random) -> dict[int, int]:
    """Return a histogram of log-normal latencies, by a clock with this tick in ns."""
    due: dict[int, float] = {}
    at = max(tick, 1.0)
    low, high = mean / 30, mean * 30
    if tick > 64:
        for number in range(int(low / at), int(min(high, low + 200_000 * at) / at)):
            value = number * at
            share = below(value + at / 2, mean, spread) - below(value - at / 2, mean, spread)
            index = value_to_index(round(value) + rng.choice((0, 0, 1)))
            due[index] = due.get(index, 0.0) + share * IOS
    else:
        for index in range(value_to_index(int(low)), value_to_index(int(high))):
            first, last = bucket_edges(index)
            due[index] = (below(last + 1, mean, spread) - below(first, mean, spread)) * IOS
    counts = {index: round(rng.gauss(each, sqrt(each))) for index, each in due.items()}
    return {index_to_value(index): count for index, count in counts.items() if count > 0}


def multiplied(bins: dict[int, int], by: float) -> dict[int, int]:
    found: dict[int, int] = {}
    for value, count in bins.items():
        key = index_to_value(value_to_index(round(value * by)))
        found[key] = found.get(key, 0) + count
    return found


@settings(max_examples=40, deadline=None)
@given(
    MEANS,
    SPREADS,
    st.sampled_from((1.0, 10.0, 41.67, 100.0, 1000.0, 4096.0, 10_000.0)),
    st.integers(0),
)
def test_no_clock_makes_holes(mean: float, spread: float, tick: float, seed: int) -> None:
    assert holes_in(measured(mean, spread, tick, Random(seed))) == 0


@settings(max_examples=40, deadline=None)
@given(MEANS, SPREADS, st.floats(64, 50_000), st.integers(0))
def test_no_tick_of_any_length_makes_holes(
    mean: float, spread: float, tick: float, seed: int
) -> None:
    assert holes_in(measured(mean, spread, tick, Random(seed))) == 0


@settings(max_examples=40, deadline=None)
@given(MEANS, SPREADS, st.one_of(st.floats(0.6, 0.91), st.floats(1.1, 1.5)), st.integers(0))
def test_a_factor_makes_holes(mean: float, spread: float, by: float, seed: int) -> None:
    assume(abs(by - 2 / 3) > 0.01)
    assert holes_in(multiplied(measured(mean, spread, 1.0, Random(seed)), by)) > 0

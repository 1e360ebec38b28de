from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.events import histogram
from tui.analysis import stats
from tui.metrics import blocks
from tui.metrics.repeat import least_p


@pytest.fixture(scope="module")
def scipy_stats() -> Any:
    """Other formulas for the same.

    A second of CPU to load, which those who only collect tests need not pay.
    """
    from scipy import stats as loaded

    return loaded


def test_a_shift_of_repetitions_is_found_again(scipy_stats: Any) -> None:
    a = [100.0, 102.0, 98.0, 101.0, 99.0, 103.0]
    found = stats.of_repetitions(a, [each * 1.2 for each in a])
    assert found.ratio == pytest.approx(1.2, rel=0.02)
    assert found.low is not None and found.high is not None
    assert found.low < 1.2 < found.high
    assert found.p == pytest.approx(
        scipy_stats.mannwhitneyu(a, [each * 1.2 for each in a], method="exact").pvalue
    )


def test_the_interval_of_repetitions_covers_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(300):
        a, b = random.lognormal(0, 0.05, 6), random.lognormal(np.log(1.1), 0.05, 6)
        found = stats.of_repetitions(list(a), list(b))
        hits += (found.low or 0) <= 1.1 <= (found.high or 0)
    assert hits >= 0.93 * 300


def test_ties_are_counted_as_what_they_are(scipy_stats: Any) -> None:
    a, b = [10.0, 10.0, 10.0, 11.0, 11.0], [10.0, 11.0, 11.0, 11.0, 12.0]
    slow = scipy_stats.PermutationMethod(n_resamples=1000)
    expected = scipy_stats.mannwhitneyu(a, b, method=slow).pvalue
    assert expected != pytest.approx(scipy_stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert stats.of_repetitions(a, b).p == pytest.approx(expected)
    many = stats.of_repetitions(a * 3, b * 3).p
    assert many == pytest.approx(scipy_stats.mannwhitneyu(a * 3, b * 3, method="asymptotic").pvalue)


few = st.lists(st.sampled_from([float(each) for each in range(1, 12)]), min_size=3, max_size=6)
many = st.lists(st.floats(1, 1e6), min_size=3, max_size=12, unique=True)


@given(many, many)
def test_p_without_ties_is_that_of_scipy(a: list[float], b: list[float]) -> None:
    from scipy import stats as other

    if len({*a, *b}) == len(a) + len(b):
        assert stats.mann_whitney(a, b) == pytest.approx(
            other.mannwhitneyu(a, b, method="exact").pvalue, rel=1e-9
        )


@given(few, few)
def test_p_of_ties_is_the_share_of_permutations(a: list[float], b: list[float]) -> None:
    from scipy import stats as other

    ranks = other.rankdata([*a, *b])
    sums = [sum(each) for each in combinations(ranks, len(a))]
    seen = sum(ranks[: len(a)])
    tails = [sum(each <= seen for each in sums), sum(each >= seen for each in sums)]
    assert stats.mann_whitney(a, b) == pytest.approx(min(1.0, 2 * min(tails) / len(sums)))


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0]), min_size=10, max_size=14), st.lists(
    st.sampled_from([1.0, 2.0, 3.0, 5.0]), min_size=10, max_size=14))  # fmt: skip
def test_p_of_many_ties_is_that_of_scipy(a: list[float], b: list[float]) -> None:
    from scipy import stats as other

    expected = other.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert stats.mann_whitney(a, b) == pytest.approx(
        1.0 if np.isnan(expected) else expected, rel=1e-9
    )


def test_repetitions_that_are_all_the_same_do_not_differ() -> None:
    found = stats.of_repetitions([10.0] * 5, [10.0] * 5)
    assert (found.ratio, found.low, found.high, found.p) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(("a", "b", "p"), [(3, 3, 0.1), (4, 4, 2 / 70), (5, 5, 2 / 252)])
def test_the_smallest_p_there_can_be(a: int, b: int, p: float) -> None:
    assert least_p(a, b) == pytest.approx(p)


def test_holm_corrects_from_the_smallest_up_and_never_falls() -> None:
    assert stats.holm([0.01, None, 0.04, 0.03]) == [
        pytest.approx(0.03),
        None,
        pytest.approx(0.06),
        pytest.approx(0.06),
    ]


def test_seconds_that_are_alike_make_longer_blocks_and_a_wider_spread() -> None:
    random = np.random.default_rng(3)
    noise = random.normal(0, 1, 600)
    slow = np.empty(600)
    slow[0] = noise[0]
    for at in range(1, 600):
        slow[at] = 0.9 * slow[at - 1] + noise[at] * np.sqrt(1 - 0.81)
    assert blocks.block_length(list(slow))[0] > 3 * blocks.block_length(list(noise))[0]
    quick_spread, slow_spread = (
        blocks.within_run(list(100 + noise)),
        blocks.within_run(list(100 + slow)),
    )
    assert quick_spread is not None and slow_spread is not None
    assert slow_spread.error > 2 * quick_spread.error


@pytest.mark.parametrize(("length", "bottom"), [(60, False), (60, True), (301, True)])
def test_the_spread_of_blocks_is_that_of_resamples(length: int, bottom: bool) -> None:
    random = np.random.default_rng(5)
    rates = (
        1000
        + 50 * random.normal(0, 1, length).cumsum() / np.sqrt(length)
        + 20 * random.normal(0, 1, length)
    )
    tops = rates * random.lognormal(0, 0.2, length) if bottom else rates
    below = rates if bottom else np.ones(length)
    found = blocks.within_run(list(tops), list(below) if bottom else None)
    held, lag = blocks.block_length(list(tops / below))
    count = length / held
    begins = random.integers(0, length - held + 1, size=(20_000, round(count)))
    drawn = [np.concatenate(([0.0], part.cumsum())) for part in (tops, below)]
    sums = [(each[begins + held] - each[begins]).sum(axis=1) for each in drawn]
    error = (sums[0] / sums[1]).std() / (tops.sum() / below.sum())
    widened = np.sqrt((1 + blocks.ACROSS * lag / held) * count / (count - 1))
    assert found is not None
    assert found.error == pytest.approx(error * widened, rel=0.03)


def test_fewer_than_ten_seconds_tell_nothing() -> None:
    assert blocks.within_run([100.0] * 9) is None


def test_the_interval_of_a_percentile_covers_as_often_as_it_says(scipy_stats: Any) -> None:
    random = np.random.default_rng(11)
    true = float(np.exp(0.3 * scipy_stats.norm.ppf(0.99)) * 100_000)
    hits = 0
    for _ in range(100):
        buckets = histogram([int(each) for each in random.lognormal(0, 0.3, 3000) * 100_000])
        found = stats.percentile_interval(buckets.idx, buckets.n, 99.0)
        assert found is not None
        hits += found[0] <= true <= found[1]
    assert hits >= 93


def test_a_percentile_of_clustered_ios_is_known_less_well() -> None:
    buckets = histogram([1000 * each for each in range(1, 2001)])
    one = stats.percentile_interval(buckets.idx, buckets.n, 90.0)
    clustered = stats.percentile_interval(buckets.idx, buckets.n, 90.0, blocks.LogSpread(0.2, 1000))
    assert one is not None and clustered is not None
    assert clustered[1] - clustered[0] > 2 * (one[1] - one[0])

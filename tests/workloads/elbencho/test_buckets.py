"""elbencho's histograms: which buckets a version has is seen from their edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.histogram import Histogram
from tui.workloads.elbencho.output import QUARTER, histogram


def quarter(latency_us: int) -> tuple[str, float]:
    """Return the range that a latency falls into, as elbencho 3.1 prints it, and its upper edge in
    µs.
    """
    power = next(
        power for power in range(112) if latency_us < QUARTER ** (power + 1) or power == 111
    )
    low, high = QUARTER**power if power else 0.0, QUARTER ** (power + 1)
    low_text, high_text = (f"{edge:.{1 if edge < 10 else 0}f}" for edge in (low, high))
    return f"{low_text}-{high_text}us", high


@given(st.lists(st.integers(1, 10**8), min_size=1, max_size=200))
def test_no_percentile_is_below_the_true_one_nor_further_above_it_than_the_width(
    latencies_us: list[int],
) -> None:
    counts: dict[str, int] = {}
    for each in latencies_us:
        name, _ = quarter(each)
        counts[name] = counts.get(name, 0) + 1
    found = histogram([{"range": name, "count": str(count)} for name, count in counts.items()])
    assert found is not None
    buckets, width = found
    told = Histogram.from_buckets(buckets).percentile(50)
    true = sorted(latencies_us)[(len(latencies_us) + 1) // 2 - 1] * 1000
    assert told is not None
    assert true - 500 <= told <= true * (1 + width) + 1000  # edges are printed in whole µs
    assert width == pytest.approx(0.1892, abs=1e-4)


def test_finer_buckets_of_newer_versions_are_seen_from_their_edges() -> None:
    found = histogram(
        [{"range": f"{low}-{low + 10}us", "count": "5"} for low in range(1000, 1100, 10)]
    )
    assert found is not None
    assert 0.009 < found[1] < 0.02  # two of 1 % may share a place of 1.6 %


def test_buckets_that_share_a_place_keep_the_larger_edge_and_all_counts() -> None:
    found = histogram(
        [{"range": "100000-100100us", "count": "1"}, {"range": "100100-100200us", "count": "2"}]
    )
    assert found is not None
    assert (sum(found[0].n), found[0].upper_ns[-1]) == (3, 100_200_000)


def test_no_histogram_is_none_and_broken_ones_are_errors() -> None:
    assert histogram([]) is None
    with pytest.raises(ValueError, match="expected a range with a unit"):
        histogram([{"range": "fast", "count": "1"}])

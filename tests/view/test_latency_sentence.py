"""The sentence above the latencies of two sides: where B is faster or slower, and by how much."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tui.analysis.compare import Word
from tui.metrics.histogram import Histogram
from tui.view.charts import NamedHistogram
from tui.view.comparison_charts import Latencies, latency_sentence

COUNT = 10_000


def said(slower: Callable[[int], float], word: Word = "worse") -> str:
    ours, theirs = Histogram(), Histogram()
    for at in range(COUNT):
        ours.record(100_000 + 10 * at)
        theirs.record(round((100_000 + 10 * at) * slower(at)))
    sides = [NamedHistogram(name, "", counts) for name, counts in (("A", ours), ("B", theirs))]
    return latency_sentence(Latencies("read", sides), word)


@pytest.mark.parametrize(("by", "way"), [(0.8, "lower"), (1.25, "higher")])
def test_a_change_of_all_percentiles_is_a_change_at_every_percentile(by: float, way: str) -> None:
    text = said(lambda _: by)
    assert text.startswith("B's read latency is ") and f" {way} at p50 to p99" in text


def test_percentiles_that_change_in_both_ways_are_named_by_their_way() -> None:
    text = said(lambda at: 0.8 if at < COUNT * 0.95 else 1.25)
    lower, _, higher = text.partition(" lower at ")[2].partition(", ")
    assert lower == "p50 and p90" and higher.endswith("higher at p99 and p99.9")


def test_what_is_not_proved_is_said_first_and_a_small_change_is_none() -> None:
    assert said(lambda _: 0.8, "inconclusive").startswith("Inconclusive: B's")
    assert "within 2 % of A's" in said(lambda _: 1.0, "no difference detected")

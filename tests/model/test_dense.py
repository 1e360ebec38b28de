"""Dense histograms, as journals keep them: nothing is lost, and old journals still open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.events import CASES, DATA, sample
from tui.journal.fold import fold_all
from tui.journal.reader import JournalEvent, read_events
from tui.journal.state import RunState
from tui.metrics.histogram import Histogram, PackedBuckets
from tui.model.dense import as_kept, dense, listed
from tui.model.event import ALL_BUCKETS, Buckets, DirectionSample, Sample, encode

counts = st.integers(1, 300) | st.integers(1, 1 << 16) | st.integers(1, 1 << 40)
histograms = st.dictionaries(st.integers(0, 60) | st.integers(0, ALL_BUCKETS - 1), counts)


def buckets_of(found: dict[int, int]) -> Buckets:
    return Histogram(found).buckets


def run_of(length: int, count: int) -> Buckets:
    """Return consecutive buckets with equal counts."""
    return Buckets(idx=[*range(length)], n=[count] * length)


@settings(max_examples=50, deadline=None)
@given(histograms)
def test_a_histogram_survives_the_journal(found: dict[int, int]) -> None:
    buckets = buckets_of(found)
    assert listed(dense(buckets)) == buckets
    assert PackedBuckets(dense(buckets)).buckets == buckets
    assert PackedBuckets(dense(buckets)).total == sum(buckets.n)


@settings(max_examples=50, deadline=None)
@given(st.lists(histograms, max_size=5))
def test_dense_histograms_add_up_as_lists_do(parts: list[dict[int, int]]) -> None:
    one_by_one, at_once, plain = Histogram(), Histogram(), Histogram()
    for part in parts:
        packed = PackedBuckets(dense(buckets_of(part)))
        one_by_one.add(packed)
        at_once.add(packed)
        plain.add(buckets_of(part))
        assert one_by_one.total == plain.total
    assert one_by_one == at_once == plain


@pytest.mark.parametrize("count", [255, 256, 65535])
def test_no_count_of_many_additions_spills_into_the_next_bucket(count: int) -> None:
    part, times = PackedBuckets(dense(run_of(20, count))), 70_000
    found = Histogram()
    for _ in range(times):
        found.add(part)
    assert found == Histogram(dict.fromkeys(range(20), count * times))


@pytest.mark.parametrize(
    "buckets",
    [
        Buckets(),
        Buckets(idx=[0, ALL_BUCKETS - 1], n=[1, 1]),  # far apart: lists are shorter
        Buckets(idx=[5], n=[1 << 16]),
        Buckets(idx=[5], n=[-1]),
        Buckets(idx=[5, 4], n=[1, 1]),
        Buckets(idx=[5, 5], n=[1, 1]),
        Buckets(idx=[5], n=[1], upper_ns=[6]),
    ],
)
def test_what_a_dense_histogram_cannot_hold_stays_lists(buckets: Buckets) -> None:
    assert dense(buckets) is buckets


GOOD = dense(run_of(20, 3))
assert isinstance(GOOD, bytes)
BROKEN = {
    "empty": b"",
    "a head alone": GOOD[:7],
    "three bytes a count": GOOD[:2] + b"\3" + GOOD[3:],
    "half a count": GOOD[:2] + b"\2" + GOOD[3:-1],
    "beyond the last bucket": b"\x40\x07" + GOOD[2:],
    "a sum that the counts cannot have": GOOD[:3] + b"\xff" * 4 + GOOD[7:],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_dense_histogram_is_a_damaged_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    event = sample(1.0, "h1", [1000])
    for lat in (GOOD, BROKEN[name]):
        event.dirs["read"] = DirectionSample(1, 1, lat=lat)
        with path.open("ab") as file:
            file.write(encode(event))
    reader = read_events(path)
    assert [type(each).__name__ for each in reader] == ["Sample", "Unreadable"]
    assert reader.damaged == 1


def test_the_name_of_a_host_may_be_any_text(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    kept = as_kept(msgspec.structs.replace(sample(1.0, "Z\u00fcrich", [1000] * 3)))
    assert isinstance(kept.dirs["read"].lat, bytes)
    path.write_bytes(encode(kept))
    assert list(read_events(path)) == [kept]


@pytest.mark.parametrize("case", CASES)
def test_an_old_journal_gives_the_same_figures_as_a_dense_one(case: str) -> None:
    assert figures_of(case, lambda event: event) == figures_of(case, dense_of)


def dense_of(event: JournalEvent) -> JournalEvent:
    return as_kept(event) if isinstance(event, Sample) else event


def figures_of(case: str, kept: Callable[[JournalEvent], JournalEvent]) -> object:
    """Return what screens and records read of each second of a journal."""
    return [*seconds_of(case, kept, for_record=False), *seconds_of(case, kept, for_record=True)]


def seconds_of(
    case: str, kept: Callable[[JournalEvent], JournalEvent], *, for_record: bool
) -> Iterator[object]:
    state = RunState(tails_open_s=3, for_record=for_record)
    for event in read_events(DATA / case / "journal.jsonl"):
        fold_all(state, [kept(event)])
        for view in state.cluster.values():
            yield view.interval_percentiles, view.so_far_percentiles
    for direction in state.cluster:
        for host in (None, *state.hosts):
            tails = state.current.tails(host, direction)
            yield direction, host, tails.by_second if tails is not None else None
    for heat in state.current.heat.values():
        yield heat.between(0, 100)

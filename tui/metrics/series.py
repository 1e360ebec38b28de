"""Rates and latency histograms over time."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import ceil, floor, isnan, nan

from msgspec import Struct, field

from tui.metrics.buckets import bucket_edges, index_to_value, rank
from tui.metrics.figures import enough_behind
from tui.metrics.histogram import Histogram, PackedBuckets
from tui.model.event import Buckets

CHUNK = 64
Five = tuple[float, float, float, float, float]
Parts = list[tuple[int, int, float, float]]
"""Seconds touched by an interval: chunk, position in the chunk, seconds covered, length of the
interval.
"""


AMOUNTS = 5  # per second
GAPS = array("d", [nan]) * (AMOUNTS * CHUNK)


def parts_of(t0: float, t1: float) -> Parts:
    """Return the seconds that (t0, t1] covers.

    An interval of length 0 counts for the second that contains it.
    """
    if t1 <= t0:
        return [(*divmod(floor(t1), CHUNK), 1.0, 1.0)]
    first, length = floor(t0), t1 - t0
    if t1 <= first + 1:
        return [(first // CHUNK, first % CHUNK, length, length)]
    return [
        (second // CHUNK, second % CHUNK, min(t1, second + 1) - max(t0, second), length)
        for second in range(first, ceil(t1))
    ]


class RateSeries:
    """Up to five amounts of irregular intervals, spread evenly over the seconds they cover.

    Times are seconds on one clock. A second without an interval is a gap: None, not 0. Values are
    kept in chunks of 64 seconds, so a measured second takes 40 bytes and long gaps take none. A
    chunk has 64 values of each amount, one amount after the other.
    """

    __slots__ = ("_chunks",)

    def __init__(self) -> None:
        self._chunks: dict[int, array[float]] = {}

    def add(self, t0: float, t1: float, amount: float) -> None:
        """Add an interval (t0, t1] with only the first of the five amounts.

        An interval of length 0 counts for the second that contains it.
        """
        self.put(parts_of(t0, t1), (amount, 0, 0, 0, 0))

    def put(self, parts: Parts, amounts: Five) -> None:
        """Add amounts to seconds from `parts_of`, which several series can share."""
        a, b, c, d, e = amounts  # a loop over them takes twice as long
        for number, place, covered, length in parts:
            chunk = self._chunks.get(number)
            if chunk is None:
                chunk = self._chunks[number] = GAPS[:]
            before = chunk[place]
            if before != before:
                chunk[place] = a * covered / length
                chunk[place + CHUNK] = b * covered / length
                chunk[place + 2 * CHUNK] = c * covered / length
                chunk[place + 3 * CHUNK] = d * covered / length
                chunk[place + 4 * CHUNK] = e * covered / length
            else:
                chunk[place] = before + a * covered / length
                chunk[place + CHUNK] += b * covered / length
                chunk[place + 2 * CHUNK] += c * covered / length
                chunk[place + 3 * CHUNK] += d * covered / length
                chunk[place + 4 * CHUNK] += e * covered / length

    def rates(self, start_s: float, end_s: float, kind: int = 0) -> list[float | None]:
        """Return the amount per second for each second from `start_s` to `end_s`; None for a gap.

        `kind`: which of the five amounts.
        """
        first, end = floor(start_s), max(floor(start_s), ceil(end_s))
        wanted = array("d")
        while first < end:
            number, place = divmod(first, CHUNK)
            count = min(CHUNK - place, end - first)
            begin = kind * CHUNK + place
            wanted += self._chunks.get(number, GAPS)[begin : begin + count]
            first += count
        return (
            [None if isnan(each) else each for each in wanted]
            if any(map(isnan, wanted))
            else [*wanted]
        )


# lowest share of a column's I/Os of each class
SHARES = (0.0, 0.0001, 0.001, 0.01, 0.05, 0.2)
SHARE_NAMES = ("under 0.01 %", "0.01 %", "0.1 %", "1 %", "5 %", "20 % or more")
MOST_COLUMNS = 400
Items = Sequence[tuple[int, int]]
"""Bucket indices and counts: indices ascending, counts above 0."""


def weight_of(share: float) -> int:
    """Return the class of a share of a column's I/Os, from 0 to ``len(SHARES) - 1``."""
    return bisect_right(SHARES, share) - 1


def weights_of(items: Items, low: int, step: int) -> dict[int, int]:
    """Return the class (see `weight_of`) of each non-empty row.

    Row `r` covers `step` buckets from ``low + r * step``.
    """
    rows: dict[int, int] = {}
    total = 0
    for index, count in items:
        row = (index - low) // step
        rows[row] = rows.get(row, 0) + count
        total += count
    return {row: weight_of(count / total) for row, count in rows.items()}


def column_percentiles(items: Items, wanted: Sequence[float]) -> dict[float, float | None]:
    """Return percentiles of a column in ns, by fio's rule; None for a percentile with too few
    samples beyond it.
    """
    total = sum(count for _, count in items)
    found: dict[float, float | None] = dict.fromkeys(wanted)
    asked = [(rank(each, total), each) for each in sorted(wanted) if enough_behind(total, each)]
    reached = place = 0
    for index, count in items:
        reached += count
        while place < len(asked) and reached >= asked[place][0]:
            found[asked[place][1]] = float(index_to_value(index))
            place += 1
    return found


def bucket_edge(index: int) -> float:
    """Return the lowest latency of a bucket in ns; 1 for bucket 0, because axes are logarithmic."""
    return float(max(bucket_edges(index)[0], 1))


class HeatBins:
    """Latencies of one direction over time.

    Column `k` covers `width_s` seconds from ``start_s + k * width_s``. Beyond `most` columns, pairs
    of columns are merged exactly, so memory is bounded.
    """

    __slots__ = ("_items", "_most", "_stamps", "columns", "start_s", "version", "width_s")

    def __init__(self, start_s: float, most: int = MOST_COLUMNS) -> None:
        self.start_s = floor(start_s)
        self.width_s = 1
        self.columns: dict[int, Histogram] = {}
        self.version = 0
        self._most = most
        # sorted, until the column changes
        self._items: dict[int, tuple[tuple[int, int], ...]] = {}
        self._stamps: dict[int, int] = {}  # version of the last change, by column

    def add(self, t0: float, t1: float, buckets: Buckets | PackedBuckets | Histogram) -> None:
        """Add the latencies of an interval (t0, t1] of run time to the column that contains its
        middle; intervals before the start are ignored.
        """
        place = floor((t0 + t1) / 2 - self.start_s) // self.width_s
        if place < 0 or (isinstance(buckets, Buckets) and not buckets.idx):
            return
        while place >= self._most:
            self._widen()
            place //= 2
        column = self.columns.get(place)
        if column is None:
            column = self.columns[place] = Histogram()
        column.add(buckets)
        self._items.pop(place, None)
        self.version += 1
        self._stamps[place] = self.version

    def _widen(self) -> None:
        columns, self.columns = self.columns, {}
        for place, column in columns.items():
            self.columns.setdefault(place // 2, Histogram()).merge(column)
        self.width_s *= 2
        self._items.clear()
        self.version += 1
        self._stamps = dict.fromkeys(self.columns, self.version)

    def items_of(self, place: int) -> tuple[tuple[int, int], ...]:
        """Return the counts of a column; empty if it has none."""
        items = self._items.get(place)
        if items is None and place in self.columns:
            items = self._items[place] = tuple(self.columns[place].items())
        return items or ()

    def _places(self, start_s: int, end_s: int) -> range:
        """Return the columns that begin in these seconds; if there are none, the one that contains
        them.
        """
        first, end = (
            -(-(start_s - self.start_s) // self.width_s),
            -(-(end_s - self.start_s) // self.width_s),
        )
        within = (start_s - self.start_s) // self.width_s
        return range(first, end) if end > first else range(within, within + 1)

    def between(self, start_s: int, end_s: int) -> tuple[tuple[int, int], ...]:
        """Return the counts of the columns that begin in these seconds.

        If there are none, return those of the column that contains the seconds.
        """
        places = self._places(start_s, end_s)
        return (
            self.items_of(places[0])
            if len(places) == 1
            else merged_items(map(self.items_of, places))
        )

    def stamp(self, start_s: int, end_s: int) -> int:
        """Return a number that changes whenever the result of `between` does."""
        return max(
            (self._stamps.get(place, 0) for place in self._places(start_s, end_s)), default=0
        )

    @property
    def span(self) -> tuple[int, int] | None:
        """Lowest and highest non-empty bucket; None if all are empty."""
        edges = [
            (items[0][0], items[-1][0])
            for place in list(self.columns)
            if (items := self.items_of(place))
        ]
        return (min(low for low, _ in edges), max(high for _, high in edges)) if edges else None


def merged_items(parts: Iterable[Items]) -> tuple[tuple[int, int], ...]:
    """Return the summed counts of all parts."""
    filled = [part for part in parts if part]
    if len(filled) == 1:
        return tuple(filled[0])
    counts: dict[int, int] = {}
    for part in filled:
        for index, count in part:
            counts[index] = counts.get(index, 0) + count
    return tuple(sorted(counts.items()))


def dense_items(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the non-zero counts of a list indexed by bucket."""
    return [(index, count) for index, count in enumerate(counts) if count]


class ClusterSecond(Struct, frozen=True):
    """One second over all hosts: completed I/Os by direction, and latencies of the step's kind."""

    ios: dict[str, int]
    lat: dict[str, Buckets] = field(default_factory=dict)
    seconds: float = 1.0

"""Latency histograms that merge exactly, percentiles by fio's rule, merged results of several
hosts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, compress, repeat
from math import sqrt
from operator import sub
from typing import Protocol

from tui.metrics.buckets import (
    KEYS,
    PERCENTILES,
    PLAT_BUCKETS,
    TOP_BUCKET,
    index_to_value,
    key_to_index,
    label,
    rank,
    value_to_index,
)
from tui.model.dense import HEAD, HEAD_BYTES, little_endian, packable
from tui.model.event import ALL_BUCKETS, Buckets, DirectionResult, Latencies, LatencyResult

__all__ = [
    "PERCENTILES",
    "PLAT_BUCKETS",
    "TOP_BUCKET",
    "Bins",
    "Histogram",
    "PackedBuckets",
    "combine",
    "combine_directions",
    "index_to_value",
    "key_to_index",
    "label",
    "value_to_index",
]


GROUP = 256  # packed numbers start at a multiple of this: most start alike and need no shift
TYPES = {2: "H", 4: "I"}  # by bytes of a packed count
# packed histograms that a sum has room for, by the bytes of their counts
ROOM = {width: (1 << 8 * width) + 1 for width in (1, 2)}
# selects every other count, by bytes per count
EVERY_OTHER = {
    width: int.from_bytes((b"\xff" * width + b"\0" * width) * (ALL_BUCKETS // 2), "little")
    for width in ROOM
}


class PackedBuckets:
    """A sample's latencies packed into two numbers, for adding to several histograms.

    C code then adds all buckets at once. `even` and `odd` contain every other count: `width` bytes
    in a field of twice that size, so that `ROOM` of them can be added. `plain` has the unpacked
    buckets (`width` is 0) if they cannot be packed: counts too large, upper edges of their own, or
    indices out of order (a damaged journal).
    """

    __slots__ = ("begin", "even", "odd", "plain", "total", "width")

    def __init__(self, lat: Latencies) -> None:
        self.plain: Buckets | None = None
        kept = lat if isinstance(lat, bytes) else packable(lat)
        if isinstance(kept, bytes):
            first, width, self.total = HEAD.unpack_from(kept)
            self.begin, self.width = first // GROUP * GROUP, width
            bits = 8 * width
            number = int.from_bytes(kept[HEAD_BYTES:], "little") << (first - self.begin) * bits
            every_other = EVERY_OTHER[width]
            self.even, self.odd = number & every_other, number >> bits & every_other
        else:
            self.begin = self.width = self.even = self.odd = 0
            self.total, self.plain = sum(kept.n), kept

    @property
    def buckets(self) -> Buckets:
        """The buckets as lists: indices ascending, no zeros."""
        if self.plain is not None:
            return Histogram.from_buckets(self.plain).buckets
        pairs = [*unpacked(self)]
        return Buckets(idx=[index for index, _ in pairs], n=[count for _, count in pairs])


class PackedSum:
    """Sum of packed buckets with counts of the same width; `room`: how many more fit."""

    __slots__ = ("begin", "even", "odd", "room", "width")

    def __init__(self, first: PackedBuckets) -> None:
        self.begin, self.width, self.room = first.begin, first.width, ROOM[first.width]
        self.even = self.odd = 0

    def add_shifted(self, packed: PackedBuckets) -> None:
        """Add packed buckets that start at another bucket."""
        begin = min(self.begin, packed.begin)
        own, other = ((each - begin) * 8 * self.width for each in (self.begin, packed.begin))
        self.even = (self.even << own) + (packed.even << other)
        self.odd = (self.odd << own) + (packed.odd << other)
        self.begin = begin
        self.room -= 1


def unpacked(packed: PackedBuckets | PackedSum) -> Iterator[tuple[int, int]]:
    """Yield index and count of the non-empty buckets in packed numbers."""
    count_bytes = 2 * packed.width
    size = -(-max(packed.even.bit_length(), packed.odd.bit_length()) // (8 * count_bytes))
    counts = array(TYPES[count_bytes], bytes(2 * size * count_bytes))
    for place, number in enumerate((packed.even, packed.odd)):
        half = array(TYPES[count_bytes], number.to_bytes(size * count_bytes, "little"))
        counts[place::2] = little_endian(half)
    places = range(packed.begin, packed.begin + len(counts))
    return zip(compress(places, counts), filter(None, counts), strict=True)


class HistogramLike(Protocol):
    """Buckets in a journal or a record."""

    @property
    def idx(self) -> list[int]: ...
    @property
    def n(self) -> list[int]: ...
    @property
    def upper_ns(self) -> list[int] | None: ...


class Histogram:
    """A sparse histogram that grows: counts by bucket index.

    Packed additions are collected in numbers and unpacked at first use.
    """

    __slots__ = ("_held", "_upper", "_waiting")

    def __init__(
        self, counts: Mapping[int, int] | None = None, upper: Mapping[int, int] | None = None
    ) -> None:
        self._held: dict[int, int] = dict(counts) if counts else {}
        # edges in ns by index, for tools with their own buckets
        self._upper: dict[int, int] = dict(upper) if upper else {}
        self._waiting: dict[int, PackedSum] = {}  # by bytes per count

    @property
    def _counts(self) -> dict[int, int]:
        if self._waiting:
            self._unpack()
        return self._held

    def _unpack(self) -> None:
        counts = self._held
        for packed in self._waiting.values():
            for index, count in unpacked(packed):
                counts[index] = counts.get(index, 0) + count
        self._waiting.clear()

    @classmethod
    def from_buckets(cls, buckets: HistogramLike) -> Histogram:
        """Return the histogram of buckets in a journal or record."""
        return cls(dict(zip(buckets.idx, buckets.n, strict=True)), _edges(buckets))

    @classmethod
    def from_bins(cls, bins: Mapping[int, int]) -> Histogram:
        """Return the histogram of a json+ ``bins`` object: counts by middle of the bucket in ns."""
        keys = KEYS
        histogram = cls()
        counts = histogram._counts
        for key, count in bins.items():
            if count:
                index = keys.get(key)
                counts[key_to_index(key) if index is None else index] = count
        return histogram

    def record(self, value_ns: int, count: int = 1) -> None:
        """Count a latency."""
        index = value_to_index(value_ns)
        self._counts[index] = self._counts.get(index, 0) + count

    def add(self, buckets: Buckets | PackedBuckets | Histogram) -> None:
        """Add counts from the journal (packed if several histograms add them) or from another
        histogram.
        """
        if isinstance(buckets, PackedBuckets):
            waiting = self._waiting.get(buckets.width)
            if waiting is not None and waiting.begin == buckets.begin and waiting.room:
                # most additions end here
                waiting.room -= 1
                waiting.even += buckets.even
                waiting.odd += buckets.odd
                return
            if buckets.plain is None:
                self._make_room(buckets).add_shifted(buckets)
                return
            buckets = buckets.plain
        if isinstance(buckets, Histogram):
            self.merge(buckets)
            return
        counts = self._held
        for index, count in zip(buckets.idx, buckets.n, strict=True):
            counts[index] = counts.get(index, 0) + count
        if buckets.upper_ns:
            self._widen(_edges(buckets))

    def _make_room(self, packed: PackedBuckets) -> PackedSum:
        waiting = self._waiting.get(packed.width)
        if waiting is None or not waiting.room:
            if waiting is not None:
                self._unpack()
            waiting = self._waiting[packed.width] = PackedSum(packed)
        return waiting

    def _widen(self, edges: Mapping[int, int]) -> None:
        """Merge the upper edges of other buckets; if two tools differ, the larger edge wins."""
        for index, edge in edges.items():
            self._upper[index] = max(edge, self._upper.get(index, 0))

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram; exact, without re-binning."""
        counts = self._counts
        for index, count in other._counts.items():
            counts[index] = counts.get(index, 0) + count
        self._widen(other._upper)

    def take_back(self, other: Histogram) -> None:
        """Subtract the counts of a histogram that was added before."""
        counts = self._counts
        for index, count in other._counts.items():
            if left := counts.get(index, 0) - count:
                counts[index] = left
            else:
                counts.pop(index, None)

    def copy(self) -> Histogram:
        """Return an independent copy."""
        return Histogram(self._counts, self._upper)

    def clear(self) -> None:
        """Clear all counts."""
        self._held.clear()
        self._upper.clear()
        self._waiting.clear()

    @property
    def total(self) -> int:
        """Number of samples."""
        return sum(self._counts.values())

    @property
    def buckets(self) -> Buckets:
        """Counts for the journal: indices ascending, no zeros."""
        indices = sorted(index for index, count in self._counts.items() if count)
        upper = (
            [self._upper.get(index) or index_to_value(index) for index in indices]
            if self._upper
            else []
        )
        return Buckets(idx=indices, n=[self._counts[index] for index in indices], upper_ns=upper)

    def items(self) -> Iterator[tuple[int, int]]:
        """Yield (index, count) by ascending index."""
        yield from sorted(self._counts.items())

    def percentile(self, percentile: float) -> int | None:
        """Return one percentile in ns; None without samples."""
        values = self.percentiles((percentile,))
        return values[label(percentile)] if values else None

    def percentiles(
        self, wanted: Sequence[float] = PERCENTILES, at_most: int | None = None
    ) -> dict[str, int]:
        """Return percentiles in ns by label, computed as in fio; empty without samples.

        `wanted` may be in any order; 100 gives the middle of the last bucket, not the maximum. For
        buckets with upper edges of their own, the values are these edges. `at_most` is the exact
        maximum and limits the values: middles and edges may exceed it.
        """
        return percentiles_of(self.buckets, wanted, at_most)

    def __bool__(self) -> bool:
        return any(self._counts.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.buckets == other.buckets

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Histogram(total={self.total}, buckets={len(self._counts)})"


def _edges(buckets: HistogramLike) -> dict[int, int]:
    return dict(zip(buckets.idx, buckets.upper_ns, strict=True)) if buckets.upper_ns else {}


def percentiles_of(
    buckets: Buckets, wanted: Sequence[float] = PERCENTILES, at_most: int | None = None
) -> dict[str, int]:
    """Return the percentiles of journal buckets, as `Histogram.percentiles` does."""
    reached = [*accumulate(buckets.n)]
    if not reached or not reached[-1]:
        return {}
    places = [bisect_left(reached, rank(each, reached[-1])) for each in wanted]
    last, upper = len(reached) - 1, buckets.upper_ns
    values = [
        upper[min(at, last)] if upper else index_to_value(buckets.idx[min(at, last)])
        for at in places
    ]
    return {
        label(each): min(value, at_most or value)
        for each, value in zip(wanted, values, strict=True)
    }


class Bins:
    """One state of a json+ ``bins`` object, kept to compute the increase until the next.

    Most states have the same keys as the previous one: then C code compares them, and bucket
    indices are reused. Arrays take a quarter of the memory of lists.
    """

    __slots__ = ("_counts", "_idx", "_keys")

    def __init__(self, bins: Mapping[int, int] | None = None) -> None:
        printed = bins or {}
        keys = sorted(printed)  # free: fio prints them in ascending order
        self._keys = array("q", keys)
        self._counts = array("q", map(printed.__getitem__, keys))
        self._idx: list[int] = []

    def since(self, earlier: Bins) -> Buckets:
        """Return the increase since an earlier state.

        fio's live counts may be inconsistent, so a decrease counts as 0.
        """
        if self._keys == earlier._keys:
            self._keys, self._idx = earlier._keys, earlier._idx  # share one copy
            more = [*map(sub, self._counts, earlier._counts)]
        else:
            before = dict(zip(earlier._keys, earlier._counts, strict=True))
            more = [*map(sub, self._counts, map(before.get, self._keys, repeat(0)))]
        if not self._idx:
            self._idx = [
                index if (index := KEYS.get(key)) is not None else key_to_index(key)
                for key in self._keys
            ]
        if min(more, default=0) > 0:
            return Buckets(idx=self._idx, n=more)
        grew = [count > 0 for count in more]
        return Buckets(idx=[*compress(self._idx, grew)], n=[*compress(more, grew)])


def _merged_buckets(parts: Sequence[LatencyResult]) -> Histogram | None:
    """Return the merged buckets of all parts; None if a part has samples but no buckets."""
    merged = Histogram()
    for part in parts:
        if part.buckets is None:
            return None
        merged.add(part.buckets)
    return merged


def combine(parts: Sequence[LatencyResult]) -> LatencyResult:
    """Merge the latencies of all parts.

    Count, min, max, mean and standard deviation are exact (n - 1, as in fio); the deviation is None
    if it is unknown for a part. Percentiles are recomputed from merged buckets, never averaged;
    they are missing if a part with samples has no buckets. Without samples, all are 0.
    """
    filled = [part for part in parts if part.n > 0]
    if not filled and len(parts) == 1:
        return parts[0]
    if not filled:
        return LatencyResult(n=0, min_ns=0, max_ns=0, mean_ns=0.0, stddev_ns=0.0)
    if len(filled) == 1:
        return filled[0]
    mean, stddev = _moments(filled)
    histogram = _merged_buckets(filled)
    buckets: Buckets | None = histogram.buckets if histogram is not None else None
    max_ns = max(part.max_ns for part in filled)
    wanted = sorted(
        {*PERCENTILES, *(float(name) for part in filled for name in part.percentiles_ns)}
    )
    return LatencyResult(
        n=sum(part.n for part in filled),
        min_ns=min(part.min_ns for part in filled),
        max_ns=max_ns,
        mean_ns=mean,
        stddev_ns=stddev,
        percentiles_ns=histogram.percentiles(wanted, max_ns) if histogram is not None else {},
        buckets=buckets,
        bucket_width=max(
            (part.bucket_width for part in filled if part.bucket_width is not None), default=None
        ),
    )


def _moments(parts: Sequence[LatencyResult]) -> tuple[float, float | None]:
    """Return mean and sample standard deviation over all parts (fio stat.c, sum_stat, in closed
    form).

    The deviation is None if it is unknown for a part.
    """
    total = sum(part.n for part in parts)
    mean = sum(part.n * part.mean_ns for part in parts) / total
    own = [part.stddev_ns for part in parts if part.stddev_ns is not None]
    if len(own) < len(parts):
        return mean, None
    pairs = zip(parts, own, strict=True)
    squares = sum(
        (part.n - 1) * stddev**2 + part.n * (part.mean_ns - mean) ** 2 for part, stddev in pairs
    )
    return mean, sqrt(squares / (total - 1)) if total > 1 else 0.0


def _latency(
    parts: Sequence[DirectionResult], pick: Callable[[DirectionResult], LatencyResult | None]
) -> LatencyResult | None:
    """Merge one latency kind; None if a part that did I/O does not have it."""
    busy = [part for part in parts if part.ios > 0] or list(parts)
    found = [latency for part in busy if (latency := pick(part)) is not None]
    return combine(found) if found and len(found) == len(busy) else None


def _shortest_s(parts: Sequence[DirectionResult]) -> float:
    """Return the shortest runtime of the parts that did I/O; 0 if none is below the longest."""
    spans = [part.shortest_s or part.runtime_s for part in parts if part.ios]
    return min(spans) if spans and min(spans) < max(part.runtime_s for part in parts) else 0.0


def combine_directions(parts: Sequence[DirectionResult]) -> DirectionResult:
    """Merge one direction of parts that ran at the same time.

    I/Os, bytes, IOPS and bandwidth are summed; the runtime is the longest. A latency kind is None
    if a part that did I/O does not have it. Empty `parts` give zeros.
    """
    return DirectionResult(
        ios=sum(part.ios for part in parts),
        bytes=sum(part.bytes for part in parts),
        runtime_s=max((part.runtime_s for part in parts), default=0.0),
        iops=sum(part.iops for part in parts),
        bw_bytes_per_s=sum(part.bw_bytes_per_s for part in parts),
        short_ios=sum(part.short_ios for part in parts),
        drop_ios=sum(part.drop_ios for part in parts),
        slat=_latency(parts, lambda part: part.slat),
        clat=_latency(parts, lambda part: part.clat),
        lat=_latency(parts, lambda part: part.lat),
        rounded=list(dict.fromkeys(name for part in parts for name in part.rounded)),
        shortest_s=_shortest_s(parts),
        apart=bool(parts) and all(part.apart for part in parts),
    )

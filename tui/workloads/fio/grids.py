"""Find histograms whose latencies were multiplied: buckets that are empty between full ones.

Latencies that fio measured fill neighbouring buckets evenly. Latencies of another histogram that
were multiplied by a factor lie on a grid that is not fio's: at regular distances, one bucket stays
empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tui.metrics.buckets import bucket_edges, key_to_index
from tui.workloads.fio.printed import Found, PrintedDirection

FULL = 50  # I/Os: a bucket between two such is empty by chance once in 10^21
LEAST_NS = 32  # narrower buckets: clocks are read to a nanosecond or two
HOLES, OF_A_WIDTH = 16, 4
FILLED, LEAST_BUCKETS = 0.6, 32  # buckets of one width


def holes_of(part: PrintedDirection) -> Iterator[Found]:
    """Yield the number of empty buckets between full ones, unless a coarse clock explains them."""
    for latency in (part.slat, part.clat, part.lat):
        bins = latency.bins if latency is not None else None
        if bins and (holes := holes_in(bins)):
            yield "holes", float(holes), 0.0


def holes_in(bins: Mapping[int, int]) -> int:
    """Return the number of empty buckets between full ones; 0 if they are few, or if a clock with a
    coarse tick may have made them.

    A tick that skips a bucket is at least as wide as the bucket, so it fills at most half of the
    buckets that are half as wide.
    """
    counts = {key_to_index(int(key)): count for key, count in bins.items() if count}
    full = sorted(index for index, count in counts.items() if count >= FULL)
    by_width: dict[int, list[int]] = {}
    for index in full:
        by_width.setdefault(_width(index), []).append(index)
    holes: dict[int, int] = {}
    for before, after in pairwise(full):
        between = before + 1
        if after == before + 2 and between not in counts and _width(between) >= LEAST_NS:
            holes[_width(between)] = holes.get(_width(between), 0) + 1
    widest = max((width for width, count in holes.items() if count >= OF_A_WIDTH), default=0)
    if sum(holes.values()) < HOLES or not any(
        _is_filled(counts, indices)
        for width, indices in by_width.items()
        if LEAST_NS <= width <= widest // 2
    ):
        return 0
    return sum(holes.values())


def _is_filled(counts: Mapping[int, int], full: list[int]) -> bool:
    """Return whether most buckets of a width, from the first full one to the last, are full."""
    empty = sum(index not in counts for index in range(full[0], full[-1]))
    return len(full) >= LEAST_BUCKETS and len(full) >= FILLED * (len(full) + empty)


def _width(index: int) -> int:
    low, high = bucket_edges(index)
    return high - low + 1

"""Dense histograms: how the journal keeps the latencies of samples.

Lists of bucket indices and counts took longer to read than the rest of a line. A dense histogram is
one string, base64 in JSON: a head, then the counts of consecutive buckets, empty ones included, as
little-endian integers. The head has the first bucket (2 bytes), the bytes per count (1 byte: 1 or
2) and the sum of all counts (4 bytes).
"""

from __future__ import annotations

import sys
from array import array
from itertools import compress
from struct import Struct
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from tui.model.event import ALL_BUCKETS, Buckets, DirectionSample, Event, Latencies, Sample

HEAD = Struct("<HBI")
HEAD_BYTES = HEAD.size
_TYPES = {1: "B", 2: "H"}  # by bytes per count
_MOST = {width: (1 << 8 * width) - 1 for width in _TYPES}
_LISTED_BYTES = 6  # what an index and its count take as JSON, before base64 adds a third
E = TypeVar("E", bound=Event)


class _Digits(NamedTuple):
    width: int
    counts: bytes


def is_sound(lat: Latencies) -> bool:
    """Return whether latencies from a journal are complete and within fio's buckets."""
    if isinstance(lat, Buckets):
        return len(lat.idx) == len(lat.n)
    size = len(lat) - HEAD_BYTES
    if size <= 0:
        return False
    begin, width, total = HEAD.unpack_from(lat)
    if width not in _MOST or size % width:
        return False
    count = size // width
    return bool(begin + count <= ALL_BUCKETS and total <= count * _MOST[width])


def has_counts(lat: Latencies) -> bool:
    """Return whether there are any latencies."""
    return isinstance(lat, bytes) or bool(lat.idx)


def dense(buckets: Buckets) -> Latencies:
    """Return a histogram as the journal keeps it: dense, or as lists if these are shorter."""
    idx, most_bytes = buckets.idx, _LISTED_BYTES * len(buckets.idx)
    if not idx or idx[-1] + 1 - idx[0] > most_bytes:
        return buckets
    kept = packable(buckets)
    if isinstance(kept, bytes) and len(kept) - HEAD_BYTES <= most_bytes:
        return kept
    return buckets


def packable(buckets: Buckets) -> Latencies:
    """Return a histogram as a dense one, which may be longer than its lists.

    Returned unchanged: no buckets, upper edges, counts above 65535, or indices that are out of
    order or beyond fio's buckets.
    """
    idx, n = buckets.idx, buckets.n
    if not idx or buckets.upper_ns or idx != sorted({*idx}) or idx[-1] >= ALL_BUCKETS:
        return buckets
    first = idx[0]
    counts = [0] * (idx[-1] + 1)  # a list is filled faster than an array
    for index, count in zip(idx, n, strict=True):
        counts[index] = count
    digits = _digits(counts[first:])
    if digits is None:
        return buckets
    return HEAD.pack(first, digits.width, sum(n)) + digits.counts


def _digits(counts: list[int]) -> _Digits | None:
    """Return counts in as few bytes each as possible; None if they need more than two."""
    try:
        return _Digits(1, bytes(counts))
    except ValueError:  # more than 255
        pass
    try:
        return _Digits(2, little_endian(array(_TYPES[2], counts)).tobytes())
    except OverflowError:
        return None


def listed(lat: Latencies) -> Buckets:
    """Return latencies as lists; those of a dense histogram ascend and contain no zero counts."""
    if isinstance(lat, Buckets):
        return lat
    begin, width, _ = HEAD.unpack_from(lat)
    counts = little_endian(array(_TYPES[width], lat[HEAD_BYTES:]))
    indices = range(begin, begin + len(counts))
    return Buckets(idx=[*compress(indices, counts)], n=[*filter(None, counts)])


def little_endian(counts: array[int]) -> array[int]:
    """Convert counts between this machine's byte order and little-endian, in place."""
    if sys.byteorder == "big":
        counts.byteswap()
    return counts


def as_kept(event: E) -> E:
    """Return an event as the journal keeps it: histograms of samples are dense where shorter."""
    if not isinstance(event, Sample):
        return event
    dirs = {name: _kept(part) for name, part in event.dirs.items()}
    jobs = {
        job: {name: None if part is None else _kept(part) for name, part in own.items()}
        for job, own in event.jobs.items()
    }
    return replace(event, dirs=dirs, jobs=jobs)


def _kept(part: DirectionSample) -> DirectionSample:
    return part if isinstance(part.lat, bytes) else replace(part, lat=dense(part.lat))

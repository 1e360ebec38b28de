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

_HEAD = Struct("<HBI")
HEAD_BYTES = _HEAD.size
_TYPES = {1: "B", 2: "H"}  # by bytes per count
_LISTED_BYTES = 6  # what an index and its count take as JSON, before base64 adds a third
E = TypeVar("E", bound=Event)


class DenseHead(NamedTuple):
    """First bucket, bytes per count, and sum of all counts."""

    begin: int
    width: int
    total: int


class _Digits(NamedTuple):
    width: int
    counts: bytes


def head_of(dense: bytes) -> DenseHead:
    """Return the head of a dense histogram that `is_sound` accepts."""
    return DenseHead(*_HEAD.unpack_from(dense))


def is_sound(lat: Latencies) -> bool:
    """Return whether latencies from a journal are complete and within fio's buckets."""
    if isinstance(lat, Buckets):
        return len(lat.idx) == len(lat.n)
    size = len(lat) - HEAD_BYTES
    if size <= 0:
        return False
    begin, width, total = _HEAD.unpack_from(lat)
    if width not in _TYPES or size % width:
        return False
    count = size // width
    return bool(begin + count <= ALL_BUCKETS and total <= count * ((1 << 8 * width) - 1))


def has_counts(lat: Latencies) -> bool:
    """Return whether there are any latencies."""
    return isinstance(lat, bytes) or bool(lat.idx)


def dense(buckets: Buckets) -> Latencies:
    """Return a histogram as the journal keeps it: dense, or as lists if these are shorter.

    Also as lists: buckets with upper edges, counts above 65535, indices out of order.
    """
    idx, n = buckets.idx, buckets.n
    if not idx or buckets.upper_ns or idx != sorted(idx) or len({*idx}) < len(idx):
        return buckets
    first, last, most_bytes = idx[0], idx[-1], _LISTED_BYTES * len(idx)
    if last + 1 - first > most_bytes:
        return buckets
    counts = [0] * (last + 1)  # a list is filled faster than an array
    for index, count in zip(idx, n, strict=True):
        counts[index] = count
    digits = _digits(counts[first:])
    if digits is None or len(digits.counts) > most_bytes:
        return buckets
    return _HEAD.pack(first, digits.width, sum(n)) + digits.counts


def _digits(counts: list[int]) -> _Digits | None:
    """Return counts in as few bytes each as possible; None if they need more than two."""
    try:
        return _Digits(1, bytes(counts))
    except ValueError:  # more than 255
        pass
    try:
        return _Digits(2, _little(array(_TYPES[2], counts)).tobytes())
    except OverflowError:
        return None


def listed(lat: Latencies) -> Buckets:
    """Return latencies as lists: indices ascending, and no zeros if they were dense."""
    if isinstance(lat, Buckets):
        return lat
    begin, width, _ = head_of(lat)
    counts = _little(array(_TYPES[width], lat[HEAD_BYTES:]))
    indices = range(begin, begin + len(counts))
    return Buckets(idx=[*compress(indices, counts)], n=[*filter(None, counts)])


def _little(counts: array[int]) -> array[int]:
    if sys.byteorder == "big":
        counts.byteswap()
    return counts


def as_kept(event: E) -> E:
    """Return an event as the journal keeps it: with dense histograms if it is a sample."""
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

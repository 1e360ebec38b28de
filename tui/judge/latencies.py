"""Consistency of latency figures: order, mean, deviation, histogram, percentiles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, compress, pairwise
from math import isnan, sqrt
from operator import itemgetter, mul

from tui.metrics.buckets import (
    TOP_BUCKET,
    bucket_edges,
    index_to_value,
    label,
    rank,
    value_to_index,
)
from tui.metrics.figures import Latency
from tui.metrics.histogram import percentiles_of
from tui.model.event import Buckets
from tui.model.operands import Operands

PRINTED = 0.005  # three significant digits, the fewest that tools print: 1.00 may be 0.995 or 1.005
# counts over whole milliseconds, a second or more; fio computes the rate from these
COUNTED = 1e-4
WHOLE_US = 1000.0  # edges of buckets of other tools are in whole µs
BUCKET = 1 / 64  # width of a bucket, as a share of its low edge
Disagreement = tuple[str, float, float, Operands]
MIDDLES = tuple(map(float, map(index_to_value, range(TOP_BUCKET))))
LAST_BUCKET_NS = index_to_value(TOP_BUCKET)  # printed for any latency from some 17 s on
WIDE = value_to_index(1024)  # buckets from here on are 16 ns wide, or more
# a bucket is at least 1/128 of its low edge wide, of which whole nanoseconds take off 1 in 16:
# by this share of its middle the low edge is below it, and the high edge above
HALF_A_BUCKET = 1 / 300


def disagreements(latency: Latency, rounding: float) -> Iterator[Disagreement]:
    """Yield contradictions between the figures of a latency."""
    yield from _out_of_order(latency, rounding)
    yield from _deviation(latency, rounding)
    if latency.buckets is None or not latency.buckets.n or rounding:
        span = _by_upper_edges(latency) or _by_percentiles(latency)
        yield from _mean_off(latency, span, rounding)
        yield from _spread_off(latency, rounding)
        return
    total = sum(latency.buckets.n)
    if total != latency.n:
        yield "histogram-count", latency.n, total, {"ios": latency.n, "counted": total}
        return
    if latency.bucket_width is not None or latency.buckets.upper_ns:
        yield from _mean_off(latency, _by_upper_edges(latency), rounding)
        return  # of buckets of another tool, not all edges are known
    yield from _ends_off(latency)
    if not _has_moments(latency):
        yield from _mean_off(latency, _by_buckets(latency), rounding)
        yield from _deviation_off(latency)
    if not _has_percentiles(latency):
        yield from _percentiles_off(latency)


def _has_moments(latency: Latency) -> bool:
    """Return whether mean and deviation are close to those computed from bucket middles.

    A quick test; if it fails, the slower comparison with bucket edges decides.
    """
    assert latency.buckets is not None
    idx, stddev = latency.buckets.idx, latency.stddev_ns
    if len(idx) < 2 or idx[0] < WIDE or idx[-1] >= TOP_BUCKET or stddev is None or isnan(stddev):
        return False
    middles = itemgetter(*idx)(MIDDLES)
    weighted = [*map(mul, latency.buckets.n, middles)]
    total, mean = float(latency.n), latency.mean_ns or 0.0
    squares = mean * mean + stddev * stddev * (total - 1) / total
    most = float(latency.max_ns or 0)
    # the last bucket ends with the maximum
    last, high = latency.buckets.n[-1] / total, middles[-1]
    less = last * max(high * (1 + HALF_A_BUCKET) - most, 0.0)
    less_squares = last * max(high * high * (1 + HALF_A_BUCKET) - most * most, 0.0)
    return _near(mean, sum(weighted) / total, less) and _near(
        squares, sum(map(mul, weighted, middles)) / total, less_squares
    )


def _near(printed: float, by_middles: float, less: float) -> bool:
    return abs(printed - by_middles) + less <= HALF_A_BUCKET * by_middles


def _has_percentiles(latency: Latency) -> bool:
    """Return whether the percentiles equal those of the histogram. A quick test."""
    assert latency.buckets is not None
    idx, names = latency.buckets.idx, tuple(latency.percentiles_ns)
    reached, most = [*accumulate(latency.buckets.n)], latency.max_ns
    ranks = [rank(share, latency.n) for _, share in _shares(names)]
    places = [min(bisect_left(reached, each), len(idx) - 1) for each in ranks]
    middles = [index_to_value(idx[at]) for at in places]
    if most:
        middles = [min(middle, most) for middle in middles]
    return middles == [*latency.percentiles_ns.values()]


@lru_cache(maxsize=64)
def _shares(names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    return tuple((name, float(name)) for name in names)


@lru_cache(maxsize=64)
def _ascending(names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(_shares(names), key=itemgetter(1)))


def unit_of(value: int) -> int:
    """Return the unit in which a time was printed, in ns: the largest of ns, µs, ms and s that
    divides it.
    """
    return next(unit for unit in (10**9, 10**6, 1000, 1) if value % unit == 0) if value else 1


def _by(value: int | float, rounding: float, unit: int = 1) -> float:
    """Return the possible error of a time: from its digits, the printed unit, and its bucket's
    width.
    """
    return value * (rounding + BUCKET) + (unit if rounding else 1)


def _marks(latency: Latency) -> list[tuple[str, float, int]]:
    """Return name, share and value of each percentile, ascending."""
    values = latency.percentiles_ns
    return [(name, share, values[name]) for name, share in _ascending(tuple(values))]


def _out_of_order(latency: Latency, rounding: float) -> Iterator[Disagreement]:
    """Yield figures that do not increase from minimum through percentiles to maximum."""
    marks = _marks(latency)
    if _rises([value for _, _, value in marks], latency):
        return
    unit = max((unit_of(value) for _, _, value in marks), default=1)
    unit = min((unit_of(value) for _, _, value in marks if value), default=unit)
    rising = [(f"p{name}", value, unit) for name, _, value in marks]
    low, high = latency.min_ns, latency.max_ns
    first = [("minimum", low, unit_of(low))] if low is not None else []
    last = [("maximum", high, unit_of(high))] if high is not None else []
    row = [*first, *rising, *last]
    for (name, value, own), (after, more, other) in pairwise(row):
        percentiles = name[0] == after[0] == "p"
        allowed = (
            0.0
            if percentiles
            else _by(value, rounding, max(own, other)) + value * (latency.bucket_width or 0.0)
        )
        if value > more + allowed:
            yield "order", value, more, {"lower": [name, value], "upper": [after, more]}
    mean = latency.mean_ns or 0.0
    if low is not None and high is not None and high:
        off = max(mean * rounding, 1.0) + (max(unit_of(low), unit_of(high)) if rounding else 0)
        if not low - off <= mean <= high + off:
            limit = low if mean < low else high
            yield "mean-outside", mean, limit, {"mean_ns": mean, "limit_ns": limit}


def _rises(percentiles: Sequence[int], latency: Latency) -> bool:
    """Return whether the figures clearly increase and the mean lies between the extremes. A quick
    test.
    """
    low, high, mean = latency.min_ns, latency.max_ns, latency.mean_ns or 0.0
    if low is None or high is None:
        return False
    row = [low, *percentiles, high]
    return low <= mean <= high and row == sorted(row)


def _deviation(latency: Latency, rounding: float) -> Iterator[Disagreement]:
    """Yield a deviation that is impossible with this minimum, mean and maximum (Bhatia and
    Davis)."""
    low, high, mean, stddev = (
        latency.min_ns,
        latency.max_ns,
        latency.mean_ns or 0.0,
        latency.stddev_ns,
    )
    if low is None or not high or stddev is None or isnan(stddev) or latency.n < 2:
        return
    off = mean * rounding + (max(unit_of(low), unit_of(high)) if rounding else 1)
    most = sqrt(
        max(high + off - mean, 0.0) * max(mean + off - low, 0.0) * latency.n / (latency.n - 1)
    )
    if stddev > most * (1 + rounding + COUNTED) + 1:
        yield "deviation-above", stddev, most, {"deviation_ns": stddev, "most_ns": most}


def _deviation_off(latency: Latency) -> Iterator[Disagreement]:
    """Yield a deviation that contradicts the histogram.

    The mean of squares lies between those computed from lower and upper bucket edges. With the
    printed mean: variance = mean of squares - square of the mean.
    """
    stddev, mean, most = latency.stddev_ns, latency.mean_ns or 0.0, latency.max_ns
    if latency.buckets is None or stddev is None or isnan(stddev) or latency.n < 2 or most is None:
        return
    edges = [bucket_edges(index) for index in latency.buckets.idx]
    counts = latency.buckets.n
    least = (
        sum(count * low * low for count, (low, _) in zip(counts, edges, strict=True)) / latency.n
    )
    high = sum(
        count * min(most if index >= TOP_BUCKET else top, most) ** 2
        for count, index, (_, top) in zip(counts, latency.buckets.idx, edges, strict=True)
    )
    few = latency.n / (latency.n - 1)  # a tool divides by n - 1
    low, top = (
        sqrt(max(squares - mean * mean, 0.0) * few) for squares in (least, high / latency.n)
    )
    if not low * (1 - COUNTED) - 1 <= stddev <= top * (1 + COUNTED) + 1:
        operands = {"deviation_ns": stddev, "low_ns": low, "high_ns": top}
        yield "deviation-off", stddev, low if stddev < low else top, operands


def _by_percentiles(latency: Latency) -> tuple[float, float] | None:
    """Return the possible range of the mean, given minimum, percentiles and maximum; None if they
    are unknown.

    I/Os between two ranks lie between the two percentiles. A rank may be off by one, because tools
    compute it in floating point, and a percentile is the middle of its bucket.
    """
    low, high, n = latency.min_ns, latency.max_ns, latency.n
    marks = [(rank(share, n), value) for _, share, value in _marks(latency) if 0 < share < 100]
    if low is None or high is None or not marks:
        return None
    width = max(BUCKET, latency.bucket_width or 0.0)
    least = most = 0.0
    for (begin, floor), (end, ceiling) in zip([(0, low), *marks], [*marks, (n, high)], strict=True):
        least += max(end - begin - 2, 0) * max(floor * (1 - width), low)
        most += max(end - begin, 0) * min(_end(ceiling, high) * (1 + width), high) + 2 * high
    return least / n, min(most / n, high)


def _end(percentile: float, high: float) -> float:
    """Return the upper limit of a percentile: itself, or the maximum if it is in the last
    bucket.
    """
    return high if percentile >= LAST_BUCKET_NS else percentile


def _spread_off(latency: Latency, rounding: float) -> Iterator[Disagreement]:
    """Yield a deviation smaller than minimum, percentiles and maximum allow.

    I/Os between two ranks lie between the two percentiles, so their distance from the mean is at
    least that of the nearer one. The extremes are two I/Os. Ranks and widths as in
    `_by_percentiles`.
    """
    low, high, n, stddev = latency.min_ns, latency.max_ns, latency.n, latency.stddev_ns
    if low is None or not high or stddev is None or isnan(stddev) or n < 2:
        return
    mean, width = latency.mean_ns or 0.0, max(BUCKET, latency.bucket_width or 0.0)
    marks = [(rank(share, n), value) for _, share, value in _marks(latency) if 0 < share < 100]
    off = mean * rounding + (max(unit_of(low), unit_of(high)) if rounding else 1)
    squares = sum(max(abs(end - mean) - end * rounding - off, 0.0) ** 2 for end in (low, high))
    for (begin, floor), (end, ceiling) in zip([(0, low), *marks], [*marks, (n, high)], strict=True):
        unit = max(unit_of(floor), unit_of(ceiling)) if rounding else 1
        beyond = max(
            floor * (1 - width - rounding) - unit - mean,
            mean - _end(ceiling, high) * (1 + width + rounding) - unit,
            0.0,
        )
        squares += max(end - begin - 3, 0) * max(beyond - off, 0.0) ** 2
    least = sqrt(squares / n)
    if stddev < least * (1 - rounding - COUNTED) - off:
        yield "deviation-below", stddev, least, {"deviation_ns": stddev, "least_ns": least}


def _by_buckets(latency: Latency) -> tuple[float, float] | None:
    """Return the possible range of the mean, from all lower and all upper bucket edges; None
    without buckets.
    """
    buckets = latency.buckets
    if buckets is None:
        return None
    most = latency.max_ns or 0
    edges = [bucket_edges(index) for index in buckets.idx]
    least = sum(count * low for count, (low, _) in zip(buckets.n, edges, strict=True))
    last = [
        most if index >= TOP_BUCKET else high
        for index, (_, high) in zip(buckets.idx, edges, strict=True)
    ]
    return (
        least / latency.n,
        sum(count * high for count, high in zip(buckets.n, last, strict=True)) / latency.n,
    )


def _by_upper_edges(latency: Latency) -> tuple[float, float] | None:
    """Return the possible range of the mean if buckets have upper edges, and the width of those
    from the median upwards is known; else None.

    No bucket begins below the end of the one before it. The last bucket may hold all slower I/Os.
    """
    buckets, width = latency.buckets, latency.bucket_width
    if buckets is None or not buckets.upper_ns or width is None:
        return None
    least = most = 0.0
    reached, before, slowest = (
        0,
        latency.min_ns or 0,
        max(latency.max_ns or 0, buckets.upper_ns[-1]),
    )
    for at, (count, upper) in enumerate(zip(buckets.n, buckets.upper_ns, strict=True), 1):
        reached += count
        narrow = 2 * reached >= latency.n
        least += count * max(float(before), upper / (1 + width) - WHOLE_US if narrow else 0.0)
        most += count * (slowest if at == len(buckets.n) else upper)
        before = upper
    return least / latency.n, most / latency.n


def _mean_off(
    latency: Latency, span: tuple[float, float] | None, rounding: float
) -> Iterator[Disagreement]:
    if span is None:
        return
    mean, (low, high) = latency.mean_ns or 0.0, span
    unit = min((unit_of(value) for value in latency.percentiles_ns.values() if value), default=1)
    # a tool may cut its mean to whole units, those of its other figures if that leaves 0
    own = unit_of(int(mean) or latency.max_ns or 0) if mean.is_integer() else 1
    off = mean * rounding + (max(unit, own) if rounding else 1)
    if not low - off <= mean <= high + off:
        operands = {"mean_ns": mean, "low_ns": low, "high_ns": high}
        yield "mean-off", mean, low if mean < low else high, operands


def _ends_off(latency: Latency) -> Iterator[Disagreement]:
    """Yield a minimum or maximum outside the first or last bucket."""
    assert latency.buckets is not None
    idx, counts = latency.buckets.idx, latency.buckets.n
    first = next(compress(idx, counts))
    last = next(compress(reversed(idx), reversed(counts)))
    for name, value, index in (
        ("minimum", latency.min_ns, first),
        ("maximum", latency.max_ns, last),
    ):
        if value is None:
            continue
        low, high = bucket_edges(index)
        if value < low or (value > high and index < TOP_BUCKET):
            operands = {"value_ns": value, "low_ns": low, "high_ns": high}
            yield name, value, low if value < low else high, operands


def _percentiles_off(latency: Latency) -> Iterator[Disagreement]:
    """Yield percentiles that contradict the histogram.

    A rank may be off by one (see `_by_percentiles`).
    """
    assert latency.buckets is not None
    buckets = Buckets(idx=latency.buckets.idx, n=latency.buckets.n)
    shares = [float(name) for name in latency.percentiles_ns]
    again = percentiles_of(buckets, shares, latency.max_ns)
    for name, value in latency.percentiles_ns.items():
        expected = again[label(float(name))]
        if value != expected and not _next_to(latency, float(name), value):
            operands = {"percentile": float(name), "value_ns": value, "histogram_ns": expected}
            yield "percentile", value, expected, operands


def _next_to(latency: Latency, share: float, value: int) -> bool:
    """Return whether a percentile is in the bucket of its rank, or of the rank before or after."""
    assert latency.buckets is not None
    wanted, reached = rank(share, latency.n), 0
    for index, count in zip(latency.buckets.idx, latency.buckets.n, strict=True):
        before, reached = reached, reached + count
        low, high = bucket_edges(index)
        inside = low <= value <= high or (index >= TOP_BUCKET and value >= low)
        if inside and before - 1 <= wanted <= reached + 1:
            return True
    return False

"""Numbers as fio prints them, with the values that they may stand for; shares that fio prints with
a result: of latencies, of depths, and of a group's rate.

The shares count the same I/Os as the result, so they bound its latencies, its syncs, and its I/Os
in flight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tui.workloads.fio.snapshot import StatusLatency

Found = tuple[str, float, float]

BUCKET = 1 / 64
MARK = 1e-4  # fio prints at least 0.01 % for a range with I/Os
DEPTH_MARK = 1e-3  # and at least 0.1 % for a depth
ENDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
UNITS = (("latency_ns", 1), ("latency_us", 1000), ("latency_ms", 1_000_000))
LIMITS_NS = (*(float(end * unit) for _, unit in UNITS for end in ENDS), 2e9, float("inf"))
LEVELS = (1, 3, 7, 15, 31, 63)  # most I/Os in flight of each printed depth, except the last
CLOCK = 0.02  # two readings of the clock per I/O
LEAST_S = 1.0
KIB = 1024.0
PER_CENT = 100.0
LEAST_RATE = 64 * KIB  # below, whole KiB/s are too few digits


class Range(NamedTuple):
    """I/Os whose completion latency is in [low, top) ns, as a share of all."""

    low: float
    top: float
    share: float


class Completions(NamedTuple):
    """Completion latencies of one direction: number, extremes, (share, value) of percentiles."""

    n: int
    low: Span
    high: Span
    marks: Sequence[tuple[float, Span]]

    @classmethod
    def exact(cls, latency: StatusLatency) -> Completions:
        """Return latencies that are printed in whole nanoseconds."""
        marks = [
            (float(name) / 100, Span(value, value))
            for name, value in (latency.percentile or {}).items()
        ]
        low, high = Span(latency.min, latency.min), Span(latency.max, latency.max)
        return cls(latency.n, low, high, marks)

    def below(self, limit: float) -> tuple[float, float]:
        """Return the least and the largest possible share of I/Os that are faster than a limit.

        A percentile is the middle of its bucket, and its rank may be off by one.
        """
        if self.low.low >= limit:
            return 0.0, 0.0
        if self.high.high < limit:
            return 1.0, 1.0
        most = (p for p, value in self.marks if value.low * (1 - BUCKET) - 1 >= limit)
        least = (p for p, value in self.marks if value.high * (1 + BUCKET) + 1 < limit)
        return max(least, default=0.0), min(most, default=1.0)


def ranges(shares: Mapping[tuple[int, str], float]) -> list[Range]:
    """Return the latency ranges of shares in %, ascending, by (unit in ns, upper end as printed).

    Raises ValueError for a name that fio does not use.
    """
    found = []
    for (unit, end), share in shares.items():
        top = float("inf") if end.startswith(">=") else float(end) * unit
        at = LIMITS_NS.index(top)
        low = LIMITS_NS[at - 1] if at and (unit, end) != (1000, "2") else 0.0
        found.append(Range(low, top, share / 100))
    return sorted(found, key=lambda each: each.top)


def of_latencies(
    counted: Sequence[Completions], found: Sequence[Range], digit: float, flying: int
) -> Iterator[Found]:
    """Yield latency shares that do not add up, or contradict percentiles, minimum or maximum.

    `digit`: possible error of a printed share. `flying`: I/Os that may be counted in the shares but
    not in the latencies, or the other way round.
    """
    filled = [each for each in found if each.share > 0]
    total = sum(each.n for each in counted)
    if not filled or not total:
        return
    marked = sum(each.share <= MARK for each in filled)
    off = marked * MARK + len(filled) * digit + flying / total
    told = sum(each.share for each in filled)
    if abs(told - 1) > off:
        yield "share-sum", 100 * told, 100.0
        return
    yield from _beyond_ends(counted, filled)
    ranks = 3 * len(counted) / total
    for limit in LIMITS_NS[:-1]:
        if any(each.low < limit < each.top for each in filled):
            continue  # a range of several: terse output has none below 2 us
        below = sum(each.share for each in filled if each.top <= limit)
        spans = [(each.n / total, *each.below(limit)) for each in counted]
        least = sum(part * low for part, low, _ in spans)
        most = sum(part * high for part, _, high in spans)
        if not least - off - ranks <= below <= most + off + ranks:
            yield "share", 100 * below, 100 * (least if below < least else most)
            return


def _beyond_ends(counted: Sequence[Completions], filled: Sequence[Range]) -> Iterator[Found]:
    """Yield an extreme that is not in the outermost range with I/Os."""
    low = Span(min(each.low.low for each in counted), min(each.low.high for each in counted))
    high = Span(max(each.high.low for each in counted), max(each.high.high for each in counted))
    first, last = filled[0], filled[-1]
    for name, extreme, of in (("lowest", low, first), ("highest", high, last)):
        if extreme.low >= of.top:
            yield f"{name}-above", extreme.low, of.top
        elif extreme.high < of.low:
            yield f"{name}-below", extreme.high, of.low


LEVEL_DIGIT = 0.5e-3  # shares of depths have one decimal of a per cent


def of_syncs(levels: Sequence[float], ios: int, syncs: int, flying: int) -> float:
    """Return the difference between the number of syncs in the depths (in % of the I/Os) and the
    number counted; 0 if they agree.

    fio notes a depth for each I/O and for each sync.
    """
    filled = [each for each in levels if each > 0]
    off = ios * (
        len(filled) * LEVEL_DIGIT + sum(each / 100 <= DEPTH_MARK for each in filled) * DEPTH_MARK
    )
    apart = ios * (sum(filled) / 100 - 1) - syncs
    return apart if filled and ios and abs(apart) > off + flying + 1 else 0.0


def one_at_a_time(levels: Sequence[float]) -> bool:
    """Return whether a worker never had two I/Os in flight.

    Otherwise it may sync while I/Os are in flight, and its syncs are then in flight as well.
    """
    return not any(levels[1:])


def in_flight(
    levels: Sequence[float],
    workers: int,
    latencies: Iterable[StatusLatency],
    runtime_ms: int,
    depth: float | None = 0,
) -> Iterator[Found]:
    """Yield a number of I/Os in flight, by Little's law, above the largest depth with a share.

    fio records the depth at every submission, so the largest one recorded is an upper bound, with
    two exceptions: the submitting threads of io_submit_mode=offload have depths of their own, and
    while a batch completes, one more I/O waits. `depth` is the iodepth if one of these may apply,
    None if the iodepth is then unknown, and 0 if neither applies.
    """
    at = _deepest(levels)
    seconds = runtime_ms / 1000
    if at >= len(LEVELS) or not workers or seconds < LEAST_S or depth is None:
        return
    waits = [each for each in latencies if each.n]
    waited = sum(each.n * each.mean for each in waits) / 1e9
    longest = max((each.max for each in waits), default=0.0) / 1e9
    slots = max(LEVELS[at], depth) * workers
    if waited > slots * (seconds + longest) * (1 + CLOCK):
        yield "depth-share", waited / seconds, slots


def while_a_batch_completes(levels: Sequence[float]) -> int:
    """Return the largest depth with a share plus one; 0 without one, or if it has no upper end."""
    at = _deepest(levels)
    return LEVELS[at] + 1 if at < len(LEVELS) else 0


def _deepest(levels: Sequence[float]) -> int:
    return max((place for place, share in enumerate(levels) if share > 0), default=len(LEVELS))


def group_share(told: float, mean_kib: Span, rate: Span, digit: float) -> Iterator[Found]:
    """Yield a share of the group's rate that is not the mean of the samples divided by that rate.

    fio truncates both to whole KiB/s, and limits the share to 100 %. `digit`: possible error of the
    share.
    """
    if rate.low < LEAST_RATE:
        return
    low = PER_CENT * max(mean_kib.low - 1, 0.0) * KIB / (rate.high + KIB)
    high = PER_CENT * (mean_kib.high + 1) * KIB / (rate.low - KIB)
    if not min(low, PER_CENT) - digit <= told <= min(high, PER_CENT) + digit:
        yield "group-share", told, min((low + high) / 2, PER_CENT)


NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(?:([kKMGTPE])(i)?)?(?:(bit|B)(?:/s)?)?")
PREFIXES = ("", "k", "M", "G", "T", "P", "E")
BITS = 8
CUT = 0.001  # fio divides in whole numbers: less than a thousandth of the last unit is lost


class Span(NamedTuple):
    """The values that a printed number may stand for."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value in the middle."""
        return (self.low + self.high) / 2

    def meets(self, other: Span, share: float = 0.0) -> bool:
        """Return whether both may represent the same value, within a relative tolerance."""
        return self.low * (1 - share) <= other.high and other.low <= self.high * (1 + share)

    def times(self, by: float) -> Span:
        """Return the values multiplied by a factor."""
        return Span(self.low * by, self.high * by)


def span(text: str) -> Span:
    """Return the range of values that fio's num2str prints as this text: ``139MiB/s``, ``44.5k``,
    ``29.4Gi``, ``556Mibit/s``.

    A number without a prefix is exact. fio 3.1 loses a carry: 1.998 may be printed as 1.00. Raises
    ValueError.
    """
    value, per, decimals, whole = _parts(text)
    if whole:
        return Span(value * per, value * per)
    digit = 0.5 * 10.0 ** -len(decimals)
    carried = 1.0 if decimals and not int(decimals) else 0.0
    return Span((value - digit) * per, (value + max(digit, carried) + CUT) * per)


def value_of(text: str) -> float:
    """Return the value of a printed number, with its unit applied. Raises ValueError."""
    value, per, _, _ = _parts(text)
    return value * per


def _parts(text: str) -> tuple[float, float, str, bool]:
    """Return a number, its unit, its decimals, and whether it is printed in full."""
    match = NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(
            f"found '{text}'; expected a number with a unit, such as 12.3MiB/s or 980kB"
        )
    digits, decimals, prefix, binary, unit = match.groups()
    per = (1024.0 if binary else 1000.0) ** PREFIXES.index((prefix or "").replace("K", "k"))
    per /= BITS if unit == "bit" else 1
    return float(f"{digits}.{decimals or 0}"), per, decimals or "", not prefix


def total(spans: Iterable[Span]) -> Span:
    """Return the possible values of a sum."""
    parts = [*spans]
    return Span(sum(each.low for each in parts), sum(each.high for each in parts))

"""The curve of a search: latencies over the rate that was achieved, for charts of every kind. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct

from tui.metrics.buckets import label
from tui.metrics.registry import MIXED, in_order
from tui.model.search_record import SearchPointRecord, SearchRecord
from tui.sizing.budget import DRAWN

USUAL = tuple(map(label, DRAWN))
MOST_TRACES = 4
MEAN = "mean"  # in place of a percentile, where the mean is limited


class CurvePoint(Struct, frozen=True):
    """One point of a trace: the achieved rate, and a latency in ns."""

    rate: float
    latency_ns: float
    point: SearchPointRecord


class Trace(Struct, frozen=True):
    """A percentile or the mean of one direction over the achieved rate, by ascending load; `most_ns` is its limit."""

    direction: str
    percentile: str
    points: Sequence[CurvePoint]
    most_ns: float | None = None
    named: bool = False  # its direction must be told, for there are several

    @property
    def name(self) -> str:
        """``p99.9``, or ``write p99.9`` where several directions are drawn."""
        return f"{self.direction} {self.kind}" if self.named else self.kind

    @property
    def kind(self) -> str:
        """``p99.9``, or ``mean``."""
        return MEAN if self.percentile == MEAN else f"p{self.percentile}"


def rate_unit(search: SearchRecord) -> str:
    """Return the unit of the curve's rates."""
    return "bytes_per_s" if search.objective == "bandwidth" else "iops"


def rate_of(search: SearchRecord, point: SearchPointRecord) -> float:
    """Return what a point achieved, in the curve's unit."""
    return point.bw_bytes_per_s if search.objective == "bandwidth" else point.iops


def curve_points(search: SearchRecord) -> list[SearchPointRecord]:
    """Return the points of one curve by ascending load: those with the answer's knobs, void ones left out."""
    usable = [point for point in search.points if point.verdict != "void" and point.iops > 0]
    if not usable:
        return []
    knobs = dict(search.answer.knobs) if search.answer is not None and search.answer.knobs else dict(usable[-1].knobs)
    found = [point for point in usable if dict(point.knobs) == knobs] or usable
    return sorted(found, key=lambda point: (inf if point.offered_iops is None else point.offered_iops, point.iops))


def traces(search: SearchRecord) -> list[Trace]:
    """Return what is drawn: the percentile or the mean of each limit, and p50 and p99 of the same direction."""
    points = curve_points(search)
    names = in_order({name for point in points for name in point.percentiles_ns if point.percentiles_ns[name]})
    if not names:
        return []
    wanted = limits_of(search, names)
    main = next(iter(wanted), (MIXED if MIXED in names else names[0], ""))[0]
    for percentile in USUAL[: 2 if wanted else 3]:
        wanted.setdefault((main, percentile), None)
    several = len({direction for direction, _ in wanted}) > 1
    made = [_trace(search, points, name, percentile, most, several) for (name, percentile), most in wanted.items()]
    made = sorted((each for each in made if each.points), key=lambda each: (each.most_ns is None, each.direction))
    return sorted(made[:MOST_TRACES], key=_place)


def limits_of(search: SearchRecord, names: Sequence[str]) -> dict[tuple[str, str], float | None]:
    """Return limits of latency in ns by direction and percentile (or MEAN); of several on the same the strictest.

    `names`: the directions that were measured, for limits that are of none.
    """
    found: dict[tuple[str, str], float | None] = {}
    for limit in (each for each in search.limits if each.metric == "latency"):
        kind = MEAN if limit.percentile is None else label(limit.percentile)
        for name in [limit.direction] if limit.direction else [each for each in names if each != MIXED] or names:
            known = (each for each in (found.get((name, kind)), limit.most) if each is not None)
            found[name, kind] = min(known, default=None)
    return found


def _place(trace: Trace) -> tuple[str, float]:
    return trace.direction, 0.0 if trace.percentile == MEAN else float(trace.percentile)


def main_trace(search: SearchRecord) -> Trace | None:
    """Return the trace that is judged by a limit, else p99; None: there is no curve."""
    return main_of(traces(search))


def main_of(found: Sequence[Trace]) -> Trace | None:
    """Return the one of these traces that a curve is about; None: there is none."""
    judged = [trace for trace in found if trace.most_ns is not None]
    usual = [trace for trace in found if trace.percentile == "99"]
    return next(iter([*judged, *usual, *found]), None)


def same_traces(a: SearchRecord, b: SearchRecord) -> tuple[Trace, Trace] | None:
    """Return the main trace of one search and the same of another; None when either has none."""
    ours = main_trace(a)
    theirs = [] if ours is None else traces(b)
    same = (each for each in theirs if ours and (each.direction, each.percentile) == (ours.direction, ours.percentile))
    other = next(same, None)
    return None if ours is None or other is None else (ours, other)


def _trace(
    search: SearchRecord,
    points: Sequence[SearchPointRecord],
    direction: str,
    percentile: str,
    most: float | None,
    named: bool,
) -> Trace:
    found = [
        CurvePoint(rate_of(search, point), value, point)
        for point in points
        if (value := _latency(search, point, direction, percentile)) is not None
    ]
    return Trace(direction, percentile, found, most, named)


def _latency(search: SearchRecord, point: SearchPointRecord, direction: str, percentile: str) -> float | None:
    """Return a figure of a point in ns; the mean is known where a limit asks for it."""
    if percentile != MEAN:
        return point.percentiles_ns.get(direction, {}).get(percentile)
    means = {each.text for each in search.limits if each.metric == "latency" and each.percentile is None}
    found = (each for each in point.figures if each.limit in means and each.direction == direction)
    return next((each.figure.value for each in found), None)

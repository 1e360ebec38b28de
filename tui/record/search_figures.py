"""Figures of a search: load curve, point being measured, all results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct

from tui.journal.measurement import Measurement
from tui.journal.views import DirectionView
from tui.metrics import units
from tui.metrics.buckets import CURVE_PERCENTILES, label
from tui.metrics.figures import enough_behind
from tui.metrics.registry import MIXED, in_order
from tui.model.search_record import ConfidenceInterval, SearchPointRecord, SearchRecord
from tui.text.search import headline_text, known, term
from tui.text.search_texts import search_text

USUAL_PERCENTILES = tuple(map(label, CURVE_PERCENTILES))
MOST_TRACES = 4
MEAN = "mean"  # key of the mean, next to percentiles


class CurvePoint(Struct, frozen=True):
    """One point of a curve: achieved rate, and latency in ns."""

    rate: float
    latency_ns: float
    point: SearchPointRecord


class Trace(Struct, frozen=True):
    """Percentile or mean latency of one direction over the achieved rate, in ascending order of
    load.

    `most_ns` is its limit.
    """

    direction: str
    percentile: str
    points: Sequence[CurvePoint]
    most_ns: float | None = None
    named: bool = False  # name the direction: there are several

    @property
    def name(self) -> str:
        """Name: ``p99.9``, or ``write p99.9`` if several directions are drawn."""
        return f"{self.direction} {self.kind}" if self.named else self.kind

    @property
    def kind(self) -> str:
        """Statistic: ``p99.9`` or ``mean``."""
        return MEAN if self.percentile == MEAN else f"p{self.percentile}"


def rate_unit(search: SearchRecord) -> str:
    """Return the unit of the curve's rates."""
    return "bytes_per_s" if search.objective == "bandwidth" else "iops"


def rate_of(search: SearchRecord, point: SearchPointRecord) -> float:
    """Return a point's achieved rate in the curve's unit."""
    return point.bw_bytes_per_s if search.objective == "bandwidth" else point.iops


def curve_points(search: SearchRecord) -> list[SearchPointRecord]:
    """Return the points of one curve in ascending order of load.

    Only points with the answer's knobs (without an answer, the last point's knobs). Void points and
    points without I/O are excluded.
    """
    usable = [point for point in search.points if point.verdict != "void" and point.iops > 0]
    if not usable:
        return []
    knobs = (
        dict(search.answer.knobs)
        if search.answer is not None and search.answer.knobs
        else dict(usable[-1].knobs)
    )
    found = [point for point in usable if dict(point.knobs) == knobs] or usable
    return sorted(
        found,
        key=lambda point: (inf if point.offered_iops is None else point.offered_iops, point.iops),
    )


def traces(search: SearchRecord) -> list[Trace]:
    """Return up to four curves to draw: the statistic of each limit, plus p50 and p99 of the first
    limit's direction.

    Without limits: p50, p99 and p99.9 of all I/O.
    """
    points = curve_points(search)
    names = in_order(
        {name for point in points for name in point.percentiles_ns if point.percentiles_ns[name]}
    )
    if not names:
        return []
    wanted = limits_of(search, names)
    main = next(iter(wanted), (MIXED if MIXED in names else names[0], ""))[0]
    for percentile in USUAL_PERCENTILES[:-1] if wanted else USUAL_PERCENTILES:
        wanted.setdefault((main, percentile), None)
    several = len({direction for direction, _ in wanted}) > 1
    made = [
        _trace(search, points, name, percentile, most, several)
        for (name, percentile), most in wanted.items()
    ]
    made = sorted(
        (each for each in made if each.points),
        key=lambda each: (each.most_ns is None, each.direction),
    )
    return sorted(made[:MOST_TRACES], key=_place)


def limits_of(search: SearchRecord, names: Sequence[str]) -> dict[tuple[str, str], float | None]:
    """Return the strictest latency limit in ns, by direction and percentile (or MEAN).

    `names`: measured directions; limits without a direction apply to each of them but `mixed`.
    """
    found: dict[tuple[str, str], float | None] = {}
    for limit in (each for each in search.limits if each.metric == "latency"):
        kind = MEAN if limit.percentile is None else label(limit.percentile)
        for name in (
            [limit.direction]
            if limit.direction
            else [each for each in names if each != MIXED] or names
        ):
            known = (each for each in (found.get((name, kind)), limit.most) if each is not None)
            found[name, kind] = min(known, default=None)
    return found


def _place(trace: Trace) -> tuple[str, float]:
    return trace.direction, 0.0 if trace.percentile == MEAN else float(trace.percentile)


def main_trace(search: SearchRecord) -> Trace | None:
    """Return the curve that has a limit, else p99; None without a curve."""
    return main_of(traces(search))


def main_of(found: Sequence[Trace]) -> Trace | None:
    """Return the most important of these curves; None if there is none."""
    judged = [trace for trace in found if trace.most_ns is not None]
    usual = [trace for trace in found if trace.percentile == "99"]
    return next(iter([*judged, *usual, *found]), None)


def same_traces(a: SearchRecord, b: SearchRecord) -> tuple[Trace, Trace] | None:
    """Return the main curve of one search, and the same curve of another; None if either has
    none.
    """
    ours = main_trace(a)
    theirs = [] if ours is None else traces(b)
    same = (
        each
        for each in theirs
        if ours and (each.direction, each.percentile) == (ours.direction, ours.percentile)
    )
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


def _latency(
    search: SearchRecord, point: SearchPointRecord, direction: str, percentile: str
) -> float | None:
    """Return a point's latency in ns; None if unknown, such as a mean that no limit uses."""
    if percentile != MEAN:
        return point.percentiles_ns.get(direction, {}).get(percentile)
    means = {
        each.text for each in search.limits if each.metric == "latency" and each.percentile is None
    }
    found = (each for each in point.figures if each.limit in means and each.direction == direction)
    return next((each.figure.value for each in found), None)


USUAL_PERCENTILE = "99"  # if there is no limit


class LatencyNow(Struct, frozen=True):
    """Latency over all hosts so far, named like its curve; `most_ns` is its limit."""

    name: str
    value_ns: float
    most_ns: float | None = None


class PointNow(Struct, frozen=True):
    """The point being measured: achieved load over all hosts and directions."""

    iops: float
    bw_bytes_per_s: float
    latencies: tuple[LatencyNow, ...] = ()


def point_now(record: SearchRecord, measured: Measurement) -> PointNow | None:
    """Return the point being measured, without its ramp; None before the first measured I/O."""
    known = [leaf for leaf in measured.total.leaves if leaf.runtime_s > 0]
    iops = sum(leaf.ios / leaf.runtime_s for leaf in known)
    bandwidth = sum(leaf.bytes / leaf.runtime_s for leaf in known)
    return PointNow(iops, bandwidth, tuple(_latencies(record, measured))) if iops else None


def _latencies(record: SearchRecord, measured: Measurement) -> Iterator[LatencyNow]:
    wanted = _wanted(record, measured)
    several = len({direction for direction, _ in wanted}) > 1
    for (direction, kind), most in wanted.items():
        view = measured.total if direction == MIXED else measured.cluster.get(direction)
        value = _value(view, kind) if view is not None else None
        name = MEAN if kind == MEAN else f"p{kind}"
        if value is not None:
            yield LatencyNow(f"{direction} {name}" if several else name, value, most)


def _wanted(record: SearchRecord, measured: Measurement) -> Mapping[tuple[str, str], float | None]:
    """Return the limits by direction and percentile; without limits, p99 of all I/O."""
    names = in_order(measured.cluster)
    if not names:
        return {}
    usual = MIXED if {"read", "write"} <= {*names} else names[0], USUAL_PERCENTILE
    return limits_of(record, names) or {usual: None}


def _value(view: DirectionView, kind: str) -> float | None:
    """Return a percentile or mean latency so far; None if too few samples are beyond it."""
    if kind == MEAN:
        return view.so_far_mean_ns
    found, percentile = view.so_far, float(kind)
    return found.percentile(percentile) if enough_behind(found.total, percentile) else None


UNKNOWN = ConfidenceInterval(value=None, low=None, high=None)


class SearchFigure(Struct, frozen=True):
    """A figure with its confidence interval. `unit`: iops, bytes_per_s, hosts, or empty for a plain
    number.

    `text` replaces the figure if it has no number.
    """

    # capacity, full_load, knee; one_host, contention, coherence, best_hosts of the scaling law
    name: str
    unit: str
    figure: ConfidenceInterval
    text: str = ""

    @property
    def title(self) -> str:
        """Display name."""
        return self.name.replace("_", " ")


def found_figures(search: SearchRecord) -> list[SearchFigure]:
    """Return the figures of a search's result that have a number, a bound or a text."""
    return [each for each in _figures(search) if each.figure != UNKNOWN or each.text]


def _figures(search: SearchRecord) -> Iterator[SearchFigure]:
    if (answer := search.answer) is not None:
        yield SearchFigure("capacity", answer.unit, answer.capacity, headline_text(search))
    if search.maximum_iops is not None:
        yield SearchFigure("full_load", "iops", search.maximum_iops)
    if (knee := search.knee) is not None:
        caveat = search_text(knee.caveat) or f"of {knee.percentile}"
        yield SearchFigure("knee", "iops", knee.iops, caveat)
    if (law := search.scaling) is not None:
        parts = (("one_host", "iops", law.rate), ("contention", "", law.contention),
            ("coherence", "", law.coherence),
                 ("best_hosts", "hosts", law.best_hosts))  # fmt: skip
        yield from (
            SearchFigure(name, unit, figure) for name, unit, figure in parts if figure is not None
        )


def figure_text(found: SearchFigure) -> str:
    """Return a figure with its interval: ``48.2k IOPS ± 2 %``, ``0.041 (0.035 to 0.047)``."""
    if found.figure.value is None:
        return units.UNKNOWN
    return (
        known(found.figure, found.unit)
        if found.unit in ("iops", "bytes_per_s")
        else term(found.figure)
    )

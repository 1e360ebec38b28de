"""What the points of a search say about its capacity, point by point. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.model.search import Limit, Measured, Point, Search
from tui.sizing.points import SURELY_OVER, not_achieved

LEAST_ERROR = 0.003  # of a latency, as a share: buckets are no finer
BROKEN_DOWN = 1.5  # ln(latency / limit) that a point has at least which did not do what was offered
UNSURE = 1.0  # standard error of a share of which none is known
NEAR = 0.7  # |ln(latency / limit)| of points that are as sure as each other, second for second


class Evidence(Struct, frozen=True):
    """A point at `rate`: ln(latency / limit) of its binding limit with a standard error; or only on which side it is.

    `side`: "least" where the ratio is that at least, because the point was ended early or did not do what was offered;
    "over", "under" where there is no latency to go by. `share`: ln(I/Os above the limit / those that may be); of a mean
    ln(mean / limit): what adds up over seconds, so that its mean over points is right where seconds differ.
    """

    rate: float
    ratio: float = 0.0
    share_error: float = 0.0
    slope: float = 1.0
    side: Literal["figure", "least", "over", "under"] = "figure"
    seconds: float = 0.0
    share: float = 0.0

    @property
    def error(self) -> float:
        """Standard error of `ratio`."""
        return max(LEAST_ERROR, self.slope * self.share_error)

    @property
    def near(self) -> bool:
        """Whether it is a figure near the limit."""
        return self.side == "figure" and abs(self.ratio) < NEAR


def usable(points: Sequence[Point]) -> list[Point]:
    """Return the points that were measured whole."""
    return [each for each in points if each.verdict != "void"]


def evidence_of(search: Search, points: Sequence[Point]) -> list[Evidence]:
    """Return what each paced point says; points measured before the system had recovered say nothing."""
    found = []
    for at, each in enumerate(points):
        if each.offer.rate_iops is None or each.verdict == "void" or not_recovered(points, at):
            continue
        found.append(_of_point(search, each))
    return _evened(found)


def _evened(found: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence whose figures near the limit are as sure as each other, by their seconds.

    By chance a point has few slow I/Os: then it is low, and looks surer than one that has many. Weighed by what each
    says of itself, latencies would be too low. How much seconds differ is known by those that met a slow spell, so a
    point counts by the slow I/Os that it has: most points are between two spells, and know of none.
    """
    near = [each for each in found if each.near]
    if not near:
        return list(found)
    slow = [exp(each.share) for each in near]
    known = (each.share_error**2 * each.seconds * weight for each, weight in zip(near, slow, strict=True))
    a_second = sum(known) / sum(slow)
    slope = fmean(each.slope for each in near)
    return [_even(each, min(a_second / each.seconds, 1.0), slope) if each in near else each for each in found]


def _even(each: Evidence, variance: float, slope: float) -> Evidence:
    return replace(each, slope=slope, share_error=sqrt(variance))


def not_recovered(points: Sequence[Point], at: int) -> bool:
    """Tell whether a point broke a limit only because of the overload before it: a recover point behind it met it."""
    later = points[at + 1] if at + 1 < len(points) else None
    return (
        points[at].verdict == "breaks"
        and later is not None
        and later.offer.role == "recover"
        and later.verdict == "meets"
        and (later.offer.rate_iops or 0.0) >= (points[at].offer.rate_iops or 0.0)
    )


def binding(search: Search, point: Point) -> tuple[Limit, Measured] | None:
    """Return the limit on a latency that a point is nearest to, or furthest beyond; None: none was measured."""
    limits = {each.text: each for each in search.limits if each.metric == "latency"}
    found = [(limits[each.limit], each) for each in point.measured if each.limit in limits and each.value]
    return max(found, key=lambda pair: (pair[1].value or 0.0) / pair[0].most, default=None)


def _of_point(search: Search, point: Point) -> Evidence:
    offered = point.offer.rate_iops or 0.0
    nearest = binding(search, point)
    if not_achieved(point):
        return Evidence(offered, BROKEN_DOWN, 0.1, side="least", seconds=point.seconds)
    if nearest is None:
        return Evidence(offered, side="over" if point.verdict == "breaks" else "under")
    limit, figure = nearest
    value = figure.value or 0.0
    error = figure.share_error if figure.share_error is not None else UNSURE
    if point.verdict == "breaks" and value < limit.most:
        return Evidence(offered, side="over")
    if point.cut:
        surely = figure.slope * log(SURELY_OVER)
        return Evidence(offered, min(surely, log(value / limit.most)), error, figure.slope, "least", point.seconds)
    ratio = log(value / limit.most)
    share = _share(limit, figure, ratio, point)
    return Evidence(point.iops, ratio, error, figure.slope, seconds=point.seconds, share=share)


def _share(limit: Limit, figure: Measured, ratio: float, point: Point) -> float:
    """Return ln(I/Os above a limit / those that may be); points of old journals tell it by their percentile alone."""
    if limit.percentile is None or figure.over is None:
        return ratio / figure.slope
    allowed = (1 - limit.percentile / 100) * point.iops * point.seconds
    return log(max(figure.over, 0.5 / max(allowed, 0.5)))

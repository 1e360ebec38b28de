"""Estimate the capacity: the evidence of each point, and the posterior of all points together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, hypot, log, pi, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.capacity.hold import held, unlike
from tui.capacity.points import SURELY_OVER, not_achieved
from tui.model.extras import check_statistics
from tui.model.search import Limit, MeasuredLimit, Search, SearchPoint

if TYPE_CHECKING:
    import numpy as np

LEAST_ERROR = 0.003  # of a latency, as a share: the resolution of buckets
BROKEN_DOWN = 1.5  # minimum ln(latency / limit) of a point that did not achieve the offered load
UNSURE = 1.0  # assumed standard error of a share, if unknown
# |ln(latency / limit)| below which points are weighted by their seconds only
EQUALLY_SURE = 0.7


class PointEvidence(Struct, frozen=True):
    """What a point at `rate` says about its binding limit: `ratio` is ln(latency / limit).

    `side`: "figure" if the ratio was measured; "least" if it is a lower bound, because the point
    was ended early or did not achieve the offered load; "over" or "under" without a latency.
    `share`: ln(I/Os above the limit / allowed I/Os); for a limit on a mean, ln(mean / limit). The
    I/Os of all the point's seconds are counted, so the mean over points is correct even if slow
    I/Os come in bursts.
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
        """Whether the ratio was measured and is close to the limit."""
        return self.side == "figure" and abs(self.ratio) < EQUALLY_SURE


def usable(points: Sequence[SearchPoint]) -> list[SearchPoint]:
    """Return the points that have a verdict: all but the void ones."""
    return [each for each in points if each.verdict != "void"]


def evidence_of(search: Search, points: Sequence[SearchPoint]) -> list[PointEvidence]:
    """Return the evidence of each paced point.

    Void points, and points measured before the system had recovered, are ignored.
    """
    found = []
    for at, each in enumerate(points):
        if each.offer.rate_iops is None or each.verdict == "void" or not_recovered(points, at):
            continue
        found.append(_of_point(search, each))
    return _evened(found)


def _evened(found: Sequence[PointEvidence]) -> list[PointEvidence]:
    """Return the evidence with one uncertainty per second for all points near the limit.

    A point that has few slow I/Os by chance is low and looks more certain than one with many.
    Weighting points by their own uncertainty would therefore underestimate latency. Only points
    with a slow spell show how much seconds vary, and most points fall between two spells. So points
    are weighted by the number of slow I/Os they contain.
    """
    near = [each for each in found if each.near]
    if not near:
        return list(found)
    slow = [exp(each.share) for each in near]
    known = (
        each.share_error**2 * each.seconds * weight for each, weight in zip(near, slow, strict=True)
    )
    a_second = sum(known) / sum(slow)
    slope = fmean(each.slope for each in near)
    return [
        _even(each, min(a_second / each.seconds, 1.0), slope) if each in near else each
        for each in found
    ]


def _even(each: PointEvidence, variance: float, slope: float) -> PointEvidence:
    return replace(each, slope=slope, share_error=sqrt(variance))


def not_recovered(points: Sequence[SearchPoint], at: int) -> bool:
    """Return whether a point exceeded a limit only because of the overload before it.

    True if a repeat after a pause met the limit.
    """
    later = points[at + 1] if at + 1 < len(points) else None
    return (
        points[at].verdict == "breaks"
        and later is not None
        and later.offer.role == "recover"
        and later.verdict == "meets"
        and (later.offer.rate_iops or 0.0) >= (points[at].offer.rate_iops or 0.0)
    )


def binding(search: Search, point: SearchPoint) -> tuple[Limit, MeasuredLimit] | None:
    """Return the latency limit that a point is closest to, or exceeds most.

    None if no latency was measured.
    """
    limits = {each.text: each for each in search.limits if each.metric == "latency"}
    found = [
        (limits[each.limit], each) for each in point.measured if each.limit in limits and each.value
    ]
    return max(found, key=lambda pair: (pair[1].value or 0.0) / pair[0].most, default=None)


def _of_point(search: Search, point: SearchPoint) -> PointEvidence:
    offered = point.offer.rate_iops or 0.0
    nearest = binding(search, point)
    if point.offer.role == "hold" and not held(search, point) and unlike(search, point):
        # the mean over two states is not the latency of either
        return PointEvidence(offered, side="over")
    if not_achieved(point):
        return PointEvidence(offered, BROKEN_DOWN, 0.1, side="least", seconds=point.seconds)
    if nearest is None:
        return PointEvidence(offered, side="over" if point.verdict == "breaks" else "under")
    limit, figure = nearest
    value = figure.value or 0.0
    error = figure.share_error if figure.share_error is not None else UNSURE
    if point.verdict == "breaks" and value < limit.most:
        return PointEvidence(offered, side="over")
    if point.cut:
        surely = figure.slope * log(SURELY_OVER)
        return PointEvidence(
            offered,
            min(surely, log(value / limit.most)),
            error,
            figure.slope,
            "least",
            point.seconds,
        )
    ratio = log(value / limit.most)
    share = _share(limit, figure, ratio, point)
    return PointEvidence(point.iops, ratio, error, figure.slope, seconds=point.seconds, share=share)


def _share(limit: Limit, figure: MeasuredLimit, ratio: float, point: SearchPoint) -> float:
    """Return ln(I/Os above a limit / allowed I/Os).

    For points of old journals it is derived from the percentile.
    """
    if limit.percentile is None or figure.over is None:
        return ratio / figure.slope
    allowed = (1 - limit.percentile / 100) * point.iops * point.seconds
    return log(max(figure.over, 0.5 / max(allowed, 0.5)))


if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[np.float64]]

CELLS, FINE = 200, 160
LOWEST, HIGHEST = 0.005, 4.0  # of the measured maximum: prior range of a capacity
SLOPES = (0.12, 0.22, 0.4, 0.7, 1.2, 2.2, 4.0, 7.0, 13.0, 25.0, 60.0)
# near a limit, latencies rarely grow more slowly than the load
FLAT_SLOPE, FLAT_PRIOR = 1.0, 0.25
# relative deviation of the capacity from point to point
WANDER = (0.003, 0.008, 0.02, 0.045)
WANDER_PRIOR = (0.2, 0.3, 0.3, 0.2)
CLIFF_WANDER_PRIOR = (0.05, 0.15, 0.4, 0.4)  # whether a short point catches a stall is chance
BUNCHED = (1.0, 1.4, 2.0, 3.0)  # factor on the uncertainty that a point's own seconds give
BUNCHED_PRIOR = (0.3, 0.3, 0.25, 0.15)
LEAST_SHARE_ERROR = 0.02
SHARE_MISFIT = 0.15  # of ln(share above the limit / allowed share)
CLIFF = 0.2  # prior probability of the model with a cliff
CAP = 1.5  # ln(latency / limit) above which a point only counts as over
MISFIT = 0.35  # of ln(latency / limit): error of the smooth model
LEAST_MISFIT = 0.01
ODD = 0.03  # share of outliers among points
BREAKS_ODDLY = 0.004  # share of points that fail for no reason
CALM = 0.2  # difference of ln(latency / limit) between neighbours below a cliff
RANGE = 6.0  # of ln(latency / limit)
BEYOND = 0.06  # prior mass above the maximum: a system may thrash at full load
NEAR = 1.05  # of the maximum: a capacity up to here is expected


class Belief(Struct, frozen=True):
    """The posterior of the capacity: ascending rates, and the cumulative probability at each."""

    rates: tuple[float, ...]
    shares: tuple[float, ...]
    cliff: float  # probability of a cliff

    def quantile(self, share: float) -> float:
        """Return the rate below which the capacity lies with this probability."""
        import numpy as np

        return float(np.exp(np.interp(share, self.shares, np.log(self.rates))))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return self.quantile(0.025), self.quantile(0.975)

    @property
    def half_width(self) -> float:
        """The larger distance from the median to an end of the interval, relative to the median."""
        low, high = self.interval
        middle = self.quantile(0.5)
        return max(high / middle - 1, 1 - low / middle)


def believe(evidence: Sequence[PointEvidence], top: float) -> Belief:
    """Return the posterior of the capacity.

    `top`: the achieved rate at full load, the scale of the prior.
    """
    return _believe(tuple(evidence), top)


@lru_cache(maxsize=8)
def _believe(evidence: tuple[PointEvidence, ...], top: float) -> Belief:
    check_statistics("a capacity search")
    import numpy as np

    logs = np.linspace(np.log(top * LOWEST), np.log(top * HIGHEST), CELLS)
    mass, _ = _posterior(evidence, logs, top)
    kept = np.flatnonzero(mass > 1e-5 * mass.max())
    step = logs[1] - logs[0]
    fine = np.linspace(logs[kept[0]] - step, logs[kept[-1]] + step, FINE)
    mass, cliff = _posterior(evidence, fine, top)
    shares = np.concatenate(([0.0], np.cumsum((mass[1:] + mass[:-1]) / 2)))
    return Belief(tuple(np.exp(fine).tolist()), tuple((shares / shares[-1]).tolist()), cliff)


def _posterior(evidence: Sequence[PointEvidence], logs: Array, top: float) -> tuple[Array, float]:
    """Return the relative probability of each capacity, and the probability of a cliff."""
    import numpy as np

    prior = np.log(_prior(np.exp(logs) / top))
    wander = np.asarray(WANDER)
    bunched = np.asarray(BUNCHED)
    smooth = np.zeros((len(logs), len(SLOPES), len(wander), len(bunched)))
    cliff = np.zeros((len(logs), len(wander)))
    for each in evidence:
        smooth += _smooth(
            each,
            logs[:, None, None, None],
            np.asarray(SLOPES)[:, None, None],
            wander[:, None],
            bunched,
        )
        cliff += _cliff(each, logs[:, None], wander[None, :], _calm(each, evidence))
    weights = np.log(np.asarray(WANDER_PRIOR))
    slopes = np.where(np.asarray(SLOPES) < FLAT_SLOPE, FLAT_PRIOR, 1.0)
    slopes = np.log((1 - CLIFF) * slopes / slopes.sum())
    smooth += (
        prior[:, None, None, None]
        + slopes[:, None, None]
        + weights[:, None]
        + np.log(BUNCHED_PRIOR)
    )
    cliff += prior[:, None] + np.log(CLIFF_WANDER_PRIOR) + np.log(CLIFF)
    highest = max(smooth.max(), cliff.max())
    smooth_mass = np.exp(smooth - highest).sum(axis=(1, 2, 3))
    cliff_mass = np.exp(cliff - highest).sum(axis=1)
    mass = smooth_mass + cliff_mass
    return mass, float(cliff_mass.sum() / mass.sum())


def _prior(ratio: Array) -> Array:
    """Return the prior density of ln(capacity / maximum): high near the maximum, low above it."""
    import numpy as np

    below = 0.5 * ratio / NEAR + 0.5 / np.log(NEAR / LOWEST)
    found: Array = np.where(ratio <= NEAR, (1 - BEYOND) * below, BEYOND * 3 * (NEAR / ratio) ** 3)
    return found


def _normal(z: Array) -> Array:
    """Return the standard normal distribution function, to 2e-3 (Bowling 2009)."""
    import numpy as np

    found: Array = 1 / (1 + np.exp(-np.clip(1.5976 * z + 0.07056 * z**3, -60, 60)))
    return found


def _log(values: Array) -> Array:
    import numpy as np

    return np.log(values)


def _ln_latency(shift: Array, slopes: Array) -> Array:
    """Return ln(latency / limit) in the smooth model; `shift` is ln(rate / capacity)."""
    import numpy as np

    found: Array = -np.log(np.maximum(1 - slopes * (np.exp(shift) - 1), np.exp(-2 * CAP)))
    return found


def _smooth(
    each: PointEvidence, logs: Array, slopes: Array, wander: Array, bunched: Array
) -> Array:
    """Return the log likelihood of a point in the smooth model, by capacity."""
    import numpy as np

    shift = np.log(each.rate) - logs
    if each.side in ("over", "under"):
        return _log(
            (1 - ODD) * _normal(_sign(each) * shift / np.sqrt(wander**2 + 0.01**2)) + ODD / 2
        )
    expected = _ln_latency(shift, slopes)
    wandered = (_ln_latency(shift + wander, slopes) - _ln_latency(shift - wander, slopes)) / 2
    if each.near:
        return _by_share(
            each, slopes * (np.exp(shift) - 1) / each.slope, wandered / each.slope, bunched
        )
    spread = np.sqrt(each.error**2 + LEAST_MISFIT**2 + (MISFIT * expected) ** 2 + wandered**2)
    if each.side == "least" or each.ratio >= CAP:
        return _log(_normal((expected - min(each.ratio, CAP)) / spread) + BREAKS_ODDLY)
    density = np.exp(-0.5 * ((each.ratio - expected) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    return _log((1 - ODD) * density + ODD / RANGE)


def _by_share(each: PointEvidence, expected: Array, wandered: Array, bunched: Array) -> Array:
    """Return the log likelihood of a point near the limit, from its share of I/Os above the limit.

    The logarithm of that share is linear in the rate. If slow I/Os are bursty, most points have
    fewer of them than the mean and few points have many: log-normal around the mean. The burstiness
    is unknown: `bunched` times what each point shows.
    """
    import numpy as np

    drawn = np.log1p((bunched * each.share_error) ** 2 / np.exp(np.clip(expected, -4, 4)))
    variance = drawn + wandered**2 + (SHARE_MISFIT * expected) ** 2 + LEAST_SHARE_ERROR**2
    density = np.exp(-0.5 * (each.share - expected + drawn / 2) ** 2 / variance) / np.sqrt(
        2 * np.pi * variance
    )
    return _log((1 - ODD) * density / each.slope + ODD / RANGE)


def _cliff(each: PointEvidence, logs: Array, wander: Array, calm: float) -> Array:
    """Return the log likelihood of a point in the cliff model, by capacity.

    In that model latency shows only whether the rate is above or below the capacity.
    """
    import numpy as np

    above = _normal((np.log(each.rate) - logs) / np.sqrt(wander**2 + 0.003**2))
    if each.side in ("over", "under"):
        likely = above if each.side == "over" else 1 - above
        return _log((1 - ODD) * likely + ODD / 2)
    if each.side == "least" or each.ratio >= CAP:
        return _log(0.8 * above + BREAKS_ODDLY)
    over = _normal(np.asarray(each.ratio / max(each.error, 0.02)))
    density = above * over * 0.2 / CAP + (1 - above) * (1 - over) * calm
    return _log((1 - ODD) * density + ODD / RANGE)


def _calm(each: PointEvidence, evidence: Sequence[PointEvidence]) -> float:
    """Return the density of a latency below a cliff.

    It is wide for the lowest rate, otherwise centred on the latency at the next lower rate.
    """
    lower = [
        other
        for other in evidence
        if other.side == "figure" and other.rate < each.rate and other.ratio < 0
    ]
    if each.side != "figure" or not lower:
        return 0.25
    nearest = max(lower, key=lambda other: other.rate)
    spread = hypot(CALM, each.error, nearest.error)
    return 0.05 + 0.8 * exp(-0.5 * ((each.ratio - nearest.ratio) / spread) ** 2) / (
        spread * sqrt(2 * pi)
    )


def _sign(each: PointEvidence) -> float:
    return 1.0 if each.side == "over" else -1.0

"""Load curves with their knee, the area between two of them, and the universal scalability law."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import exp, inf, log, sqrt
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui.capacity.interval import Z_975, Estimate
from tui.metrics.repeat import t_975
from tui.model.extras import check_statistics
from tui.model.operands import Clause, clause
from tui.model.search import HOSTS, SearchPoint

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

CURVE_UNKNOWNS = 4
LEAST_POINTS = 5
DRAWS = 300
CURVE_SEED = 20261122
GRID = 400
LEAST_LATENCY_ERROR = 0.01  # of a latency
MOST_TAIL = 60.0
FULL = 0.999  # highest load, as a share of m: at m the latency would be infinite


class CurveKnee(Struct, frozen=True):
    """The point above which latency grows faster than load.

    `caveat`: why no knee was found, or how it is limited.
    """

    rate: Estimate
    latency_ns: float | None = None
    caveat: Clause | None = None


def knee(rates: Sequence[float], latencies_ns: Sequence[float]) -> CurveKnee:
    """Return the knee of a curve, from achieved rates and the latency at each.

    Unknown with too few different rates; only a lower end if the curve has no knee.
    """
    check_statistics("the knee of a load curve")
    import numpy as np

    if len({round(each, 6) for each in rates}) < LEAST_POINTS:
        return CurveKnee(Estimate(), caveat=clause("few-points", points=len(rates)))
    grid = np.linspace(min(rates), max(rates), GRID)
    curves = np.exp(_curves(rates, latencies_ns, grid))
    places = (grid / curves).argmax(axis=1)
    at = int(places[0])
    if at == GRID - 1:
        return CurveKnee(Estimate(None, float(grid[int(np.percentile(places, 2.5))]), None),
                    caveat=clause("no-knee"))  # fmt: skip
    low, high = (float(each) for each in np.percentile(grid[places], [2.5, 97.5]))
    value = float(grid[at])
    return CurveKnee(Estimate(value, min(low, value), max(high, value)), float(curves[0, at]))


def _curves(rates: Sequence[float], latencies_ns: Sequence[float], grid: Array) -> Array:
    """Return ln(latency) over the grid: the fit in the first row, random variations below.

    The variations are drawn from the uncertainty of the fit.
    """
    import numpy as np
    from scipy.optimize import least_squares

    x, y = np.asarray(rates, float), np.log(np.asarray(latencies_ns, float))
    top = float(x.max())
    begin = [float(y.min()), -1.0, np.log(0.08), np.log(1.5)]
    low, high = (
        [-np.inf, -12.0, np.log(1e-3), np.log(0.3)],
        [np.inf, 8.0, np.log(20.0), np.log(MOST_TAIL)],
    )

    def wrong(terms: Array) -> Array:
        left: Array = _log_latency(terms[None, :], x, top)[0] - y
        return left

    fit = least_squares(wrong, begin, bounds=(low, high), loss="soft_l1", f_scale=0.1)
    degrees = max(len(x) - CURVE_UNKNOWNS, 1)
    error = max(
        float(np.sqrt((wrong(fit.x) ** 2).sum() / degrees)) * min(t_975(degrees) / Z_975, 3.0),
        LEAST_LATENCY_ERROR,
    )
    widths = (
        np.linalg.pinv(fit.jac.T @ fit.jac + np.diag([0.0, 0.02, 0.02, 0.02]) * error**2) * error**2
    )
    drawn = np.random.default_rng(CURVE_SEED).multivariate_normal(
        fit.x, widths, DRAWS, check_valid="ignore"
    )
    terms = np.vstack([fit.x, np.clip(drawn, low, high)])
    return _log_latency(terms, grid, top)


def _log_latency(terms: Array, x: Array, top: float) -> Array:
    """Return ln(latency) at rates `x`, a row for each row of `terms`.

    Terms: ln a, ln b, ln(m / top - 1), ln p.
    """
    import numpy as np

    load = np.minimum(x / (top * (1 + np.exp(terms[:, 2:3]))), FULL)
    found: Array = terms[:, :1] + np.log1p(
        np.exp(terms[:, 1:2]) * load ** np.exp(terms[:, 3:4]) / (1 - load)
    )
    return found


LEAST_INSIDE = 3  # points of each curve with a real weight in the mean, for an interval
LEAST_SHARE = 0.01
WIDEST = log(2)  # wider intervals are useless
SAME = 0.01  # closer rates are repeats of one point
MANY = 1000  # degrees of freedom above which Student's t is taken as normal


class UncertainPoint(Struct, frozen=True):
    """A point of a load curve: rate, latency, standard error of ln(latency), None if unknown.

    `degrees`: degrees of freedom of that error.
    """

    rate: float
    latency_ns: float
    error: float | None = None
    degrees: float = MANY


class Area(Struct, frozen=True):
    """Mean ratio of latency, curve B over A, at the rates `low` to `high` that both cover.

    `caveat`: why there is no interval.
    """

    ratio: Estimate
    low: float
    high: float
    caveat: Clause | None = None


class _Mean(Struct, frozen=True):
    """Mean ln(latency) of a curve: smoothed, and linearly interpolated between points.

    `shares`: weight of each point; `inside`: effective number of points.
    """

    smooth: float
    straight: float
    shares: list[float]
    inside: int


def between(a: Sequence[UncertainPoint], b: Sequence[UncertainPoint]) -> Area | None:
    """Return the ratio of latency, B over A, at the rates that both curves cover.

    None if they do not overlap.
    """
    sides = [_merged(side) for side in (a, b)]
    if not all(sides):
        return None
    low, high = max(side[0].rate for side in sides), min(side[-1].rate for side in sides)
    if high <= low:
        return None
    ours, theirs = (_mean(side, low, high) for side in sides)
    value = exp(theirs.smooth - ours.smooth)
    if caveat := _too_few(sides, (ours, theirs)):
        return Area(Estimate(value), low, high, caveat)
    bent = abs((theirs.smooth - theirs.straight) - (ours.smooth - ours.straight))
    reach = _reach([*_parts(sides[0], ours.shares), *_parts(sides[1], theirs.shares)]) + bent
    if reach > WIDEST:
        return Area(Estimate(value), low, high, clause("points-scatter"))
    return Area(Estimate(value, value * exp(-reach), value * exp(reach)), low, high)


def _too_few(sides: Sequence[Sequence[UncertainPoint]], means: Sequence[_Mean]) -> Clause | None:
    a, b = (mean.inside for mean in means)
    if min(a, b) < LEAST_INSIDE:
        return clause("few-common-points", a=a, b=b, needed=LEAST_INSIDE)
    if any(all(each.error is None for each in side) for side in sides):
        return clause("no-per-second-data")
    return None


def _scatter(points: Sequence[UncertainPoint]) -> tuple[float, int]:
    """Return the variance of points around a monotonic curve, and its degrees of freedom."""
    logs = [log(each.latency_ns) for each in points]
    rising = _rising(logs)
    degrees = len(logs) - len(set(rising))
    squares = sum((one - other) ** 2 for one, other in zip(logs, rising, strict=True))
    return (squares / degrees, degrees) if degrees else (0.0, 1)


def _rising(values: Sequence[float]) -> list[float]:
    """Return the non-decreasing values closest to `values` (pool adjacent violators)."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and fmean(pools[-2]) >= fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return [mean for pool in pools for mean in [fmean(pool)] * len(pool)]


def _merged(points: Sequence[UncertainPoint]) -> list[UncertainPoint]:
    """Return the points by ascending rate; points with the same rate are merged.

    A point without an error gets the typical error.
    """
    usual = median([each.error for each in points if each.error is not None] or [inf])
    full = [each if each.error is not None or usual == inf else UncertainPoint(each.rate,
        each.latency_ns, usual, 1)
            for each in sorted(points, key=lambda each: each.rate)]  # fmt: skip
    starts: list[float] = []
    for each in full:
        starts.append(starts[-1] if starts and each.rate <= starts[-1] * (1 + SAME) else each.rate)
    groups = groupby(zip(starts, full, strict=True), key=lambda pair: pair[0])
    return [_one([each for _, each in group]) for _, group in groups]


def _one(points: Sequence[UncertainPoint]) -> UncertainPoint:
    """Return the mean of several points at one rate.

    Its error is the larger of the points' own errors and their scatter.
    """
    if len(points) == 1:
        return points[0]
    logs = [log(each.latency_ns) for each in points]
    errors = [each.error for each in points if each.error is not None]
    within = (
        sqrt(sum(each * each for each in errors)) / len(points)
        if len(errors) == len(points)
        else None
    )
    apart = stdev(logs) / sqrt(len(logs))
    rate, latency = fmean(each.rate for each in points), exp(fmean(logs))
    if within is None or within >= apart:
        return UncertainPoint(rate, latency, within, min(each.degrees for each in points))
    return UncertainPoint(rate, latency, apart, len(logs) - 1)


def _mean(points: Sequence[UncertainPoint], low: float, high: float) -> _Mean:
    check_statistics("comparing load curves")
    import numpy as np
    from scipy.interpolate import PchipInterpolator

    x = np.array([each.rate for each in points])
    y = np.log(np.array([each.latency_ns for each in points]))
    grid = np.unique(np.concatenate(([low, high], x[(x > low) & (x < high)])))
    widths = np.zeros(len(grid))
    widths[:-1] += np.diff(grid) / 2
    widths[1:] += np.diff(grid) / 2
    shares: Array = (
        widths @ np.array([np.interp(grid, x, row) for row in np.eye(len(x))]).T / (high - low)
    )
    straight = float(shares @ y)
    smooth = (
        float(PchipInterpolator(x, y).integrate(low, high)) / (high - low)
        if len(x) > 2
        else straight
    )
    inside = int((shares > LEAST_SHARE).sum())
    return _Mean(smooth, straight, [float(each) for each in shares], inside)


def _parts(points: Sequence[UncertainPoint], shares: Sequence[float]) -> list[tuple[float, float]]:
    """Return the variance components of a weighted mean, each with degrees of freedom.

    There is one for each point's own error, and one for the scatter.
    """
    own = [((share * each.error) ** 2, max(each.degrees, 1.0))
           for share, each in zip(shares, points, strict=True) if each.error]  # fmt: skip
    scatter, degrees = _scatter(points)
    return [*own, (scatter * sum(share * share for share in shares), float(degrees))]


def _reach(parts: Sequence[tuple[float, float]]) -> float:
    """Return the half-width of the 95 % interval, with degrees of freedom by Welch and
    Satterthwaite.
    """
    variance = sum(part for part, _ in parts)
    if not variance:
        return 0.0
    degrees = variance**2 / sum(part**2 / free for part, free in parts)
    return t_975(max(1, int(min(degrees, MANY)))) * sqrt(variance)


SCALING_UNKNOWNS = 3
RESAMPLES = 500
SCALING_SEED = 20261122  # deterministic: the same points always give the same answer
LEAST_RATE_ERROR = 0.005  # of a rate: the best precision in practice
FAR = 2.0  # times the largest number of hosts measured: end of the drawn curve
MOST_HOSTS = 1e6  # a maximum beyond this is none


class ScalingPoint(Struct, frozen=True):
    """The joint rate of several hosts.

    `error`: relative standard error of the rate, from its own seconds.
    """

    hosts: int
    rate: float
    error: float = 0.0


class ScalePoint(Struct, frozen=True):
    """One number of hosts in the scaling chart.

    `efficiency`: rate relative to linear scaling from the lowest number of hosts.
    """

    hosts: int
    rate: Estimate
    efficiency: float | None
    extrapolated: bool = False


class Scaling(Struct, frozen=True):
    """The scaling law fitted to points, if there are enough.

    `rate`: of one host. `best_hosts`: the number of hosts at the law's maximum; its value is None
    without a maximum.
    """

    points: list[ScalePoint] = field(default_factory=list)
    rate: Estimate | None = None
    contention: Estimate | None = None
    coherence: Estimate | None = None
    best_hosts: Estimate | None = None
    caveat: Clause | None = None


def scales_of(points: Iterable[SearchPoint]) -> list[ScalingPoint]:
    """Return the points of a search at full load, as rates by number of hosts."""
    return [
        ScalingPoint(
            each.offer.knobs.get(HOSTS, each.hosts),
            each.iops,
            (each.deviation or 0.0) / sqrt(max(each.seconds, 1.0)),
        )
        for each in points
        if each.verdict != "void" and each.offer.rate_iops is None and each.iops > 0
    ]


def scaling(measured: Sequence[ScalingPoint]) -> Scaling:
    """Return the fitted law with its uncertainty, and its measured and extrapolated points."""
    numbers = sorted({each.hosts for each in measured})
    if len(numbers) < SCALING_UNKNOWNS:
        few = clause("few-host-counts", counts=len(numbers))
        return Scaling(_measured_points(measured), caveat=few)
    check_statistics("the scaling law")
    import numpy as np

    fits = _fits(measured)
    best = _best(fits)
    drawn_on = _further(numbers[-1])
    curve = _law(fits, np.asarray(drawn_on, float))
    linear = _per_host(measured)
    beyond = [
        ScalePoint(
            hosts,
            _estimate(curve[:, at]),
            float(curve[0, at]) / (hosts * linear),
            extrapolated=True,
        )
        for at, hosts in enumerate(drawn_on)
    ]
    return Scaling(
        [*_measured_points(measured), *beyond],
        _estimate(1 / fits[:, 0]), _estimate(fits[:, 1] / fits[:, 0]),
        _estimate(fits[:, 2] / fits[:, 0]),
        best, _caveat(measured, numbers, best),
    )  # fmt: skip


def _further(most: int) -> list[int]:
    return sorted({round(most * (1 + (FAR - 1) * part / 4)) for part in range(1, 5)} - {most})


# -- the fit: rows of (1, contention, coherence) / rate; the first row is the points themselves


def _fits(measured: Sequence[ScalingPoint]) -> Array:
    import numpy as np

    hosts = np.asarray([each.hosts for each in measured], float)
    rates = np.asarray([each.rate for each in measured], float)
    usual = _fit(hosts, rates)
    curve = _law(usual[None, :], hosts)[0]
    spread = _spread(measured, np.log(rates / curve))
    draws = np.random.default_rng(SCALING_SEED).normal(0.0, 1.0, (RESAMPLES, len(hosts))) * spread
    return np.vstack([usual, *(_fit(hosts, curve * np.exp(each)) for each in draws)])


def _fit(hosts: Array, rates: Array) -> Array:
    import numpy as np
    from scipy.optimize import nnls

    rows = np.column_stack([np.ones_like(hosts), hosts - 1, hosts * (hosts - 1)])
    scale = rates / hosts  # relative errors: each point counts the same
    size = scale.max()
    found, _ = nnls(rows * (scale / size)[:, None], np.ones_like(hosts) / size)
    result: Array = np.maximum(found, [1e-12 / size, 0.0, 0.0])
    return result


def _law(fits: Array, hosts: Array) -> Array:
    found: Array = hosts / (
        fits[:, :1] + fits[:, 1:2] * (hosts - 1) + fits[:, 2:3] * hosts * (hosts - 1)
    )
    return found


def _spread(measured: Sequence[ScalingPoint], residuals: Array) -> Array:
    """Return the relative standard error of each point: from the fit's residuals, or the point's
    own if larger.
    """
    import numpy as np

    own = np.asarray([max(each.error, LEAST_RATE_ERROR) for each in measured])
    degrees = len(measured) - SCALING_UNKNOWNS
    if degrees < 1:
        return own
    left = sqrt(float(residuals @ residuals) / degrees) * min(t_975(degrees) / Z_975, 3.0)
    found: Array = np.maximum(own, left)
    return found


def _estimate(values: Array) -> Estimate:
    """Return the first value, with the 95 % interval of the resampled values after it."""
    import numpy as np

    low, high = np.percentile(values[1:], [2.5, 97.5])
    value = float(values[0])
    return Estimate(value, min(float(low), value), max(float(high), value))


def _best(fits: Array) -> Estimate:
    """Return the number of hosts at the law's maximum: sqrt((1 - contention) / coherence).

    `fits`: the fit first, then resampled ones. Above MOST_HOSTS there is no maximum (None).
    """
    import numpy as np

    contention, coherence = fits[:, 1] / fits[:, 0], fits[:, 2] / fits[:, 0]
    found = np.sqrt(np.maximum(1 - contention, 0.0) / np.maximum(coherence, 1e-300))
    ends = [
        float(found[0]),
        *(float(each) for each in np.percentile(found[1:], [2.5, 97.5], method="nearest")),
    ]
    ends = [max(each, 1.0) for each in ends]
    return Estimate(
        *(
            None if each > MOST_HOSTS else each
            for each in (ends[0], min(ends[:2]), max(ends[0], ends[2]))
        )
    )


# -- caveats


def _per_host(measured: Sequence[ScalingPoint]) -> float:
    fewest = min(each.hosts for each in measured)
    return fmean(each.rate for each in measured if each.hosts == fewest) / fewest


def _measured_points(measured: Sequence[ScalingPoint]) -> list[ScalePoint]:
    if not measured:
        return []
    linear = _per_host(measured)
    found = []
    for hosts in sorted({each.hosts for each in measured}):
        own = [each for each in measured if each.hosts == hosts]
        mean = fmean(each.rate for each in own)
        apart = (max(each.rate for each in own) - min(each.rate for each in own)) / 2
        reach = max(apart, Z_975 * mean * max(each.error for each in own) / sqrt(len(own)))
        found.append(
            ScalePoint(hosts, Estimate(mean, mean - reach, mean + reach), mean / (hosts * linear))
        )
    return found


def _caveat(
    measured: Sequence[ScalingPoint], numbers: Sequence[int], best: Estimate
) -> Clause | None:
    found = []
    if len(measured) == SCALING_UNKNOWNS:
        found.append(clause("three-points"))
    if best.value is None:
        found.append(clause("no-maximum"))
    elif best.value > FAR * numbers[-1]:
        found.append(clause("maximum-too-far", hosts=numbers[-1]))
    elif best.high is None:
        found.append(clause("maximum-unbounded"))
    return clause("several", texts=found) if len(found) > 1 else next(iter(found), None)

"""Throughput over hosts by the universal scalability law (Gunther 2007), with what the points cannot tell of it.

X(N) = rate N / (1 + contention (N - 1) + coherence N (N - 1)). N / X is linear in three terms that cannot be negative,
so the fit is a non-negative least squares; the intervals are of fits to points drawn again around the curve.
numpy and scipy are loaded by who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui.metrics.repeat import t_975
from tui.model.extras import check_statistics
from tui.model.search import HOSTS, Point
from tui.sizing.estimate import Estimate
from tui.sizing.interval import Z_975

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

UNKNOWNS = 3
RESAMPLES = 500
SEED = 20261122  # the same points always give the same answer
LEAST_ERROR = 0.005  # of a rate: nobody measures better than that
FAR = 2.0  # times the most hosts that were measured: so far the curve is drawn on
MOST_HOSTS = 1e6  # a maximum beyond it is none


class Scale(Struct, frozen=True):
    """What so many hosts did together; `error`: standard error of the rate by its own seconds, as a share of it."""

    hosts: int
    rate: float
    error: float = 0.0


class ScalePoint(Struct, frozen=True):
    """A point of the chart. `efficiency`: against linear growth from the fewest hosts."""

    hosts: int
    rate: Estimate
    efficiency: float | None
    extrapolated: bool = False


class Scaling(Struct, frozen=True):
    """The law, where points allow it. `best_hosts`: where it has its maximum; without a value it has none."""

    points: list[ScalePoint] = field(default_factory=list)
    rate: Estimate | None = None
    contention: Estimate | None = None
    coherence: Estimate | None = None
    best_hosts: Estimate | None = None
    remark: str = ""


def scales_of(points: Iterable[Point]) -> list[Scale]:
    """Return the points of a search at full load, by how many hosts measured them."""
    return [
        Scale(
            each.offer.knobs.get(HOSTS, each.hosts), each.iops, (each.deviation or 0.0) / sqrt(max(each.seconds, 1.0))
        )
        for each in points
        if each.verdict != "void" and each.offer.rate_iops is None and each.iops > 0
    ]


def scaling(measured: Sequence[Scale]) -> Scaling:
    """Return the fitted law with its uncertainty, and measured and extrapolated points."""
    numbers = sorted({each.hosts for each in measured})
    if len(numbers) < UNKNOWNS:
        few = f"{len(numbers)} numbers of hosts: the law has three unknowns, so nothing is fitted"
        return Scaling(_measured_points(measured), remark=few)
    check_statistics("the law of a scaling run")
    import numpy as np

    fits = _fits(measured)
    best = _best(fits)
    drawn_on = _further(numbers[-1])
    curve = _law(fits, np.asarray(drawn_on, float))
    linear = _per_host(measured)
    beyond = [
        ScalePoint(hosts, _estimate(curve[:, at]), float(curve[0, at]) / (hosts * linear), extrapolated=True)
        for at, hosts in enumerate(drawn_on)
    ]
    return Scaling(
        [*_measured_points(measured), *beyond],
        _estimate(1 / fits[:, 0]), _estimate(fits[:, 1] / fits[:, 0]), _estimate(fits[:, 2] / fits[:, 0]),
        best, _remark(measured, numbers, best),
    )  # fmt: skip


def _further(most: int) -> list[int]:
    return sorted({round(most * (1 + (FAR - 1) * part / 4)) for part in range(1, 5)} - {most})


# -- the fit: rows of (1, contention, coherence) / rate; the first row is that of the points themselves


def _fits(measured: Sequence[Scale]) -> Array:
    import numpy as np

    hosts = np.asarray([each.hosts for each in measured], float)
    rates = np.asarray([each.rate for each in measured], float)
    usual = _fit(hosts, rates)
    curve = _law(usual[None, :], hosts)[0]
    spread = _spread(measured, np.log(rates / curve))
    draws = np.random.default_rng(SEED).normal(0.0, 1.0, (RESAMPLES, len(hosts))) * spread
    return np.vstack([usual, *(_fit(hosts, curve * np.exp(each)) for each in draws)])


def _fit(hosts: Array, rates: Array) -> Array:
    import numpy as np
    from scipy.optimize import nnls

    rows = np.column_stack([np.ones_like(hosts), hosts - 1, hosts * (hosts - 1)])
    scale = rates / hosts  # a share of each point counts the same
    size = scale.max()
    found, _ = nnls(rows * (scale / size)[:, None], np.ones_like(hosts) / size)
    result: Array = np.maximum(found, [1e-12 / size, 0.0, 0.0])
    return result


def _law(fits: Array, hosts: Array) -> Array:
    found: Array = hosts / (fits[:, :1] + fits[:, 1:2] * (hosts - 1) + fits[:, 2:3] * hosts * (hosts - 1))
    return found


def _spread(measured: Sequence[Scale], residuals: Array) -> Array:
    """Return each point's standard error as a share: by what the curve leaves over, at least by its own seconds."""
    import numpy as np

    own = np.asarray([max(each.error, LEAST_ERROR) for each in measured])
    degrees = len(measured) - UNKNOWNS
    if degrees < 1:
        return own
    left = sqrt(float(residuals @ residuals) / degrees) * min(t_975(degrees) / Z_975, 3.0)
    found: Array = np.maximum(own, left)
    return found


def _estimate(values: Array) -> Estimate:
    """Return the first as the figure, with the interval of all others around it."""
    import numpy as np

    low, high = np.percentile(values[1:], [2.5, 97.5])
    value = float(values[0])
    return Estimate(value, min(float(low), value), max(float(high), value))


def _best(fits: Array) -> Estimate:
    """Return where the law has its maximum: sqrt((1 - contention) / coherence). Ends without a bound are None."""
    import numpy as np

    contention, coherence = fits[:, 1] / fits[:, 0], fits[:, 2] / fits[:, 0]
    found = np.sqrt(np.maximum(1 - contention, 0.0) / np.maximum(coherence, 1e-300))
    ends = [float(found[0]), *(float(each) for each in np.percentile(found[1:], [2.5, 97.5], method="nearest"))]
    ends = [max(each, 1.0) for each in ends]
    return Estimate(*(None if each > MOST_HOSTS else each for each in (ends[0], min(ends[:2]), max(ends[0], ends[2]))))


# -- what was measured, and what it cannot say


def _per_host(measured: Sequence[Scale]) -> float:
    fewest = min(each.hosts for each in measured)
    return fmean(each.rate for each in measured if each.hosts == fewest) / fewest


def _measured_points(measured: Sequence[Scale]) -> list[ScalePoint]:
    if not measured:
        return []
    linear = _per_host(measured)
    found = []
    for hosts in sorted({each.hosts for each in measured}):
        own = [each for each in measured if each.hosts == hosts]
        mean = fmean(each.rate for each in own)
        apart = (max(each.rate for each in own) - min(each.rate for each in own)) / 2
        reach = max(apart, Z_975 * mean * max(each.error for each in own) / sqrt(len(own)))
        found.append(ScalePoint(hosts, Estimate(mean, mean - reach, mean + reach), mean / (hosts * linear)))
    return found


def _remark(measured: Sequence[Scale], numbers: Sequence[int], best: Estimate) -> str:
    found = []
    if len(measured) == UNKNOWNS:
        found.append("three points for three unknowns: nothing is left over to tell whether the law holds")
    if best.value is None:
        found.append("no maximum: more hosts cost nothing that can be seen")
    elif best.high is None or best.value > FAR * numbers[-1]:
        found.append(f"the maximum lies beyond what {numbers[-1]} hosts can tell")
    return "; ".join(found)

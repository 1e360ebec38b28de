"""A load curve: latency over achieved throughput, and its knee.

The curve that is fitted: latency = a (1 + b u^p / (1 - u)), u = rate / m, which is M/M/1 with p = 1 and a cliff with
large p. Its knee is where latency begins to grow faster than load: the rate with the highest rate / latency (the
"power" of Kleinrock 1979). Intervals: curves drawn from the fit's own uncertainty. numpy and scipy are
loaded by who asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.metrics.repeat import t_975
from tui.model.extras import check_statistics
from tui.sizing.estimate import Estimate
from tui.sizing.interval import Z_975

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

UNKNOWNS = 4
LEAST_POINTS = 5
DRAWS = 300
SEED = 20261122
GRID = 400
LEAST_ERROR = 0.01  # of a latency
MOST_TAIL = 60.0
FULL = 0.999  # of m: the curve has no end there


class Knee(Struct, frozen=True):
    """Where latency begins to grow faster than load. `remark`: why there is none, or what it cannot say."""

    rate: Estimate
    latency_ns: float | None = None
    remark: str = ""


def knee(rates: Sequence[float], latencies_ns: Sequence[float]) -> Knee:
    """Return the knee of a curve by its points: achieved rates and one figure of latency at each."""
    check_statistics("the knee of a load curve")
    import numpy as np

    if len({round(each, 6) for each in rates}) < LEAST_POINTS:
        return Knee(Estimate(), remark=f"{len(rates)} points: the curve has four unknowns")
    grid = np.linspace(min(rates), max(rates), GRID)
    curves = np.exp(_curves(rates, latencies_ns, grid))
    places = (grid / curves).argmax(axis=1)
    at = int(places[0])
    if at == GRID - 1:
        return Knee(Estimate(None, float(grid[int(np.percentile(places, 2.5))]), None),
                    remark="latency does not grow faster than load up to the highest rate")  # fmt: skip
    low, high = (float(each) for each in np.percentile(grid[places], [2.5, 97.5]))
    value = float(grid[at])
    return Knee(Estimate(value, min(low, value), max(high, value)), float(curves[0, at]))


def _curves(rates: Sequence[float], latencies_ns: Sequence[float], grid: Array) -> Array:
    """Return ln(latency) over the grid: in the first row the fit's, below that of curves drawn around it."""
    import numpy as np
    from scipy.optimize import least_squares

    x, y = np.asarray(rates, float), np.log(np.asarray(latencies_ns, float))
    top = float(x.max())
    begin = [float(y.min()), -1.0, np.log(0.08), np.log(1.5)]
    low, high = [-np.inf, -12.0, np.log(1e-3), np.log(0.3)], [np.inf, 8.0, np.log(20.0), np.log(MOST_TAIL)]

    def wrong(terms: Array) -> Array:
        left: Array = _log_latency(terms[None, :], x, top)[0] - y
        return left

    fit = least_squares(wrong, begin, bounds=(low, high), loss="soft_l1", f_scale=0.1)
    degrees = max(len(x) - UNKNOWNS, 1)
    error = max(float(np.sqrt((wrong(fit.x) ** 2).sum() / degrees)) * min(t_975(degrees) / Z_975, 3.0), LEAST_ERROR)
    widths = np.linalg.pinv(fit.jac.T @ fit.jac + np.diag([0.0, 0.02, 0.02, 0.02]) * error**2) * error**2
    drawn = np.random.default_rng(SEED).multivariate_normal(fit.x, widths, DRAWS, check_valid="ignore")
    terms = np.vstack([fit.x, np.clip(drawn, low, high)])
    return _log_latency(terms, grid, top)


def _log_latency(terms: Array, x: Array, top: float) -> Array:
    """Return ln(latency) of each row of terms: ln a, ln b, ln(m / top - 1), ln p."""
    import numpy as np

    load = np.minimum(x / (top * (1 + np.exp(terms[:, 2:3]))), FULL)
    found: Array = terms[:, :1] + np.log1p(np.exp(terms[:, 1:2]) * load ** np.exp(terms[:, 3:4]) / (1 - load))
    return found

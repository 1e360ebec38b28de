"""Where the capacity lies, by all points together: a posterior over it, that survives both a smooth knee and a cliff.

Two models are held at once, and the points choose. In the smooth one a latency grows as 1 / (1 - load), which is exact
of the tail of M/M/1: ln(latency / limit) = -ln(1 - s (rate / capacity - 1)), with its slope `s` at the capacity
unknown. In the other, latency says nothing but on which side of a cliff a point was. Each point may be wrong by
chance (its own interval), because capacity is not the same at all times (unknown), and now and then for no reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, hypot, pi, sqrt
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.model.extras import check_statistics
from tui.sizing.evidence import Evidence

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

CELLS, FINE = 200, 160
LOWEST, HIGHEST = 0.005, 4.0  # of the maximum that was measured, where a capacity is looked for
SLOPES = (0.12, 0.22, 0.4, 0.7, 1.2, 2.2, 4.0, 7.0, 13.0, 25.0, 60.0)
FLAT_SLOPE, FLAT_PRIOR = 1.0, 0.25  # latencies that grow less than the load does, near a limit, are rare
WANDER = (0.003, 0.008, 0.02, 0.045)  # by how much the capacity differs from point to point, as a share
WANDER_PRIOR = (0.2, 0.3, 0.3, 0.2)
CLIFF_WANDER_PRIOR = (0.05, 0.15, 0.4, 0.4)  # whether a short point falls off is chance
BUNCHED = (1.0, 1.4, 2.0, 3.0)  # times as unsure as a point looks by its own seconds
BUNCHED_PRIOR = (0.3, 0.3, 0.25, 0.15)
LEAST_SHARE_ERROR = 0.02
SHARE_MISFIT = 0.15  # of ln(share above the limit / allowed share)
CLIFF = 0.2  # prior share of the model with a cliff
CAP = 1.5  # ln(latency / limit) from which on a point only says that it was over
MISFIT = 0.35  # of ln(latency / limit): how far the smooth model may be off
LEAST_MISFIT = 0.01
ODD = 0.03  # share of points that fit nothing
BREAKS_ODDLY = 0.004  # share of those that break down for no reason
CALM = 0.2  # how far ln(latency / limit) differs between neighbours below a cliff
RANGE = 6.0  # of ln(latency / limit)
BEYOND = 0.06  # prior mass above the maximum: a system may thrash at full load
NEAR = 1.05  # of the maximum: up to there a capacity is no surprise


class Belief(Struct, frozen=True):
    """A posterior over the capacity: ascending rates, and the share of it up to each."""

    rates: tuple[float, ...]
    shares: tuple[float, ...]
    cliff: float  # how probable a cliff is

    def quantile(self, share: float) -> float:
        """Return the rate below which the capacity lies with that probability."""
        import numpy as np

        return float(np.exp(np.interp(share, self.shares, np.log(self.rates))))

    @property
    def interval(self) -> tuple[float, float]:
        """The rates between which it lies with 95 %."""
        return self.quantile(0.025), self.quantile(0.975)

    @property
    def half_width(self) -> float:
        """The further end of the interval, as a share of the median."""
        low, high = self.interval
        middle = self.quantile(0.5)
        return max(high / middle - 1, 1 - low / middle)


def believe(evidence: Sequence[Evidence], top: float) -> Belief:
    """Return where the capacity lies; `top`: the achieved rate at full load, the scale of what is likely beforehand."""
    return _believe(tuple(evidence), top)


@lru_cache(maxsize=8)
def _believe(evidence: tuple[Evidence, ...], top: float) -> Belief:
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


def _posterior(evidence: Sequence[Evidence], logs: Array, top: float) -> tuple[Array, float]:
    """Return the mass of each capacity (logarithms), and the share of the cliff in it."""
    import numpy as np

    prior = np.log(_prior(np.exp(logs) / top))
    wander = np.asarray(WANDER)
    bunched = np.asarray(BUNCHED)
    smooth = np.zeros((len(logs), len(SLOPES), len(wander), len(bunched)))
    cliff = np.zeros((len(logs), len(wander)))
    for each in evidence:
        smooth += _smooth(each, logs[:, None, None, None], np.asarray(SLOPES)[:, None, None], wander[:, None], bunched)
        cliff += _cliff(each, logs[:, None], wander[None, :], _calm(each, evidence))
    weights = np.log(np.asarray(WANDER_PRIOR))
    slopes = np.where(np.asarray(SLOPES) < FLAT_SLOPE, FLAT_PRIOR, 1.0)
    slopes = np.log((1 - CLIFF) * slopes / slopes.sum())
    smooth += prior[:, None, None, None] + slopes[:, None, None] + weights[:, None] + np.log(BUNCHED_PRIOR)
    cliff += prior[:, None] + np.log(CLIFF_WANDER_PRIOR) + np.log(CLIFF)
    highest = max(smooth.max(), cliff.max())
    smooth_mass = np.exp(smooth - highest).sum(axis=(1, 2, 3))
    cliff_mass = np.exp(cliff - highest).sum(axis=1)
    mass = smooth_mass + cliff_mass
    return mass, float(cliff_mass.sum() / mass.sum())


def _prior(ratio: Array) -> Array:
    """Return the prior density over ln(capacity): likelier near the maximum, seldom above it."""
    import numpy as np

    below = 0.5 * ratio / NEAR + 0.5 / np.log(NEAR / LOWEST)
    found: Array = np.where(ratio <= NEAR, (1 - BEYOND) * below, BEYOND * 3 * (NEAR / ratio) ** 3)
    return found


def _normal(z: Array) -> Array:
    """Return the normal distribution function, good to 2e-3: by its logistic neighbour (Bowling 2009)."""
    import numpy as np

    found: Array = 1 / (1 + np.exp(-np.clip(1.5976 * z + 0.07056 * z**3, -60, 60)))
    return found


def _log(values: Array) -> Array:
    import numpy as np

    return np.log(values)


def _said(shift: Array, slopes: Array) -> Array:
    """Return ln(latency / limit) in the smooth model at ln(rate / capacity)."""
    import numpy as np

    found: Array = -np.log(np.maximum(1 - slopes * (np.exp(shift) - 1), np.exp(-2 * CAP)))
    return found


def _smooth(each: Evidence, logs: Array, slopes: Array, wander: Array, bunched: Array) -> Array:
    """Return the logarithm of the likelihood of a point in the smooth model."""
    import numpy as np

    shift = np.log(each.rate) - logs
    if each.side in ("over", "under"):
        return _log((1 - ODD) * _normal(_sign(each) * shift / np.sqrt(wander**2 + 0.01**2)) + ODD / 2)
    said = _said(shift, slopes)
    wandered = (_said(shift + wander, slopes) - _said(shift - wander, slopes)) / 2
    if each.near:
        return _by_share(each, slopes * (np.exp(shift) - 1) / each.slope, wandered / each.slope, bunched)
    spread = np.sqrt(each.error**2 + LEAST_MISFIT**2 + (MISFIT * said) ** 2 + wandered**2)
    if each.side == "least" or each.ratio >= CAP:
        return _log(_normal((said - min(each.ratio, CAP)) / spread) + BREAKS_ODDLY)
    density = np.exp(-0.5 * ((each.ratio - said) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    return _log((1 - ODD) * density + ODD / RANGE)


def _by_share(each: Evidence, expected: Array, wandered: Array, bunched: Array) -> Array:
    """Return the same of a point near the limit, by the share of I/Os above it: its logarithm is linear in the rate.

    Where slow I/Os come in bunches most points have fewer of them than the mean and few have many: log-normal around
    the mean. How bunched they are is unknown, `bunched` times what each point shows of it.
    """
    import numpy as np

    drawn = np.log1p((bunched * each.share_error) ** 2 / np.exp(np.clip(expected, -4, 4)))
    variance = drawn + wandered**2 + (SHARE_MISFIT * expected) ** 2 + LEAST_SHARE_ERROR**2
    density = np.exp(-0.5 * (each.share - expected + drawn / 2) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    return _log((1 - ODD) * density / each.slope + ODD / RANGE)


def _cliff(each: Evidence, logs: Array, wander: Array, calm: float) -> Array:
    """Return the logarithm of the likelihood of a point where latency only tells the side of a cliff."""
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


def _calm(each: Evidence, evidence: Sequence[Evidence]) -> float:
    """Return the density of a figure below a cliff: anything at first, then much like that at the next lower rate."""
    lower = [other for other in evidence if other.side == "figure" and other.rate < each.rate and other.ratio < 0]
    if each.side != "figure" or not lower:
        return 0.25
    nearest = max(lower, key=lambda other: other.rate)
    spread = hypot(CALM, each.error, nearest.error)
    return 0.05 + 0.8 * exp(-0.5 * ((each.ratio - nearest.ratio) / spread) ** 2) / (spread * sqrt(2 * pi))


def _sign(each: Evidence) -> float:
    return 1.0 if each.side == "over" else -1.0

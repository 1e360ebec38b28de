"""What points cost: how long one has to be, and what is left of the time that a search has. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tui.metrics.units import TAIL_SAMPLES
from tui.model.search import Offer, Point, Search, usual_ramp_s

BEHIND = 40  # I/Os that lie behind a percentile, for a point to tell it to about 15 %
DRAWN = (50.0, 99.0, 99.9)  # percentiles of a curve, the last where no latency is limited
MOST_PERCENTILE = 99.999  # for the length of a point
AFTER_OVER_S = 3.0  # without load, after a point that was too much


def spent_s(points: Sequence[Point]) -> float:
    """Return the seconds of load and pauses that points took, with the load before each that is not measured."""
    return sum(cost_s(each.offer, each.seconds) for each in points)


def cost_s(offer: Offer, seconds: float) -> float:
    """Return the seconds of load and pauses that a point takes that is measured for so long."""
    return offer.settle_s + offer.lead_s + seconds


def lead_s(search: Search, seconds: float) -> float:
    """Return how long the load goes on before a point of so many seconds is measured."""
    return search.lead_s + (0.0 if search.own_ramp else usual_ramp_s(seconds))


def seconds_for(search: Search, rate: float | None, longer: float = 1.0) -> float:
    """Return how long a point lasts: until its percentiles have enough I/Os behind them, within the search's bounds."""
    needed = max(search.point_s, _least_ios(search) / rate) if rate else search.point_s
    return float(round(min(max(search.point_s, needed * longer), max(search.most_point_s, search.point_s))))


def _least_ios(search: Search) -> float:
    """Return how many I/Os a point needs: its limits shall be told, and what a curve draws be known."""
    limits = [each for each in search.limits if each.metric == "latency"]
    wanted = [(BEHIND, each.percentile) for each in limits if each.percentile is not None]
    drawn = DRAWN[: 2 if limits else 3] if search.kind == "curve" else ()
    wanted += [(TAIL_SAMPLES, each) for each in drawn]
    return max((ios / (1 - min(each, MOST_PERCENTILE) / 100) for ios, each in wanted), default=0.0)


def settle_after(points: Sequence[Point]) -> float:
    """Return how long the system is left alone before the next point."""
    if not points or points[-1].verdict != "breaks":
        return 0.0
    return AFTER_OVER_S


def fits(search: Search, points: Sequence[Point], offer: Offer) -> Offer | None:
    """Return an offer as the time that is left allows it, with its lead; None: not even a shortest point."""
    seconds = offer.seconds
    if search.within_s is not None:
        left = search.within_s - spent_s(points) - offer.settle_s
        shortest = min(search.point_s, seconds)
        if left < shortest + lead_s(search, shortest):
            return None
        seconds = min(seconds, max(shortest, float(int(left - lead_s(search, seconds)))))
    return replace(offer, seconds=seconds, lead_s=lead_s(search, seconds))

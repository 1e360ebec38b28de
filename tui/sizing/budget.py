"""What points cost: how long one has to be, and what is left of the time that a search has. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tui.model.search import Offer, Point, Search

BEHIND = 40  # I/Os that lie behind a percentile, for a point to tell it to about 15 %
AFTER_OVER_S = 3.0  # without load, after a point that was too much


def spent_s(points: Sequence[Point]) -> float:
    """Return the seconds of load and pauses that points took."""
    return sum(each.seconds + each.offer.settle_s for each in points)


def seconds_for(search: Search, rate: float | None, longer: float = 1.0) -> float:
    """Return how long a point lasts: until its percentiles have enough I/Os behind them, within the search's bounds."""
    percentiles = [each.percentile for each in search.limits if each.percentile is not None]
    needed = search.point_s
    if rate and percentiles:
        needed = max(needed, BEHIND / (1 - min(max(percentiles), 99.999) / 100) / rate)
    return float(round(min(max(search.point_s, needed * longer), max(search.most_point_s, search.point_s))))


def settle_after(points: Sequence[Point]) -> float:
    """Return how long the system is left alone before the next point."""
    if not points or points[-1].verdict != "breaks":
        return 0.0
    return AFTER_OVER_S


def fits(search: Search, points: Sequence[Point], offer: Offer) -> Offer | None:
    """Return an offer as the time that is left allows it; None: not even a shortest point."""
    if search.within_s is None:
        return offer
    left = search.within_s - spent_s(points) - offer.settle_s
    if left < min(search.point_s, offer.seconds):
        return None
    return replace(offer, seconds=min(offer.seconds, float(int(left))))

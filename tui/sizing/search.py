"""Which point a search measures next. Pure and deterministic: a run that is resumed asks again and hears the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tui.model.search import Offer, Point, Search
from tui.sizing.budget import fits, spent_s
from tui.sizing.capacity import next_of_capacity
from tui.sizing.evidence import usable
from tui.sizing.fixed import next_of_curve, next_of_scaling

__all__ = ["next_offer", "spent_s"]

VOIDS = 2  # points in a row that could not be measured: nothing more is to be had

_NEXT: dict[str, Callable[[Search, Sequence[Point]], Offer | None]] = {
    "capacity": next_of_capacity,
    "curve": next_of_curve,
    "scaling": next_of_scaling,
}


def next_offer(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the point to measure next; None: the search is over, because it knows or because it may not go on.

    A point that could not be measured (a host was lost) is asked for once more; the second time in a row ends it.
    """
    if len(points) >= search.points or _voids(points) >= VOIDS:
        return None
    if _voids(points):
        last = points[-1]
        return fits(search, points, replace(last.offer, why=f"again: {last.why}"))
    offer = _NEXT[search.kind](search, usable(points))
    return None if offer is None else fits(search, points, replace(offer, shares=shares_of(offer, points)))


def shares_of(offer: Offer, points: Sequence[Point]) -> dict[str, float]:
    """Return which part of an offered rate each of several jobs has: in every point as they shared full load first."""
    first = next((each for each in usable(points) if each.offer.rate_iops is None and any(each.jobs.values())), None)
    if first is None or offer.rate_iops is None:
        return {}
    total = sum(first.jobs.values())
    return {name: rate / total for name, rate in first.jobs.items()}


def _voids(points: Sequence[Point]) -> int:
    """Return how many of the last points could not be measured."""
    return next((at for at, each in enumerate(reversed(points)) if each.verdict != "void"), len(points))

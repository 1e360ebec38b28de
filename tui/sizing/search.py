"""Which point a search measures next. Pure and deterministic: a run that is resumed asks again and hears the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tui.metrics.units import duration
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


def why_over(search: Search, points: Sequence[Point]) -> str:
    """Return why a search went no further: what it was to cost is spent, it knows, or it was stopped."""
    if len(points) >= search.points:
        return f"its {search.points} points are spent"
    if _voids(points) >= VOIDS:
        return f"{VOIDS} points in a row could not be measured"
    if next_offer(search, points) is not None:
        return "it was stopped"
    if next_offer(unbounded(search, points), points) is None:
        return "the search needs no further point"
    return f"its time is spent, {duration(search.within_s)} of load and pauses"


def unbounded(search: Search, points: Sequence[Point]) -> Search:
    """Return a search that may measure one point more, however long it takes."""
    return replace(search, points=len(points) + 1, within_s=None)


def shares_of(offer: Offer, points: Sequence[Point]) -> dict[str, float]:
    """Return which part of an offered rate each of several jobs has: in every point as they shared full load first.

    So it stays where full load is measured again: points of another mixture would be no evidence.
    """
    if offer.rate_iops is None:
        return {}
    kept = next((each.offer.shares for each in points if each.offer.shares), None)
    if kept is not None:
        return dict(kept)
    first = next((each for each in usable(points) if each.offer.rate_iops is None and any(each.jobs.values())), None)
    if first is None:
        return {}
    total = sum(first.jobs.values())
    return {name: rate / total for name, rate in first.jobs.items()}


def _voids(points: Sequence[Point]) -> int:
    """Return how many of the last points could not be measured."""
    return next((at for at, each in enumerate(reversed(points)) if each.verdict != "void"), len(points))

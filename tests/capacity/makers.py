"""Points as if they had been measured, without a system: latency by a formula, no chance."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tui.capacity.next_point import next_offer
from tui.model.operands import clause
from tui.model.search import Limit, MeasuredLimit, Offer, Search, SearchPoint, Verdict

LIMIT = Limit("p99 < 10ms", "", "latency", 99.0, 10e6)
TOP = 10_000.0
Latency = Callable[[float], float]
"""ns at a rate, or at full load (infinite rate)."""


def queue(capacity: float, top: float = TOP) -> Latency:
    """A queue that reaches the limit at `capacity`."""
    return lambda rate: LIMIT.most * (top - capacity) / (top - rate) if rate < top * 0.999 else 1e9


def point(search: Search, offer: Offer, step: int, latency: Latency) -> SearchPoint:
    """A point that tells its latency to 1 %."""
    rate = min(offer.rate_iops or TOP, TOP)
    value = latency(rate)
    verdict: Verdict = (
        "meets"
        if value * 1.01 < LIMIT.most
        else "breaks"
        if value * 0.99 >= LIMIT.most
        else "unclear"
    )
    figure = MeasuredLimit(
        LIMIT.text, "read", value, value * 0.99, value * 1.01, verdict, 0.005, 1.0
    )
    return SearchPoint(step, offer, offer.seconds, rate, rate * 4096, (figure,), verdict, hosts=2)


def void(search: Search, offer: Offer, step: int) -> SearchPoint:
    """A point that lost a host."""
    lost = clause("hosts-lost", hosts=["h2"])
    return SearchPoint(step, offer, offer.seconds, 100.0, 0.0, (), "void", lost, 1, ("h2",))


def went(
    search: Search, latency: Latency, most: int = 99, before: list[SearchPoint] | None = None
) -> list[SearchPoint]:
    """All points of a search, or the first `most`, going on from those `before`."""
    points = list(before or [])
    while len(points) < most and (offer := next_offer(search, points)) is not None:
        points.append(point(search, offer, len(points), latency))
    return points


def capacity_search(**more: object) -> Search:
    return replace(Search("capacity", limits=(LIMIT,)), **more)

"""A capacity search without an offered rate: the heaviest setting of the knobs that keeps the limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from tui.model.search import RATE, Offer, Point, Search
from tui.sizing.budget import seconds_for, settle_after

Rung = tuple[tuple[str, int], ...]


def rungs(search: Search) -> list[Rung]:
    """Return all settings by the load that they make: the product of their values, as of jobs, depth and hosts."""
    knobs = [knob for knob in search.over if knob.name != RATE and knob.values]
    settings = [tuple((knob.name, value) for knob, value in zip(knobs, values, strict=True))
                for values in product(*(knob.values for knob in knobs))]  # fmt: skip
    return sorted(settings, key=lambda each: (prod(value for _, value in each), each))


def next_of_ladder(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the next point: the heaviest setting, then halving between what keeps the limits and what does not."""
    low, high, unsure = bounds(search, points)
    steps = rungs(search)
    if unsure is not None:
        return _offer(search, points, steps[unsure], "not clear: again, for longer", 2.0)
    if high == len(steps) and low < len(steps) - 1:
        return _offer(search, points, steps[-1], "the heaviest setting")
    if high - low <= 1:
        return None
    return _offer(search, points, steps[(low + high) // 2], f"{high - low - 1} settings are left")


def bounds(search: Search, points: Sequence[Point]) -> tuple[int, int, int | None]:
    """Return the heaviest rung that keeps the limits (-1: none yet), the lightest that does not, one to measure again.

    A rung that is unclear twice is taken as one that does not.
    """
    steps = rungs(search)
    low, high, unsure = -1, len(steps), None
    for at, step in enumerate(steps):
        own = [each for each in points if tuple(sorted(each.offer.knobs.items())) == tuple(sorted(step))]
        if not own:
            continue
        if own[-1].verdict == "meets":
            low = at
        elif own[-1].verdict == "breaks" or len(own) > 1:
            high = min(high, at)
        else:
            unsure = at
    return min(low, high - 1), high, unsure


def _offer(search: Search, points: Sequence[Point], step: Rung, why: str, longer: float = 1.0) -> Offer:
    last = next((each.iops for each in reversed(points)), None)
    return Offer(None, seconds_for(search, last, longer), dict(step), "search", settle_after(points), why)

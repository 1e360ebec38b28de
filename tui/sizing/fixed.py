"""Searches whose points are known beforehand: a load curve, and throughput over hosts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tui.model.search import HOSTS, Offer, Point, Search
from tui.sizing.budget import seconds_for, settle_after

FEW = 5  # numbers of hosts below which each is measured twice: a model of three unknowns needs more


def next_of_curve(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the next point of a load curve: the maximum, then shares of it."""
    if not points:
        return Offer(None, seconds_for(search, None), role="maximum", why="what it does at full load")
    done = len(points) - 1
    order = shares_in_order(search)
    top = points[0].iops
    if done >= len(order) or top <= 0:
        return None
    rate = round(top * order[done], 3)
    why = f"{order[done]:.0%} of the maximum"
    return Offer(rate, seconds_for(search, rate), role="curve", settle_s=settle_after(points), why=why)


def shares_in_order(search: Search) -> list[float]:
    """Return the shares of the maximum in the order in which they are measured.

    Random: load and time are not confused. Up-down: every other one upwards, the rest downwards, so that what the load
    before leaves behind shows.
    """
    shares = sorted(set(search.shares))
    if search.order == "up-down":
        return shares[::2] + shares[1::2][::-1]
    Random(search.seed).shuffle(shares)
    return shares


def next_of_scaling(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the next point of throughput over hosts: each number at full load, few of them twice."""
    values = next((knob.values for knob in search.over if knob.name == HOSTS), ())
    order = [*values, *(reversed(values) if len(values) < FEW else ())]
    if len(points) >= len(order):
        return None
    hosts = order[len(points)]
    again = " again" if len(points) >= len(values) else ""
    named = "1 host" if hosts == 1 else f"{hosts} hosts"
    return Offer(None, seconds_for(search, None), {HOSTS: hosts}, "maximum", why=f"{named} at full load{again}")

"""Searches whose points are known beforehand: a load curve, and throughput over hosts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from tui.metrics import units
from tui.model.search import HOSTS, Offer, Point, Search
from tui.sizing.budget import seconds_for, settle_after

FEW = 5  # numbers of hosts below which each is measured twice: a model of three unknowns needs more


def next_of_curve(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the next point of a load curve: the maximum, then the shares of it that are not measured yet."""
    top = next((each.iops for each in reversed(points) if each.offer.rate_iops is None), None)
    if top is None:
        why = "what it does at full load"
        return Offer(None, seconds_for(search, None), role="maximum", settle_s=settle_after(points), why=why)
    left = _shares_left(search, points, top) if top > 0 else []
    if not left:
        return None
    rate = round(top * left[0], 3)
    why = f"{units.share(left[0])} of the maximum"
    return Offer(rate, seconds_for(search, rate), role="curve", settle_s=settle_after(points), why=why)


def _shares_left(search: Search, points: Sequence[Point], top: float) -> list[float]:
    """Return the shares that no point is nearest to: full load measured again is a little off the time before."""
    order = shares_in_order(search)
    rates = [each.offer.rate_iops for each in points if each.offer.rate_iops is not None]
    measured = {min(order, key=lambda share: abs(share * top - rate)) for rate in rates}
    return [share for share in order if share not in measured]


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


def hosts_in_order(search: Search) -> list[int]:
    """Return the numbers of hosts in the order in which they are measured: few of them twice, there and back."""
    values = next((knob.values for knob in search.over if knob.name == HOSTS), ())
    return [*values, *(reversed(values) if len(values) < FEW else ())]


def next_of_scaling(search: Search, points: Sequence[Point]) -> Offer | None:
    """Return the next point of throughput over hosts: each number at full load, as often as it is wanted."""
    done, seen = Counter(each.offer.knobs.get(HOSTS, each.hosts) for each in points), set[int]()
    for hosts in hosts_in_order(search):
        if not done[hosts]:
            named = "1 host" if hosts == 1 else f"{hosts} hosts"
            why = f"{named} at full load{' again' if hosts in seen else ''}"
            return Offer(None, seconds_for(search, None), {HOSTS: hosts}, "maximum", why=why)
        done[hosts] -= 1
        seen.add(hosts)
    return None

"""The time that points cost, and the points that a load curve or a scaling run still needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from tui.metrics.buckets import CURVE_PERCENTILES
from tui.metrics.units import TAIL_SAMPLES
from tui.model.operands import clause
from tui.model.search import HOSTS, Offer, Search, SearchPoint, usual_ramp_s

BEHIND = 40  # I/Os beyond a percentile for a precision of about 15 %
MOST_PERCENTILE = 99.999  # higher ones do not make a point longer
AFTER_OVER_S = 3.0  # pause after an overload


def spent_s(points: Sequence[SearchPoint]) -> float:
    """Return the seconds spent on points: load, unmeasured lead time, and pauses."""
    return sum(cost_s(each.offer, each.seconds) for each in points)


def cost_s(offer: Offer, seconds: float) -> float:
    """Return the seconds that a point takes: its pause, its unmeasured lead, `seconds` measured."""
    return offer.settle_s + offer.lead_s + seconds


def lead_s(search: Search, seconds: float) -> float:
    """Return how many seconds the load runs before a point of `seconds` is measured."""
    return search.lead_s + (0.0 if search.own_ramp else usual_ramp_s(seconds))


def seconds_for(search: Search, rate: float | None, longer: float = 1.0) -> float:
    """Return how many seconds a point needs for enough I/Os beyond its percentiles.

    `longer` multiplies the need, which is then limited to the search's bounds. `rate` None: full
    load.
    """
    needed = max(search.point_s, _least_ios(search) / rate) if rate else search.point_s
    return float(
        round(min(max(search.point_s, needed * longer), max(search.most_point_s, search.point_s)))
    )


def _least_ios(search: Search) -> float:
    """Return how many I/Os a point needs to decide its limits and to draw its curve."""
    limits = [each for each in search.limits if each.metric == "latency"]
    wanted = [(BEHIND, each.percentile) for each in limits if each.percentile is not None]
    # the highest one only if no latency is limited
    shown = CURVE_PERCENTILES[:-1] if limits else CURVE_PERCENTILES
    drawn = shown if search.kind == "curve" else ()
    wanted += [(TAIL_SAMPLES, each) for each in drawn]
    return max((ios / (1 - min(each, MOST_PERCENTILE) / 100) for ios, each in wanted), default=0.0)


def settle_after(points: Sequence[SearchPoint]) -> float:
    """Return the pause before the next point, in seconds; 0 unless the last verdict is `breaks`."""
    if not points or points[-1].verdict != "breaks":
        return 0.0
    return AFTER_OVER_S


def fits(search: Search, points: Sequence[SearchPoint], offer: Offer) -> Offer | None:
    """Return an offer shortened to the time left in the budget, with its lead.

    None if even the shortest point does not fit.
    """
    seconds = offer.seconds
    if search.within_s is not None:
        left = search.within_s - spent_s(points) - offer.settle_s
        shortest = min(search.point_s, seconds)
        if left < shortest + lead_s(search, shortest):
            return None
        seconds = min(seconds, max(shortest, float(int(left - lead_s(search, seconds)))))
    return replace(offer, seconds=seconds, lead_s=lead_s(search, seconds))


FEW = 5  # below this many numbers of hosts, each is measured twice: the model has three unknowns


def next_of_curve(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of a load curve: full load first, then the shares not yet measured.

    None if all are measured.
    """
    top = next((each.iops for each in reversed(points) if each.offer.rate_iops is None), None)
    if top is None:
        why = clause("full-load")
        return Offer(
            None, seconds_for(search, None), role="maximum", settle_s=settle_after(points), why=why
        )
    left = _shares_left(search, points, top) if top > 0 else []
    if not left:
        return None
    rate = round(top * left[0], 3)
    why = clause("share-of-maximum", share=left[0])
    return Offer(
        rate, seconds_for(search, rate), role="curve", settle_s=settle_after(points), why=why
    )


def _shares_left(search: Search, points: Sequence[SearchPoint], top: float) -> list[float]:
    """Return the shares of the maximum that have no point near them.

    Near is enough, because repeated full load differs slightly from the first.
    """
    order = shares_in_order(search)
    rates = [each.offer.rate_iops for each in points if each.offer.rate_iops is not None]
    measured = {min(order, key=lambda share: abs(share * top - rate)) for rate in rates}
    return [share for share in order if share not in measured]


def shares_in_order(search: Search) -> list[float]:
    """Return the shares of the maximum in measuring order.

    The default is a random order, so that load is not confounded with time. "up-down" measures
    every other share upwards and the rest downwards, which shows after-effects of the previous
    load.
    """
    shares = sorted(set(search.shares))
    if search.order == "up-down":
        return shares[::2] + shares[1::2][::-1]
    Random(search.seed).shuffle(shares)
    return shares


def hosts_in_order(search: Search) -> list[int]:
    """Return the host counts in measuring order.

    A short list is measured twice, upwards and downwards.
    """
    values = next((knob.values for knob in search.over if knob.name == HOSTS), ())
    return [*values, *(reversed(values) if len(values) < FEW else ())]


def next_of_scaling(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of a scaling run: each number of hosts at full load.

    None if all are measured as often as in `hosts_in_order`.
    """
    done, seen = Counter(each.offer.knobs.get(HOSTS, each.hosts) for each in points), set[int]()
    for hosts in hosts_in_order(search):
        if not done[hosts]:
            why = clause("hosts-at-full-load", hosts=hosts, again=hosts in seen)
            return Offer(None, seconds_for(search, None), {HOSTS: hosts}, "maximum", why=why)
        done[hosts] -= 1
        seen.add(hosts)
    return None


AS_IF_IOPS = 1e6  # of the maximum, if nothing was measured yet


def lacking(search: Search, points: Sequence[SearchPoint]) -> list[Offer]:
    """Return the points still to measure, in order.

    Empty for a capacity search, which decides each point from the ones before.
    """
    following = {"curve": next_of_curve, "scaling": next_of_scaling}.get(search.kind)
    found: list[Offer] = []
    seen = [each for each in points if each.verdict != "void"]
    while following is not None and (offer := following(search, seen)) is not None:
        found.append(offer)
        top = max((each.iops for each in seen), default=0.0) or AS_IF_IOPS
        rate, hosts = offer.rate_iops or top, offer.knobs.get(HOSTS, 1)
        seen.append(
            SearchPoint(
                len(points) + len(found),
                offer,
                offer.seconds,
                rate,
                0.0,
                verdict="meets",
                hosts=hosts,
            )
        )
    return found


def points_planned(search: Search) -> int:
    """Return how many points a search measures if none has to be repeated.

    For a capacity search it is the maximum number.
    """
    return min(search.points, len(lacking(search, ())) or search.points)

"""What points cost, and which points a load curve or a scaling measures and still lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from tui.metrics import units
from tui.metrics.units import TAIL_SAMPLES
from tui.model.search import HOSTS, Offer, Search, SearchPoint, usual_ramp_s

BEHIND = 40  # I/Os that lie behind a percentile, for a point to tell it to about 15 %
DRAWN = (50.0, 99.0, 99.9)  # percentiles of a curve, the last where no latency is limited
MOST_PERCENTILE = 99.999  # for the length of a point
AFTER_OVER_S = 3.0  # without load, after a point that was too much


def spent_s(points: Sequence[SearchPoint]) -> float:
    """Return the seconds of load and pauses that points took, with the load before each that is not
    measured.
    """
    return sum(cost_s(each.offer, each.seconds) for each in points)


def cost_s(offer: Offer, seconds: float) -> float:
    """Return the seconds of load and pauses that a point takes that is measured for so long."""
    return offer.settle_s + offer.lead_s + seconds


def lead_s(search: Search, seconds: float) -> float:
    """Return how long the load goes on before a point of so many seconds is measured."""
    return search.lead_s + (0.0 if search.own_ramp else usual_ramp_s(seconds))


def seconds_for(search: Search, rate: float | None, longer: float = 1.0) -> float:
    """Return how long a point lasts: until its percentiles have enough I/Os behind them, within the
    search's bounds.
    """
    needed = max(search.point_s, _least_ios(search) / rate) if rate else search.point_s
    return float(
        round(min(max(search.point_s, needed * longer), max(search.most_point_s, search.point_s)))
    )


def _least_ios(search: Search) -> float:
    """Return how many I/Os a point needs: its limits shall be told, and what a curve draws be
    known.
    """
    limits = [each for each in search.limits if each.metric == "latency"]
    wanted = [(BEHIND, each.percentile) for each in limits if each.percentile is not None]
    drawn = DRAWN[: 2 if limits else 3] if search.kind == "curve" else ()
    wanted += [(TAIL_SAMPLES, each) for each in drawn]
    return max((ios / (1 - min(each, MOST_PERCENTILE) / 100) for ios, each in wanted), default=0.0)


def settle_after(points: Sequence[SearchPoint]) -> float:
    """Return how long the system is left alone before the next point."""
    if not points or points[-1].verdict != "breaks":
        return 0.0
    return AFTER_OVER_S


def fits(search: Search, points: Sequence[SearchPoint], offer: Offer) -> Offer | None:
    """Return an offer as the time that is left allows it, with its lead.

    None: not even a shortest point.
    """
    seconds = offer.seconds
    if search.within_s is not None:
        left = search.within_s - spent_s(points) - offer.settle_s
        shortest = min(search.point_s, seconds)
        if left < shortest + lead_s(search, shortest):
            return None
        seconds = min(seconds, max(shortest, float(int(left - lead_s(search, seconds)))))
    return replace(offer, seconds=seconds, lead_s=lead_s(search, seconds))


FEW = 5  # numbers of hosts below which each is measured twice: a model of three unknowns needs more


def next_of_curve(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of a load curve: the maximum, then the shares of it that are not
    measured yet.
    """
    top = next((each.iops for each in reversed(points) if each.offer.rate_iops is None), None)
    if top is None:
        why = "what it does at full load"
        return Offer(
            None, seconds_for(search, None), role="maximum", settle_s=settle_after(points), why=why
        )
    left = _shares_left(search, points, top) if top > 0 else []
    if not left:
        return None
    rate = round(top * left[0], 3)
    why = f"{units.share(left[0])} of the maximum"
    return Offer(
        rate, seconds_for(search, rate), role="curve", settle_s=settle_after(points), why=why
    )


def _shares_left(search: Search, points: Sequence[SearchPoint], top: float) -> list[float]:
    """Return the shares that no point is nearest to: full load measured again is a little off the
    time before.
    """
    order = shares_in_order(search)
    rates = [each.offer.rate_iops for each in points if each.offer.rate_iops is not None]
    measured = {min(order, key=lambda share: abs(share * top - rate)) for rate in rates}
    return [share for share in order if share not in measured]


def shares_in_order(search: Search) -> list[float]:
    """Return the shares of the maximum in the order in which they are measured.

    Random: load and time are not confused. Up-down: every other one upwards, the rest downwards, so
    that what the load before leaves behind shows.
    """
    shares = sorted(set(search.shares))
    if search.order == "up-down":
        return shares[::2] + shares[1::2][::-1]
    Random(search.seed).shuffle(shares)
    return shares


def hosts_in_order(search: Search) -> list[int]:
    """Return the numbers of hosts in the order in which they are measured: few of them twice, there
    and back.
    """
    values = next((knob.values for knob in search.over if knob.name == HOSTS), ())
    return [*values, *(reversed(values) if len(values) < FEW else ())]


def next_of_scaling(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of throughput over hosts: each number at full load, as often as it is
    wanted.
    """
    done, seen = Counter(each.offer.knobs.get(HOSTS, each.hosts) for each in points), set[int]()
    for hosts in hosts_in_order(search):
        if not done[hosts]:
            named = "1 host" if hosts == 1 else f"{hosts} hosts"
            why = f"{named} at full load{' again' if hosts in seen else ''}"
            return Offer(None, seconds_for(search, None), {HOSTS: hosts}, "maximum", why=why)
        done[hosts] -= 1
        seen.add(hosts)
    return None


OF_FULL_LOAD = " of the maximum"
AS_IF_IOPS = 1e6  # of a maximum, where nothing was measured yet


def lacking(search: Search, points: Sequence[SearchPoint]) -> list[Offer]:
    """Return the points that are still to be measured, in their order.

    None of a capacity search, which decides.
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
    """Return how many points a search measures when none has to be made again.

    Of a capacity, how many it may.
    """
    return min(search.points, len(lacking(search, ())) or search.points)


def lacking_text(search: Search, points: Sequence[SearchPoint]) -> str:
    """Return the points that are still to be measured in words; empty: none."""
    whys = [offer.why for offer in lacking(search, points)]
    shares = [why.removesuffix(OF_FULL_LOAD) for why in whys if why.endswith(OF_FULL_LOAD)]
    others = [why for why in whys if not why.endswith(OF_FULL_LOAD)]
    return ", ".join([*others, *([", ".join(shares) + OF_FULL_LOAD] if shares else [])])

"""What a load curve or a scaling still lacks: their points are known beforehand. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.search import HOSTS, Offer, Point, Search
from tui.sizing.fixed import next_of_curve, next_of_scaling

OF_FULL_LOAD = " of the maximum"
AS_IF_IOPS = 1e6  # of a maximum, where nothing was measured yet


def lacking(search: Search, points: Sequence[Point]) -> list[Offer]:
    """Return the points that are still to be measured, in their order; none of a capacity search, which decides."""
    following = {"curve": next_of_curve, "scaling": next_of_scaling}.get(search.kind)
    found: list[Offer] = []
    seen = [each for each in points if each.verdict != "void"]
    while following is not None and (offer := following(search, seen)) is not None:
        found.append(offer)
        top = max((each.iops for each in seen), default=0.0) or AS_IF_IOPS
        rate, hosts = offer.rate_iops or top, offer.knobs.get(HOSTS, 1)
        seen.append(Point(len(points) + len(found), offer, offer.seconds, rate, 0.0, verdict="meets", hosts=hosts))
    return found


def points_planned(search: Search) -> int:
    """Return how many points a search measures when none has to be made again; of a capacity, how many it may."""
    return min(search.points, len(lacking(search, ())) or search.points)


def lacking_text(search: Search, points: Sequence[Point]) -> str:
    """Return the points that are still to be measured in words; empty: none."""
    whys = [offer.why for offer in lacking(search, points)]
    shares = [why.removesuffix(OF_FULL_LOAD) for why in whys if why.endswith(OF_FULL_LOAD)]
    others = [why for why in whys if not why.endswith(OF_FULL_LOAD)]
    return ", ".join([*others, *([", ".join(shares) + OF_FULL_LOAD] if shares else [])])

"""Decide the next point of a search: rates by the posterior, other knobs step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tui.capacity.belief import Belief, PointEvidence, believe, evidence_of, usable
from tui.capacity.budget import (
    AFTER_OVER_S,
    cost_s,
    fits,
    lacking,
    lead_s,
    next_of_curve,
    next_of_scaling,
    seconds_for,
    settle_after,
    spent_s,
)
from tui.capacity.hold import HOLDS, failed_holds, held, holds_of, in_state, last_held, lengthened
from tui.capacity.ladder import next_of_ladder, of_rung, standing
from tui.model.operands import Clause, clause
from tui.model.search import RATE, Offer, Search, SearchPoint

ENOUGH = 2.5  # tolerances: a capacity from an exhausted budget is accepted up to this
LEAST_SHARE = 0.02  # of the maximum: if even that exceeds the limits, no load meets them
FLAT = 1.5  # highest violation over the lowest: above this, the least load is tried next
WIDE = 1.3  # upper over lower end: while wider, points bisect it
# tolerances from the middle at which points are put in a narrow interval: this shows the slope of
# latency, with clear points on both sides
AROUND = (-1.5, 0.0, 1.5, -0.75, 0.75)
# minimum points for a known capacity; if there is no cliff, minimum points near the limit: fewer do
# not show its variation in time
LEAST_PACED, LEAST_NEAR = 4, 5
MARGIN = 0.85  # of the tolerance: a search that ends when its interval is narrow understates it
CONFIRMS = 2
RECOVERS = 2
# of a rate that met the limits: if less exceeds them, the system may not have recovered
SURPRISE = 0.9
BETTER = 1.5  # tolerances by which another setting must be better
MOST_LONGER = 5.0  # times the shortest point that its percentile allows
USUAL_SLOPE = 5.0  # relative growth of latency over that of load, near a capacity
SHARPEN = 0.5  # of the tolerance: a less precise point is extended

Setting = tuple[tuple[str, int], ...]


class KnobState(Struct, frozen=True):
    """What is known about one setting of the knobs.

    `belief`: posterior of its capacity, None before the first point at an offered rate.
    """

    setting: Setting
    points: tuple[SearchPoint, ...]
    evidence: tuple[PointEvidence, ...]
    top: float  # achieved rate at full load
    belief: Belief | None

    @property
    def maxima(self) -> tuple[SearchPoint, ...]:
        """Points at full load."""
        return tuple(each for each in self.points if each.offer.rate_iops is None)

    @property
    def paced(self) -> tuple[SearchPoint, ...]:
        """Points at an offered rate."""
        return tuple(each for each in self.points if each.offer.rate_iops is not None)

    @property
    def met_at_full_load(self) -> bool:
        """Whether full load meets the limits."""
        return bool(self.maxima) and all(each.verdict == "meets" for each in self.maxima)

    @property
    def never_met(self) -> bool:
        """Whether even the lowest load exceeds the limits."""
        met = any(each.verdict == "meets" for each in self.paced)
        least = min(
            (each.offer.rate_iops or 0.0 for each in self.paced if each.verdict == "breaks"),
            default=None,
        )
        return not met and least is not None and least <= LEAST_SHARE * self.top * 1.01

    @property
    def highest_met(self) -> SearchPoint | None:
        """The point with the highest achieved rate among those that met all limits; None if none
        did.
        """
        return max(
            (each for each in self.points if each.verdict == "meets"),
            key=lambda each: each.iops,
            default=None,
        )


def has_rate(search: Search) -> bool:
    """Return whether the search varies the offered rate."""
    return any(knob.name == RATE for knob in search.over)


def heaviest(search: Search) -> dict[str, int]:
    """Return each knob with its highest value."""
    return {knob.name: knob.values[-1] for knob in search.over if knob.name != RATE and knob.values}


def known_of(search: Search, points: Sequence[SearchPoint], knobs: Mapping[str, int]) -> KnobState:
    """Return the state of one setting from its points."""
    setting = tuple(sorted(knobs.items()))
    own = tuple(each for each in points if tuple(sorted(each.offer.knobs.items())) == setting)
    evidence = tuple(evidence_of(search, own))
    top = _top(points, own)
    return KnobState(
        setting, own, evidence, top, believe(evidence, top) if evidence and top > 0 else None
    )


def _top(points: Sequence[SearchPoint], own: Sequence[SearchPoint]) -> float:
    """Return the rate at full load for this setting if measured, otherwise for the first one."""
    for among in (own, points):
        found = [each.iops for each in among if each.offer.rate_iops is None]
        if found:
            return max(found)
    return max((each.iops for each in points), default=0.0)


def next_of_capacity(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of a capacity search; None if the capacity is known."""
    if not has_rate(search):
        return next_of_ladder(search, points) or _hold_setting(search, points)
    present, usual = in_state(search, points), search
    search = lengthened(search, points)
    offer = _next_of_rates(search, present)
    if offer is None or _now_or_never(usual, points, offer):
        return _hold_rate(search, points, present) or offer
    return offer


def _next_of_rates(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point of a search over offered rates; None if the capacity is known.

    All `points` are from one system state.
    """
    for known in explored(search, points):
        offer = _next_rate(search, known, points)
        if offer is not None:
            return offer
        challenge = next(_challenges(search, points, known), None)
        if challenge is not None:
            return challenge
    return None


def explored(search: Search, points: Sequence[SearchPoint]) -> Iterator[KnobState]:
    """Yield the settings searched so far, each better than the one before.

    The last is the best.
    """
    at = heaviest(search)
    seen = set[Setting]()
    while True:
        known = known_of(search, points, at)
        seen.add(known.setting)
        yield known
        better = next((each for each in _neighbours(search,
            at) if tuple(sorted(each.items())) not in seen
                       and known_of(search, points, each).highest_met is not None),
                       None)  # fmt: skip
        if better is None:
            return
        at = better


def _neighbours(search: Search, at: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield the settings one step away: the fastest-changing knob first, the lower value first."""
    for knob in reversed([each for each in search.over if each.name != RATE and each.values]):
        place = knob.values.index(at[knob.name])
        for other in (place - 1, place + 1):
            if 0 <= other < len(knob.values):
                yield {**at, knob.name: knob.values[other]}


def _challenges(search: Search, points: Sequence[SearchPoint], best: KnobState) -> Iterator[Offer]:
    """Yield points that decide whether a neighbouring setting is better.

    They offer slightly more than the capacity of `best`.
    """
    if best.met_at_full_load:
        return
    middle = (
        best.belief.quantile(0.5)
        if best.belief is not None and not best.never_met
        else LEAST_SHARE * best.top
    )
    rate = _round(middle * (1 + BETTER * search.tolerance))
    for knobs in _neighbours(search, dict(best.setting)):
        own = known_of(search, points, knobs).points
        if not own or (len(own) == 1 and own[0].verdict == "unclear"):
            why = clause("better", knobs=[[*each] for each in knobs.items()])
            seconds = seconds_for(search, rate, 1.0 + len(own))
            yield Offer(rate, seconds, knobs, "search", settle_after(points), why)


# -- the rate


def _next_rate(search: Search, known: KnobState, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point at one setting of the other knobs; None if its capacity is known."""
    knobs = dict(known.setting)
    # also if it must be measured again
    if not any(each.offer.rate_iops is None for each in points):
        return Offer(None, seconds_for(search, None), knobs, "maximum", why=clause("full-load"))
    if known.maxima and all(each.verdict == "meets" for each in known.maxima) and not known.paced:
        return _again_at_full_load(search, known)
    if known.top <= 0 or known.never_met:
        return None
    return _recover(search, known) or _by_belief(search, known, points)


def _again_at_full_load(search: Search, known: KnobState) -> Offer | None:
    if len(known.maxima) > 1:
        return None
    if search.hold_s:
        return _hold_offer(search, (), None, dict(known.setting))
    why = clause("full-load-again")
    return Offer(None, seconds_for(search, None, 2.0), dict(known.setting), "confirm", why=why)


def _recover(search: Search, known: KnobState) -> Offer | None:
    """Return a repeat, after a pause, of a point that an overload may have spoiled.

    None unless the last rate, measured right after an overload, exceeded the limits although a
    higher one had met them.
    """
    paced = known.paced
    if len(paced) < 2 or paced[-1].verdict != "breaks":
        return None
    tried = next((at for at, each in enumerate(reversed(paced)) if each.offer.role != "recover"), 0)
    suspect, before = paced[-1 - tried], paced[: -1 - tried]
    met = [each.offer.rate_iops or 0.0 for each in before if each.verdict == "meets"]
    rate = suspect.offer.rate_iops or 0.0
    after_overload = bool(before) and before[-1].verdict == "breaks"
    if not met or not after_overload or tried >= RECOVERS or rate > SURPRISE * max(met):
        return None
    pause = AFTER_OVER_S * 4 ** (tried + 1)
    seconds = seconds_for(search, rate)
    return Offer(rate, seconds, dict(known.setting), "recover", pause, clause("recovered"))


def _by_belief(search: Search, known: KnobState, points: Sequence[SearchPoint]) -> Offer | None:
    belief = known.belief
    if belief is None:
        belief = believe((), known.top)
    low, high = belief.interval
    if _seen_enough(known) and belief.half_width <= search.tolerance * MARGIN:
        return _confirm(search, known, points)
    if _asks_least(known):
        return _offer_rate(search, known, points, LEAST_SHARE * known.top, clause("least-load"))
    narrow = high / low <= WIDE
    aside = AROUND[len(known.evidence) % len(AROUND)] * search.tolerance if narrow else 0.0
    why = clause("capacity-between", low_iops=_round(low), high_iops=_round(high))
    return _offer_rate(
        search, known, points, max(belief.quantile(0.5) * (1 + aside), LEAST_SHARE * known.top), why
    )


def _seen_enough(known: KnobState) -> bool:
    if known.belief is None or len(known.evidence) < LEAST_PACED:
        return False
    return known.belief.cliff > 0.5 or sum(each.near for each in known.evidence) >= LEAST_NEAR


def _asks_least(known: KnobState) -> bool:
    """Return whether to try the least load next: every lower rate exceeded the limits so far."""
    broken = [each.offer.rate_iops or 0.0 for each in known.paced if each.verdict == "breaks"]
    if len(broken) < 2 or any(each.verdict != "breaks" for each in known.paced):
        return False
    return max(broken) > FLAT * min(broken)


def _confirm(search: Search, known: KnobState, points: Sequence[SearchPoint]) -> Offer | None:
    """Return a point slightly below the answer, expected to meet the limits.

    None if a point there already met them, or after CONFIRMS attempts.
    """
    belief = known.belief
    if belief is None or sum(each.offer.role == "confirm" for each in known.points) >= CONFIRMS:
        return None
    met = known.highest_met
    if met is not None and met.iops >= belief.quantile(0.5) * (1 - 2 * search.tolerance):
        return None
    low = belief.interval[0] * (1 - search.tolerance)
    return _offer_rate(search, known, points, low, clause("slightly-lower"), "confirm")


def _offer_rate(
    search: Search,
    known: KnobState,
    points: Sequence[SearchPoint],
    rate: float,
    why: Clause,
    role: str = "search",
) -> Offer:
    rate = _round(rate)
    seconds = seconds_for(search, rate, _longer(search, known))
    return Offer(rate, seconds, dict(known.setting), role, settle_after(points), why)  # type: ignore[arg-type]


def _longer(search: Search, known: KnobState) -> float:
    """Return the factor by which to lengthen a point so that its noise does not hide the answer."""
    figures = [each for each in known.evidence if each.side == "figure" and abs(each.ratio) < 0.5]
    if not figures:
        return 1.0
    last = figures[-1]
    wanted = (
        (last.error / (SHARPEN * search.tolerance * USUAL_SLOPE)) ** 2
        * last.seconds
        / search.point_s
    )
    return min(MOST_LONGER, max(1.0, wanted))


def _round(rate: float) -> float:
    """Return a rate rounded to four digits, for job files and messages."""
    return float(f"{rate:.4g}")


# -- the hold


def _now_or_never(search: Search, points: Sequence[SearchPoint], offer: Offer) -> bool:
    """Return whether a hold must come now: after another point it would exceed the budget."""
    if not search.hold_s:
        return False
    if len(points) + 1 >= search.points:
        return True
    if search.within_s is None:
        return False
    hold = search.hold_s + lead_s(search, search.hold_s) + AFTER_OVER_S
    cost = cost_s(offer, offer.seconds) + lead_s(search, offer.seconds)
    return search.within_s - spent_s(points) - cost < hold


def _hold_rate(
    search: Search, points: Sequence[SearchPoint], present: Sequence[SearchPoint]
) -> Offer | None:
    """Return the hold that confirms the answer; None if not needed.

    Its rate is the lower end of the answer's interval, below the rates of failed holds.
    """
    known = list(explored(search, present))[-1]
    if (
        not search.hold_s
        or known.belief is None
        or known.met_at_full_load
        or known.highest_met is None
    ):
        return None
    belief, passed = known.belief, last_held(search, points)
    if belief.half_width > search.tolerance * ENOUGH or len(holds_of(points)) >= HOLDS:
        return None
    if passed is not None and (passed.offer.rate_iops or 0.0) >= belief.quantile(0.5) * (
        1 - ENOUGH * search.tolerance
    ):
        return None
    failed = [points[at].offer.rate_iops for at in failed_holds(search, points)]
    least = min((each for each in failed if each is not None), default=None)
    rate = (
        belief.interval[0]
        if least is None
        else min(belief.interval[0], least * (1 - search.tolerance))
    )
    return _hold_offer(search, present, _round(rate), dict(known.setting))


def _hold_setting(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the hold of the best setting at full load; None if it is already held, or no setting
    met the limits.
    """
    if not search.hold_s or len(holds_of(points)) >= HOLDS:
        return None
    known = standing(search, points)
    met = [each for step in known.met for each in of_rung(points, step) if each.verdict == "meets"]
    best = max(met, key=lambda each: each.iops, default=None)
    if best is None or any(
        held(search, each) and each.offer.knobs == best.offer.knobs for each in holds_of(points)
    ):
        return None
    return _hold_offer(search, points, None, dict(best.offer.knobs))


def _hold_offer(
    search: Search, points: Sequence[SearchPoint], rate: float | None, knobs: dict[str, int]
) -> Offer:
    seconds = max(search.hold_s, seconds_for(search, rate))
    why = clause("hold", seconds=seconds)
    return Offer(rate, seconds, knobs, "hold", settle_after(points), why)


__all__ = ["next_offer", "spent_s"]

VOIDS = 2  # failed points in a row that end the search

_NEXT: dict[str, Callable[[Search, Sequence[SearchPoint]], Offer | None]] = {
    "capacity": next_of_capacity,
    "curve": next_of_curve,
    "scaling": next_of_scaling,
}


def next_offer(search: Search, points: Sequence[SearchPoint]) -> Offer | None:
    """Return the next point; None if the search is over: answered, out of budget, or failed.

    A point that failed because a host was lost is repeated once. Two failures in a row end the
    search.
    """
    if len(points) >= search.points or _voids(points) >= VOIDS:
        return None
    if _voids(points):
        last = points[-1]
        return fits(search, points, replace(last.offer, why=clause("again", why=last.why)))
    offer = _NEXT[search.kind](search, usable(points))
    return (
        None
        if offer is None
        else fits(search, points, replace(offer, shares=shares_of(offer, points)))
    )


def why_over(search: Search, points: Sequence[SearchPoint]) -> Clause:
    """Return why a search ended: answered, budget spent, points failed, or stopped."""
    if len(points) >= search.points:
        return clause("points-used", points=search.points)
    if _voids(points) >= VOIDS:
        return clause("points-failed", points=VOIDS)
    if next_offer(search, points) is not None:
        return clause("search-stopped")
    if next_offer(unbounded(search, points), points) is None:
        return clause("answered")
    return clause("time-used", within_s=search.within_s)


def points_left(search: Search, points: Sequence[SearchPoint]) -> list[Clause]:
    """Return the points that a curve or scaling run did not measure, with the reason; empty if it
    measured all.
    """
    left = lacking(search, points)
    shares = [
        each.why["operands"]["share"]
        for each in left
        if each.role == "curve" and isinstance(each.why, dict)
    ]
    others = [each.why for each in left if each.role != "curve"]
    ended = why_over(search, points)
    return [clause("points-left", others=others, shares=shares, why=ended)] if left else []


def unbounded(search: Search, points: Sequence[SearchPoint]) -> Search:
    """Return the search with a budget for exactly one more point, of any length."""
    return replace(search, points=len(points) + 1, within_s=None)


def shares_of(offer: Offer, points: Sequence[SearchPoint]) -> dict[str, float]:
    """Return each job's share of an offered rate, as first measured at full load.

    The shares stay fixed when full load is repeated: points with a different mix would not be
    comparable. Empty for full load.
    """
    if offer.rate_iops is None:
        return {}
    kept = next((each.offer.shares for each in points if each.offer.shares), None)
    if kept is not None:
        return dict(kept)
    first = next(
        (
            each
            for each in usable(points)
            if each.offer.rate_iops is None and any(each.jobs.values())
        ),
        None,
    )
    if first is None:
        return {}
    total = sum(first.jobs.values())
    return {name: rate / total for name, rate in first.jobs.items()}


def _voids(points: Sequence[SearchPoint]) -> int:
    """Return how many points failed in a row, up to the last one."""
    return next(
        (at for at, each in enumerate(reversed(points)) if each.verdict != "void"), len(points)
    )

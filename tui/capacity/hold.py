"""Hold a load for a long time: its steadiness, the meaning of a failure, and undetected stalls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, sqrt
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui.capacity.interval import LEAST_BLOCKS, over_limit, time_in
from tui.model.operands import Clause, clause
from tui.model.search import Search, SearchPoint, Steadiness

if TYPE_CHECKING:
    from tui.metrics.series import ClusterSecond
    from tui.model.search import Limit, Offer

HOLDS = 4  # attempts to hold a load, each at a lower rate than the last
LEAST_HELD = 0.5  # of the requested time: the budget may shorten a hold to this share
# added to 4 ln n, for twice a log-likelihood: a change point may be at any second
CHANGE_COST = 10.0
MOSTLY = 0.5  # minimum share of bad seconds after a change of state
SELDOM = 0.25  # maximum share before it
ALWAYS = 0.9  # share of bad seconds if the state had changed before the hold
NEAR_S = 3  # bad seconds this close are one stall
# of a rate that met the limits: exceeding them below this means the system was in another state
APART = 0.9
LONGER = 3.0  # factor per contradiction, until a point covers all states
SPELLS = 3.0  # a point should cover this many stalls
RISE_BLOCKS = 12
SURE_RISE = 2.58  # standard deviations of Kendall's S: 1 %
RISE = 1.05  # last third over first third: a smaller drift is not reported
# times the allowed share of slow I/Os: more than a capacity's interval explains
SURELY = 1.5
HALF = 0.5  # of the offered load: a second with less is stalled


def steadiness_of(
    limits: Sequence[Limit],
    offer: Offer,
    seconds: Sequence[ClusterSecond],
    directions: Mapping[str, Sequence[str]],
) -> Steadiness:
    """Return the steadiness of a load: the seconds over a limit, and the trend of mean latency.

    `directions`: the directions to which each limit applies, by the limit's text.
    """
    bad = [_is_bad(limits, offer, each, directions) for each in seconds]
    changed = change_point(bad)
    spells = spells_of(bad)
    if changed is not None:
        return Steadiness("changed", float(changed), 0.0, sum(bad))
    if sum(bad) > ALWAYS * len(bad):
        return Steadiness("changed", 0.0, 0.0, sum(bad))
    if spells and len(bad) / len(spells) > 2 * NEAR_S:
        return Steadiness("stalls", float(spells[0]), len(bad) / len(spells), sum(bad))
    if _rises(seconds):
        return Steadiness("drift", 0.0, 0.0, sum(bad))
    return Steadiness("steady", 0.0, 0.0, sum(bad))


def _is_bad(
    limits: Sequence[Limit],
    offer: Offer,
    second: ClusterSecond,
    directions: Mapping[str, Sequence[str]],
) -> bool:
    """Return whether one second exceeded a limit or had a stall."""
    if (
        offer.rate_iops is not None
        and sum(second.ios.values()) < HALF * offer.rate_iops * second.seconds
    ):
        return True
    for limit in limits:
        for lat in (
            second.lat[name] for name in directions.get(limit.text, ()) if name in second.lat
        ):
            count = sum(lat.n)
            if limit.percentile is None and count and time_in(lat) > limit.most * count:
                return True
            if limit.percentile is not None and over_limit(lat, limit.most) > max(
                1.0, (1 - limit.percentile / 100) * count
            ):
                return True
    return False


def change_point(bad: Sequence[bool]) -> int | None:
    """Return the second from which a load exceeded its limits for good; None if there is none.

    The test is a likelihood ratio: two shares of bad seconds against one, corrected for testing
    every second.
    """
    count, total = len(bad), sum(bad)
    best, found, before = 0.0, None, 0
    for at in range(1, count):
        before += bad[at - 1]
        after = total - before
        if after < MOSTLY * (count - at) or before > SELDOM * at:
            continue
        ratio = 2 * (_likely(before, at) + _likely(after, count - at) - _likely(total, count))
        if ratio > best:
            best, found = ratio, at
    return found if found is not None and best > 4 * log(count) + CHANGE_COST else None


def _likely(hits: int, count: int) -> float:
    """Return the maximum log-likelihood of `hits` in `count` trials."""
    return sum(each * log(each / count) for each in (hits, count - hits) if each)


def spells_of(bad: Sequence[bool]) -> list[int]:
    """Return the second at which each spell of bad seconds begins.

    Bad seconds at most NEAR_S apart are one spell.
    """
    found: list[int] = []
    last = -NEAR_S - 1
    for at in (at for at, each in enumerate(bad) if each):
        if at - last > NEAR_S:
            found.append(at)
        last = at
    return found


def _rises(seconds: Sequence[ClusterSecond]) -> bool:
    """Return whether mean latency rises during a load: Kendall's S over blocks (Mann 1945)."""
    pairs = [
        (sum(map(time_in, each.lat.values())), sum(sum(lat.n) for lat in each.lat.values()))
        for each in seconds
    ]
    length = max(1, len(pairs) // RISE_BLOCKS)
    blocks = [pairs[at : at + length] for at in range(0, len(pairs) - length + 1, length)]
    means = [sum(took for took, _ in each) / max(sum(ios for _, ios in each), 1) for each in blocks]
    count = len(means)
    if count < LEAST_BLOCKS + 1:
        return False
    score = sum((b > a) - (b < a) for at, a in enumerate(means) for b in means[at + 1 :])
    third = count // 3
    grown = sum(means[-third:]) > RISE * sum(means[:third])
    return grown and score > SURE_RISE * sqrt(count * (count - 1) * (2 * count + 5) / 18)


# -- evidence of holds


def held(search: Search, point: SearchPoint) -> bool:
    """Return whether a hold passed: offered load achieved, no measured figure above its limit.

    The intervals of the figures may exceed the limits.
    """
    if point.verdict == "meets":
        return True
    limits = {each.text: each.most for each in search.limits}
    return point.verdict == "unclear" and all(
        each.verdict == "meets"
        or (each.value is not None and each.value < limits.get(each.limit, 0.0))
        for each in point.measured
    )


def failed_holds(search: Search, points: Sequence[SearchPoint]) -> list[int]:
    """Return the indices of holds that exceeded a limit."""
    return [at for at,
        each in enumerate(points) if each.offer.role == "hold" and each.verdict != "void"
            and not held(search, each)]  # fmt: skip


def unlike(search: Search, point: SearchPoint) -> bool:
    """Return whether a failed hold shows a state of the system that shorter points did not show.

    In the known state, too, a load that is slightly too high exceeds the limits now and then.
    """
    kind = point.steadiness.kind if point.steadiness is not None else "steady"
    return kind != "steady" and excess(search, point) > SURELY


def excess(search: Search, point: SearchPoint) -> float:
    """Return the factor by which a point exceeds its limits: I/Os above a limit / allowed I/Os.

    For a limit on the mean: mean / limit.
    """
    limits = {each.text: each.most for each in search.limits if each.metric == "latency"}
    found = [each.over if each.over is not None else (each.value or 0.0) / limits[each.limit]
             for each in point.measured if each.limit in limits]  # fmt: skip
    return max(found, default=0.0)


def in_state(search: Search, points: Sequence[SearchPoint]) -> list[SearchPoint]:
    """Return the points of the current state of the system.

    The state began with the last hold or contradiction that showed something new.
    """
    begun = [at for at in failed_holds(search, points) if unlike(search, points[at])]
    return list(points[max([*begun, *contradictions(search, points)], default=0) :])


def contradictions(search: Search, points: Sequence[SearchPoint]) -> list[int]:
    """Return the indices of points that contradict an earlier one, if the search has a hold.

    One of the two exceeded a limit at clearly less load than the other, which met all limits. Right
    after an overload, a violation counts only if it repeats after the longest pause.
    """
    found: list[int] = []
    begin = 0
    for at, each in enumerate(points[: len(points) if search.hold_s else 0]):
        if (
            each.offer.role == "hold"
            and each.verdict != "void"
            and not held(search, each)
            and unlike(search, each)
        ):
            begin = at
        elif (
            each.offer.rate_iops
            and _settled(points, at)
            and any(
                _contradict(other, each)
                for place, other in enumerate(points[begin:at], begin)
                if _settled(points, place)
            )
        ):
            found.append(at)
            begin = at
    return found


def _settled(points: Sequence[SearchPoint], at: int) -> bool:
    """Return whether a point shows the system itself, not the effect of an overload before it."""
    point, before = points[at], points[at - 1] if at else None
    if point.verdict != "breaks" or before is None:
        return True
    if point.offer.role == "recover":
        return before.offer.role == "recover"
    return before.verdict != "breaks"


def _contradict(one: SearchPoint, other: SearchPoint) -> bool:
    """Return whether the point with clearly less load exceeded a limit and the other met all."""
    if one.offer.knobs != other.offer.knobs or not one.offer.rate_iops or not other.offer.rate_iops:
        return False
    less, more = sorted((one, other), key=lambda each: each.offer.rate_iops or 0.0)
    return (less.verdict, more.verdict) == ("breaks", "meets") and (
        less.offer.rate_iops or 0.0
    ) < APART * (more.offer.rate_iops or 0.0)


def lengthened(search: Search, points: Sequence[SearchPoint]) -> Search:
    """Return the search with longer points, if failed holds require them.

    A point then covers several stalls, or the next change of state.
    """
    failed = [points[at] for at in failed_holds(search, points)]
    found = [
        each.steadiness for each in failed if each.steadiness is not None and unlike(search, each)
    ]
    lengths = [SPELLS * each.every_s for each in found if each.kind == "stalls"]
    changes = [each.at_s for each in found if each.kind == "changed"]
    lengths += [max(changes)] if len(changes) > 1 else []  # the first change may be permanent
    lengths += (
        [search.point_s * LONGER ** len(seen)] if (seen := contradictions(search, points)) else []
    )
    if not lengths:
        return search
    least = float(round(min(max(search.point_s, *lengths), max(search.hold_s, search.point_s))))
    return replace(search, point_s=least, most_point_s=max(search.most_point_s, least))


def holds_of(points: Sequence[SearchPoint]) -> list[SearchPoint]:
    """Return the holds that were measured."""
    return [each for each in points if each.offer.role == "hold" and each.verdict != "void"]


def last_held(search: Search, points: Sequence[SearchPoint]) -> SearchPoint | None:
    """Return the last hold in the current state if it passed and was long enough, else None."""
    last = next(reversed(holds_of(in_state(search, points))), None)
    return (
        last
        if last is not None and held(search, last) and last.seconds >= LEAST_HELD * search.hold_s
        else None
    )


def hold_result(search: Search, points: Sequence[SearchPoint]) -> Clause:
    """Return whether the answer was held, and the duration and load of the hold."""
    if not search.hold_s:
        longest_s = max((each.seconds for each in points if each.verdict != "void"), default=0.0)
        return clause("hold-not-requested", longest_s=longest_s)
    found = last_held(search, points)
    if found is not None:
        return clause("held", seconds=found.seconds, offered_iops=found.offer.rate_iops)
    failed = [at for at in failed_holds(search, points) if points[at] is holds_of(points)[-1]]
    failure = failed_hold(search, points, failed[-1]) if failed else None
    return clause("not-held", failure=failure, seconds=search.hold_s)


def failed_hold(search: Search, points: Sequence[SearchPoint], at: int) -> Clause:
    """Return why the hold at index `at` failed, with the number of its point."""
    point, found = points[at], points[at].steadiness
    if found is None or not unlike(search, point):
        found = Steadiness()
    return clause(
        "failed-hold", point=at + 1, offered_iops=point.offer.rate_iops, seconds=point.seconds,
        kind=found.kind, at_s=found.at_s, every_s=found.every_s,
    )  # fmt: skip


def hold_notes(search: Search, points: Sequence[SearchPoint]) -> list[Clause]:
    """Return notes on holds: the effect of failed ones, how the last one passed, and what a hold of
    its length cannot detect.
    """
    notes = [
        clause("capacity-lowered", failure=failed_hold(search, points, at))
        for at in failed_holds(search, points)
    ]
    notes += [clause("points-discarded", point=at + 1) for at in contradictions(search, points)]
    passed = last_held(search, points)
    if passed is None:
        return notes
    steady = passed.steadiness if passed.steadiness is not None else Steadiness()
    if steady.kind == "drift":
        notes.append(clause("drift"))
    elif steady.kind == "changed":
        notes.append(clause("exceeded-later", at_s=steady.at_s))
    return [*notes, _can_be_missed(search, passed)]


def _can_be_missed(search: Search, passed: SearchPoint) -> Clause:
    """Return the longest stall that a hold could have missed.

    A stall as long as all allowed slow I/Os together stays within the limits.
    """
    allowed = {
        each.text: 1 - each.percentile / 100
        for each in search.limits
        if each.percentile is not None
    }
    left = [
        allowed[each.limit] * max(0.0, 1 - (each.over or 0.0)) * passed.seconds
        for each in passed.measured if each.limit in allowed
    ]  # fmt: skip
    return clause("can-be-missed", stall_s=min(left, default=None), seconds=passed.seconds)

"""The answer of a search, from its points alone: a capacity with its interval, or why there is
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui.capacity.belief import binding, not_recovered, usable
from tui.capacity.hold import APART, failed_holds, hold_notes, hold_result, in_state, last_held
from tui.capacity.interval import Z_975, Estimate
from tui.capacity.ladder import Rung, above, lighter, of_rung, rungs, standing
from tui.capacity.next_point import (
    ENOUGH,
    LEAST_SHARE,
    KnobState,
    Setting,
    explored,
    has_rate,
    next_offer,
    unbounded,
)
from tui.capacity.points import not_achieved
from tui.metrics.repeat import t_975
from tui.model.operands import Clause, clause, listed
from tui.model.search import Search, SearchPoint

EVIDENCE = 0.75  # of a capacity: a point that met the limits must be this close
OFFERED = clause("rate-not-achieved")  # binding if all limits were met
State = Literal["found", "never-met", "met-at-full-load", "unfinished"]


class CapacityAnswer(Struct, frozen=True):
    """The capacity that a search found, in `unit`; `step` is the index of the step that proves it.

    `binding`: the limit exceeded first, or OFFERED; if none was exceeded, the closest limit.
    `headroom`: the unused share of each limit in that step, by the limit's text. `contradictions`:
    points that contradict each other.
    """

    state: State
    capacity: Estimate
    unit: Literal["iops", "bytes_per_s"]
    knobs: dict[str, int] = field(default_factory=dict)
    step: int | None = None
    binding: Clause | str = ""
    headroom: dict[str, float] = field(default_factory=dict)
    not_tried: list[Clause] = field(default_factory=list)
    contradictions: list[Clause] = field(default_factory=list)
    hold: Clause | str = ""
    held_s: float | None = None
    notes: list[Clause] = field(default_factory=list)


def answer(search: Search, points: Sequence[SearchPoint]) -> CapacityAnswer:
    """Return the answer of a capacity search from the points measured so far."""
    measured = usable(points)
    whole = in_state(search, measured) if has_rate(search) else measured
    state, capacity, point = (_of_rate if has_rate(search) else _of_ladder)(search, points, whole)
    nearest = _binding_point(search, whole, point)
    factor = _bytes_per_io(whole) if search.objective == "bandwidth" else 1.0
    return CapacityAnswer(
        state,
        capacity.times(factor),
        "bytes_per_s" if search.objective == "bandwidth" else "iops",
        dict(point.offer.knobs) if point is not None else {},
        None if point is None else point.step,
        nearest,
        {} if point is None else headroom(search, point),
        not_tried(search, points, state),
        [
            *(
                contradictions(points)
                if has_rate(search)
                else contradictions_of_settings(search, points)
            ),
            *_recovered(points),
        ],
        hold_result(search, points),
        None if (passed := last_held(search, points)) is None else passed.seconds,
        hold_notes(search, points),
    )


def maximum_of(points: Sequence[SearchPoint]) -> Estimate:
    """Return the rate at full load with its interval.

    Several points are averaged, except in a search over settings without a rate: there the first
    one counts, which has the heaviest setting. Unknown without points.
    """
    found = [each for each in points if each.offer.rate_iops is None and each.verdict != "void"]
    return achieved(found[:1]) if found and found[0].offer.role == "search" else achieved(found)


def achieved(points: Sequence[SearchPoint]) -> Estimate:
    """Return the mean achieved rate with its interval; unknown without points.

    The interval is the wider of two: one from the seconds of the points, one from the scatter
    between points.
    """
    if not points:
        return Estimate()
    rates = [each.iops for each in points]
    mean = fmean(rates)
    within = max((_within(each) for each in points), default=0.0) / sqrt(len(points))
    between = t_975(len(rates) - 1) * stdev(rates) / sqrt(len(rates)) if len(rates) > 2 else 0.0
    if len(rates) == 2:
        between = abs(rates[1] - rates[0]) / 2
    reach = max(within, between)
    return Estimate(mean, mean - reach, mean + reach)


def _within(point: SearchPoint) -> float:
    """Return half the 95 % interval of a point's rate, from the variation of its seconds."""
    return Z_975 * (point.deviation or 0.0) * point.iops / sqrt(max(point.seconds, 1.0))


def _bytes_per_io(points: Sequence[SearchPoint]) -> float:
    ios = sum(each.iops * each.seconds for each in points)
    return sum(each.bw_bytes_per_s * each.seconds for each in points) / ios if ios else 0.0


# -- states


def _of_rate(
    search: Search, points: Sequence[SearchPoint], whole: Sequence[SearchPoint]
) -> tuple[State, Estimate, SearchPoint | None]:
    known = _best(search, whole)
    over = next_offer(unbounded(search, points), points) is None
    if known is None or not known.points:
        return "unfinished", Estimate(), None
    if known.met_at_full_load and not known.paced:
        state: State = (
            "met-at-full-load"
            if len(known.maxima) > 1 or (over and not search.hold_s)
            else "unfinished"
        )
        return state, achieved(known.maxima), known.maxima[-1]
    if known.never_met:
        return "never-met", Estimate(), None
    met = known.highest_met
    if known.belief is None:
        return "unfinished", Estimate(None, None, known.top or None), met
    low, high = known.belief.interval
    middle = known.belief.quantile(0.5)
    found = (
        known.belief.half_width <= search.tolerance * ENOUGH
        and met is not None
        and met.iops >= EVIDENCE * middle
    )
    found = found and (not search.hold_s or last_held(search, points) is not None)
    bounded = _below_failed_holds(search, points, known.setting, Estimate(middle, low, high))
    return ("found" if found else "unfinished"), bounded, met


def _below_failed_holds(
    search: Search, points: Sequence[SearchPoint], setting: Setting, found: Estimate
) -> Estimate:
    """Return an estimate not above a load that failed its hold, with this setting and in this state
    of the system.

    A hold outweighs points that are far shorter: the capacity is then between the load that was
    held and the one that failed. What short points say reaches at most `tolerance` above that.
    """
    present = [each for each in in_state(search, points) if each.offer.knobs == dict(setting)]
    failed = [present[at].offer.rate_iops or 0.0 for at in failed_holds(search, present)]
    if not failed or found.value is None or found.low is None or found.high is None:
        return found
    least, passed = min(failed), last_held(search, points)
    high = min(found.high, least * (1 + search.tolerance))
    if found.value <= least:
        return replace(found, high=high)
    held = (passed.offer.rate_iops if passed is not None else None) or least
    return Estimate(sqrt(held * least), min(found.low, held), high)


def _best(search: Search, whole: Sequence[SearchPoint]) -> KnobState | None:
    """Return the setting with the highest known capacity; if none met the limits, the first one."""
    found = list(explored(search, whole))
    met = [each for each in found if each.highest_met is not None]
    return max(met, key=_middle) if met else found[0]


def _middle(known: KnobState) -> float:
    if known.belief is not None:
        return known.belief.quantile(0.5)
    return known.highest_met.iops if known.highest_met is not None else 0.0


def _of_ladder(
    search: Search, points: Sequence[SearchPoint], whole: Sequence[SearchPoint]
) -> tuple[State, Estimate, SearchPoint | None]:
    known = standing(search, whole)
    met = [each for step in known.met for each in of_rung(whole, step) if each.verdict == "meets"]
    best = max(met, key=lambda each: each.iops, default=None)
    passed = last_held(search, points)
    lacks_hold = best is not None and (passed is None or passed.offer.knobs != best.offer.knobs)
    open_ones = bool(known.left) or known.unsure is not None or (bool(search.hold_s) and lacks_hold)
    if best is None:
        return "unfinished" if open_ones else "never-met", Estimate(), None
    if rungs(search)[-1] in known.met:
        return (
            ("unfinished" if search.hold_s and lacks_hold else "met-at-full-load"),
            achieved([best]),
            best,
        )
    step = next(step for step in known.met if dict(step) == best.offer.knobs)
    beyond = [each.iops for rung in above(known, step) for each in of_rung(whole, rung)]
    return ("unfinished" if open_ones else "found"), _up_to(achieved([best]), beyond), best


def _up_to(best: Estimate, beyond: Sequence[float]) -> Estimate:
    """Return the best setting's rate, its upper end raised to the rates of heavier settings.

    Settings between them were not measured.
    """
    return replace(best, high=max([best.high or 0.0, *beyond]))


# -- headroom, contradictions, untested settings


def _binding_point(
    search: Search, whole: Sequence[SearchPoint], point: SearchPoint | None
) -> Clause | str:
    """Return the limit exceeded first, at the lowest load that exceeded any.

    OFFERED if that load was merely not achieved. If no load exceeded a limit, return the limit
    closest to being exceeded at the answer.
    """
    broken = [each for each in whole if each.verdict == "breaks"]
    lowest = min(broken, key=lambda each: each.iops, default=None)
    if (
        lowest is not None
        and not_achieved(lowest)
        and all(each.verdict != "breaks" for each in lowest.measured)
    ):
        return OFFERED
    for each in (lowest, point):
        texts = [] if each is None else [m.limit for m in each.measured if m.verdict == "breaks"]
        nearest = None if each is None else binding(search, each)
        if nearest is not None and (not texts or nearest[0].text in texts):
            return nearest[0].text
        if texts:
            return texts[0]
    return ""


def headroom(search: Search, point: SearchPoint) -> dict[str, float]:
    """Return the unused share of each limit at a point, by the limit's text.

    If a limit applies to several directions, the lowest share counts.
    """
    limits = {each.text: each.most for each in search.limits if each.most > 0}
    found: dict[str, float] = {}
    for each in point.measured:
        if each.limit in limits and each.value is not None:
            left = 1 - each.value / limits[each.limit]
            found[each.limit] = min(left, found.get(each.limit, left))
    return found


def contradictions(points: Sequence[SearchPoint]) -> list[Clause]:
    """Return the largest contradiction between points, in a list; empty without one.

    Either a point exceeded a limit at clearly less load than another point that met all limits; or
    of two points at full load, one exceeded a limit and the other met all.
    """
    paced = [
        (at, each)
        for at, each in enumerate(points)
        if each.offer.rate_iops and not not_recovered(points, at)
    ]
    pairs = [
        (met, broke)
        for met in paced if met[1].verdict == "meets"
        for broke in paced
        if broke[1].verdict == "breaks" and broke[1].offer.knobs == met[1].offer.knobs
        and _offered(broke) < APART * _offered(met)
    ]  # fmt: skip
    if not pairs:
        return _contradictions_at_full_load(points)
    met, broke = max(pairs, key=lambda pair: _offered(pair[0]) / _offered(pair[1]))
    return [_contradiction(met[0], _offered(met), broke[0], _offered(broke))]


def _recovered(points: Sequence[SearchPoint]) -> list[Clause]:
    """Return the violations that the answer ignores.

    They came right after an overload, and a repeat after a pause met the limits.
    """
    return [
        clause(
            "after-overload", point=at + 1, offered_iops=_offered((at, each)),
            pause_s=points[at + 1].offer.settle_s,
        )
        for at, each in enumerate(points) if not_recovered(points, at)
    ]  # fmt: skip


def _contradictions_at_full_load(points: Sequence[SearchPoint]) -> list[Clause]:
    full = [(at, each) for at, each in enumerate(points) if each.offer.rate_iops is None]
    pairs = (
        (met, broke)
        for met, kept in full if kept.verdict == "meets"
        for broke, lost in full if lost.verdict == "breaks" and lost.offer.knobs == kept.offer.knobs
    )  # fmt: skip
    return [_contradiction(met, None, broke, None) for met, broke in list(pairs)[:1]]


def contradictions_of_settings(search: Search, points: Sequence[SearchPoint]) -> list[Clause]:
    """Return the first contradiction between settings at full load, in a list; empty without one.

    That is a lighter setting that exceeded a limit although a heavier one met all limits.
    """
    at = {
        step: [place for place, each in enumerate(points) if each.offer.knobs == dict(step)]
        for step in rungs(search)
    }
    pairs = (
        (met, broke)
        for heavy in at for light in at if heavy != light and lighter(light, heavy)
        for met in at[heavy] if points[met].verdict == "meets"
        for broke in at[light] if points[broke].verdict == "breaks"
    )  # fmt: skip
    found = next(pairs, None)
    if found is None:
        return []
    kept, lost = (listed([*points[place].offer.knobs.items()]) for place in found)
    return [_contradiction(found[0], kept, found[1], lost)]


Load = float | list[Any] | None
"""An offered rate, a setting, or full load."""


def _contradiction(met: int, kept: Load, broke: int, lost: Load) -> Clause:
    return clause("system-changed", met=[met + 1, kept], exceeded=[broke + 1, lost])


def _offered(point: tuple[int, SearchPoint]) -> float:
    return point[1].offer.rate_iops or 0.0


def not_tried(search: Search, points: Sequence[SearchPoint], state: State) -> list[Clause]:
    """Return the points that the search did not measure, with reasons."""
    found = _settings_left(search, points)
    lost = sorted({host for each in points for host in each.lost})
    if lost:
        found.append(clause("hosts-lost-twice", hosts=lost))
    if (
        state in ("found", "unfinished")
        and next_offer(unbounded(search, points), points) is not None
    ):
        found.append(_why_unfinished(search, points))
    if state == "never-met":
        found.append(clause("lower-loads", share=LEAST_SHARE if has_rate(search) else None))
    if state == "met-at-full-load":
        found.append(clause("higher-load", heavier=[*search.heavier]))
        if has_rate(search):
            found.append(clause("arrivals"))
    return found


def _settings_left(search: Search, points: Sequence[SearchPoint]) -> list[Clause]:
    """Return the settings not measured.

    Without an offered rate, settings implied by others are listed apart.
    """
    whole = usable(points)
    left = [step for step in rungs(search) if step and not of_rung(whole, step)]
    if has_rate(search):
        return _settings(left)
    unknown = standing(search, whole).left
    implied = [step for step in left if step not in unknown]
    return [*_settings(unknown), *_settings(implied, implied=True)]


def _settings(steps: Sequence[Rung], *, implied: bool = False) -> list[Clause]:
    return [clause("settings", settings=listed(steps), implied=implied)] if steps else []


def _why_unfinished(search: Search, points: Sequence[SearchPoint]) -> Clause:
    if len(points) >= search.points:
        return clause("more-points", points=search.points)
    last = points[-1] if points and points[-1].verdict == "void" else None
    if search.within_s is not None and next_offer(search, points) is None and last is None:
        return clause("more-time", within_s=search.within_s)
    return clause("rest-of-search", why=last.why if last else clause("search-stopped"))

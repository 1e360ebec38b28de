"""The fields of the review form for a search: what is searched for, over what, within which bounds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.app.widgets.form import FieldSpec

if TYPE_CHECKING:
    from tui.app.frame.selection import Selection
    from tui.engine.planning.search import Kind, Wish
    from tui.engine.profiles.catalogue import LoadedProfile
    from tui.model.profile import Profile
    from tui.model.search import Search

SEARCH, OVER, LIMITS, POINTS = "@search", "@over", "@limits", "@points"
WITHIN, POINT, MOST = "@within", "@point", "@most"
SEARCH_FIELDS = (SEARCH, LIMITS, OVER, POINTS, WITHIN, POINT, MOST)
KINDS: tuple[Kind, ...] = ("none", "capacity", "curve", "scaling")
HINTS = {
    SEARCH: ("search", "none; capacity: the most load within limits; curve: latency over load; scaling: over hosts"),
    LIMITS: ("limits", "what must hold: p99.9 < 2ms, errors = 0"),
    OVER: ("over", "names with blanks between, values after them: rate numjobs=1,2,4 hosts=1,2"),
    POINTS: ("points", "measurements at most"),
    WITHIN: ("within", "time of load and pauses at most, such as 30m; empty: what the profile says"),
    POINT: ("point", "time of a measurement at least; more where a percentile needs more I/Os"),
    MOST: ("most", "time of a measurement at most"),
}
ANY_LIMIT = "mean < 1s"  # stands for limits that are not typed yet, to find the other bounds


def search_specs(loaded: LoadedProfile, selection: Selection) -> list[FieldSpec]:
    """Return what may be searched for, and what bounds the search; nothing where none is possible."""
    from tui import workloads
    from tui.engine.planning.search import Wish, usual_kind
    from tui.model.tool import SUITE

    profile = loaded.profile
    if profile.tool == SUITE or not workloads.get(profile.tool).searched:
        return []
    wish, usual = selection.search or Wish(), usual_kind(profile)
    values, defaults = _bounds(loaded, wish, wish.kind or usual, len(selection.ticked))
    shown = {SEARCH: wish.kind or usual, **values}
    return [FieldSpec(name, shown[name], {SEARCH: usual, **defaults}[name], HINTS[name][1], HINTS[name][0],
                      choices=KINDS if name == SEARCH else ())
            for name in SEARCH_FIELDS if name in shown]  # fmt: skip


def _bounds(loaded: LoadedProfile, wish: Wish, kind: Kind, hosts: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of the bounds' fields, now and when nothing is asked for; none where the plan says why."""
    from msgspec.structs import replace

    from tui.engine.planning.search import Wish, search_of
    from tui.model.problem import UsageError

    no_limits = kind == "capacity" and loaded.profile.capacity is None
    try:
        usual = search_of(loaded, Wish(kind, (ANY_LIMIT,) if no_limits else ()), hosts)
    except UsageError:
        return {}, {}
    try:
        asked = replace(wish, kind=kind, limits=wish.limits or ((ANY_LIMIT,) if no_limits else ()))
        chosen = search_of(loaded, asked, hosts)
    except UsageError:
        chosen = usual
    if usual is None or chosen is None:
        return {}, {}
    values, defaults = _texts(chosen), _texts(usual)
    defaults |= {LIMITS: ""} if no_limits else {}
    values |= {LIMITS: ""} if no_limits and not wish.limits else {}
    return values, defaults


def _texts(search: Search) -> dict[str, str]:
    from tui.model.quantities import short_duration

    within = "" if search.within_s is None else short_duration(search.within_s)
    over = " ".join(f"{knob.name}={','.join(map(str, knob.values))}" if knob.values else knob.name
                    for knob in search.over)  # fmt: skip
    found = {
        LIMITS: ", ".join(each.text for each in search.limits), POINTS: str(search.points), WITHIN: within,
        POINT: short_duration(search.point_s),
    }  # fmt: skip
    found |= {OVER: over} if search.kind != "curve" else {}
    return found | ({MOST: short_duration(search.most_point_s)} if search.kind != "scaling" else {})


def wish_of(values: Mapping[str, str], defaults: Mapping[str, str], before: Wish | None) -> Wish:
    """Return what a search is asked for by the texts of its fields, which are right; bounds are of one kind alone."""
    from tui.engine.planning.search import Wish
    from tui.model.quantities import parse_duration
    from tui.model.search_spec import over_of

    old = before or Wish()
    kind = next(each for each in KINDS if each == values[SEARCH])
    own = None if kind == defaults[SEARCH] else kind
    changed = {name: text for name, text in values.items() if text != defaults[name]}
    limits = values.get(LIMITS, "") if LIMITS in changed or old.limits else ""
    if kind == "none" or kind != (old.kind or defaults[SEARCH]):
        return Wish(own, tuple(limit_texts(limits)) if kind != "none" else ())
    seconds = {name: parse_duration(changed[name]) for name in (WITHIN, POINT, MOST) if changed.get(name)}
    return Wish(
        own,
        tuple(limit_texts(limits)),
        over_of(changed.get(OVER, "").split()),
        int(changed[POINTS]) if POINTS in changed else None,
        seconds.get(WITHIN),
        seconds.get(POINT),
        seconds.get(MOST),
    )


def set_aside(profile: Profile, kind: str) -> set[str]:
    """Return the parameters that a search of this kind does not use; none where nothing is searched for."""
    from tui import workloads

    return set(workloads.get(profile.tool).lengths(profile)) if kind in KINDS[1:] else set()


def limit_texts(text: str) -> list[str]:
    """Return the limits of a list with commas between them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def check_bound(profile: Profile, name: str, text: str) -> str | None:
    """Return what is wrong with a field of a search, None when it is right."""
    from tui.model.search_check import knob_problem
    from tui.model.search_spec import MOST_POINTS, known_span, over_of, parse_limit

    if name == SEARCH:
        return None if text in KINDS else f"one of {', '.join(KINDS)}"
    if name == POINTS:
        right = text.isdecimal() and 1 <= int(text) <= MOST_POINTS
        return None if right else f"a whole number from 1 to {MOST_POINTS}"
    try:
        if name == LIMITS:
            for each in limit_texts(text):
                parse_limit(each)
        elif name == OVER:
            found = (knob_problem(profile, knob, values) for knob, values in over_of(text.split()).items())
            return next(filter(None, found), None)
        elif text or name != WITHIN:
            known_span(text)
    except ValueError as error:
        return str(error)
    return None

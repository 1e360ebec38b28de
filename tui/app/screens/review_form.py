"""The fields of Review: parameters, hosts, and limits of a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.app.widgets.form import FieldSpec

if TYPE_CHECKING:
    from tui.app.frame.selection import Selection
    from tui.app.frame.shell import AppShell
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.plan.choices import Words
    from tui.engine.plan.search import Kind, SearchChoice
    from tui.model.plan import Plan
    from tui.model.profile import Param, Profile
    from tui.model.search import Search

ANYWHERE = (("?", "help"), ("q", "quit"))
FIELD_KEYS = (("Tab", "next field"), ("Enter", "plan"), ("Esc", "leave"))
FORM_KEYS = (*FIELD_KEYS, ("Ctrl+U", "clear"), ("F1", "help"), ("Ctrl+C", "quit"))
CHOICE_KEYS = (("← →", "choose"), *FIELD_KEYS, ("F1", "help"), ("Ctrl+C", "quit"))
SEARCH, OVER, LIMITS, POINTS = "@search", "@over", "@limits", "@points"
WITHIN, POINT, MOST, HOLD = "@within", "@point", "@most", "@hold"
SEARCH_FIELDS = (SEARCH, LIMITS, OVER, POINTS, WITHIN, POINT, MOST, HOLD)
KINDS: tuple[Kind, ...] = ("none", "capacity", "curve", "scaling")
HINTS = {
    SEARCH: (
        "search",
        (
            "none; capacity: highest load within limits; curve: latency vs. load; scaling:"
            " rate by number of hosts"
        ),
    ),
    LIMITS: ("limits", "limits to meet, such as p99.9 < 2ms, errors = 0"),
    OVER: ("over", "what to vary, separated by spaces: rate numjobs=1,2,4 hosts=1,2"),
    POINTS: ("points", "maximum number of points"),
    WITHIN: (
        "within",
        "maximum time of load and pauses, such as 30m; empty: as in the profile",
    ),
    POINT: ("point", "minimum time per point; longer if a percentile needs more I/Os"),
    MOST: ("most", "maximum time per point"),
    HOLD: ("hold", "time to hold the capacity before it counts"),
}
ANY_LIMIT = "mean < 1s"  # placeholder while no limits are typed, to find the other defaults


def search_specs(loaded: LoadedProfile, selection: Selection) -> list[FieldSpec]:
    """Return the fields of a search: its kind, limits, what to vary, points and times.

    Empty if the profile allows none.
    """
    from tui import workloads
    from tui.engine.plan.search import SearchChoice, usual_kind
    from tui.model.tool import SUITE

    profile = loaded.profile
    if profile.tool == SUITE or not workloads.get(profile.tool).searched:
        return []
    wish, usual = selection.search or SearchChoice(), usual_kind(profile)
    values, defaults = _bounds(loaded, wish, wish.kind or usual, len(selection.ticked))
    shown = {SEARCH: wish.kind or usual, **values}
    return [FieldSpec(name, shown[name], {SEARCH: usual, **defaults}[name], HINTS[name][1],
        HINTS[name][0],
                      choices=KINDS if name == SEARCH else ())
            for name in SEARCH_FIELDS if name in shown]  # fmt: skip


def _bounds(
    loaded: LoadedProfile, wish: SearchChoice, kind: Kind, hosts: int
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the current and the default texts of a search's fields other than its kind.

    Empty if no plan can be made.
    """
    from msgspec.structs import replace

    from tui.engine.plan.search import SearchChoice, search_of
    from tui.model.problem import UsageError

    no_limits = kind == "capacity" and loaded.profile.capacity is None
    try:
        usual = search_of(loaded, SearchChoice(kind, (ANY_LIMIT,) if no_limits else ()), hosts)
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
        LIMITS: ", ".join(each.text for each in search.limits), POINTS: str(search.points),
        WITHIN: within,
        POINT: short_duration(search.point_s),
    }  # fmt: skip
    found |= {OVER: over} if search.kind != "curve" else {}
    found |= {MOST: short_duration(search.most_point_s)} if search.kind != "scaling" else {}
    return found | ({HOLD: short_duration(search.hold_s)} if search.kind == "capacity" else {})


def wish_of(
    values: Mapping[str, str], defaults: Mapping[str, str], before: SearchChoice | None
) -> SearchChoice:
    """Return the search that valid fields describe.

    If its kind differs from `before`, only the limits are kept, not what to vary, points and times.
    """
    from tui.engine.plan.search import SearchChoice
    from tui.model.profile_parts import over_of
    from tui.model.quantities import parse_duration

    old = before or SearchChoice()
    kind = next(each for each in KINDS if each == values[SEARCH])
    own = None if kind == defaults[SEARCH] else kind
    changed = {name: text for name, text in values.items() if text != defaults[name]}
    limits = values.get(LIMITS, "") if LIMITS in changed or old.limits else ""
    if kind == "none" or kind != (old.kind or defaults[SEARCH]):
        return SearchChoice(own, tuple(limit_texts(limits)) if kind != "none" else ())
    seconds = {
        name: parse_duration(changed[name])
        for name in (WITHIN, POINT, MOST, HOLD)
        if changed.get(name)
    }
    return SearchChoice(
        own,
        tuple(limit_texts(limits)),
        over_of(changed.get(OVER, "").split()),
        int(changed[POINTS]) if POINTS in changed else None,
        seconds.get(WITHIN),
        seconds.get(POINT),
        seconds.get(MOST),
        seconds.get(HOLD),
    )


def set_aside(profile: Profile, kind: str) -> set[str]:
    """Return the parameters that a search of this kind ignores; empty without a search."""
    from tui import workloads

    return set(workloads.get(profile.tool).lengths(profile)) if kind in KINDS[1:] else set()


def limit_texts(text: str) -> list[str]:
    """Return the limits in a comma-separated list, one text each."""
    return [part.strip() for part in text.split(",") if part.strip()]


def check_bound(profile: Profile, name: str, text: str) -> str | None:
    """Return what is wrong with a field of a search, None if valid."""
    from tui.model.profile_check import knob_problem
    from tui.model.profile_parts import MOST_POINTS, known_hold, known_span, over_of, parse_limit

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
            found = (
                knob_problem(profile, knob, values)
                for knob, values in over_of(text.split()).items()
            )
            return next(filter(None, found), None)
        elif name == HOLD:
            known_hold(text)
        elif text or name != WITHIN:
            known_span(text)
    except ValueError as error:
        return str(error)
    return None


# no parameter can have such a name
REPEAT, SWEEP, NOTE, CLEANUP = "@repeat", "@sweep", "@note", "@cleanup"
# the id of a condition, or a role, follows
PRECONDITION, ATTEST, ROLE = "@precondition", "@attest:", "@role:"
YES_NO = ("yes", "no")
ANSWERS = ("yes", "no", "unknown")
MAX_REPEAT = 100
SWEEP_HINT = "values to measure in turn: numjobs=1,2,4"


def fields_words() -> Words:
    """Return the words for fields in messages about a plan: their labels."""
    from tui.engine.plan.choices import Words

    return Words(
        limits="'limits'",
        over="'over'",
        points="'points'",
        within="'within'",
        point="'point'",
        most="'most'",
        hold="'hold'",
        repeat="'repeat'",
        sweep="'sweep'",
        attest="",
        role="",
        name_limits="in the field 'limits', such as p99.9 < 2ms",
        name_hosts="press 1 to choose more",
        no_search="'search' is set to none",
        what_searches="set 'search' to a kind of search",
    )


def form_of(loaded: LoadedProfile, selection: Selection) -> list[FieldSpec]:
    """Return all fields: parameters, roles, search, options of the run, conditions to attest."""
    from tui.engine.plan.choices import questions_of
    from tui.engine.plan.plan import asks_for_precondition

    asked = {name: each.question for name, each in questions_of(loaded).items()}
    searched = search_specs(loaded, selection)
    measures = not searched or searched[0].value == "none"
    own = [
        each
        for each in field_specs(loaded.profile, selection, job_labels(loaded))
        if measures or each.name not in (REPEAT, SWEEP)
    ]
    params = [each for each in own if each.name in loaded.profile.params]
    roles, answers = role_specs(loaded.profile, selection), attest_specs(asked, selection)
    fields = [*params, *roles, *searched, *own[len(params) :], *answers]
    if asks_for_precondition(loaded):
        help_text = "yes or no: fill the files, then run rounds of the load until it is steady"
        fields.append(
            FieldSpec(
                PRECONDITION,
                yes_no(selection.precondition),
                "yes",
                help_text,
                "precondition",
                choices=YES_NO,
            )
        )
    return fields


def role_specs(profile: Profile, selection: Selection) -> list[FieldSpec]:
    """Return a host field for each role of a suite."""
    from tui.model.roles import FORMS

    return [
        FieldSpec(f"{ROLE}{name}", selection.roles.get(name, text), text, f"hosts: {FORMS}", name)
        for name, text in profile.roles.items()
    ]


def attest_specs(asked: Mapping[str, str], selection: Selection) -> list[FieldSpec]:
    """Return a field for each condition that the user may attest."""
    return [
        FieldSpec(f"{ATTEST}{name}", selection.attest.get(name, "unknown"), "unknown",
            f"{text} yes, no, unknown", name,
                  choices=ANSWERS, is_change=False)
        for name, text in asked.items()
    ]  # fmt: skip


def job_labels(loaded: LoadedProfile) -> dict[str, str]:
    """Return the labels of the job form, by parameter; empty for profiles not made by that form."""
    from tui import workloads
    from tui.workloads.terms import was_made

    if not was_made(loaded.text):
        return {}
    terms = workloads.get(loaded.profile.tool).from_terms().job_terms()
    return {term.name: term.label for term in terms if term.label}


def field_specs(
    profile: Profile, selection: Selection, labels: Mapping[str, str]
) -> list[FieldSpec]:
    """Return the fields of the profile's parameters, then those of the run."""
    swept = swept_texts(profile)
    specs = [
        FieldSpec(name, selection.swept.get(name) or selection.overrides.get(name,
            default := swept.get(name) or default_text(param)), default,
                  ("swept; " if name in swept else "")
                  + hint(param, name if name in labels else ""), labels.get(name, ""),
                  masked=param.kind == "secret", choices=choices_of(param))
        for name, param in profile.params.items()
    ]  # fmt: skip
    keep = yes_no(profile.prepare.cleanup)
    chosen = keep if selection.cleanup is None else yes_no(selection.cleanup)
    often = repeat_text(profile)
    sweeps = (
        []
        if profile.tool == "suite"
        else [
            FieldSpec(
                SWEEP, selection.sweep, "", SWEEP_HINT, "sweep", empty=", ".join(swept) or "none"
            )
        ]
    )
    return [
        *specs,
        repeat_spec(selection.repeat or often, often),
        *sweeps,
        FieldSpec(
            CLEANUP,
            chosen,
            keep,
            "yes or no: remove the test files at the end",
            "remove files",
            choices=YES_NO,
        ),
        FieldSpec(
            NOTE,
            selection.note,
            "",
            "kept in the run record",
            "note",
            is_change=False,
            empty="none",
        ),
    ]


def keep_typed(
    profile: Profile,
    selection: Selection,
    values: Mapping[str, str],
    defaults: Mapping[str, str],
    *,
    right: bool,
) -> None:
    """Keep the values of all fields in the selection.

    Parameters with several values are swept. The search is kept only if all fields are valid
    (`right`).
    """
    typed = dict(values)
    repeat = typed.pop(REPEAT, "")  # empty: as the profile says
    selection.repeat = "" if repeat == defaults.get(REPEAT) else repeat
    bounds = {name: typed.pop(name) for name in SEARCH_FIELDS if name in typed}
    if bounds and right:
        selection.search = wish_of(bounds, defaults, selection.search)
    selection.sweep = typed.pop(SWEEP, "")
    selection.note = typed.pop(NOTE)
    selection.cleanup = {"yes": True, "no": False}.get(typed.pop(CLEANUP))
    selection.precondition = typed.pop(PRECONDITION, "yes") != "no"
    answers = {name: typed.pop(name) for name in list(typed) if name.startswith(ATTEST)}
    selection.attest = {
        name.removeprefix(ATTEST): text for name, text in answers.items() if text != "unknown"
    }
    roles = {name: typed.pop(name) for name in list(typed) if name.startswith(ROLE)}
    selection.roles = {
        name.removeprefix(ROLE): text for name, text in roles.items() if text != defaults[name]
    }
    changed = {name: text for name, text in typed.items() if text != defaults[name]}
    listed = {name: values_in(profile, name, text) for name, text in changed.items()}
    selection.swept = {name: changed[name] for name, values in listed.items() if values}
    selection.overrides = {name: text for name, text in changed.items() if not listed[name]}


def unused_fields(loaded: LoadedProfile, selection: Selection, kind: str) -> set[str]:
    """Return the parameters that the sweep, or a search of this kind, sets.

    Raises ValueError for a sweep that is not typed completely.
    """
    return set(sweep_values(selection.sweep)) | set_aside(loaded.profile, kind)


def plan_of(loaded: LoadedProfile, shell: AppShell) -> Plan:
    """Return the plan for selection and input. Raises UsageError."""
    from tui.engine.plan.plan import Choices, build_plan
    from tui.engine.plan.search import SearchChoice
    from tui.engine.preflight.programs import with_programs
    from tui.workloads.terms import split_values

    selection, settings, fleet = shell.selection, shell.options.settings, shell.fleet
    hosts, servers = fleet.resolve(selection.ticked), fleet.resolve(selection.servers)
    choices = Choices(
        hosts=hosts,
        overrides=selection.overrides,
        repeat=int(selection.repeat) if selection.repeat else None,
        sweep={
            **{name: split_values(text) for name, text in selection.swept.items()},
            **sweep_values(selection.sweep),
        },
        note=selection.note or None,
        tags=dict(settings.tags),
        lease_s=settings.lease_s,
        cleanup=selection.cleanup,
        precondition=selection.precondition,
        roles=selection.roles,
        attest=selection.attest,
        servers=servers,
        sources=fleet.uses_of([*hosts, *servers]),
        search=selection.search or SearchChoice(),
        words=fields_words(),
    )
    plan = build_plan(loaded, choices)
    return with_programs(plan, settings.programs, required=False) if settings.programs else plan


def saved_text(loaded: LoadedProfile, selection: Selection, tag: str) -> str:
    """Return the text of a profile named `tag` with the form's values, but without its search.

    Raises UsageError.
    """
    from tui.engine.inputs.profile_files import check_tag
    from tui.engine.plan.saved import changed_profile
    from tui.engine.plan.steps import MatrixChoice
    from tui.workloads.terms import split_values

    check_tag(tag)
    swept = {name: split_values(text) for name, text in selection.swept.items()}
    choice = MatrixChoice(
        repeat=int(selection.repeat) if selection.repeat else None,
        sweep={**swept, **sweep_values(selection.sweep)},
        words=fields_words(),
        roles=selection.roles,
    )
    return changed_profile(loaded, tag, selection.overrides, choice, selection.cleanup)


def swept_texts(profile: Profile) -> dict[str, str]:
    """Return the values of each swept parameter as text: ``1,2,4``."""
    from tui.engine.plan.steps import person_text
    from tui.model.profile import parse_param
    from tui.model.profile_parts import grid_points

    found: dict[str, dict[str, None]] = {}
    for point in grid_points(profile.sweep) if profile.sweep is not None else []:
        for name, value in point.items():
            if name in profile.params:
                text = person_text(profile, name, parse_param(profile.params[name], value))
                found.setdefault(name, {})[text] = None
    return {name: ",".join(texts) for name, texts in found.items()}


def repeat_spec(value: str, default: str) -> FieldSpec:
    """Return the field for the repetitions of each point."""
    return FieldSpec(
        REPEAT,
        value,
        default,
        "repetitions of each point",
        "repeat",
        empty=default,
        empty_is_default=True,
    )


def check_repeat(text: str) -> str | None:
    """Return what is wrong with a number of repetitions, None if valid."""
    right = text.isdecimal() and 1 <= int(text) <= MAX_REPEAT
    return None if right else f"a whole number from 1 to {MAX_REPEAT}"


def repeat_text(profile: Profile) -> str:
    """Return the profile's number of repetitions per point, as the form shows it."""
    repeat = profile.repeat
    return str(repeat) if isinstance(repeat, int) else f"until {repeat.until * 100:g}%"


def sweep_values(text: str) -> dict[str, list[str]]:
    """Return the values in ``numjobs=1,2,4 bs=4k,1M``, by parameter. Raises ValueError."""
    found: dict[str, list[str]] = {}
    for word in text.split():
        name, equals, values = word.partition("=")
        listed = [value for value in values.split(",") if value]
        if not (name and equals and listed):
            raise ValueError("write NAME=V1,V2, separated by spaces")
        found[name] = listed
    return found


def check_sweep(profile: Profile, text: str) -> str | None:
    """Return what is wrong with the values to sweep over, None if valid."""
    from tui.model.problem import did_you_mean
    from tui.model.profile_check import duplicate_values

    try:
        wanted = sweep_values(text)
    except ValueError as error:
        return str(error)
    for name, values in wanted.items():
        if name not in profile.params:
            return f"no parameter '{name}'{did_you_mean(name, profile.params)}"
        if problem := next(
            (found for value in values if (found := check_param(profile, name, value))), None
        ):
            return f"{name}: {problem}"
        if again := next(duplicate_values(profile.params[name], values), None):
            return f"{name}: {again[1]}; use repeat to measure points again"
    return None


def default_text(param: Param) -> str:
    """Return a parameter's default as it is typed in a form, or written in a profile."""
    if isinstance(param.default, bool):
        return yes_no(param.default)
    return str(param.default)


def choices_of(param: Param) -> tuple[str, ...]:
    """Return the words that a parameter accepts; empty if it accepts other values."""
    words = YES_NO if param.kind == "flag" else tuple(map(str, param.choices or ()))
    return () if any(" " in word for word in words) else words


def yes_no(value: bool) -> str:
    """Return ``yes`` or ``no``."""
    return "yes" if value else "no"


def hint(param: Param, name: str = "") -> str:
    """Return a parameter's help and allowed values, and its name if the label is different."""
    allowed = ", ".join(str(choice) for choice in param.choices or ())
    text = "; ".join(part for part in (param.help or "", allowed and f"one of {allowed}") if part)
    kind = "" if param.choices or param.kind in text.lower().split() else param.kind
    more = ", ".join(dict.fromkeys(filter(None, (name, kind))))
    return f"{text} ({more})".lstrip() if more else text


def check_field(profile: Profile, name: str, text: str) -> str | None:
    """Return what is wrong with one field, None if valid."""
    if name == SWEEP:
        return check_sweep(profile, text)
    if name == REPEAT and text in ("", repeat_text(profile)):
        return None
    if name == REPEAT:
        return check_repeat(text)
    if name in SEARCH_FIELDS:
        return check_bound(profile, name, text)
    if name in (CLEANUP, PRECONDITION):
        return None if text in ("yes", "no") else "yes or no"
    if name.startswith(ATTEST):
        return None if text in ANSWERS else "yes, no or unknown"
    if name == NOTE or text == swept_texts(profile).get(name):
        return None
    if name.startswith(ROLE):
        return check_role(text)
    return check_param(profile, name, text)


def check_role(text: str) -> str | None:
    """Return what is wrong with the hosts of a role, None if valid."""
    from tui.model.roles import parse_role

    try:
        parse_role(text)
    except ValueError as error:
        return str(error)
    return None


def check_param(profile: Profile, name: str, text: str) -> str | None:
    """Return what is wrong with one parameter, None if valid."""
    from tui.model.profile_check import duplicate_values

    if not (values := values_in(profile, name, text)):
        return _problem_of(profile.params[name], text)
    if again := next(duplicate_values(profile.params[name], values), None):
        return f"{again[1]}; use repeat to measure points again"
    return next(
        (found for each in values if (found := _problem_of(profile.params[name], each))), None
    )


def values_in(profile: Profile, name: str, text: str) -> list[str]:
    """Return the values of a parameter in a text such as ``4k,64k``; empty if it is one value."""
    from tui.workloads.terms import split_values

    values = split_values(text)
    one = len(values) < 2 or _problem_of(profile.params[name], text) is None
    return [] if one else list(values)


def _problem_of(param: Param, text: str) -> str | None:
    """Return what is wrong with one value, None if valid."""
    from tui.model.profile import parse_param

    try:
        parse_param(param, text)
    except ValueError as error:
        return str(error)
    return None

"""Checks of a profile beyond its schema: matrix, conditions, searches, parameters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from tui.model.plain import HOSTS_AXIS, TAG_PATTERN
from tui.model.problem import Problem, did_you_mean
from tui.model.profile import (
    HOST_PLACEHOLDERS,
    PLACEHOLDER,
    Param,
    ParamValue,
    Profile,
    parse_limit,
    parse_param,
    placeholders,
    value_text,
)
from tui.model.profile_model import idle, tools, unreached, uses, written
from tui.model.profile_parts import (
    MAX_STEPS,
    TAKEN,
    Scalar,
    SuiteMember,
    Together,
    grid_points,
    knobs_of,
)
from tui.model.quantities import parse_duration, parse_size, shown
from tui.model.roles import REST
from tui.model.tool import SUITE, installed, rules
from tui.model.yaml_text import KeyPath, YamlDocument

REPEAT_IT = "use 'repeat' for repetitions"


def matrix_problems(
    profile: Profile, document: YamlDocument, known: Collection[str]
) -> Iterator[Problem]:
    """Yield problems in a profile's tool, sweep, suite, repetitions, warm-up, pause and spread
    parameters.
    """
    yield from _tool_problems(profile, document)
    yield from _sweep_problems(profile, document)
    yield from _suite_problems(profile, document, known)
    yield from _repeat_problems(profile, document)
    yield from span_problems(profile, document, ("warmup",), profile.warmup)
    yield from span_problems(profile, document, ("pause",), profile.pause)
    for name, param in profile.params.items():
        if param.spread and param.kind != "count":
            message = (
                f"parameter '{name}': only a count can be spread over hosts, not a {param.kind}"
            )
            yield document.problem(("params", name, "spread"), message, key=True)


def _tool_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    for key in (*installed(), SUITE):
        value = getattr(profile, key)
        if key == profile.tool and value is None:
            yield document.problem(
                (), f"missing key '{key}': tool is {profile.tool}", code=f"missing-{key}"
            )
        if key != profile.tool and value is not None:
            yield document.problem(
                (key,), f"'{key}' requires tool: {key}; the tool is {profile.tool}", key=True
            )
    if profile.roles and profile.tool != SUITE:
        message = f"'roles' requires tool: {SUITE}; the tool is {profile.tool}"
        yield document.problem(("roles",), message, key=True)
    if profile.tool != "suite" and profile.headline_spec is None:
        yield document.problem((), "missing key 'headline'", code="missing-headline")
    if profile.tool == "suite":
        for key in ("headline", "sweep", "warmup"):
            if document.data.get(key) is not None:
                yield document.problem(
                    (key,), f"'{key}' is not allowed in a suite; set it in its profiles", key=True
                )


def _sweep_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    sweep = profile.sweep
    if sweep is None:
        return
    if sweep.grid and sweep.points:
        yield document.problem(("sweep", "points"), "use grid or points, not both", key=True)
        return
    if not (sweep.grid or sweep.points or sweep.hosts):
        yield document.problem(
            ("sweep",), "the sweep is empty; allowed: grid, points and hosts", True, "missing-sweep"
        )
    for name, values in sweep.grid.items():
        yield from _axis_problems(profile, ("sweep", "grid", name), name, values, document)
    for index, point in enumerate(sweep.points):
        if set(point) != set(sweep.points[0]):
            names = ", ".join(sweep.points[0])
            yield document.problem(
                ("sweep", "points", index), f"all points must set the same parameters: {names}"
            )
        for name, value in point.items():
            yield from _axis_problems(
                profile, ("sweep", "points", index, name), name, [value], document
            )
    yield from _points_twice(profile, sweep.points, document)
    count = len(grid_points(sweep)) * max(1, len(sweep.hosts))
    if count > MAX_STEPS:
        yield document.problem(
            ("sweep",), f"{count} points; at most {MAX_STEPS} are allowed", key=True
        )


def _axis_problems(
    profile: Profile,
    path: tuple[str | int, ...],
    name: str,
    values: list[str | bool | int | float],
    document: YamlDocument,
) -> Iterator[Problem]:
    param = profile.params.get(name)
    if param is None:
        hint = "; put the number of hosts under sweep.hosts" if name == HOSTS_AXIS else ""
        known = ", ".join(profile.params) or "none"
        message = (
            f"unknown parameter '{name}'{did_you_mean(name, profile.params)}; known"
            f" parameters: {known}{hint}"
        )
        yield document.problem(path, message, key=True)
        return
    if not values:
        yield document.problem(path, f"parameter '{name}': no values to sweep over")
    for index, value in enumerate(values):
        at = (*path, index) if path[1] == "grid" else path
        try:
            parse_param(param, value)
        except ValueError as error:
            yield document.problem(at, f"parameter '{name}': {error}")
    for index, message in duplicate_values(param, values):
        yield document.problem((*path, index), f"parameter '{name}': {message}; {REPEAT_IT}")


def duplicate_values(param: Param, values: Sequence[Scalar]) -> Iterator[tuple[int, str]]:
    """Yield (index, message) of sweep values that equal an earlier one, even in another spelling:
    they would plan a point twice.
    """
    seen: dict[ParamValue, Scalar] = {}
    for index, value in enumerate(values):
        try:
            known = parse_param(param, value)
        except ValueError:
            continue
        if known in seen:
            first = seen[known]
            same = shown(first) == shown(value)
            yield (
                index,
                (
                    f"{shown(value)} is a duplicate"
                    if same
                    else f"{shown(value)} equals {shown(first)}"
                ),
            )
        seen.setdefault(known, value)


def _points_twice(
    profile: Profile, points: Sequence[Mapping[str, Scalar]], document: YamlDocument
) -> Iterator[Problem]:
    seen: dict[frozenset[tuple[str, ParamValue]], int] = {}
    for index, point in enumerate(points):
        try:
            known = frozenset(
                (name, parse_param(profile.params[name], value)) for name, value in point.items()
            )
        except (ValueError, LookupError):
            continue  # reported already
        if known in seen:
            message = f"duplicate of entry {seen[known] + 1}; {REPEAT_IT}"
            yield document.problem(("sweep", "points", index), message)
        seen.setdefault(known, index)


def _suite_problems(
    profile: Profile, document: YamlDocument, known: Collection[str]
) -> Iterator[Problem]:
    for place, member in placed_members(profile):
        if not re.fullmatch(TAG_PATTERN, member.profile):
            message = f"found {shown(member.profile)}; expected a profile such as weka/read-iops"
            yield document.problem(place, message)
        if member.profile == profile.profile:
            yield document.problem(place, "a suite cannot contain itself")
        if member.role is not None and member.role not in profile.roles:
            hint, roles = (
                did_you_mean(member.role, profile.roles),
                ", ".join(profile.roles) or "none",
            )
            yield document.problem(
                (*place, "role"), f"unknown role '{member.role}'{hint}; roles: {roles}"
            )
        for name, value in member.set.items():
            for found in placeholders(value):
                if found not in known or found in HOST_PLACEHOLDERS:
                    hint = did_you_mean(found, known)
                    message = (
                        f"unknown placeholder {{{found}}}{hint}; allowed:"
                        f" {', '.join(known) or 'none'}"
                    )
                    yield document.problem((*place, "set", name), message)
    yield from _role_problems(profile, document)
    yield from _need_problems(profile, document)


def _need_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with suite members that need a profile that does not run before them."""
    stages, earlier = iter(profile.stages), list[str]()
    stage: list[SuiteMember] = []
    for place, member in placed_members(profile):
        if not any(member is each for each in stage):
            earlier += [each.profile for each in stage]
            stage = next(stages)
        for index, name in enumerate(member.needs):
            if name not in earlier:
                hint, known = did_you_mean(name, earlier), ", ".join(earlier) or "none"
                message = f"'{name}' does not run before this profile{hint}; earlier: {known}"
                yield document.problem((*place, "needs", index), message)


def placed_members(profile: Profile) -> Iterator[tuple[KeyPath, SuiteMember]]:
    """Yield the profiles of a suite with their positions in the file."""
    for index, entry in enumerate(profile.suite or []):
        for inner, member in enumerate(profile.stages[index]):
            yield (
                (
                    ("suite", index, "together", inner)
                    if isinstance(entry, Together)
                    else ("suite", index)
                ),
                member,
            )


def _role_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with roles: unused roles, several 'rest' roles, and concurrent profiles
    without a role of their own.
    """
    used = {member.role for member in profile.members}
    for role in profile.roles:
        if role not in used:
            message = f"role '{role}' is not used by any profile of the suite"
            yield document.problem(("roles", role), message, True, "missing-suite")
    if len([role for role, text in profile.roles.items() if text == REST]) > 1:
        yield document.problem(("roles",), f"only one role can be '{REST}'", key=True)
    for index, stage in enumerate(profile.stages):
        seen: set[str] = set()
        for inner, member in enumerate(stage if len(stage) > 1 else []):
            place = ("suite", index, "together", inner)
            if member.role is None:
                yield document.problem(
                    place, "missing key 'role': each profile under 'together' needs its own"
                )
            elif member.role in seen:
                yield document.problem(
                    (*place, "role"),
                    f"duplicate role '{member.role}': each profile under 'together' needs its own",
                )
            seen.add(member.role or "")


def _repeat_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    repeat = profile.repeat
    if not isinstance(repeat, int) and repeat.min > repeat.max:
        yield document.problem(("repeat", "min"), f"min {repeat.min} is more than max {repeat.max}")
    if not isinstance(repeat, int) and profile.tool == "suite":
        message = "a suite needs a fixed number of repetitions, because it has no headline"
        yield document.problem(("repeat", "until"), message, key=True)


def span_problems(
    profile: Profile, document: YamlDocument, path: KeyPath, value: Scalar | None
) -> Iterator[Problem]:
    """Yield a problem if a warm-up, pause or round is neither a time nor a duration parameter."""
    if value is None:
        return
    names, key = placeholders(value), path[-1]
    param = profile.params.get(names[0]) if names and value == f"{{{names[0]}}}" else None
    if names and (param is None or param.kind != "duration"):
        message = (
            f"{key}: found {shown(value)}; allowed: a time, or the name of a duration parameter"
            " in braces"
        )
        yield document.problem(path, message)
    elif not names:
        try:
            parse_duration(value)
        except ValueError as error:
            yield document.problem(path, f"{key}: {error}")


PRECONDITION: KeyPath = ("prepare", "precondition")


def condition_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems in a profile's preconditioning and attested conditions."""
    yield from _precondition_problems(profile, document)
    seen: set[str] = set()
    for index, each in enumerate(profile.attest):
        if each.id in seen:
            yield document.problem(("attest", index, "id"), f"duplicate condition '{each.id}'")
        if not each.question.isprintable():
            yield document.problem(
                ("attest", index, "question"), "question: must be one printable line"
            )
        seen.add(each.id)


def _precondition_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    wanted = profile.prepare.precondition
    if wanted is None:
        return
    if profile.tool == SUITE:
        yield document.problem(
            PRECONDITION,
            "'precondition' is not allowed in a suite; set it in its profiles",
            key=True,
        )
    if not wanted.fill and not wanted.rounds:
        why = "precondition: fill and rounds are both 0; expected 1 or more in at least one"
        yield document.problem(PRECONDITION, why, key=True)
    if 0 < wanted.rounds < wanted.window:
        message = (
            f"rounds: found {wanted.rounds}; expected at least {wanted.window}, the window, or 0"
            " for no rounds"
        )
        yield document.problem((*PRECONDITION, "rounds"), message)
    try:
        if parse_size(wanted.bs) <= 0:
            raise ValueError(f"{shown(wanted.bs)} is not allowed: must be more than 0")
    except ValueError as error:
        yield document.problem((*PRECONDITION, "bs"), f"bs: {error}")
    yield from span_problems(profile, document, (*PRECONDITION, "round"), wanted.round)


def search_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems in a profile's capacity and curve."""
    for key in ("capacity", "curve"):
        if getattr(profile, key) is not None and profile.tool == SUITE:
            yield document.problem(
                (key,), f"'{key}' is not allowed in a suite; set it in its profiles", key=True
            )
    if profile.capacity is None:
        return
    for index, each in enumerate(profile.capacity.over):
        for name, values in knobs_of([each]).items():
            path = ("capacity", "over", index)
            if problem := knob_problem(profile, name, values):
                yield document.problem(path, problem)


def knob_problem(profile: Profile, name: str, values: list[int]) -> str:
    """Return why a parameter cannot be searched over; empty if it can."""
    if name in TAKEN:
        return (
            "rate cannot have values: the search chooses them"
            if name == TAKEN[0] and values
            else ""
        )
    param = profile.params.get(name)
    counts = [each for each, param in profile.params.items() if param.kind == "count"]
    if param is None or param.kind != "count":
        known = ", ".join((*TAKEN, *counts))
        what = "not a parameter" if param is None else f"a {param.kind}, not a count"
        return f"over: '{name}' is {what}{did_you_mean(name, (*TAKEN, *counts))}; allowed: {known}"
    for value in values:
        try:
            parse_param(param, value)
        except ValueError as error:
            return f"over: {name}: {error}"
    return ""


NUMERIC_KINDS = ("size", "duration", "count", "number")
OPERATIONS_ON_FILES = (
    "mkdirs",
    "write-files",
    "stat",
    "read-files",
    "rmfiles",
    "rmdirs",
    "head",
    "mkbuckets",
    "rmbuckets",
    "write-objects",
    "read-objects",
)  # with latencies of their own
DIRECTIONS = {
    "ops": ("create", "remove", "read", *OPERATIONS_ON_FILES),
    "score": ("total", "bandwidth", "metadata"),
    "latency": ("read", "write", "trim", "sync", "mixed", "both", *OPERATIONS_ON_FILES),
}
DIRECTIONS_OF_IO = ("read", "write", "trim", "sync", "mixed", "both")


def name_problems(document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with names in raw load generator sections, so that other errors do not hide
    them.
    """
    for name in tools():
        if isinstance(document.data.get(name), dict):
            yield from rules(name).name_problems(document)


def problems(profile: Profile, document: YamlDocument, known: Collection[str]) -> Iterator[Problem]:
    """Yield problems that the schema of profiles accepts.

    `known`: names of parameters, including broken ones.
    """
    if not profile.title.isprintable():
        yield document.problem(("title",), "title: must be one printable line")
    texts: dict[str, str] = {}
    for name, param in profile.params.items():
        yield from _param_problems(profile, name, param, document, texts)
    yield from _use_problems(profile, document, known)
    yield from _layout_problems(profile, document)
    yield from matrix_problems(profile, document, known)
    yield from condition_problems(profile, document)
    yield from search_problems(profile, document)
    yield from _headline_problems(profile, document)
    if profile.tool == SUITE:
        return
    yield from _brace_problems((profile.tool,), document.data.get(profile.tool), known, document)
    texts |= {"host": "host", "host_index": "1", "next_index": "1"}
    yield from rules(profile.tool).problems(profile, document, texts)


def _param_problems(
    profile: Profile, name: str, param: Param, document: YamlDocument, texts: dict[str, str]
) -> Iterator[Problem]:
    path: KeyPath = ("params", name)
    if name == HOSTS_AXIS:
        yield document.problem(
            path, "parameter 'hosts': reserved for the number of hosts in sweeps", True
        )
    if name in HOST_PLACEHOLDERS:
        yield document.problem(
            path, f"parameter '{name}': reserved: {{{name}}} is filled in for each host", True
        )
    if param.kind == "device" and not profile.allow_device:
        yield document.problem(
            (*path, "kind"),
            "kind device requires 'allow_device: true', because the run overwrites the device",
        )
    if (param.kind == "choice") != bool(param.choices):
        yield document.problem(
            path, f"parameter '{name}': 'choices' belongs to kind choice; set both or neither", True
        )
        return
    if bad_limits := list(_limit_problems(name, param, document)):
        yield from bad_limits
        return
    try:
        texts[name] = value_text(param.kind, parse_param(param, param.default))
    except ValueError as error:
        yield document.problem((*path, "default"), f"parameter '{name}': {error}")


def _limit_problems(name: str, param: Param, document: YamlDocument) -> Iterator[Problem]:
    for key, limit in (("min", param.min), ("max", param.max)):
        if limit is None:
            continue
        if param.kind not in NUMERIC_KINDS:
            message = (
                f"'{key}' is allowed for the kinds {', '.join(NUMERIC_KINDS)}, not for {param.kind}"
            )
            yield document.problem(("params", name, key), message, key=True)
            continue
        try:
            parse_limit(param.kind, limit)
        except ValueError as error:
            yield document.problem(("params", name, key), f"parameter '{name}': {key}: {error}")


def _use_problems(
    profile: Profile, document: YamlDocument, known: Collection[str]
) -> Iterator[Problem]:
    """Yield problems with unused parameters, and with parameters in this file that have no effect.

    An inherited parameter without effect is only a hint, because it cannot be removed.
    """
    places = uses(document.data)
    for name in known:
        if name not in places:
            message = f"parameter '{name}' is never used: no option contains {{{name}}}"
            yield document.problem(("params", name), message, key=True)
    for name, why in idle(places, unreached(profile)).items():
        if (place := written(name, places[name], document.keys)) is not None:
            yield document.problem(place, f"parameter '{name}' has no effect: {why}", key=True)


def _layout_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    layout = profile.prepare.layout
    if isinstance(layout, bool):
        return
    names = placeholders(layout)
    param = profile.params.get(names[0]) if names and layout == f"{{{names[0]}}}" else None
    if param is None or param.kind != "flag":
        message = (
            f"layout: found {shown(layout)}; allowed: true, false, or the name of a flag"
            " parameter in braces"
        )
        yield document.problem(("prepare", "layout"), message)


def _brace_problems(
    path: KeyPath, value: object, known: Collection[str], document: YamlDocument
) -> Iterator[Problem]:
    """Yield problems with unknown parameters and stray braces in a load generator's section."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _brace_problems((*path, key), inner, known, document)
    else:
        yield from (
            document.problem(path, message)
            for message in brace_problems(str(path[-1]), value, known)
        )


def brace_problems(name: str, value: object, known: Collection[str]) -> Iterator[str]:
    """Yield problems in the placeholders of one value."""
    if not isinstance(value, str):
        return
    allowed = (*known, *(each for each in HOST_PLACEHOLDERS if each not in known))
    for found in placeholders(value):
        if found not in allowed:
            yield (
                f"unknown placeholder {{{found}}}{did_you_mean(found, allowed)}; allowed:"
                f" {', '.join(allowed)}"
            )
    if re.search("[{}]", PLACEHOLDER.sub("", value)):
        yield (
            f"{name}: found {shown(value)}; unmatched brace; write {{{{ or }}}} for a literal brace"
        )


def _headline_problems(profile: Profile, document: YamlDocument) -> Iterator[Problem]:
    headline = profile.headline_spec
    if headline is None:
        return
    if headline.percentile is not None and headline.metric != "latency":
        message = f"a percentile requires metric latency; the metric is {headline.metric}"
        yield document.problem(("headline", "percentile"), message, key=True)
    wanted = DIRECTIONS.get(headline.metric, DIRECTIONS_OF_IO)
    if headline.direction not in wanted:
        allowed = f"allowed with metric {headline.metric}: {', '.join(wanted)}"
        yield document.problem(
            ("headline", "direction"), f"direction: found {headline.direction}; {allowed}"
        )

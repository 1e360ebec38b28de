"""What the matrix of a profile must obey beyond its schema: tools, sweeps, suites, repetitions, pauses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from tui.model.matrix import HOSTS_AXIS, MAX_STEPS, Scalar, grid_points
from tui.model.names import TAG_PATTERN
from tui.model.problem import Problem, did_you_mean
from tui.model.profile import HOST_PLACEHOLDERS, Param, ParamValue, Profile, parse_param, placeholders
from tui.model.quantities import parse_duration, shown
from tui.model.tool import SUITE, installed
from tui.model.yaml_text import Document, KeyPath

REPEAT_IT = "'repeat' measures points again"


def matrix_problems(profile: Profile, document: Document, known: Collection[str]) -> Iterator[Problem]:
    """Yield what is wrong with a profile's tool, sweep, suite, repetitions, warm-up and pause."""
    yield from _tool_problems(profile, document)
    yield from _sweep_problems(profile, document)
    yield from _suite_problems(profile, document, known)
    yield from _repeat_problems(profile, document)
    yield from span_problems(profile, document, ("warmup",), profile.warmup)
    yield from span_problems(profile, document, ("pause",), profile.pause)
    for name, param in profile.params.items():
        if param.spread and param.kind != "count":
            message = f"parameter '{name}': only a count can be spread over hosts, not a {param.kind}"
            yield document.problem(("params", name, "spread"), message, key=True)


def _tool_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    for key in (*installed(), SUITE):
        value = getattr(profile, key)
        if key == profile.tool and value is None:
            yield document.problem((), f"missing key '{key}': tool is {profile.tool}", code=f"missing-{key}")
        if key != profile.tool and value is not None:
            yield document.problem((key,), f"'{key}' goes with tool: {key}; here the tool is {profile.tool}", key=True)
    if profile.tool != "suite" and profile.headline_spec is None:
        yield document.problem((), "missing key 'headline'", code="missing-headline")
    if profile.tool == "suite":
        for key in ("headline", "sweep", "warmup"):
            if document.data.get(key) is not None:
                yield document.problem((key,), f"a suite has no '{key}' of its own; its profiles have", key=True)


def _sweep_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    sweep = profile.sweep
    if sweep is None:
        return
    if sweep.grid and sweep.points:
        yield document.problem(("sweep", "points"), "give a grid or points, not both", key=True)
        return
    if not (sweep.grid or sweep.points or sweep.hosts):
        yield document.problem(("sweep",), "an empty sweep; allowed are grid, points and hosts", True, "missing-sweep")
    for name, values in sweep.grid.items():
        yield from _axis_problems(profile, ("sweep", "grid", name), name, values, document)
    for index, point in enumerate(sweep.points):
        if set(point) != set(sweep.points[0]):
            names = ", ".join(sweep.points[0])
            yield document.problem(("sweep", "points", index), f"every point gives the same parameters: {names}")
        for name, value in point.items():
            yield from _axis_problems(profile, ("sweep", "points", index, name), name, [value], document)
    yield from _points_twice(profile, sweep.points, document)
    count = len(grid_points(sweep)) * max(1, len(sweep.hosts))
    if count > MAX_STEPS:
        yield document.problem(("sweep",), f"{count} points; at most {MAX_STEPS} are allowed", key=True)


def _axis_problems(
    profile: Profile, path: tuple[str | int, ...], name: str, values: list[str | bool | int | float], document: Document
) -> Iterator[Problem]:
    param = profile.params.get(name)
    if param is None:
        hint = "; the number of hosts goes under sweep.hosts" if name == HOSTS_AXIS else ""
        known = ", ".join(profile.params) or "none"
        message = f"unknown parameter '{name}'{did_you_mean(name, profile.params)}; known are {known}{hint}"
        yield document.problem(path, message, key=True)
        return
    if not values:
        yield document.problem(path, f"parameter '{name}': no value to sweep over")
    for index, value in enumerate(values):
        at = (*path, index) if path[1] == "grid" else path
        try:
            parse_param(param, value)
        except ValueError as error:
            yield document.problem(at, f"parameter '{name}': {error}")
    for index, told in said_twice(param, values):
        yield document.problem((*path, index), f"parameter '{name}': {told}; {REPEAT_IT}")


def said_twice(param: Param, values: Sequence[Scalar]) -> Iterator[tuple[int, str]]:
    """Yield where values of a sweep stand there before, however they are written: the point would be planned twice."""
    seen: dict[ParamValue, Scalar] = {}
    for index, value in enumerate(values):
        try:
            known = parse_param(param, value)
        except ValueError:
            continue
        if known in seen:
            first = seen[known]
            same = shown(first) == shown(value)
            yield index, f"{shown(value)} is there twice" if same else f"{shown(value)} is {shown(first)} once more"
        seen.setdefault(known, value)


def _points_twice(profile: Profile, points: Sequence[Mapping[str, Scalar]], document: Document) -> Iterator[Problem]:
    seen: dict[frozenset[tuple[str, ParamValue]], int] = {}
    for index, point in enumerate(points):
        try:
            known = frozenset((name, parse_param(profile.params[name], value)) for name, value in point.items())
        except (ValueError, LookupError):
            continue  # that is said already
        if known in seen:
            message = f"the same point as entry {seen[known] + 1}; {REPEAT_IT}"
            yield document.problem(("sweep", "points", index), message)
        seen.setdefault(known, index)


def _suite_problems(profile: Profile, document: Document, known: Collection[str]) -> Iterator[Problem]:
    for index, member in enumerate(profile.members):
        if not re.fullmatch(TAG_PATTERN, member.profile):
            message = f"found {shown(member.profile)}; the tag of a profile looks like weka/read-iops"
            yield document.problem(("suite", index), message)
        if member.profile == profile.profile:
            yield document.problem(("suite", index), "a suite cannot hold itself")
        for name, value in member.set.items():
            for found in placeholders(value):
                if found not in known or found in HOST_PLACEHOLDERS:
                    hint = did_you_mean(found, known)
                    message = f"unknown placeholder {{{found}}}{hint}; known are {', '.join(known) or 'none'}"
                    yield document.problem(("suite", index, "set", name), message)


def _repeat_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    repeat = profile.repeat
    if not isinstance(repeat, int) and repeat.min > repeat.max:
        yield document.problem(("repeat", "min"), f"min {repeat.min} is more than max {repeat.max}")
    if not isinstance(repeat, int) and profile.tool == "suite":
        message = "a suite is repeated a number of times: it has no headline"
        yield document.problem(("repeat", "until"), message, key=True)


def span_problems(profile: Profile, document: Document, path: KeyPath, value: Scalar | None) -> Iterator[Problem]:
    """A warm-up, a pause and a round are times, or name a parameter that is one."""
    if value is None:
        return
    names, key = placeholders(value), path[-1]
    param = profile.params.get(names[0]) if names and value == f"{{{names[0]}}}" else None
    if names and (param is None or param.kind != "duration"):
        message = f"{key}: found {shown(value)}; allowed are a time, or the name of a duration parameter in braces"
        yield document.problem(path, message)
    elif not names:
        try:
            parse_duration(value)
        except ValueError as error:
            yield document.problem(path, f"{key}: {error}")

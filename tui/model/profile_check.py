"""What a profile must obey beyond its schema: parameters, placeholders, headline; and what its load generator says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tui.model.conditions_check import condition_problems
from tui.model.matrix import HOSTS_AXIS
from tui.model.matrix_check import matrix_problems
from tui.model.problem import Problem, did_you_mean
from tui.model.profile import (
    HOST_PLACEHOLDERS,
    PLACEHOLDER,
    Param,
    Profile,
    parse_limit,
    parse_param,
    placeholders,
    value_text,
)
from tui.model.profile_hints import idle, unreached, uses, written
from tui.model.profile_type import tools
from tui.model.quantities import shown
from tui.model.search_check import search_problems
from tui.model.tool import SUITE, rules
from tui.model.yaml_text import Document, KeyPath

NUMERIC_KINDS = ("size", "duration", "count", "number")
DIRECTIONS_OF_OPS = ("create", "stat", "remove", "read")
DIRECTIONS_OF_IO = ("read", "write", "trim", "sync", "mixed", "both")


def name_problems(document: Document) -> Iterator[Problem]:
    """Check names on the bare data of each load generator's part, so that they are told however broken the rest is."""
    for name in tools():
        if isinstance(document.data.get(name), dict):
            yield from rules(name).name_problems(document)


def problems(profile: Profile, document: Document, known: Collection[str]) -> Iterator[Problem]:
    """Yield what is wrong with a profile that its schema takes. `known`: names of parameters, broken ones too."""
    if not profile.title.isprintable():
        yield document.problem(("title",), "title: one printable line is allowed")
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
    texts |= {"host": "host", "host_index": "1"}
    yield from rules(profile.tool).problems(profile, document, texts)


def _param_problems(
    profile: Profile, name: str, param: Param, document: Document, texts: dict[str, str]
) -> Iterator[Problem]:
    path: KeyPath = ("params", name)
    if name == HOSTS_AXIS:
        yield document.problem(path, "parameter 'hosts': the name is taken, sweeps vary the number of hosts", True)
    if name in HOST_PLACEHOLDERS:
        yield document.problem(path, f"parameter '{name}': the name is taken, every host has its own {{{name}}}", True)
    if param.kind == "device" and not profile.allow_device:
        yield document.problem((*path, "kind"), "kind device needs 'allow_device: true': a device loses its data")
    if (param.kind == "choice") != bool(param.choices):
        yield document.problem(path, f"parameter '{name}': 'choices' and kind choice need each other", True)
        return
    if bad_limits := list(_limit_problems(name, param, document)):
        yield from bad_limits
        return
    try:
        texts[name] = value_text(param.kind, parse_param(param, param.default))
    except ValueError as error:
        yield document.problem((*path, "default"), f"parameter '{name}': {error}")


def _limit_problems(name: str, param: Param, document: Document) -> Iterator[Problem]:
    for key, limit in (("min", param.min), ("max", param.max)):
        if limit is None:
            continue
        if param.kind not in NUMERIC_KINDS:
            message = f"'{key}' is for the kinds {', '.join(NUMERIC_KINDS)}, not for {param.kind}"
            yield document.problem(("params", name, key), message, key=True)
            continue
        try:
            parse_limit(param.kind, limit)
        except ValueError as error:
            yield document.problem(("params", name, key), f"parameter '{name}': {key}: {error}")


def _use_problems(profile: Profile, document: Document, known: Collection[str]) -> Iterator[Problem]:
    """Every parameter changes something; one that is inherited and left idle is a hint, for it cannot be taken away."""
    places = uses(document.data)
    for name in known:
        if name not in places:
            message = f"parameter '{name}' is never used: no option holds {{{name}}}"
            yield document.problem(("params", name), message, key=True)
    for name, why in idle(places, unreached(profile)).items():
        if (place := written(name, places[name], document.keys)) is not None:
            yield document.problem(place, f"parameter '{name}' has no effect: {why}", key=True)


def _layout_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    layout = profile.prepare.layout
    if isinstance(layout, bool):
        return
    names = placeholders(layout)
    param = profile.params.get(names[0]) if names and layout == f"{{{names[0]}}}" else None
    if param is None or param.kind != "flag":
        message = f"layout: found {shown(layout)}; allowed are true, false, or the name of a flag parameter in braces"
        yield document.problem(("prepare", "layout"), message)


def _brace_problems(path: KeyPath, value: object, known: Collection[str], document: Document) -> Iterator[Problem]:
    """Check every text of a load generator's part for parameters that are not there, and for stray braces."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _brace_problems((*path, key), inner, known, document)
    else:
        yield from (document.problem(path, message) for message in brace_problems(str(path[-1]), value, known))


def brace_problems(name: str, value: object, known: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the placeholders of one value."""
    if not isinstance(value, str):
        return
    allowed = (*known, *(each for each in HOST_PLACEHOLDERS if each not in known))
    for found in placeholders(value):
        if found not in allowed:
            yield f"unknown placeholder {{{found}}}{did_you_mean(found, allowed)}; known are {', '.join(allowed)}"
    if re.search("[{}]", PLACEHOLDER.sub("", value)):
        yield f"{name}: found {shown(value)}; a brace stands alone, write {{{{ or }}}} for the character itself"


def _headline_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    headline = profile.headline_spec
    if headline is None:
        return
    if headline.percentile is not None and headline.metric != "latency":
        message = f"a percentile is of a latency; the metric here is {headline.metric}"
        yield document.problem(("headline", "percentile"), message, key=True)
    wanted = DIRECTIONS_OF_OPS if headline.metric == "ops" else DIRECTIONS_OF_IO
    if headline.direction not in wanted:
        allowed = f"with metric {headline.metric} allowed are {', '.join(wanted)}"
        yield document.problem(("headline", "direction"), f"direction: found {headline.direction}; {allowed}")

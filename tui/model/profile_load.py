"""Load a profile from YAML; report all problems with file, line, column and allowed values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tui.model.problem import NEEDS_OPTION, Problem, UsageError, did_you_mean
from tui.model.profile import Profile
from tui.model.profile_check import name_problems, problems
from tui.model.profile_model import tools, whole
from tui.model.tool import SUITE, installed, rules
from tui.model.validation import in_order, problems_by_place, problems_of, real_path
from tui.model.yaml_text import KeyPath, YamlDocument, load

# minimum to check the rest of an incomplete profile
_STAND_INS: dict[str, Any] = {
    "profile": "a/b",
    "title": "",
    "headline": {"metric": "iops", "direction": "mixed"},
}

# from a tag to the text and file of the profile; raises UsageError
Base = Callable[[str], tuple[str, str]]
# like each tool's part, merged key by key; others are replaced
_MERGED = ("params", "prepare", "hosts")
_NOT_INHERITED = ("profile", "version", "extends")
MAX_BASES = 8


def load_profile(text: str, file: str, base: Base | None = None) -> Profile:
    """Return the profile of a YAML text. Raises UsageError with all problems, in file order.

    `base` finds the profiles that the text extends.
    """
    unknown: list[Problem] = []
    written = load(text, file)
    try:
        document = extended(written, base, [], unknown)
    except UsageError as error:
        raise UsageError(in_order([*error.problems, *_without_base(written)])) from None
    found = [*unknown, *name_problems(document)]
    try:
        profile = whole().model_validate(document.data)
    except ValidationError as error:
        found += [*problems_of(error, document, whole()), *_of_the_rest(error, document)]
        raise UsageError(in_order(found)) from None
    found += problems(profile, document, profile.params)
    if found:
        raise UsageError(in_order(found))
    return profile


def recorded_profile(text: str, file: str, base: Base) -> Profile:
    """Return the profile saved with a run. Raises UsageError if the schema rejects it.

    Skips all other checks: those added later must not reject an old run.
    """
    document = extended(load(text, file), base, [], [])
    try:
        return whole().model_validate(document.data)
    except ValidationError as error:
        raise UsageError(in_order(problems_of(error, document, whole()))) from None


def extended(
    document: YamlDocument, base: Base | None, seen: list[str], unknown: list[Problem] | None = None
) -> YamlDocument:
    """Merge a document over the profile it extends; positions are those in the document.

    Defaults of parameters that the base does not have are dropped and reported in `unknown`. Raises
    UsageError.
    """
    tag = document.data.get("extends")
    if not isinstance(tag, str):
        return document
    if tag in seen or len(seen) >= MAX_BASES:
        wrong = "is a loop" if tag in seen else f"has more than {MAX_BASES} profiles"
        raise UsageError(
            document.problem(("extends",), f"extends: {' -> '.join([*seen, tag])} {wrong}")
        )
    if base is None:
        raise UsageError(
            document.problem(("extends",), f"extends: '{tag}' cannot be resolved here")
        )
    try:
        text, file = base(tag)
    except UsageError as error:
        raise UsageError(
            [document.problem(("extends",), f"extends: {error.problems[0].message}")]
        ) from None
    below = extended(load(text, file), base, [*seen, tag]).data
    inherited = {key: value for key, value in below.items() if key not in _NOT_INHERITED}
    data = _over(inherited, document.data)
    if unknown is not None:
        data = _known_defaults(data, inherited.get("params"), tag, document, unknown)
    return replace(document, data=data)


def _known_defaults(
    data: dict[str, Any], below: object, tag: str, document: YamlDocument, unknown: list[Problem]
) -> dict[str, Any]:
    """Return the data without bare values of parameters that are not inherited; each is reported in
    `unknown`.
    """
    params = data.get("params")
    names = list(below) if isinstance(below, dict) else []
    if not isinstance(params, dict):
        return data
    strange = [
        name
        for name, value in params.items()
        if name not in names and isinstance(value, str | int | float)
    ]
    for name in strange:
        known = ", ".join(names) or "none"
        message = f"unknown parameter '{name}'{did_you_mean(name, names)}; {tag} has: {known}"
        unknown.append(document.problem(("params", name), message, key=True))
    return {
        **data,
        "params": {name: value for name, value in params.items() if name not in strange},
    }


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge a profile's data over that of its base."""
    data = {**below, **above}
    for key in (*installed(), *_MERGED):
        if isinstance(below.get(key), dict) and isinstance(above.get(key), dict):
            data[key] = _deep(below[key], above[key])
    if isinstance(below.get("params"), dict) and isinstance(above.get("params"), dict):
        known = below["params"]
        data["params"] = {
            name: {**known[name], "default": value}
            if _is_default(value, known.get(name))
            else value
            for name, value in data["params"].items()
        }
    return data


def _deep(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _deep(below[key], value)
        for key, value in above.items()
        if _are_mappings(below.get(key), value)
    }
    return {**below, **above, **both}


def _are_mappings(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)


def _is_default(value: object, below: object) -> bool:
    """Return whether a bare value is the new default of an inherited parameter."""
    return isinstance(below, dict) and not isinstance(value, dict | list) and value is not None


def _of_the_rest(error: ValidationError, document: YamlDocument) -> list[Problem]:
    """Return problems in the valid parts, except those that result from invalid parts."""
    broken = {_unusable(detail, document) for detail in error.errors(include_url=False)}
    data = copy.deepcopy(document.data)
    for path in broken:
        _remove(data, path)
    for key, value in _STAND_INS.items():
        data.setdefault(key, value)
    tool = data.setdefault("tool", next((name for name in (*tools(), SUITE) if name in data), ""))
    if not tool:
        return []  # what the rest must contain depends on the tool
    if tool != SUITE:
        body = data.get(tool)
        own = {key: value for key, value in body.items() if value} if isinstance(body, dict) else {}
        data[tool] = {**rules(tool).stand_in, **own}
    try:
        rest = whole().model_validate(data)
    except ValidationError:
        return []
    params = document.data.get("params")
    found = list(problems(rest, document, params if isinstance(params, dict) else {}))
    return [problem for problem in found if not _follows(problem, broken)]


def _without_base(document: YamlDocument) -> list[Problem]:
    """Return problems with keys in this file, which do not depend on the base."""
    found = list(name_problems(document))
    try:
        whole().model_validate(document.data)
    except ValidationError as error:
        bare = {
            path for path in document.keys if path[:1] == ("params",) and path in document.spans
        }
        there = [
            detail
            for detail in error.errors(include_url=False)
            if detail["type"] != "missing" and real_path(detail, document) not in bare
        ]
        found += problems_by_place(there, document, whole())
    return found


def _unusable(detail: ErrorDetails, document: YamlDocument) -> KeyPath:
    """Return the path that an error makes unusable: the value, or the mapping with a missing
    key.
    """
    path = real_path(detail, document)
    return path[:-1] if detail["type"] == "missing" and len(path) > 1 else path


def _follows(problem: Problem, broken: set[KeyPath]) -> bool:
    """Return whether a problem may result from parts that were removed."""
    parts = {path[0] for path in broken if path}
    if problem.code == NEEDS_OPTION:
        return not parts.isdisjoint(installed())
    return problem.code in {f"missing-{part}" for part in parts}


def _remove(data: Any, path: KeyPath) -> None:
    """Remove the value at a path; if the path leads through a list, remove the whole list."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict) or part not in data:
            return
        if depth == len(path) - 1 or isinstance(data[part], list):
            del data[part]
            return
        data = data[part]

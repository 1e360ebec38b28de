"""YAML text to a Profile, with everything that is wrong in it at once: file, line, column, what is allowed."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from tui.model.problem import Problem, UsageError
from tui.model.profile import Profile
from tui.model.profile_check import name_problems, problems
from tui.model.validation import problems_of, real_path
from tui.model.yaml_text import Document, Path, load

# What a profile must have, to look at the rest of one that lacks it.
_STAND_INS: dict[str, Any] = {
    "profile": "a/b",
    "title": "",
    "tool": "fio",
    "fio": {"jobs": {"a": {"ioengine": "null"}}},
    "headline": {"metric": "iops", "direction": "mixed"},
}


def load_profile(text: str, file: str) -> Profile:
    """Return the profile of a YAML text. Raises UsageError with every problem, in the order of the file."""
    document = load(text, file)
    found = list(name_problems(document))
    try:
        profile = Profile.model_validate(document.data)
    except ValidationError as error:
        found += [*problems_of(error, document, Profile), *_of_the_rest(error, document)]
        raise UsageError(in_order(found)) from None
    found += problems(profile, document, profile.params)
    if found:
        raise UsageError(in_order(found))
    return profile


def in_order(found: Iterable[Problem]) -> list[Problem]:
    """Return problems by line and column, each once."""
    return sorted(dict.fromkeys(found), key=lambda problem: (problem.line or 0, problem.column or 0))


def _of_the_rest(error: ValidationError, document: Document) -> list[Problem]:
    """Return what is wrong in the parts that the schema took, without what only follows from the broken ones."""
    broken = {real_path(detail, document) for detail in error.errors(include_url=False)}
    data = copy.deepcopy(document.data)
    for path in broken:
        _remove(data, path)
    for key, value in _STAND_INS.items():
        data.setdefault(key, value)
    if not (isinstance(data["fio"], dict) and data["fio"].get("jobs")):
        data["fio"] = {**data["fio"], "jobs": _STAND_INS["fio"]["jobs"]} if isinstance(data["fio"], dict) else {}
    try:
        rest = Profile.model_validate(data)
    except ValidationError:
        return []
    params = document.data.get("params")
    found = list(problems(rest, document, params if isinstance(params, dict) else {}))
    return [problem for problem in found if not _follows(problem, broken)]


def _follows(problem: Problem, broken: set[Path]) -> bool:
    """Tell whether a problem may come from what was left out: an option that used a parameter, a missing place."""
    options_lost = any(path[:1] == ("fio",) for path in broken)
    text = problem.message
    return options_lost and ("is never used" in text or "neither 'directory'" in text or "needs a runtime" in text)


def _remove(data: Any, path: Path) -> None:
    for part in path[:-1]:
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return
    if isinstance(data, dict) and path:
        data.pop(path[-1], None)

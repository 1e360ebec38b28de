"""YAML text to a Profile, with everything that is wrong in it at once: file, line, column, what is allowed."""

from __future__ import annotations

import copy
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tui.model.problem import Problem, UsageError
from tui.model.profile import Profile
from tui.model.profile_check import name_problems, problems
from tui.model.validation import in_order, problems_of, real_path
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


def _of_the_rest(error: ValidationError, document: Document) -> list[Problem]:
    """Return what is wrong in the parts that the schema took, without what only follows from the broken ones."""
    broken = {_unusable(detail, document) for detail in error.errors(include_url=False)}
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


def _unusable(detail: ErrorDetails, document: Document) -> Path:
    """Return what an error spoils: the value itself, or the mapping that lacks a key."""
    path = real_path(detail, document)
    return path[:-1] if detail["type"] == "missing" and len(path) > 1 else path


def _follows(problem: Problem, broken: set[Path]) -> bool:
    """Tell whether a problem may come from an option that was left out."""
    options_lost = any(path[:1] == ("fio",) for path in broken)
    return options_lost and any(part in problem.message for part in ("neither '", "needs a runtime", "but the jobs do"))


def _remove(data: Any, path: Path) -> None:
    """Remove what stands at a path; with a list on the way, all of the list."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict) or part not in data:
            return
        if depth == len(path) - 1 or isinstance(data[part], list):
            del data[part]
            return
        data = data[part]

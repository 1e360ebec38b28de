"""pydantic's errors as problems that people can act on: where, what was found, what is allowed."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tui.model.problem import Problem, did_you_mean
from tui.model.quantities import shown
from tui.model.yaml_text import Document

Path = tuple[str | int, ...]


def problems_of(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """Return one problem for each place that is wrong."""
    found: dict[Path, Problem] = {}
    for detail in error.errors(include_url=False):
        path = real_path(detail["loc"], document)
        if path not in found:
            found[path] = one_problem(detail, path, document, model)
    return list(found.values())


def real_path(loc: Path, document: Document) -> Path:
    """Return the part of pydantic's location that is in the file; it also names union members and validators."""
    known = {*document.values, *document.keys}
    path: Path = ()
    for part in loc:
        if (*path, part) in known:
            path = (*path, part)
        elif part == loc[-1] and len(loc) == len(path) + 1:
            return (*path, part)  # a key that is missing
    return path


def one_problem(detail: ErrorDetails, path: Path, document: Document, model: type[BaseModel]) -> Problem:
    """Return the problem of one error."""
    name = str(path[-1]) if path else ""
    if detail["type"] == "extra_forbidden":
        allowed = allowed_keys(model, path[:-1])
        message = f"unknown key '{name}'{did_you_mean(name, allowed)}; allowed are {', '.join(allowed)}"
        return document.problem(path, message, key=True)
    if detail["type"] == "missing":
        where = f" in '{'.'.join(map(str, path[:-1]))}'" if path[:-1] else ""
        return document.problem(path[:-1], f"missing key '{name}'{where}", key=True)
    return document.problem(path, f"{'.'.join(map(str, path))}: found {shown(detail['input'])}; {expectation(detail)}")


def expectation(detail: ErrorDetails) -> str:
    """Return what would have been right."""
    context = detail.get("ctx", {})
    if detail["type"] == "literal_error":
        return f"allowed are {context['expected']}".replace(" or ", ", ")
    if detail["type"] == "string_pattern_mismatch":
        return f"it must look like {PATTERNS.get(str(context['pattern']), context['pattern'])}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"allowed is {message}" if detail["msg"].startswith("Input should be") else message


PATTERNS = {
    r"^[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*$": "family/name in small letters, such as weka/read-iops",
    r"^[a-z][a-z0-9_]*$": "a small letter, then small letters, digits or _",
}


def allowed_keys(model: type[BaseModel], path: Path) -> list[str]:
    """Return the keys that the mapping at `path` may have."""
    current: Any = model
    for part in path:
        current = step(current, part)
    members = list(models_of(current))
    return [field.alias or name for member in members for name, field in member.model_fields.items()]


def step(annotation: Any, part: str | int) -> Any:
    """Return the annotation one level down."""
    for member in models_of(annotation):
        for name, field in member.model_fields.items():
            if part in (name, field.alias):
                return field.annotation
    for candidate in flat(annotation):
        if get_origin(candidate) in (dict, list):
            return get_args(candidate)[-1]
    return None


def models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in an annotation."""
    for candidate in flat(annotation):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            yield candidate


def flat(annotation: Any) -> Iterator[Any]:
    """Yield the members of unions, and anything else as it is."""
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from flat(member)
    else:
        yield annotation

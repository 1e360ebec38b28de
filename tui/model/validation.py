"""Convert pydantic's errors to problems: place, value found, allowed values. JSON Schemas."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tui.model.problem import Problem, did_you_mean
from tui.model.quantities import shown
from tui.model.yaml_text import KeyPath, YamlDocument


def file_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a model, for a file that people edit."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **model.model_json_schema(), "title": title}


def problems_of(
    error: ValidationError, document: YamlDocument, model: type[BaseModel]
) -> list[Problem]:
    """Return the problems of a validation error, one per place."""
    return problems_by_place(error.errors(include_url=False), document, model)


def problems_by_place(
    every: Iterable[ErrorDetails], document: YamlDocument, model: type[BaseModel]
) -> list[Problem]:
    """Return the problems of these errors, one per place."""
    details: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in every:
        details.setdefault(real_path(detail, document), []).append(detail)
    deeper = {path[:end] for path in details for end in range(len(path))}
    return [
        one_problem(found, path, document, model)
        for path, found in details.items()
        if path not in deeper or not only_kinds(found)
    ]


def only_kinds(details: list[ErrorDetails]) -> bool:
    """Return whether these errors only reject the type of the value.

    An error deeper in the value is then more specific.
    """
    return all(detail["type"] in KINDS for detail in details)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by line and column, without duplicates."""
    return sorted(
        dict.fromkeys(problems), key=lambda problem: (problem.line or 0, problem.column or 0)
    )


def real_path(detail: ErrorDetails, document: YamlDocument) -> KeyPath:
    """Return the part of an error's location that exists in the file, without union members and
    validators; for a missing key, its parent and the key.
    """
    path: KeyPath = ()
    for part in detail["loc"]:
        if (*path, part) in document.values or (*path, part) in document.keys:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def one_problem(
    details: list[ErrorDetails], path: KeyPath, document: YamlDocument, model: type[BaseModel]
) -> Problem:
    """Return the problem of one place, combined from the errors of all union members."""
    detail = details[0]
    name = str(path[-1]) if path else ""
    if detail["type"] == "extra_forbidden":
        allowed = allowed_keys(model, path[:-1])
        message = (
            f"unknown key '{name}'{did_you_mean(name, allowed)}; allowed: {', '.join(allowed)}"
        )
        return document.problem(path, message, key=True)
    if detail["type"] == "missing":
        where = f" in '{dotted(path[:-1])}'" if path[:-1] else ""
        return document.problem(path[:-1], f"missing key '{name}'{where}", key=True)
    expected = expectation(detail) if len(details) == 1 else f"allowed: {kinds_of(details)}"
    if detail["loc"][-1] == "[key]":
        return document.problem(
            path, f"{dotted(path[:-1])}: found the key {shown(name)}; {expected}", key=True
        )
    return document.problem(path, f"{dotted(path)}: found {shown(detail['input'])}; {expected}")


def dotted(path: KeyPath) -> str:
    """Return a path in dotted form: ``fio.jobs.a``."""
    return ".".join(map(str, path))


KINDS = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
}


def kinds_of(details: list[ErrorDetails]) -> str:
    """Return the types that the members of a union accept, as text."""
    kinds = list(dict.fromkeys(expectation(detail).removeprefix("allowed: ") for detail in details))
    return ", ".join(kind for kind in kinds if kind != "a whole number" or "a number" not in kinds)


def expectation(detail: ErrorDetails) -> str:
    """Return the allowed values, as text."""
    context = detail.get("ctx", {})
    if detail["type"] == "literal_error":
        return f"allowed: {context['expected']}".replace(" or ", ", ")
    if detail["type"] == "string_pattern_mismatch":
        return f"must match {PATTERNS.get(str(context['pattern']), context['pattern'])}"
    if detail["type"] == "greater_than_equal":
        return f"allowed: {context['ge']:g} or more"
    if detail["type"] == "less_than_equal":
        return f"allowed: {context['le']:g} or less"
    if detail["type"] in ("string_too_short", "too_short"):
        return "must not be empty"
    if detail["type"] in KINDS:
        return f"allowed: {KINDS[detail['type']]}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"allowed: {message}" if detail["msg"].startswith("Input should be") else message


PATTERNS = {
    r"^[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*$": (
        "family/name in lower case, such as weka/read-iops"
    ),
    r"^[a-z][a-z0-9_]*$": "a lower-case letter, then lower-case letters, digits or _",
    r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$": "letters, digits, _ . and -, such as clients",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "lower-case letters, digits and -, such as cache-off",
    r"^[^\s-]\S*$": "one word that does not start with a dash",
}


def allowed_keys(model: type[BaseModel], path: KeyPath) -> list[str]:
    """Return the allowed keys of the mapping at `path`."""
    current: Any = model
    for part in path:
        current = step(current, part)
    members = list(models_of(current))
    return [
        field.alias or name for member in members for name, field in member.model_fields.items()
    ]


def step(annotation: Any, part: str | int) -> Any:
    """Return the type annotation of a key or list item within an annotation."""
    for member in models_of(annotation):
        for name, field in member.model_fields.items():
            if part in (name, field.alias):
                return field.annotation
    for candidate in flat(annotation):
        if get_origin(candidate) in (dict, list):
            return get_args(candidate)[-1]
    return None


def models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the pydantic models in an annotation."""
    for candidate in flat(annotation):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            yield candidate


def flat(annotation: Any) -> Iterator[Any]:
    """Yield the members of unions; other annotations are yielded as they are, without metadata."""
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from flat(member)
    elif get_origin(annotation) is Annotated:
        yield from flat(get_args(annotation)[0])
    else:
        yield annotation

"""The JSON Schema that editors complete and check profile files with: the model's, and what `extends` allows."""

from __future__ import annotations

import copy
from contextlib import nullcontext, suppress
from typing import Any

from tui.model.problem import UsageError
from tui.model.profile_type import profile_json_schema, tools
from tui.model.tool import foreign, rules

SCALARS = ["string", "number", "boolean"]
REF = "#/$defs/"


def profile_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file, whole or one that extends another."""
    schema = copy.deepcopy(profile_json_schema())
    kinds = schema["$defs"]
    _accept_percentages(kinds)
    for name in tools():
        with suppress(UsageError) if name in foreign() else nullcontext():  # its part says what fails
            rules(name).describe(kinds)
    merged = {key: _kind_of(schema["properties"][key]) for key in ("params", *tools())}
    strict = {key: copy.deepcopy(schema["properties"][key]) for key in merged}
    for key, name in merged.items():
        part = copy.deepcopy(kinds[name])
        part.pop("required", None)
        kinds[f"{name}Change"] = {**part, "title": f"{name}, as far as it differs"}
        _replace_ref(schema["properties"][key], f"{REF}{name}", f"{REF}{name}Change")
    _bare_values(schema["properties"]["params"])
    whole = [key for key in schema.pop("required") if key != "profile"]
    schema["required"] = ["profile"]
    schema["if"] = {"required": ["extends"]}
    schema["else"] = {"required": whole, "properties": strict}
    return schema


def _accept_percentages(kinds: dict[str, Any]) -> None:
    """A relative width is a number below 1, or a percentage."""
    number = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    for kind, name in (("RepeatSpec", "until"), ("PreconditionSpec", "range"), ("PreconditionSpec", "slope")):
        share = kinds[kind]["properties"][name]
        for key in ("type", "gt", "lt", "exclusiveMinimum", "exclusiveMaximum"):
            share.pop(key, None)
        share["anyOf"] = [{"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"}, number]


def _kind_of(data: Any) -> str:
    """Return the first of the $defs that a property refers to."""
    if isinstance(data, dict) and "$ref" in data:
        return str(data["$ref"]).removeprefix(REF)
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return next(filter(None, map(_kind_of, inner)), "")


def _replace_ref(data: Any, old: str, new: str) -> None:
    if isinstance(data, dict):
        if data.get("$ref") == old:
            data["$ref"] = new
        for value in data.values():
            _replace_ref(value, old, new)
    elif isinstance(data, list):
        for value in data:
            _replace_ref(value, old, new)


def _bare_values(params: dict[str, Any]) -> None:
    """A bare value is another default for a parameter of the profile that is extended."""
    for key in ("additionalProperties", "patternProperties"):
        found = params.get(key)
        if isinstance(found, dict) and "$ref" in found:
            params[key] = {"anyOf": [found, {"type": SCALARS}]}
        elif isinstance(found, dict):
            for pattern, inner in found.items():
                found[pattern] = {"anyOf": [inner, {"type": SCALARS}]}

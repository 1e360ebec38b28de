"""The JSON Schema that editors complete and check profile files with: the model's, and what `extends` allows."""

from __future__ import annotations

import copy
from typing import Any

from tui.model.fio_options import OWN_OPTIONS, by_name, canonical, table
from tui.model.profile import profile_json_schema

SCALARS = ["string", "number", "boolean"]
MERGED = {"params": "Param", "fio": "Fio", "mdtest": "Mdtest"}  # what a profile that extends another may give in part


def profile_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file, whole or one that extends another, with fio's options by name."""
    schema = copy.deepcopy(profile_json_schema())
    kinds = schema["$defs"]
    _accept_percentages(kinds)
    _name_options(kinds)
    strict = {key: copy.deepcopy(schema["properties"][key]) for key in MERGED}
    for name in MERGED.values():
        part = copy.deepcopy(kinds[name])
        part.pop("required", None)
        kinds[f"{name}Change"] = {**part, "title": f"{name}, as far as it differs"}
    for key, name in MERGED.items():
        _replace_ref(schema["properties"][key], f"#/$defs/{name}", f"#/$defs/{name}Change")
    _bare_values(schema["properties"]["params"])
    whole = [key for key in schema.pop("required") if key != "profile"]
    schema["required"] = ["profile"]
    schema["if"] = {"required": ["extends"]}
    schema["else"] = {"required": whole, "properties": strict}
    return schema


def _accept_percentages(kinds: dict[str, Any]) -> None:
    """A relative width is a number below 1, or a percentage."""
    until = kinds["RepeatSpec"]["properties"]["until"]
    for key in ("type", "gt", "lt", "exclusiveMinimum", "exclusiveMaximum"):
        until.pop(key, None)
    number = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    until["anyOf"] = [{"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"}, number]


def _name_options(kinds: dict[str, Any]) -> None:
    """Give the sections of a job the names and words that fio knows, so that editors offer them."""
    known = {
        name: _option_schema(name, option)
        for name, option in sorted(by_name().items())
        if option["type"] != "removed" and canonical(name) not in OWN_OPTIONS
    }
    kinds["Options"] = {
        "type": "object",
        "title": "fio options",
        "properties": known,
        "additionalProperties": {"type": [*SCALARS, "null"]},
    }
    properties = kinds["Fio"]["properties"]
    described = {key: value for key, value in properties["global"].items() if key in ("description", "title")}
    properties["global"] = {**described, "$ref": "#/$defs/Options"}
    properties["jobs"]["additionalProperties"] = {"$ref": "#/$defs/Options"}


def _option_schema(name: str, option: dict[str, Any]) -> dict[str, Any]:
    words = sorted(table()["engines"]) if name == "ioengine" else option.get("values")
    if option["type"] == "bool":
        words = [0, 1]
    anything = {"type": [*SCALARS, "null"]}
    return {"anyOf": [{"enum": list(words)}, anything]} if words else anything


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

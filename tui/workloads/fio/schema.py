"""fio's options for the JSON Schema of profiles: editors complete their names and words."""

from __future__ import annotations

from typing import Any

from tui.workloads.fio.option_table import OWN_OPTIONS, by_name, canonical, table

EXTERNAL = r"^external:|^/|\.so$|\{"  # as `option_table.is_external`; or a parameter, whose value may be one
SCALARS = ["string", "number", "boolean"]


def name_options(kinds: dict[str, Any]) -> None:
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
    _refuse_unknown(kinds, list(known))


def _refuse_unknown(kinds: dict[str, Any], known: list[str]) -> None:
    """Refuse names that fio does not know, as `check.name_problems` does.

    Names pass where `extra_options` hands them on, and where an engine in a file may have options of its own.
    """
    kinds["KnownOptions"] = {"title": "options of fio alone", "propertyNames": {"enum": known}}
    external = {"required": ["ioengine"], "properties": {"ioengine": {"type": "string", "pattern": EXTERNAL}}}
    in_global = {"required": ["global"], "properties": {"global": external}}
    in_a_job = {"required": ["jobs"], "properties": {"jobs": {"not": {"additionalProperties": {"not": external}}}}}
    ref = {"$ref": "#/$defs/KnownOptions"}
    closed = {"properties": {"global": ref, "jobs": {"additionalProperties": ref}}}
    kinds["Fio"] |= {
        "if": {"anyOf": [{"required": ["extra_options"]}, in_global, in_a_job]},
        "then": {},
        "else": closed,
    }


def _option_schema(name: str, option: dict[str, Any]) -> dict[str, Any]:
    words = sorted(table()["engines"]) if name == "ioengine" else option.get("values")
    if option["type"] == "bool":
        words = [0, 1]
    anything = {"type": [*SCALARS, "null"]}
    return {"anyOf": [{"enum": list(words)}, anything]} if words else anything

"""fio's options for the JSON Schema of profiles: editors complete their names and words."""

from __future__ import annotations

from typing import Any

from tui.workloads.fio.option_table import OWN_OPTIONS, by_name, canonical, table

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


def _option_schema(name: str, option: dict[str, Any]) -> dict[str, Any]:
    words = sorted(table()["engines"]) if name == "ioengine" else option.get("values")
    if option["type"] == "bool":
        words = [0, 1]
    anything = {"type": [*SCALARS, "null"]}
    return {"anyOf": [{"enum": list(words)}, anything]} if words else anything

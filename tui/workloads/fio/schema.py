"""fio's options in the JSON Schema of profiles, for completion of names and values in editors."""

from __future__ import annotations

import re
from typing import Any

from tui.workloads.fio.option_table import (
    FIXED_VALUES,
    OWN_OPTIONS,
    RANGES,
    SWITCHES,
    UNSEEN,
    UNSEEN_ENGINES,
    by_name,
    canonical,
    is_log,
    table,
)

# as `option_table.is_external`; or a parameter, whose value may be one
EXTERNAL = r"^external:|^/|\.so$|\{"
SCALARS = ["string", "number", "boolean"]


def name_options(kinds: dict[str, Any]) -> None:
    """Add fio's option names and values to the schema of jobs."""
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
    described = {
        key: value for key, value in properties["global"].items() if key in ("description", "title")
    }
    properties["global"] = {**described, "$ref": "#/$defs/Options"}
    properties["jobs"]["additionalProperties"] = {"$ref": "#/$defs/Options"}
    _refuse_unknown(kinds, list(known))


def _refuse_unknown(kinds: dict[str, Any], known: list[str]) -> None:
    """Reject option names unknown to fio, as `body.name_problems` does.

    Allows names in `extra_options`, and options of an engine loaded from a file.
    """
    kinds["KnownOptions"] = {"title": "fio options", "propertyNames": {"enum": known}}
    kinds["KnownValues"] = {
        "title": "values that fio accepts",
        "properties": {name: value_schema(name, by_name()[name]) for name in known},
    }
    external = {
        "required": ["ioengine"],
        "properties": {"ioengine": {"type": "string", "pattern": EXTERNAL}},
    }
    in_global = {"required": ["global"], "properties": {"global": external}}
    in_a_job = {
        "required": ["jobs"],
        "properties": {"jobs": {"not": {"additionalProperties": {"not": external}}}},
    }
    ref = {"$ref": "#/$defs/KnownOptions"}
    values = {"$ref": "#/$defs/KnownValues"}  # `extra_options` passes on names with any value
    valued = {"properties": {"global": values, "jobs": {"additionalProperties": values}}}
    closed = {"properties": {"global": ref, "jobs": {"additionalProperties": ref}}}
    kinds["Fio"] |= {
        "if": {"anyOf": [{"required": ["extra_options"]}, in_global, in_a_job]},
        "then": {},
        "else": closed,
        "allOf": [{"if": {"required": ["extra_options"]}, "then": {}, "else": valued}],
    }


def _option_schema(name: str, option: dict[str, Any]) -> dict[str, Any]:
    words = sorted(table()["engines"]) if name == "ioengine" else option.get("values")
    if option["type"] == "bool":
        words = [0, 1]
    anything = {"type": [*SCALARS, "null"]}
    return {"anyOf": [{"enum": list(words)}, anything]} if words else anything


# -- values: those rules of `option_problem` that JSON Schema can express


PLACEHOLDER = {"type": "string", "pattern": r"\{"}
SIZE = "[0-9]+([kKmMgGtTpP][bB]?|[bB])?"
NEGATIVE = "-[0-9].*"
HEXADECIMAL = "0[xX][0-9a-fA-F]+"
CALCULATED = r"\(.*"  # fio does


def value_schema(name: str, option: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an option's value; a parameter is always allowed."""
    found = _refused(canonical(name), option["type"]) or _of_kind(name, option)
    return {"anyOf": [found, PLACEHOLDER]}


def _refused(own: str, kind: str) -> dict[str, Any] | None:
    """Return the schema of an option with a single allowed value, or with none; None for other
    options.
    """
    if own in SWITCHES:
        return _words(["0"])
    if own in UNSEEN:
        return {"not": {}}
    if own in FIXED_VALUES:
        wanted = FIXED_VALUES[own][0]
        bare = [{"enum": ["", None]}] if wanted == "1" and kind == "set" else []
        return {"anyOf": [_words([wanted]), *bare]}
    return None


def _of_kind(name: str, option: dict[str, Any]) -> dict[str, Any]:
    kind = option["type"]
    if name == "ioengine":
        known = "|".join(
            re.escape(each) for each in table()["engines"] if each not in UNSEEN_ENGINES
        )
        return {"type": "string", "pattern": rf"^(({known})|external:.*|/.*|.*\.so)$"}
    if kind in ("bool", "set"):
        bare = [{"enum": ["", None]}] if kind == "set" else []
        return {"anyOf": [_words(["0", "1"]), *bare]}
    if kind == "choice" and option.get("values"):
        words = "|".join(map(re.escape, option["values"]))
        return {
            "anyOf": [
                _words(option["values"]),
                {"type": "string", "pattern": f"^({words})([:,][^#;]*)?$"},
            ]
        }
    if kind in ("int", "size"):
        return _number(option, canonical(name))
    letters = "[^#;/$" if kind == "text" and is_log(canonical(name)) else "[^#;"
    return {"type": [*SCALARS, "null"], "pattern": rf"^{letters}\u0000-\u001f\u007f]*$"}


def _number(option: dict[str, Any], own: str) -> dict[str, Any]:
    low, high = option.get("min"), option.get("max")
    limits = {
        key: limit for key, limit in (("minimum", low), ("maximum", high)) if limit is not None
    }
    below = [NEGATIVE] if option["type"] == "int" and (low is None or low < 0) else []
    one = f"({'|'.join([SIZE, *([HEXADECIMAL] if option['type'] == 'int' else []), *below])})"
    several = f"({one}?(,{one}?)+)" if option.get("parts") and option["type"] == "int" else ""
    ranges = f"{one}-{one}" if own in RANGES else ""
    text = "|".join(filter(None, (CALCULATED, one, several, ranges)))
    whole = {"type": "integer", **({"minimum": 0} if option["type"] == "size" else {}), **limits}
    return {"anyOf": [whole, {"type": "boolean"}, {"type": "string", "pattern": f"^({text})$"}]}


def _words(words: list[str]) -> dict[str, Any]:
    """Return the schema of an option with fixed words, including numbers and booleans as YAML
    parses them.
    """
    numbers = [int(word) for word in words if word.isdecimal()]
    truths = [word == "1" for word in words if word in ("0", "1")]
    return {"enum": [*words, *numbers, *truths]}

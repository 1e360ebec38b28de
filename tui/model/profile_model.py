"""Pydantic model of a profile with the sections of all load generators, its JSON Schema, and
hints.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model, model_validator

from tui.model.plugin import guarded
from tui.model.problem import Problem, UsageError
from tui.model.profile import TOOL, Profile, placeholders, resolve_params, value_text
from tui.model.tool import SUITE, foreign, installed, named, rules
from tui.model.validation import file_schema, in_order
from tui.model.yaml_text import KeyPath, load

if TYPE_CHECKING:
    from pydantic import BaseModel


@functools.cache
def whole() -> type[Profile]:
    """Return the model of profile files, with a field for each installed load generator.

    A broken load generator of another package affects only profiles that use it.
    """
    parts: dict[str, Any] = {
        name: (_part(name) | None, Field(None, description=f"Options of {name} (tool: {name})"))
        for name in tools()
    }
    allowed: Any = Literal[(*parts, SUITE)]
    parts["tool"] = (allowed, Field(description=TOOL))
    return create_model("Profile", __base__=Profile, __doc__="A benchmark profile.", **parts)


def tools() -> list[str]:
    """Return the load generators that can have a section in profiles.

    Excludes those named like another profile key.
    """
    return [
        name for name in installed() if not (hasattr(Profile, name) or name in Profile.model_fields)
    ]


def _part(name: str) -> type[BaseModel]:
    """Return the model of a load generator's section; for a plug-in that fails to load, a model
    that reports the failure.
    """
    try:
        found = rules(name).body()
        if name in foreign():
            guarded(named(name), "body", found.model_rebuild)
            guarded(named(name), "body", found.model_json_schema)
    except UsageError as error:
        if name not in foreign():
            raise
        return _failing(name, error)
    return found


def _failing(name: str, why: UsageError) -> type[BaseModel]:
    """Return a model that rejects every value with this plug-in error."""

    def refuse(_: Any, __: Any, ___: Any) -> Any:
        raise why

    refusing: Any = model_validator(mode="wrap")(classmethod(refuse))  # type: ignore[arg-type]  # any model's
    return create_model(f"Failing_{name}", __doc__=str(why), __validators__={"refuse": refusing})


def profile_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    return file_schema(whole(), "benchtui profile")


# where a parameter may be used, besides each tool's part
PARAMETERISED = ("suite", "prepare", "warmup", "pause")


def uses(data: Mapping[str, Any]) -> dict[str, list[KeyPath]]:
    """Return the places where each parameter is used in a profile's data."""
    found: dict[str, list[KeyPath]] = {}
    for key in (*installed(), *PARAMETERISED):
        for path, name in _named((key,), data.get(key)):
            found.setdefault(name, []).append(path)
    return found


def _named(path: KeyPath, data: object) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _named((*path, key), value)
    yield from ((path, name) for name in placeholders(data))


def unreached(profile: Profile) -> Mapping[KeyPath, str]:
    """Return the options that reach no job, by position in the profile, with reasons."""
    return {} if profile.tool == SUITE else rules(profile.tool).unreached(profile)


def idle(places: Mapping[str, list[KeyPath]], dead: Mapping[KeyPath, str]) -> dict[str, str]:
    """Return the parameters used only in options without effect, with reasons."""
    return {
        name: dead[paths[0]]
        for name, paths in places.items()
        if all(path in dead for path in paths)
    }


def idle_params(profile: Profile) -> dict[str, str]:
    """Return the parameters of a profile that change nothing, with reasons."""
    dead = unreached(profile)
    return idle(uses(profile.model_dump(by_alias=True)), dead) if dead else {}


def hints(profile: Profile, text: str, file: str) -> list[Problem]:
    """Return hints on options and parameters without effect in a valid profile."""
    if profile.tool == SUITE:
        return []
    texts = {
        name: value_text(profile.params[name].kind, v)
        for name, v in resolve_params(profile, {}).items()
    }
    found = dict(rules(profile.tool).hints(profile, texts))
    unreached_ones = unreached_hints(profile, text, file)
    if not found:
        return unreached_ones
    document = load(text, file)
    others = (document.problem(path, message, key=True) for path, message in found.items())
    return in_order([*unreached_ones, *others])


def unreached_hints(profile: Profile, text: str, file: str) -> list[Problem]:
    """Return hints on options of this file that reach no job, and on inherited parameters that
    therefore have no effect.
    """
    dead = unreached(profile)
    if not dead:
        return []
    document = load(text, file)
    found = [
        document.problem(path, f"{path[-1]} in [{path[-2]}] has no effect: {why}", key=True)
        for path, why in dead.items()
        if path in document.keys
    ]
    found += [
        document.problem(
            ("extends",),
            f"parameter '{name}' of {profile.extends} has no effect here: {why}",
            key=True,
        )
        for name, why in idle_params(profile).items()
    ]
    return in_order(found)


def written(name: str, places: Collection[KeyPath], keys: Collection[KeyPath]) -> KeyPath | None:
    """Return where the file itself names a parameter: its definition, else an option; None if it
    does not.
    """
    return next((path for path in (("params", name), *places) if path in keys), None)


SCALARS = ["string", "number", "boolean"]
REF = "#/$defs/"


def profile_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file, whether complete or extending another profile."""
    schema = copy.deepcopy(profile_json_schema())
    kinds = schema["$defs"]
    _accept_percentages(kinds)
    for name in tools():
        # its part reports the failure
        with suppress(UsageError) if name in foreign() else nullcontext():
            rules(name).describe(kinds)
    merged = {key: _kind_of(schema["properties"][key]) for key in ("params", *tools())}
    strict = {key: copy.deepcopy(schema["properties"][key]) for key in merged}
    for key, name in merged.items():
        part = copy.deepcopy(kinds[name])
        part.pop("required", None)
        kinds[f"{name}Change"] = {**part, "title": f"{name}: differences only"}
        _replace_ref(schema["properties"][key], f"{REF}{name}", f"{REF}{name}Change")
    _bare_values(schema["properties"]["params"])
    whole = [key for key in schema.pop("required") if key != "profile"]
    schema["required"] = ["profile"]
    schema["if"] = {"required": ["extends"]}
    schema["else"] = {"required": whole, "properties": strict}
    return schema


def _accept_percentages(kinds: dict[str, Any]) -> None:
    """Let the schema accept a relative width as a number below 1 or as a percentage."""
    number = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
    for kind, name in (
        ("RepeatSpec", "until"),
        ("PreconditionSpec", "range"),
        ("PreconditionSpec", "slope"),
    ):
        share = kinds[kind]["properties"][name]
        for key in ("type", "gt", "lt", "exclusiveMinimum", "exclusiveMaximum"):
            share.pop(key, None)
        share["anyOf"] = [{"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"}, number]


def _kind_of(data: Any) -> str:
    """Return the name of the first $defs entry that a property refers to."""
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
    """Let the schema accept bare values as new defaults of inherited parameters."""
    for key in ("additionalProperties", "patternProperties"):
        found = params.get(key)
        if isinstance(found, dict) and "$ref" in found:
            params[key] = {"anyOf": [found, {"type": SCALARS}]}
        elif isinstance(found, dict):
            for pattern, inner in found.items():
                found[pattern] = {"anyOf": [inner, {"type": SCALARS}]}

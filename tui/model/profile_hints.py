"""What a sound profile says without effect: options that no job takes, parameters that change nothing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tui.model.problem import Problem
from tui.model.profile import Profile, placeholders, resolve_params, value_text
from tui.model.tool import SUITE, installed, rules
from tui.model.validation import in_order
from tui.model.yaml_text import KeyPath, load

PARAMETERISED = ("suite", "prepare", "warmup", "pause")  # where a parameter may be named, beside each tool's part


def uses(data: Mapping[str, Any]) -> dict[str, list[KeyPath]]:
    """Return where each parameter is named in a profile's data."""
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
    """Return the options that reach no job, by their place in the profile, each with why."""
    return {} if profile.tool == SUITE else rules(profile.tool).unreached(profile)


def idle(places: Mapping[str, list[KeyPath]], dead: Mapping[KeyPath, str]) -> dict[str, str]:
    """Return the parameters that are named in options without effect alone, each with why."""
    return {name: dead[paths[0]] for name, paths in places.items() if all(path in dead for path in paths)}


def idle_params(profile: Profile) -> dict[str, str]:
    """Return the parameters of a profile that change nothing, each with why."""
    dead = unreached(profile)
    return idle(uses(profile.model_dump(by_alias=True)), dead) if dead else {}


def hints(profile: Profile, text: str, file: str) -> list[Problem]:
    """Return what a sound profile asks for in vain, with the places in its file: to know, not to refuse."""
    if profile.tool == SUITE:
        return []
    texts = {name: value_text(profile.params[name].kind, v) for name, v in resolve_params(profile, {}).items()}
    found = dict(rules(profile.tool).hints(profile, texts))
    told = unreached_hints(profile, text, file)
    if not found:
        return told
    document = load(text, file)
    return in_order([*told, *(document.problem(path, message, key=True) for path, message in found.items())])


def unreached_hints(profile: Profile, text: str, file: str) -> list[Problem]:
    """Return which options of this file reach no job, and which parameters of the extended profile that leaves idle."""
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
        document.problem(("extends",), f"parameter '{name}' of {profile.extends} has no effect here: {why}", key=True)
        for name, why in idle_params(profile).items()
    ]
    return in_order(found)


def written(name: str, places: Collection[KeyPath], keys: Collection[KeyPath]) -> KeyPath | None:
    """Return where a file itself names a parameter: where it is given, else in an option; None when it does not."""
    return next((path for path in (("params", name), *places) if path in keys), None)

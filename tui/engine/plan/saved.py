"""A profile with the changes of Review, as the text of another profile. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui.engine.inputs.profile_files import extended_title
from tui.engine.inputs.terms import made_profile, parse_terms, yaml_of
from tui.engine.plan.steps import MatrixChoice, planned_profiles
from tui.model.yaml_text import load
from tui.workloads.terms import command_in

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.model.profile_parts import SweepSpec

HEAD = 3  # words of a command line before its terms: benchtui run fio


def changed_profile(
    loaded: LoadedProfile,
    tag: str,
    overrides: Mapping[str, str],
    choice: MatrixChoice,
    cleanup: bool | None = None,
) -> str:
    """Return the text of a profile `tag` that measures what these choices measure.

    A job becomes the profile of its terms; another profile is extended. Secrets are left out.
    Raises UsageError.
    """
    profile = loaded.profile
    shown = {
        name: text for name, text in overrides.items() if profile.params[name].kind != "secret"
    }
    swept = None
    if profile.tool != "suite":
        (planned,) = planned_profiles(loaded, overrides, choice)
        swept = planned.sweep
    if words := command_in(loaded.text):
        text = _job(words, tag, shown, swept, choice.repeat or _repeat(profile.repeat))
        span = load(text, "").spans.get(("prepare", "cleanup"))
        if cleanup is not None and span is not None:
            text = f"{text[: span[0]]}{str(cleanup).lower()}{text[span[1] :]}"
        return text
    changes: dict[str, Any] = {
        "profile": tag,
        "extends": profile.profile,
        "title": extended_title(loaded, tag),
        "params": shown,
        "sweep": (
            swept.model_dump(exclude_defaults=True) if swept and swept != profile.sweep else {}
        ),
        "repeat": choice.repeat,
        "prepare": {} if cleanup is None else {"cleanup": cleanup},
        "roles": {**profile.roles, **choice.roles} if choice.roles else {},
    }
    return yaml_of({name: each for name, each in changes.items() if each not in (None, {})})


def _repeat(repeat: object) -> int:
    return repeat if isinstance(repeat, int) else 1


def _job(
    words: list[str], tag: str, overrides: Mapping[str, str], swept: SweepSpec | None, repeat: int
) -> str:
    from tui import workloads

    workload = workloads.get(words[HEAD - 1])
    grid = swept.grid if swept else {}
    axes = {name: [str(each) for each in values] for name, values in grid.items()}
    given = parse_terms(workload, words[HEAD:]) | {name: [text] for name, text in overrides.items()}
    return made_profile(workload, {**given, **axes}, tag, repeat)

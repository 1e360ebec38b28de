"""What the searches of a profile must obey beyond their schema: what may be searched over, and by which tools."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.problem import Problem, did_you_mean
from tui.model.profile import Profile, parse_param
from tui.model.search_spec import TAKEN, knobs_of
from tui.model.tool import SUITE
from tui.model.yaml_text import Document


def search_problems(profile: Profile, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with a profile's capacity and curve."""
    for key in ("capacity", "curve"):
        if getattr(profile, key) is not None and profile.tool == SUITE:
            yield document.problem((key,), f"a suite has no '{key}' of its own; its profiles have", key=True)
    if profile.capacity is None:
        return
    for index, each in enumerate(profile.capacity.over):
        for name, values in knobs_of([each]).items():
            path = ("capacity", "over", index)
            if problem := knob_problem(profile, name, values):
                yield document.problem(path, problem)


def knob_problem(profile: Profile, name: str, values: list[int]) -> str:
    """Return why something cannot be searched over; empty: it can."""
    if name in TAKEN:
        return "rate takes no values: any may be offered" if name == TAKEN[0] and values else ""
    param = profile.params.get(name)
    counts = [each for each, param in profile.params.items() if param.kind == "count"]
    if param is None or param.kind != "count":
        known = ", ".join((*TAKEN, *counts))
        what = "no parameter" if param is None else f"a {param.kind}, no count"
        return f"over: '{name}' is {what}{did_you_mean(name, (*TAKEN, *counts))}; allowed are {known}"
    for value in values:
        try:
            parse_param(param, value)
        except ValueError as error:
            return f"over: {name}: {error}"
    return ""

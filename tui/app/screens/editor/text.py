"""What the editor shows beside the text: problems, and what differs from the profile that is extended. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui import workloads
from tui.app.screens.profiles.text import place_of
from tui.app.terminal.theme import Symbols
from tui.model.problem import Problem, UsageError
from tui.model.tool import SUITE
from tui.text.line import ACCENT, BAD, GOOD, LABEL, TEXT, TITLE, WARN, Line, clip, heading, indented, labelled

if TYPE_CHECKING:
    from tui.engine.profiles.catalogue import Catalogue, LoadedProfile
    from tui.model.profile import Profile

INDENT = 8
SAID_ANYWAY = ("profile", "version", "extends")


@dataclass(frozen=True, slots=True)
class Judged:
    """A text as the loader sees it: a profile, or problems. `base` is what it extends, or the preset of its name."""

    text: str
    problems: list[Problem] = field(default_factory=list)
    loaded: LoadedProfile | None = None
    base: Profile | None = None
    hints: list[Problem] = field(default_factory=list)  # what it asks for in vain: not wrong


def judge(catalogue: Catalogue, text: str, path: Path) -> Judged:
    """Return what a text is. Reads the profiles that it extends or holds, nothing else."""
    try:
        loaded = catalogue.load_text(text, path)
        return Judged(text, [], loaded, base_of(catalogue, loaded), [own_place(hint, path) for hint in loaded.hints])
    except UsageError as error:
        return Judged(text, [own_place(problem, path) for problem in error.problems])


def own_place(problem: Problem, path: Path) -> Problem:
    """Return a problem of another file without its line, which is none of this text."""
    return problem if problem.file in (None, str(path)) else Problem(str(problem), str(path), 1, 1)


def base_of(catalogue: Catalogue, loaded: LoadedProfile) -> Profile | None:
    """Return the profile that another one extends, or the preset that it stands for."""
    if loaded.bases:
        tag, text = loaded.bases[0]
        return catalogue.load_text(text, Path(tag)).profile
    from tui.model.paths import presets_dir

    twin = presets_dir() / f"{loaded.profile.profile}.yaml"
    return catalogue.load_file(twin, preset=True).profile if twin.is_file() and twin != loaded.path else None


# -- problems


def problem_lines(judged: Judged, here: int, symbols: Symbols, width: int) -> list[Line]:
    """Return every problem with its place; those of line `here` are bright."""
    if not judged.problems:
        hints = (problem_text(hint, here, symbols, width, symbols.warn) for hint in judged.hints)
        said = Line.of(*clip([(f"{symbols.ok} ", GOOD), (sound(judged), LABEL)], width))
        return [*(line for each in hints for line in each), said]
    return [line for problem in judged.problems for line in problem_text(problem, here, symbols, width)]


def problem_text(problem: Problem, here: int, symbols: Symbols, width: int, sign: str = "") -> list[Line]:
    """Return one problem, or a hint with its sign: what is wrong is bright, what is allowed dim."""
    found, semicolon, allowed = problem.message.partition("; ")
    value = [(found, TITLE if problem.line == here else TEXT), (semicolon + allowed, LABEL)]
    mark = (sign, WARN) if sign else (symbols.bad, BAD)
    return labelled([mark, (f" {place_of(problem)}", LABEL)], value, width, INDENT)


def sound(judged: Judged) -> str:
    """Return in one line what a profile without problems is."""
    if judged.loaded is None:
        return ""
    from tui.engine.profiles.catalogue import headline_text

    profile = judged.loaded.profile
    params = f", {len(profile.params)} parameters" if profile.params else ""
    base = f", extends {profile.extends}" if profile.extends else ""
    return f"{profile.profile}: {headline_text(profile)}{params}{base}"


# -- differences


def difference(judged: Judged, saved: str, width: int) -> list[Line]:
    """Return what differs from the profile that is extended, then what is not saved yet."""
    lines: list[Line] = []
    profile = judged.loaded.profile if judged.loaded else None
    if profile is None:
        lines.append(Line.of(("Not a profile yet: see the problems below", LABEL)))
    elif judged.base is None:
        lines += indented([("It extends no other profile: a line 'extends: family/name' would", LABEL)], width, 0)
    else:
        lines += from_base(profile, judged.base, width)
    if judged.text != saved:
        lines += [Line(), heading("not saved yet"), *text_changes(saved, judged.text, width)]
    return lines


def from_base(profile: Profile, base: Profile, width: int) -> Iterator[Line]:
    """Yield what a profile says otherwise than another one, and what that does to the job file."""
    yield heading(f"{profile.profile} against {base.profile}")
    changes = list(changed_values(flat(plain(base)), flat(plain(profile))))
    for path, old, new in changes:
        yield from value_change(path, old, new, width)
    if not changes:
        yield Line.of(("  nothing differs", LABEL))
    if jobs := text_changes(job_of(base), job_of(profile), width):
        yield from (Line(), heading("in the job file"), *jobs)


def plain(profile: Profile) -> dict[str, Any]:
    """Return what a profile says, without its name."""
    data = profile.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {key: value for key, value in data.items() if key not in SAID_ANYWAY}


def flat(data: Any, path: str = "") -> dict[str, str]:
    """Return values by dotted path; a list is one value."""
    if not isinstance(data, dict):
        return {path: text_of(data)}
    found: dict[str, str] = {}
    for key, value in data.items():
        found |= flat(value, f"{path}.{key}" if path else str(key))
    return found


def text_of(value: Any) -> str:
    """Return a value as somebody would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {text_of(inner)}' for key, inner in value.items())}}}"
    return "" if value is None else str(value)


def changed_values(old: dict[str, str], new: dict[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield (path, value there, value here); None where there is none."""
    for path in dict.fromkeys([*new, *old]):
        if old.get(path) != new.get(path):
            yield path, old.get(path), new.get(path)


def value_change(path: str, old: str | None, new: str | None, width: int) -> list[Line]:
    """Return one difference: ``runtime  300s -> 60s``."""
    name = path.removeprefix("params.").removesuffix(".default")
    before = [] if old is None else [(old, BAD if new is None else LABEL)]
    arrow = [(" → ", LABEL)] if old is not None and new is not None else []
    after = [] if new is None else [(new, GOOD)]
    return indented([(name, ACCENT), ("  ", TEXT), *before, *arrow, *after], width)


def text_changes(old: str, new: str, width: int) -> list[Line]:
    """Return the lines that differ between two texts, with a sign each."""
    found = []
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0):
        if line.startswith(("---", "+++", "@@")):
            continue
        role = GOOD if line.startswith("+") else BAD
        found.append(Line.of(*clip([(f"  {line[0]} {line[1:]}", role)], width)))
    return found


def job_of(profile: Profile) -> str:
    """Return the job file of a profile with its defaults; an empty text when it has none."""
    from tui.model.profile import resolve_params

    if profile.tool == SUITE:
        return ""
    return workloads.get(profile.tool).job_text(profile, resolve_params(profile, {}))


def counted(judged: Judged) -> str:
    """Return how much there is to say of a text, in words."""
    hints = f"{len(judged.hints)} {'hint' if len(judged.hints) == 1 else 'hints'}" if judged.hints else ""
    return count(judged.problems) if judged.problems else hints or "no problem"


def count(problems: Sequence[Problem]) -> str:
    """Return how many problems there are in words."""
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"

"""The editor's text: YAML with colours, problems, job file, differences."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.strip import Strip
from textual.widgets import TextArea

from tui import workloads
from tui.app.screens.profiles_text import place_of
from tui.app.screens.review_plan import job_files
from tui.app.terminal.theme import Symbols
from tui.metrics.units import plural
from tui.model.plain import printable_lines
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.tool import SUITE
from tui.model.yaml_text import load
from tui.text.line import (
    ACCENT,
    BAD,
    GOOD,
    LABEL,
    TEXT,
    TITLE,
    WARN,
    Line,
    clip,
    folded,
    heading,
    indented,
    labelled,
)

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import Catalogue, LoadedProfile
    from tui.model.plan import Plan
    from tui.model.profile import Profile

Span = tuple[int, int, str]
"""First column, end column (exclusive) and kind of a token."""

_TOKEN = re.compile(
    r"""
    (?P<comment>(?:^|(?<=\s))\#.*)
  | (?P<key>(?:"(?:[^"\\]|\\.)*"|'[^']*'
      |[^\s#{}\[\],:"'&*!|>-][^\s{}\[\],:"]*(?:\ [^\s#{}\[\],:"]+)*)(?=\s*:(?:\s|$)))
  | (?P<string>"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)
  | (?P<number>(?<![\w./:$\#-])\d[\d._]*(?:[a-zA-Z%]{1,3})?(?![\w/:$-]))
  | (?P<flag>(?<![\w./:$-])(?:true|false|yes|no|on|off|null|~)(?![\w./:$-]))
  | (?P<sign>[][{},]|:(?=\s|$)|(?:^|(?<=\s))-(?=\s|$))
  | (?P<word>[^\s{}\[\],:"'#]+)
    """,
    re.VERBOSE,
)
_PLACEHOLDER = re.compile(r"(?<!\{)\{[^{}\s]+\}(?!\})")
MAX_COLOURED = 2000  # characters of a line
# shown for a control character, which the file keeps
UNPRINTABLE = "?"


@functools.lru_cache(maxsize=1024)
def spans(line: str) -> tuple[Span, ...]:
    """Return the tokens of one line of YAML.

    Lines of multi-line strings are treated like any other.
    """
    found: list[Span] = []
    for match in _TOKEN.finditer(line[:MAX_COLOURED]):
        kind = match.lastgroup or ""
        if kind in ("number", "flag") and not stands_alone(line, match.start(), match.end()):
            continue
        if kind != "word":
            found.append((match.start(), match.end(), kind))
        if kind == "string":
            inner = _PLACEHOLDER.finditer(line, match.start(), match.end())
            found += [(each.start(), each.end(), "placeholder") for each in inner]
    return tuple(found)


def stands_alone(line: str, start: int, end: int) -> bool:
    """Return whether columns [start, end) of a line are a whole value, not a word in a text."""
    before, after = line[:start].rstrip(), line[end:].lstrip()
    return (not before or before[-1] in ":,[{-") and (not after or after[0] in ",]}#")


def token_end(line: str, column: int) -> int:
    """Return the end of the token at `column`, counted from 0; at least `column` + 1."""
    for match in _TOKEN.finditer(line):
        if match.start() <= column < match.end():
            return match.end()
    return min(column + 1, max(len(line), 1))


def indentation(line: str) -> str:
    """Return the indentation for the line after this one."""
    blanks = line[: len(line) - len(line.lstrip(" "))]
    bare = re.sub(r"\s#.*$", "", line).rstrip()
    if bare.lstrip(" ").startswith("- ") and bare.endswith(":"):
        return blanks + "    "
    return blanks + "  " if bare.endswith(":") else blanks


class YamlArea(TextArea):
    """A text area for YAML, which marks the places of problems."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"yaml--{kind}"
        for kind in (
            "comment",
            "key",
            "string",
            "number",
            "flag",
            "sign",
            "placeholder",
            "problem",
            "problem-gutter",
        )
    }
    DEFAULT_CSS = """
    YamlArea, YamlArea:focus {
        padding: 0;
        scrollbar-size-horizontal: 0;
        background: $background;
        color: $foreground;
        & .text-area--gutter { color: $dim; }
        & .text-area--cursor-gutter {
            color: $dim; background: $cursor-row-blurred; text-style: none;
        }
        & .text-area--cursor-line { background: $cursor-row-blurred; }
        & .text-area--selection { background: $input-selection-background; }
        & .text-area--matching-bracket { background: $edge; }
        & .yaml--comment { color: $dim; }
        & .yaml--key { color: $accent; }
        & .yaml--string { color: $series-4; }
        & .yaml--number { color: $series-2; }
        & .yaml--flag { color: $series-3; }
        & .yaml--sign { color: $dim; }
        & .yaml--placeholder { color: $series-3; text-style: bold; }
        & .yaml--problem { color: $bad; text-style: underline; }
        & .yaml--problem-gutter { color: $bad; text-style: bold; }
    }
    """

    def __init__(self, mark: str, cut_mark: str, **options: Any) -> None:
        super().__init__(soft_wrap=False, tab_behavior="indent", show_line_numbers=True, **options)
        self.problem_mark, self.cut_mark = mark, cut_mark
        self.problems: dict[int, list[int]] = {}  # columns from 0, by line from 0
        self.indent_width = 2
        self.cursor_blink = False

    def mark(self, problems: Iterable[Problem]) -> None:
        """Underline the places of problems."""
        found: dict[int, list[int]] = {}
        for problem in problems:
            if problem.line is not None:
                found.setdefault(problem.line - 1, []).append((problem.column or 1) - 1)
        if found != self.problems:
            self.problems = found
            self._line_cache.clear()
            self.refresh()

    def notify_style_update(self) -> None:
        """Drop drawn lines after a change of theme."""
        self._line_cache.clear()
        super().notify_style_update()

    def get_component_rich_style(
        self, *names: str, partial: bool = False, default: Style | None = None
    ) -> Style:
        """Return a style.

        The styles of the cursor line and of a matching bracket have no text colour, so the YAML's
        colours show through.
        """
        over = any(
            name in ("text-area--cursor-line", "text-area--matching-bracket") for name in names
        )
        return super().get_component_rich_style(*names, partial=partial or over, default=default)

    def get_line(self, line_index: int) -> Text:
        """Return one line with its colours.

        Control characters are replaced by visible marks.
        """
        line = super().get_line(line_index)
        text, line.plain = line.plain, printable_lines(line.plain, UNPRINTABLE)
        for start, end, kind in spans(line.plain):
            line.stylize(self.style_of(kind), start, end)
        for column in (each for each, char in enumerate(text) if char != line.plain[each]):
            line.stylize(self.style_of("problem"), column, column + 1)
        for column in self.problems.get(line_index, ()):
            if not line.plain[column:].startswith("#"):  # missing keys: at the first line
                line.stylize(self.style_of("problem"), column, token_end(line.plain, column))
        return line

    def style_of(self, kind: str) -> Style:
        """Return the Rich style of a kind of token, without the widget's background."""
        return self.get_component_rich_style(f"yaml--{kind}", partial=True)

    def render_line(self, y: int) -> Strip:
        """Return one line; the gutter marks a problem, and the last cell a truncated line."""
        strip = super().render_line(y)
        line = y + self.scroll_offset.y
        ground = next(iter(strip), Segment("")).style
        if line in self.problems and self.gutter_width:
            number = f"{self.problem_mark}{line + self.line_number_start:>{self.gutter_width - 2}} "
            text = f"{number[: self.gutter_width]:<{self.gutter_width}}"
            gutter = self._mark(text, "problem-gutter", ground)
            strip = Strip.join([gutter, strip.crop(self.gutter_width)])
        if self._is_cut(line):
            # without wrapping, Textual draws as many cells as the longest line has
            last = self.scrollable_content_region.width - 1
            strip = Strip.join([strip.crop(0, last), self._mark(self.cut_mark, "sign", ground)])
        return strip

    def _mark(self, text: str, kind: str, ground: Style | None) -> Strip:
        style = self.style_of(kind)
        return Strip([Segment(text, ground + style if ground else style)], len(text))

    def _is_cut(self, line: int) -> bool:
        """Return whether a line continues beyond the right edge."""
        if line >= self.document.line_count:
            return False
        room = self.scrollable_content_region.width - self.gutter_width + self.scroll_offset.x
        return cell_len(str(self.document.get_line(line))) > room

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.prevent_default()  # for the screen: Textual would focus the next widget
        elif event.key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            row, column = self.selection.start
            blanks = indentation(str(self.document.get_line(row))[:column])
            self._replace_via_keyboard("\n" + blanks, *self.selection)
        elif event.key == "backspace" and self.indents_back():
            event.stop()
            event.prevent_default()
            self.action_delete_left()
            if (self.cursor_location[1]) % self.indent_width:
                self.action_delete_left()

    def indents_back(self) -> bool:
        """Return whether only spaces precede the cursor: backspace then removes a whole indent."""
        row, column = self.cursor_location
        before = str(self.document.get_line(row))[:column]
        return self.selection.is_empty and bool(before) and not before.strip(" ")

    def put(self, text: str) -> None:
        """Replace the whole text as one undoable edit.

        The cursor stays where it is.
        """
        old = self.text
        if old == text:
            return
        start = next(
            (i for i, (a, b) in enumerate(zip(old, text, strict=False)) if a != b),
            min(len(old), len(text)),
        )
        room = min(len(old), len(text)) - start
        tail = next((i for i in range(room) if old[-1 - i] != text[-1 - i]), room)
        place = self.cursor_location
        self.replace(
            text[start : len(text) - tail], location_of(old, start),
            location_of(old, len(old) - tail),
            maintain_selection_offset=False,
        )  # fmt: skip
        self.move_cursor(self.clamp_visitable(place))


def location_of(text: str, offset: int) -> tuple[int, int]:
    """Return (line, column), from 0, of the character at `offset`."""
    before = text[:offset]
    return before.count("\n"), offset - (before.rfind("\n") + 1)


INDENT = 8
STEPS_SHOWN = 6
EVERYWHERE = ("profile", "version", "extends")


@dataclass(frozen=True, slots=True)
class LoadedText:
    """A text loaded as a profile, or its problems.

    `base`: the profile that it extends, or the preset with its name.
    """

    text: str
    problems: list[Problem] = field(default_factory=list)
    loaded: LoadedProfile | None = None
    base: Profile | None = None
    hints: list[Problem] = field(default_factory=list)  # settings without effect: not errors
    extended: LoadedProfile | None = None  # of a text with problems: the profile that it extends


def judge(catalogue: Catalogue, text: str, path: Path) -> LoadedText:
    """Load a text as a profile.

    Other files are read only if the text extends or contains them, or replaces a preset.
    """
    try:
        loaded = catalogue.load_text(text, path)
        return LoadedText(
            text,
            [],
            loaded,
            base_of(catalogue, loaded),
            [own_place(hint, path) for hint in loaded.hints],
        )
    except UsageError as error:
        problems = [own_place(problem, path) for problem in error.problems]
        return LoadedText(text, problems, extended=extended_by(catalogue, text))


def extended_by(catalogue: Catalogue, text: str) -> LoadedProfile | None:
    """Return the profile that a text extends; None if it cannot be loaded."""
    with suppress(BenchtuiError):
        tag = load(text, "").data.get("extends")
        return catalogue.load(tag) if isinstance(tag, str) else None
    return None


def own_place(problem: Problem, path: Path) -> Problem:
    """Return a problem in another file as a problem in the first line of this text.

    Its own line number is about the other file.
    """
    return problem if problem.file in (None, str(path)) else Problem(str(problem), str(path), 1, 1)


def base_of(catalogue: Catalogue, loaded: LoadedProfile) -> Profile | None:
    """Return the profile that a profile extends, or the preset that it replaces.

    None if there is neither.
    """
    if loaded.bases:
        tag, text = loaded.bases[0]
        return catalogue.load_text(text, Path(tag)).profile
    from tui.model.paths import presets_dir

    twin = presets_dir() / f"{loaded.profile.profile}.yaml"
    return (
        catalogue.load_file(twin, preset=True).profile
        if twin.is_file() and twin != loaded.path
        else None
    )


def first_place(text: str) -> tuple[int, int]:
    """Return the initial cursor position: the first line that is neither empty nor a comment."""
    lines = text.split("\n")
    return (
        next((index for index, line in enumerate(lines) if line and not line.startswith("#")), 0),
        0,
    )


# -- problems


def next_problem(problems: Iterable[Problem], after: tuple[int, int]) -> tuple[int, int] | None:
    """Return the place of the next problem after a place, otherwise of the first problem.

    Lines and columns count from 0. None without problems.
    """
    places = sorted({((problem.line or 1) - 1, (problem.column or 1) - 1) for problem in problems})
    return next((place for place in places if place > after), places[0] if places else None)


def problem_lines(judged: LoadedText, here: int, symbols: Symbols, width: int) -> list[Line]:
    """Return every problem with its place; problems in line `here` are bright."""
    if not judged.problems:
        hints = (problem_text(hint, here, symbols, width, symbols.warn) for hint in judged.hints)
        verdict = Line.of(*clip([(f"{symbols.ok} ", GOOD), (sound(judged), LABEL)], width))
        return [*(line for each in hints for line in each), verdict]
    return [
        line for problem in judged.problems for line in problem_text(problem, here, symbols, width)
    ]


def problem_text(
    problem: Problem, here: int, symbols: Symbols, width: int, sign: str = ""
) -> list[Line]:
    """Return one problem: the error bright, allowed values dim.

    `sign` marks a hint.
    """
    found, semicolon, allowed = problem.message.partition("; ")
    value = [(found, TITLE if problem.line == here else TEXT), (semicolon + allowed, LABEL)]
    mark = (sign, WARN) if sign else (symbols.bad, BAD)
    return labelled([mark, (f" {place_of(problem)}", LABEL)], value, width, INDENT)


def sound(judged: LoadedText) -> str:
    """Return one line on a profile without problems."""
    if judged.loaded is None:
        return ""
    from tui.engine.inputs.profiles import headline_text

    profile = judged.loaded.profile
    params = f", {plural(len(profile.params), 'parameter')}" if profile.params else ""
    base = f", extends {profile.extends}" if profile.extends else ""
    return f"{profile.profile}: {headline_text(profile)}{params}{base}"


# -- the job file


def job_lines(
    judged: LoadedText,
    last_good: LoadedProfile | None,
    plan_of: Callable[[LoadedProfile], Plan],
    width: int,
) -> list[Line]:
    """Return a text's job files.

    While the text has problems, return dimmed job files of `last_good` or of the profile that the
    text extends.
    """
    from msgspec.structs import replace

    shown = judged.loaded or last_good or judged.extended
    if shown is None:
        text = "No job file: the profile has problems, listed below" if judged.problems else ""
        return indented([(text, LABEL)], width, 0)
    try:
        plan = plan_of(shown)
    except BenchtuiError as error:
        return indented([(str(error), BAD)], width, 0)
    lines = job_files(replace(plan, steps=plan.steps[:STEPS_SHOWN]))
    more = len(plan.steps) - STEPS_SHOWN
    lines += [Line.of((f"and {plural(more, 'more step')}", LABEL))] if more > 0 else []
    lines = [part for line in lines for part in folded(line, width)]
    if judged.loaded is not None:
        return lines
    whose = "its last valid version" if last_good is not None else "the profile it extends"
    why = f"text has problems; this is {whose}"
    dimmed = (Line.of(*((text, LABEL) for text, _ in line.runs)) for line in lines)
    return [*indented([(why, WARN)], width, 0), Line(), *dimmed]


def job_title(judged: LoadedText, last_good: LoadedProfile | None) -> str:
    """Return the title above the job files that `job_lines` returns; it names their origin."""
    if judged.loaded is not None:
        return "Job file"
    if last_good is not None:
        return "Job file (last valid version)"
    return f"Job file of {judged.extended.profile.profile}" if judged.extended else "Job file"


# -- differences


def difference(judged: LoadedText, saved: str, width: int) -> list[Line]:
    """Return the differences from the base profile, then the unsaved changes."""
    lines: list[Line] = []
    profile = judged.loaded.profile if judged.loaded else None
    if profile is None:
        lines.append(Line.of(("Not a profile yet: see the problems below", LABEL)))
    elif judged.base is None:
        lines += indented(
            [("Extends no profile. To extend one, add a line 'extends: family/name'.", LABEL)],
            width,
            0,
        )
    else:
        lines += from_base(profile, judged.base, width)
    if judged.text != saved:
        lines += [Line(), heading("not saved"), *text_changes(saved, judged.text, width)]
    return lines


def from_base(profile: Profile, base: Profile, width: int) -> Iterator[Line]:
    """Yield the differences between a profile and its base, and between their job files."""
    yield heading(f"{profile.profile} compared with {base.profile}")
    changes = list(changed_values(flat(plain(base)), flat(plain(profile))))
    for path, old, new in changes:
        yield from value_change(path, old, new, width)
    if not changes:
        yield Line.of(("  no differences", LABEL))
    if jobs := text_changes(job_of(base), job_of(profile), width):
        yield from (Line(), heading("in the job file"), *jobs)


def plain(profile: Profile) -> dict[str, Any]:
    """Return the data of a profile without name, version and base."""
    data = profile.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {key: value for key, value in data.items() if key not in EVERYWHERE}


def flat(data: Any, path: str = "") -> dict[str, str]:
    """Return values by dotted path; a list is a single value."""
    if not isinstance(data, dict):
        return {path: text_of(data)}
    found: dict[str, str] = {}
    for key, value in data.items():
        found |= flat(value, f"{path}.{key}" if path else str(key))
    return found


def text_of(value: Any) -> str:
    """Return a value as YAML text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {text_of(inner)}' for key, inner in value.items())}}}"
    return "" if value is None else str(value)


def changed_values(
    old: dict[str, str], new: dict[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield (path, old value, new value) of changed values; None for a missing value."""
    for path in dict.fromkeys([*new, *old]):
        if old.get(path) != new.get(path):
            yield path, old.get(path), new.get(path)


def value_change(path: str, old: str | None, new: str | None, width: int) -> list[Line]:
    """Return one changed value: ``runtime 300s -> 60s``."""
    name = path.removeprefix("params.").removesuffix(".default")
    before = [] if old is None else [(old, BAD if new is None else LABEL)]
    arrow = [(" → ", LABEL)] if old is not None and new is not None else []
    after = [] if new is None else [(new, GOOD)]
    return indented([(name, ACCENT), ("  ", TEXT), *before, *arrow, *after], width)


def text_changes(old: str, new: str, width: int) -> list[Line]:
    """Return the lines that differ between two texts, with a sign before each."""
    found = []
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0):
        if line.startswith(("---", "+++", "@@")):
            continue
        role = GOOD if line.startswith("+") else BAD
        found.append(Line.of(*clip([(f"  {line[0]} {line[1:]}", role)], width)))
    return found


def job_of(profile: Profile) -> str:
    """Return the job file of a profile with its defaults; empty if it has no job file."""
    from tui.model.profile import resolve_params

    if profile.tool == SUITE:
        return ""
    return workloads.get(profile.tool).job_text(profile, resolve_params(profile, {}))


def counted(judged: LoadedText) -> str:
    """Return the number of problems as text, or the number of hints if there are no problems."""
    if judged.problems:
        return count(judged.problems)
    return plural(len(judged.hints), "hint") if judged.hints else "no problems"


def count(problems: Sequence[Problem]) -> str:
    """Return the number of problems as text."""
    return plural(len(problems), "problem")

"""A text area for YAML: colours by our own few rules, problems marked where they are, indentation that follows.

Textual highlights with tree-sitter, a compiled package of several megabytes; a profile needs keys, words, numbers,
comments and placeholders told apart, which one expression a line does.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.strip import Strip
from textual.widgets import TextArea

from tui.model.plain import printable_lines
from tui.model.problem import Problem

Span = tuple[int, int, str]
"""First and last column (end exclusive) and the kind of what stands there."""

_TOKEN = re.compile(
    r"""
    (?P<comment>(?:^|(?<=\s))\#.*)
  | (?P<key>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#{}\[\],:"'&*!|>-][^\s{}\[\],:"]*(?:\ [^\s#{}\[\],:"]+)*)(?=\s*:(?:\s|$)))
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
UNPRINTABLE = "?"  # stands where a control character is: the file keeps it, the terminal is not sent it


@functools.lru_cache(maxsize=1024)
def spans(line: str) -> tuple[Span, ...]:
    """Return what stands in one line of YAML. Texts over several lines are taken for plain ones."""
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
    """Return whether these columns are a whole value, and not a word of a text."""
    before, after = line[:start].rstrip(), line[end:].lstrip()
    return (not before or before[-1] in ":,[{-") and (not after or after[0] in ",]}#")


def token_end(line: str, column: int) -> int:
    """Return where what begins at `column` (from 0) ends; at least one column further."""
    for match in _TOKEN.finditer(line):
        if match.start() <= column < match.end():
            return match.end()
    return min(column + 1, max(len(line), 1))


def indentation(line: str) -> str:
    """Return the blanks that the line after this one begins with."""
    blanks = line[: len(line) - len(line.lstrip(" "))]
    bare = re.sub(r"\s#.*$", "", line).rstrip()
    if bare.lstrip(" ").startswith("- ") and bare.endswith(":"):
        return blanks + "    "
    return blanks + "  " if bare.endswith(":") else blanks


class YamlArea(TextArea):
    """Edits YAML. `mark` shows where problems are."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"yaml--{kind}"
        for kind in ("comment", "key", "string", "number", "flag", "sign", "placeholder", "problem", "problem-gutter")
    }
    DEFAULT_CSS = """
    YamlArea, YamlArea:focus {
        padding: 0;
        scrollbar-size-horizontal: 0;
        background: $background;
        color: $foreground;
        & .text-area--gutter { color: $dim; }
        & .text-area--cursor-gutter { color: $dim; background: $cursor-row-blurred; text-style: none; }
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

    def __init__(self, mark: str, **options: Any) -> None:
        super().__init__(soft_wrap=False, tab_behavior="indent", show_line_numbers=True, **options)
        self.problem_mark = mark
        self.problems: dict[int, list[int]] = {}  # columns from 0, by line from 0
        self.indent_width = 2
        self.cursor_blink = False

    def mark(self, problems: Iterable[Problem]) -> None:
        """Underline what these problems are about."""
        found: dict[int, list[int]] = {}
        for problem in problems:
            if problem.line is not None:
                found.setdefault(problem.line - 1, []).append((problem.column or 1) - 1)
        if found != self.problems:
            self.problems = found
            self._line_cache.clear()
            self.refresh()

    def notify_style_update(self) -> None:
        """The theme may be another one."""
        self._line_cache.clear()
        super().notify_style_update()

    def get_component_rich_style(self, *names: str, partial: bool = False, default: Style | None = None) -> Style:
        """Return a style; those laid over the text leave its colours alone."""
        over = any(name in ("text-area--cursor-line", "text-area--matching-bracket") for name in names)
        return super().get_component_rich_style(*names, partial=partial or over, default=default)

    def get_line(self, line_index: int) -> Text:
        """Return one line with its colours; in place of each character that controls a terminal stands a mark."""
        line = super().get_line(line_index)
        text, line.plain = line.plain, printable_lines(line.plain, UNPRINTABLE)
        for start, end, kind in spans(line.plain):
            line.stylize(self.style_of(kind), start, end)
        for column in (each for each, char in enumerate(text) if char != line.plain[each]):
            line.stylize(self.style_of("problem"), column, column + 1)
        for column in self.problems.get(line_index, ()):
            if not line.plain[column:].startswith("#"):  # what is missing is said of the first line
                line.stylize(self.style_of("problem"), column, token_end(line.plain, column))
        return line

    def style_of(self, kind: str) -> Style:
        """Return the Rich style of one kind, without the widget's own background."""
        return self.get_component_rich_style(f"yaml--{kind}", partial=True)

    def render_line(self, y: int) -> Strip:
        """Put a mark before a line with a problem."""
        strip = super().render_line(y)
        line = y + self.scroll_offset.y
        if line not in self.problems or not self.gutter_width:
            return strip
        style = self.style_of("problem-gutter")
        number = f"{self.problem_mark}{line + self.line_number_start:>{self.gutter_width - 2}} "[: self.gutter_width]
        text = f"{number:<{self.gutter_width}}"
        ground = next(iter(strip), Segment("")).style
        gutter = Strip([Segment(text, ground + style if ground else style)], self.gutter_width)
        return Strip.join([gutter, strip.crop(self.gutter_width)])

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.prevent_default()  # the screen's: Textual would go to the next widget
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
        """Whether only blanks stand before the cursor: a step of indentation goes at once."""
        row, column = self.cursor_location
        before = str(self.document.get_line(row))[:column]
        return self.selection.is_empty and bool(before) and not before.strip(" ")

    def put(self, text: str) -> None:
        """Change the text to another one as one edit that can be undone; the cursor stays where it is."""
        old = self.text
        if old == text:
            return
        start = next((i for i, (a, b) in enumerate(zip(old, text, strict=False)) if a != b), min(len(old), len(text)))
        room = min(len(old), len(text)) - start
        tail = next((i for i in range(room) if old[-1 - i] != text[-1 - i]), room)
        place = self.cursor_location
        self.replace(
            text[start : len(text) - tail], location_of(old, start), location_of(old, len(old) - tail),
            maintain_selection_offset=False,
        )  # fmt: skip
        self.move_cursor(self.clamp_visitable(place))


def location_of(text: str, offset: int) -> tuple[int, int]:
    """Return (line, column) from 0 of a character."""
    before = text[:offset]
    return before.count("\n"), offset - (before.rfind("\n") + 1)

"""Lines of styled runs, with the role of each run; bars inside a line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from tui.model.plain import printable

Run = tuple[str, str]
"""A text and its role.

A role is the name of a screen style, optionally with ``*60`` for 60 % of its strength, ``~`` for
reverse video, or ``a/b`` for the colour of `a` on that of `b`.
"""

TEXT, VALUE, LABEL, FAINT = "text", "value", "label", "faint"
BRIGHT, TITLE, HEADING, ACCENT = "bright", "title", "heading", "accent"
GOOD, WARN, BAD = "good", "warn", "bad"
SEVERITY_MARKS: dict[str, Run] = {"info": ("·", LABEL), "warning": ("!", WARN), "error": ("✗", BAD)}

_NARROW = re.compile(r"[ -~\xa1-\xac\xae-ʯ–—…→↑←↓≤≥±µ─-▿✓✗◆⠀-⣿]*")
# a value and its unit are one word
_WORD = re.compile(r"\s*(?:\S*\d (?:%|[nµm]?s|[KMGT]i?B(?:/s)?|[kM]?IOPS)(?!\w)\S*|\S+)")
_PIECE = re.compile(r"[^\s:/,;]*[\s:/,;]+|[^\s:/,;]+")


def width_of(text: str) -> int:
    """Return the width of a text in cells, as the screens compute it for wide and combining
    characters.
    """
    if _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len  # loads Unicode tables; plain ASCII does not need them

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """Truncate or pad a text to exactly `width` cells; half a wide character becomes a blank."""
    if _NARROW.fullmatch(text):
        return text[: max(width, 0)].ljust(width)
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Truncate a text with an ellipsis, or pad it, to exactly `width` cells."""
    if width <= 0:
        return ""
    taken = width_of(text)
    if taken > width:
        return cut(cut(text, width - 1).rstrip() + "…", width)
    return " " * (width - taken) + text if right else text + " " * (width - taken)


class Line(Struct, frozen=True):
    """One row: runs from left to right, and optionally the role of the row's background."""

    runs: tuple[Run, ...] = ()
    fill: str = ""

    @classmethod
    def of(cls, *runs: Run, fill: str = "") -> Line:
        """Return a line of these runs, empty ones left out."""
        return cls(tuple(run for run in runs if run[0]), fill)

    @property
    def width(self) -> int:
        """Width of the runs in cells."""
        return width_of_runs(self.runs)

    @property
    def plain(self) -> str:
        """The text without roles."""
        return "".join(text for text, _ in self.runs)


def width_of_runs(runs: Iterable[Run]) -> int:
    """Return the width of runs in cells."""
    return sum(width_of(text) for text, _ in runs)


def plain_lines(lines: Iterable[Line]) -> list[str]:
    """Return lines as plain text, without trailing blanks."""
    return [line.plain.rstrip() for line in lines]


def clip(runs: Sequence[Run], width: int) -> list[Run]:
    """Truncate the runs, with an ellipsis, to at most `width` cells."""
    kept: list[Run] = []
    room = width
    for text, role in runs:
        if room <= 0:
            break
        taken = width_of(text)
        kept.append((text if taken <= room else fit(text, room), role))
        room -= min(taken, room)
    return kept


def with_cell(runs: Sequence[Run], at: int, cell: Run) -> list[Run]:
    """Replace one cell of the runs, at index `at`.

    All characters must be one cell wide.
    """
    kept: list[Run] = []
    for text, role in runs:
        before, after = text[: max(0, at)], text[max(0, at + 1) :]
        kept += [(before, role), cell, (after, role)] if 0 <= at < len(text) else [(text, role)]
        at -= len(text)
    return [run for run in kept if run[0]]


def padded(runs: Sequence[Run], width: int, *, right: bool = False) -> list[Run]:
    """Truncate runs with an ellipsis, or pad them, to exactly `width` cells."""
    kept = clip(runs, width)
    blank: Run = (" " * (width - width_of_runs(kept)), TEXT)
    return [blank, *kept] if right else [*kept, blank]


def spread(
    left: Sequence[Run], right: Sequence[Run], width: int, filler: str = " ", role: str = TEXT
) -> list[Run]:
    """Return `left` and, flush right, `right`, with `filler` between them.

    `right` is dropped if there is no room for both.
    """
    room = width - width_of_runs(left) - width_of_runs(right)
    if room < 1 and right:
        return spread(left, (), width, filler, role)
    if room < 0:
        return clip(left, width)
    return [*left, (filler * room, role), *right]


def beside(left: Sequence[Line], right: Sequence[Line], at: int) -> list[Line]:
    """Return two sets of lines side by side; `right` starts at cell `at`."""
    pairs = zip_longest(left, right, fillvalue=Line())
    return [
        Line.of(*a.runs, (" " * (at - a.width), TEXT), *b.runs) if b.runs else a for a, b in pairs
    ]


def heading(text: str) -> Line:
    """Return the heading of a section."""
    return Line.of((text, HEADING))


def rule(title: str, tail: str, width: int) -> Line:
    """Return a section heading: a title, a thin line, and a tail flush right."""
    left: list[Run] = [(title, TITLE), (" ", FAINT)]
    room = width - width_of_runs(left) - width_of(tail)
    if room < 0:
        return Line.of(*clip([*left, (tail, LABEL)], width))
    lead = len(tail) - len(tail.lstrip())
    line = "─" * max(room + lead - 1, 0)
    return Line.of(*left, (line + " " * (room + lead - len(line)), FAINT), (tail.lstrip(), LABEL))


def key_rule(title: str, keys: Sequence[tuple[str, str]], width: int) -> Line:
    """Return a section heading with keys flush right, each with its action."""
    tail: list[Run] = [(" ", TEXT)]
    for at, (key, does) in enumerate(keys):
        tail += [("  " if at else "", TEXT), (key, ACCENT), (f" {does}", LABEL)]
    return Line.of(*spread([(title, TITLE), (" ", TEXT)], tail, width, "─", FAINT))


def spaced(lines: Sequence[Line], room: int) -> list[Line]:
    """Insert an empty line above each heading that is not the first line, as long as the lines
    fit into `room`.
    """
    found: list[Line] = []
    spare = room - len(lines)
    for line in lines:
        if found and spare > 0 and line.runs and line.runs[0][1] == TITLE:
            found.append(Line())
            spare -= 1
        found.append(line)
    return found


# -- wrapped text


def wrap(runs: Sequence[Run], width: int) -> list[tuple[Run, ...]]:
    """Wrap runs at word boundaries, but not between a value and its unit.

    A word longer than the line is broken.
    """
    text = "".join(part for part, _ in runs)
    spans = [
        (start + a, start + b)
        for start, part in _paragraphs(text)
        for a, b in _broken(part, max(1, width))
    ]
    return [_slice(runs, start, end) for start, end in spans]


def _paragraphs(text: str) -> list[tuple[int, str]]:
    """Return a text's lines and the position where each begins."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [(start, text[start:].partition("\n")[0]) for start in starts]


def _broken(text: str, width: int) -> list[tuple[int, int]]:
    """Return the first and end position of each wrapped line of a paragraph."""
    spans: list[tuple[int, int]] = []
    start = end = 0
    for word in _WORD.finditer(text):
        if width_of(text[start : word.end()]) > width:
            if end > start:
                spans.append((start, end))
                start = word.end() - len(word[0].lstrip())
            while width_of(text[start : word.end()]) > width:
                fits = (
                    at
                    for at in range(word.end(), start + 1, -1)
                    if width_of(text[start:at]) <= width
                )
                spans.append((start, next(fits, start + 1)))
                start = spans[-1][1]
        end = word.end()
    return [*spans, (start, end)] if end > start or not spans else spans


_HELD = "\ue000"  # a blank inside an option and its value, while a command is wrapped


def command_lines(words: Sequence[str], width: int) -> list[Line]:
    """Return a command as it is typed, indented, broken only before an option or an operand, with
    backslashes, so that it can be pasted.
    """
    pieces: list[str] = []
    for word in words:
        quoted = printable(shlex.quote(word)).replace(" ", _HELD)
        last = pieces[-1] if pieces else ""
        takes_value = last.startswith("-") and not {"=", _HELD} & set(last)
        if takes_value and not word.startswith("-"):
            pieces[-1] += _HELD + quoted
        else:
            pieces.append(quoted)
    runs = [(" ".join(pieces), TEXT)]
    parts = wrap(runs, max(width - 4, 10)) or [()]
    parts = parts if len(parts) == 1 else wrap(runs, max(width - 6, 10))
    return [
        Line.of(
            ("    " if at else "  ", TEXT),
            *((text.replace(_HELD, " "), role) for text, role in part),
            (" \\" if at < len(parts) - 1 else "", LABEL),
        )
        for at, part in enumerate(parts)
    ]


FOLD_INDENT = 2


def folded(line: Line, width: int) -> list[Line]:
    """Break a line that is too long after a separator: a blank, ``:``, ``/``, ``,`` or ``;``.

    Further lines are indented. A piece longer than a line is broken where the line ends.
    """
    text, spans, start, end, room = line.plain, [], 0, 0, max(width, FOLD_INDENT + 1)
    if line.width <= width:
        return [line]
    for piece in _PIECE.finditer(text):
        if width_of(text[start : piece.end()].rstrip()) > room and end > start:
            spans.append((start, end))
            start, room = end, max(width - FOLD_INDENT, 1)
        while width_of(text[start : piece.end()].rstrip()) > room:
            spans.append((start, start + room))
            start, room = start + room, max(width - FOLD_INDENT, 1)
        end = piece.end()
    first, *more = [_slice(line.runs, *span) for span in (*spans, (start, len(text)))]
    return [Line.of(*first), *(Line.of((" " * FOLD_INDENT, TEXT), *part) for part in more if part)]


def _slice(runs: Sequence[Run], start: int, end: int) -> tuple[Run, ...]:
    """Return the runs that contain the characters `start` to `end` of the whole text."""
    kept: list[Run] = []
    place = 0
    for text, role in runs:
        part = text[max(0, start - place) : max(0, end - place)]
        kept += [(part, role)] if part else []
        place += len(text)
    return tuple(kept)


def whole_names(names: Sequence[str], width: int, between: str) -> str:
    """Return as many names as fit, none of them truncated, and the number of others: ``a, b, +4``.

    If not even the first name fits, it is truncated, without the number.
    """
    for count in range(len(names), 0, -1):
        rest = [f"+{len(names) - count}"] if count < len(names) else []
        text = between.join([*names[:count], *rest])
        if width_of(text) <= width:
            return text
    return fit(names[0], width) if names else ""


def packed(items: Iterable[Sequence[Run]], width: int) -> list[Line]:
    """Return items in as few lines as possible, without breaking an item."""
    lines: list[list[Run]] = []
    for item in items:
        if lines and width_of_runs([*lines[-1], *item]) + 2 <= width:
            lines[-1] += [("  ", TEXT), *item]
        else:
            lines.append(list(item))
    return [Line.of(*runs) for runs in lines]


def labelled(
    label: Sequence[Run], runs: Sequence[Run], width: int, indent: int | None = None
) -> list[Line]:
    """Return a label with a text beside it, or below it if the label is too long.

    Wrapped lines are indented by `indent`, by default the width of the label.
    """
    taken = width_of_runs(label)
    under = taken if indent is None else indent
    first, *more = wrap(runs, max(width - under, 10)) or [()]
    below = [Line.of((" " * under, TEXT), *part) for part in more]
    if taken > under:
        return [Line.of(*label), Line.of((" " * under, TEXT), *first), *below]
    return [Line.of(*label, (" " * (under - taken), TEXT), *first), *below]


def paired(facts: Iterable[tuple[str, Run]], width: int, gutter: int = 3) -> list[Line]:
    """Return facts, their names in a column and their texts beside them; two short ones that
    follow each other share a line.
    """
    facts = list(facts)
    names = max((width_of(name) for name, _ in facts), default=0) + 2
    half = (width - gutter) // 2
    lines: list[Line] = []
    waiting: list[Run] = []
    for name, text in facts:
        cell: list[Run] = [(fit(name, names), LABEL), text]
        is_short = width_of_runs(cell) <= half
        if waiting and is_short:
            lines.append(Line.of(*padded(waiting, half + gutter), *cell))
            waiting = []
            continue
        lines += [Line.of(*waiting)] if waiting else []
        lines += [] if is_short else labelled(cell[:1], cell[1:], width)
        waiting = cell if is_short else []
    return [*lines, Line.of(*waiting)] if waiting else lines


def indented(runs: Sequence[Run], width: int, indent: int = 2) -> list[Line]:
    """Return an indented text, its wrapped lines indented slightly more."""
    first, *more = wrap(runs, max(width - indent - 2, 10)) or [()]
    return [
        Line.of((" " * indent, TEXT), *first),
        *(Line.of((" " * (indent + 2), TEXT), *part) for part in more),
    ]


MARKS = {"braille": ("╺", "━", "╸"), "block": ("▐", "█", "▌"), "ascii": ("", "#", "")}
"""Start, fill and end of a bar, by symbol set.

Without half cells, lengths are rounded to whole cells.
"""
REACHES = (0.2, 0.5, 1.0)


def reach_of(widest: float) -> float:
    """Return the deviation that fills a bar, at most 100 %.

    It is the smallest step that covers the largest deviation.
    """
    return next((reach for reach in REACHES if widest <= reach), REACHES[-1])


def diverging(
    share: float | None,
    reach: float,
    role: str,
    symbols: Literal["braille", "block", "ascii"],
) -> list[Run]:
    """Return a bar from a thin middle line: negative shares to the left, positive to the right.

    The bar takes 9 cells; `reach` is the share that fills one half. Without a share, the cells are
    blank.
    """
    half = 4
    start, full, end = MARKS[symbols]
    cells = min(1.0, abs(share or 0.0) / reach) * half
    whole, rest = divmod(round(cells * 2), 2) if start else (round(cells), 0)
    below = share is not None and share < 0
    bar = (start * rest + full * whole) if below else (full * whole + end * rest)
    blank: Run = (" " * (half - len(bar)), TEXT)
    empty: Run = (" " * half, TEXT)
    axis: Run = ("│" if share is not None else " ", FAINT)
    return [blank, (bar, role), axis, empty] if below else [empty, axis, (bar, role), blank]


LEAST_BEGUN = 3  # lines of a block, heading included; fewer visible ones say nothing


def whole_heads(lines: list[Line], rows: int) -> list[Line]:
    """Insert blank lines so that no block begins in the last two of the `rows` visible lines, but
    below them.
    """
    if len(lines) <= rows or not lines[rows].plain.strip():
        return lines
    for row in range(rows - 1, max(0, rows - LEAST_BEGUN), -1):
        runs = lines[row].runs
        if runs and (runs[0][1] == "title" or not lines[row - 1].plain.strip()):
            return [*lines[:row], *[Line()] * (rows - row), *lines[row:]]
    return lines

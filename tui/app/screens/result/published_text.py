"""A run beside published figures, as lines: rows first, then what differs, is unknown, is doubtful."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tui.app.widgets.lines import LABEL, TEXT, VALUE, Line, Run, fit, spread
from tui.app.widgets.percentiles import rule

if TYPE_CHECKING:
    from tui.results.baselines.text import Note, Row, View

WIDTHS = (14, 11, 15, 11)  # figure, ours, published, ratio
TITLES = ("figure", "ours", "published", "ratio")
MOST_LABEL, NOTE_WIDTH = 44, 12
NOTE_KEYS = {"badge": "warn", "doubt": "warn", "error": "bad"}
MARK_KEYS = {"ok": TEXT, "doubtful": "warn", "error": "bad"}


def hint_lines(view: View | None, width: int) -> list[Line]:
    """Return the line of the result page that says what there is to compare with; nothing when there is nothing."""
    if view is None:
        return []
    said = " · ".join(note.text for note in view.notes if note.kind == "badge" and not note.numbers)
    left: list[Run] = [("Published", "title"), (" ", TEXT), (view.title, TEXT), (f"  {said}" if said else "", LABEL)]
    return [Line.of(*spread(left, [("v", "accent"), (" compares", LABEL)], width)), Line()]


def published_lines(view: View | None, tag: str, width: int) -> list[Line]:
    """Return the page of published figures: whether they can be compared stands above them."""
    if view is None:
        text = f"no published figures for {tag}; files in your baselines folder add some"
        return [rule("Published", "v goes back", width), *_wrapped([], text, width)]
    lines = [rule(f"Published: {view.title}", "v goes back", width)]
    lines += [line for note in view.badges for line in note_lines(note, width)]
    if view.rows:
        cells = "".join(_cell(*part, place) for place, part in enumerate(zip(TITLES, WIDTHS, strict=True)))
        name = f"{'':{view.number_width}} baseline"
        lines.append(Line.of((fit(name, label_width(width)), LABEL), (cells, LABEL)))
    lines += [row_line(row, view.number_width, width) for row in view.rows]
    return [*lines, Line(), *(line for note in view.remarks for line in note_lines(note, width))]


def label_width(width: int) -> int:
    """Return the room for a baseline's name: figures stay near it on wide terminals."""
    return min(width - sum(WIDTHS), MOST_LABEL)


def row_line(row: Row, number_width: int, width: int) -> Line:
    """Return one figure: which baseline, ours, theirs, the ratio."""
    number = f"{row.number or '':>{number_width}} "
    key = MARK_KEYS[row.validity]
    figure, ours, theirs, ratio = WIDTHS
    return Line.of(
        (fit(number + row.label, label_width(width)), TEXT),
        (_cell(row.figure, figure, 0), LABEL),
        (_cell(row.ours, ours, 1), VALUE),
        (_cell(row.theirs, theirs, 2), key),
        (_cell(row.ratio, ratio, 3), TEXT),
    )


def _cell(text: str, width: int, place: int) -> str:
    return f"{text:<{width}}" if place == 0 else f"{text:>{width}}"


def note_lines(note: Note, width: int) -> list[Line]:
    """Return a note with its label in a column of its own."""
    return _wrapped([(f"{note.label:<{NOTE_WIDTH}} ", NOTE_KEYS.get(note.kind, LABEL))], note.text, width, note.kind)


def _wrapped(label: list[Run], text: str, width: int, kind: str = "") -> list[Line]:
    """Return a text in as many lines as it needs, the label before the first."""
    indent = sum(len(part) for part, _ in label)
    parts = textwrap.wrap(text, max(10, width - indent), break_on_hyphens=False) or [""]
    key = "warn" if kind == "badge" else TEXT
    first = Line.of(*label, (parts[0], key))
    under = min(indent, NOTE_WIDTH + 1)
    return [first, *(Line.of((" " * under, TEXT), (part, key)) for part in parts[1:])]

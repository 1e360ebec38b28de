"""A run beside published figures, as lines: rows first, then what differs, is unknown, is doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.text.line import LABEL, TEXT, Line, Run, labelled, rule, spread

if TYPE_CHECKING:
    from tui.results.baselines.text import Note, View

NOTE_WIDTH, MOST_NOTE_WIDTH = 12, 20
NOTE_KEYS = {"badge": "warn", "doubt": "warn", "error": "bad"}


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
        return [rule("Published", "v goes back", width), *labelled([], [(text, TEXT)], width)]
    lines = [rule(f"Published: {view.title}", "v goes back", width)]
    column = max((len(note.label) for note in (*view.badges, *view.remarks)), default=0)
    column = min(max(column, NOTE_WIDTH), MOST_NOTE_WIDTH)
    lines += [line for note in view.badges for line in note_lines(note, width, column)]
    lines += view.table(width)
    return [*lines, Line(), *(line for note in view.remarks for line in note_lines(note, width, column))]


def note_lines(note: Note, width: int, column: int = NOTE_WIDTH) -> list[Line]:
    """Return a note with its label in a column of its own."""
    label: Run = (f"{note.label:<{column}} ", NOTE_KEYS.get(note.kind, LABEL))
    return labelled([label], [(note.text, "warn" if note.kind == "badge" else TEXT)], width, column + 1)

"""What the screens say of a metadata benchmark: its phase of now, and operations per second of each iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics import units
from tui.text.line import FAINT, LABEL, TEXT, VALUE, Line, Run, clip, fit

if TYPE_CHECKING:
    from tui.journal.metadata import MetadataView
    from tui.model.step_record import MetadataRecord

NAME = 15
CELL = 10
COLOURS = {"create": "write", "stat": "read", "read": "read", "remove": "other"}
PHASES = ("create", "stat", "read", "remove")


def live_lines(view: MetadataView | None, now: float, width: int, phases: tuple[str, ...] = PHASES) -> list[Line]:
    """Return the phase of now, and a row an operation with its rate in each iteration; estimates carry "~"."""
    if view is None or not view.phase:
        return [Line.of(("Operations  ", "title"), ("ranks are starting", LABEL))]
    columns = max(1, min(view.iterations, (width - NAME) // CELL - 1))
    first = max(1, view.iteration - columns + 1)
    shown = range(first, first + columns)
    head = Line.of(*clip([("Operations  ", "title"), *where(view, now)], width))
    titles = "".join(f"{f'it. {number}':>{CELL}}" for number in shown)
    lines = [head, Line.of((fit("ops/s", NAME), LABEL), (titles, LABEL))]
    rates = {(each.operation, each.iteration): each for each in view.finished}
    for phase in phases:
        here = phase == view.phase and not view.over
        cells = []
        for number in shown:
            found = rates.get((phase, number))
            running = "now" if here and number == view.iteration else ""
            text = running if found is None else f"{'~' if found.estimated else ''}{units.iops(found.rate)}"
            cells.append((f"{text or '·':>{CELL}}", VALUE if text and not running else "accent" if running else FAINT))
        name = (fit(f"{'› ' if here else '  '}{phase}", NAME), COLOURS.get(phase, TEXT))
        lines.append(Line.of(name, *cells))
    return lines


def where(view: MetadataView, now: float) -> list[Run]:
    """Return iteration and phase, and for how long that has lasted."""
    iteration: Run = (f"iteration {view.iteration} of {view.iterations}", VALUE)
    if view.result is not None:
        return [iteration, ("  done" if view.result.final else "  ended early", LABEL)]
    if view.over:
        return [iteration, ("  over, results are taken", LABEL)]
    elapsed = units.duration(max(0.0, now - view.since_t))
    return [iteration, (f"  {view.phase} ", COLOURS.get(view.phase, "accent")), (f"for {elapsed}", TEXT)]


def result_lines(metadata: MetadataRecord, width: int) -> list[Line]:
    """Return the table of operations, and what must be known to read it right."""
    import textwrap

    from tui.results.record.metadata import metadata_lines, metadata_remarks

    header, *rows = metadata_lines(metadata)
    lines = [Line.of(*clip([(header, "title")], width))]
    for row in rows:
        name = row[:14].strip(" ~")
        lines.append(Line.of(*clip([(row[:14], COLOURS.get(name, TEXT)), (row[14:], VALUE)], width)))
    for text in metadata_remarks(metadata):
        lines += [Line.of((part, LABEL)) for part in textwrap.wrap(text, width, subsequent_indent="  ")]
    return lines

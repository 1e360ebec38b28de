"""Operations of a metadata benchmark: live rates as tiles, final figures as tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.metrics.registry import metric_of_operation, rate_of_operation
from tui.metrics.units import UNKNOWN, clock, duration
from tui.model.step_record import MetadataRecord
from tui.text.digits import FigureTile
from tui.text.line import LABEL, TEXT, TITLE, VALUE, Line, Run, beside, clip
from tui.view.operation_tables import FIGURE_WIDTH, metadata_notes, metadata_tables, name_width

if TYPE_CHECKING:
    from tui.journal.progress import Finished, MetadataView
    from tui.model.plan import Step

COLOURS = {
    "write": "write", "create": "write", "stat": "latency", "read": "read", "remove": "other",
    "delete": "other"
}  # fmt: skip
LEAST_S = 1.0  # seconds of a phase before its bound is shown
GAP = 4
MEAN, NONE = slice(2, 3), slice(0, 0)  # columns of the summary


def operation_tiles(
    view: MetadataView | None, step: Step, hosts: int, now: float
) -> list[FigureTile]:
    """Return the rate and the time of the current phase as tiles; between phases, a tile per
    operation. Empty before the first phase.

    mdtest prints nothing during a phase. The rate is that of the iteration before; the first
    iteration shows an upper bound, which falls until the phase ends.
    """
    if view is None or not view.phase or step.mpi is None:
        return []
    usual = step.mpi.bytes_per_op
    phases: Sequence[str] = step.directions
    if is_in_phase(view, step):
        planned = step.mpi.items * step.mpi.ranks(hosts)
        moved = view.moved(view.phase, usual)
        before = newest(view, view.phase, view.iteration)
        rate = (
            _bound(view, view.phase, planned, now, moved)
            if before is None
            else _tile(view.phase, before.rate, moved, _whose(before), 0)
        )
        return [rate, *_times(view, now)]
    tiles: list[FigureTile] = []
    for place, phase in enumerate(phases):
        moved = view.moved(phase, usual)
        if view.result is not None:
            tiles.append(_whole(view, phase, moved, place))
        elif (found := newest(view, phase)) is not None:
            tiles.append(_tile(phase, found.rate, moved, _whose(found), place))
    return tiles


def is_in_phase(view: MetadataView | None, step: Step) -> bool:
    """Return whether a phase of a benchmark is running."""
    return (
        view is not None and view.phase in step.directions and not view.over and view.result is None
    )


def _times(view: MetadataView, now: float) -> list[FigureTile]:
    """Return the time in the current phase, and the iteration, as tiles."""
    before = view.spans(view.iteration - 1).get(view.phase)
    of = f"of about {duration(before)}" if before else "so far"
    return [
        FigureTile(
            f"time in {view.phase}",
            clock(max(0.0, now - view.since_t)),
            aside=of,
            drop=1,
        ),
        FigureTile("iteration", str(view.iteration), f"of {view.iterations}", drop=2),
    ]


def colour_of(phase: str, otherwise: str = VALUE) -> str:
    """Return the role for an operation, by the last word of its name.

    mdtest-easy-stat has the colour of stat.
    """
    return COLOURS.get(phase.rpartition("-")[2], otherwise)


def newest(view: MetadataView, phase: str, before: int | None = None) -> Finished | None:
    """Return the latest finished iteration of an operation; None if there is none.

    `before`: only earlier iterations count.
    """
    known = (
        each
        for each in view.finished
        if each.operation == phase and (before is None or each.iteration < before)
    )
    return max(known, key=lambda each: each.iteration, default=None)


def _bound(view: MetadataView, phase: str, planned: int, now: float, moved: int) -> FigureTile:
    """Return the most that a first iteration's rate can still be."""
    elapsed = now - view.since_t
    bound = planned / elapsed if elapsed >= LEAST_S and planned else None
    return _tile(phase, bound, moved, "upper bound" if bound is not None else "running", 0)


def _whose(found: Finished) -> str:
    """Return which iteration a rate is from."""
    return f"iteration {found.iteration}{', estimated' if found.estimated else ''}"


def _whole(view: MetadataView, phase: str, moved: int, place: int) -> FigureTile:
    count = sum(each.operation == phase for each in view.finished)
    aside = f"mean of {count} iterations" if count > 1 else ""
    return _tile(phase, mean_of(view, phase), moved, aside, place)


def _tile(phase: str, rate: float | None, moved: int, aside: str, place: int) -> FigureTile:
    number, unit = _figure(rate, moved)
    short = unit.removesuffix("ops/s").rstrip()
    title = phase if short == unit and rate is not None else f"{phase}/s"
    return FigureTile(title, number, short, colour_of(phase), aside, place)


def mean_of(view: MetadataView, phase: str) -> float | None:
    """Return the mean rate of an operation.

    This is the tool's own mean if it was printed, otherwise the mean of the iterations so far.
    """
    printed = view.result.operations.get(phase) if view.result is not None else None
    if printed is not None and printed.mean is not None:
        return printed.mean
    rates = [each.rate for each in view.finished if each.operation == phase]
    return sum(rates) / len(rates) if rates else None


def _figure(rate: float | None, moved: int) -> tuple[str, str]:
    """Return a rate as number and unit.

    It is a bandwidth if each operation moves bytes (`moved`).
    """
    if rate is None:
        return UNKNOWN, ""
    return metric_of_operation(moved).split(rate_of_operation(rate, moved))


def operation_lines(
    metadata: MetadataRecord, width: int, *, shift_told: bool = False
) -> list[Line]:
    """Return figures, notes and iterations; iterations beside the figures if two of them fit.

    `shift_told`: a finding tells the rank shift.
    """
    wide = name_width(metadata)
    iterations_at = wide + 4 * FIGURE_WIDTH + GAP
    has_room = width - iterations_at >= wide + 2 * FIGURE_WIDTH
    tables = metadata_tables(metadata, width - iterations_at if has_room else width)
    figures, *iterations = [
        _table_lines(table, width, wide, strong=MEAN if table is tables[0] else NONE)
        for table in tables
    ]
    rates = iterations[0] if iterations else []
    notes = [
        Line.of((part, LABEL))
        for text in metadata_notes(metadata, shift_told=shift_told)
        for part in textwrap.wrap(text, width, subsequent_indent="  ")
    ]
    return (
        [*beside(figures, rates, iterations_at), *notes] if has_room else [*figures, *rates, *notes]
    )


def _table_lines(table: Sequence[str], width: int, wide: int, strong: slice) -> list[Line]:
    """Return a table of rates; `strong`: the columns to stand out."""
    header, *rows = table
    first, end = wide + strong.start * FIGURE_WIDTH, wide + strong.stop * FIGURE_WIDTH
    lines = [Line.of(*clip([(header, TITLE)], width))]
    for row in rows:
        role = colour_of(row[:wide].strip(" ~"), TEXT)
        runs: list[Run] = [(row[:wide], role), (row[wide:first], TEXT)]
        lines.append(Line.of(*clip([*runs, (row[first:end], VALUE), (row[end:], TEXT)], width)))
    return lines

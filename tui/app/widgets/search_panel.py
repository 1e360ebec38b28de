"""Panels of Live for runs with several points: progress of a search, and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tui.app.widgets.lines import Lines
from tui.record.cells import Cell
from tui.record.matrix import MatrixTable, tables_of
from tui.record.progress import MatrixProgress
from tui.record.search import SearchView
from tui.text.digits import ROWS, tile_lines, tiles_that_fit
from tui.text.line import FAINT, LABEL, TEXT, Line, Run, beside, clip, indented, width_of_runs
from tui.text.plot import LEAST_HEIGHT
from tui.text.search import TITLES, limits_text
from tui.text.sparkline import Symbols
from tui.text.table import text_table
from tui.view.live_points import (
    budget_text,
    found_line,
    is_running,
    legend_runs,
    live_matrix_lines,
    now_lines,
    search_tiles,
)
from tui.view.live_wait import points_text
from tui.view.matrix import CURSOR, MatrixStyle, table_lines, title_of
from tui.view.search import point_columns, point_rows, start_texts
from tui.view.search_chart import curve_chart, scaling_chart

LEAST_RULE = 2  # cells in a heading
HEADS = ROWS + 3  # lines above the curve
CURVE = 16  # lines of a curve that is easy to read
BESIDE = 110  # columns from which the points are beside the curve
TABLE = 52
WIDE = 22  # cells of a figure in large digits
LEAST_ROWS = 3  # of points below a curve


class SearchPanel(Lines):
    """A search: budget, answer so far, current point, load curve, points."""

    DEFAULT_CSS = (
        "SearchPanel { height: 0; display: none; padding: 0 1; } SearchPanel.-shown { display:"
        " block; }"
    )

    def __init__(self, symbols: Symbols, *, coloured: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.coloured = coloured and symbols != "ascii"
        self.view: SearchView | None = None

    def show(self, view: SearchView) -> None:
        """Show the current state of the search."""
        self.view = view
        self.update_lines()

    def wanted_height(self, width: int) -> int:
        """Return the number of lines for everything, with a curve of the usual height."""
        rows = len(self.view.record.points) + 1 if self.view is not None and width < BESIDE else 0
        return HEADS + CURVE + rows

    def build(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit: with the curve if there is room, else the newest points."""
        if self.view is None:
            return []
        tiles = search_tiles(self.view) if height >= HEADS + LEAST_HEIGHT else []
        tiles = tiles_that_fit(tiles, width)
        now = now_lines(self.view, width, tiles)
        found = tile_lines(tiles, width, self.symbols, WIDE) or [found_line(self.view, width)]
        heads = [self._heading(width), *found, *now]
        return [*heads, *self._evidence(width, height - len(heads))][:height]

    def _heading(self, width: int) -> Line:
        view = self.view
        if view is None:
            return Line()
        record = view.record
        left: list[Run] = [("Search ", "title"), (f"{TITLES[record.kind]} ", LABEL)]
        limits = f"within {limits_text(record.limits)} " if record.limits else ""
        tail = budget_text(record)
        room = width - Line(tuple(left)).width - len(tail) - 1
        if room - len(limits) >= LEAST_RULE:  # otherwise the line below shows them
            left, room = [*left, (limits, TEXT)], room - len(limits)
        return Line.of(*clip([*left, ("─" * max(0, room), FAINT), (f" {tail}", LABEL)], width))

    def _evidence(self, width: int, room: int) -> list[Line]:
        """Return curve and points, side by side if both fit."""
        record = self.view.record if self.view is not None else None
        if record is None or not record.points:
            return []
        table = text_table(
            point_columns(record), point_rows(record), TABLE if width >= BESIDE else width
        )
        if room < LEAST_HEIGHT + 1:
            return newest(table, room)
        if width >= BESIDE:
            chart = self._chart(width - TABLE - 3, room)
            points = newest(table, room)
            notes = [
                line for text in start_texts(record) for line in indented([(text, LABEL)], TABLE)
            ]
            points += notes if len(points) + len(notes) <= room else []
            return beside(chart, points, width - TABLE - 1) if chart else points
        rows = min(len(table), max(0, room - CURVE))
        rows = rows if rows > LEAST_ROWS else 0
        chart = self._chart(width, room - rows)
        return [*chart, *newest(table, rows if chart else room)]

    def _chart(self, width: int, height: int) -> list[Line]:
        record = self.view.record if self.view is not None else None
        if record is None:
            return []
        if record.kind == "scaling":  # latency over load does not apply
            law = record.scaling
            return [] if law is None else scaling_chart(law, width, height, coloured=self.coloured)
        view = self.view
        now = view.offer.rate_iops if view is not None and view.offer is not None else None
        make = partial(
            curve_chart,
            record,
            width,
            coloured=self.coloured,
            now=now,
            reached=view.now if view else None,
        )
        lines = make(height)
        over = len(lines) - height  # its legend took a line
        return make(height - over) if over > 0 else lines


def newest(table: list[Line], rows: int) -> list[Line]:
    """Return the heading of a table and its last rows, `rows` lines in all."""
    if rows <= 1:
        return []
    return table if len(table) <= rows else [table[0], *table[len(table) - rows + 1 :]]


SIDE_GAP, LEAST_SIDE = 4, 36  # gap before the panel beside a matrix, and its least width


def compact_lines(
    cells: Sequence[Cell], width: int, *, heat: bool = True
) -> tuple[list[Line], int]:
    """Return compact tables, and the line number of the running cell (0 if none)."""
    tables = tables_of(cells, compact=True)
    now = next((cell.key for cell in cells if is_running(cell)), "")
    lines: list[Line] = []
    for table in tables:
        lines += [Line.of((title_of(table, profile=True), LABEL))] if len(tables) > 1 else []
        lines += table_lines(table, width, MatrixStyle(details=False, cursor=now, heat=heat))
    at_work = (
        place for place, line in enumerate(lines) if any(role == CURSOR for _, role in line.runs)
    )
    return lines, next(at_work, 0)


class MatrixPanel(Lines):
    """The matrix of a running sweep: finished cells, running cell, time left."""

    DEFAULT_CSS = (
        "MatrixPanel { height: 0; display: none; padding: 0 1; } MatrixPanel.-shown { display:"
        " block; }"
    )

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells: list[Cell] = []
        self.progress: MatrixProgress | None = None
        self.tables: Sequence[MatrixTable] = ()
        self.title = ""

    def show(self, cells: list[Cell], progress: MatrixProgress | None) -> None:
        """Show the cells measured so far, and the progress."""
        self.cells, self.progress = cells, progress
        self.tables = tables_of(cells, compact=True)
        self.title = title_of(self.tables[0]) if len(self.tables) == 1 else "suite"
        self.update_lines()

    def wanted_height(self, width: int) -> int:
        """Return the number of lines for everything, with the heading."""
        return 1 + len(compact_lines(self.cells, width)[0])

    def build(self, width: int, height: int) -> list[Line]:
        """Return the heading, and the rows around the running cell."""
        if not self.cells:
            return []
        lines, at = compact_lines(self.cells, width, heat=self.symbols != "ascii")
        room = height - 1
        least = 1 if len(self.tables) == 1 else 2  # in a suite the first line is not an axis
        head = lines[:1] if len(lines) > room > least else []  # names of the axes stay visible
        room -= len(head)
        top = max(0, min(max(at - room // 2, len(head)), len(lines) - room))
        rows = [*head, *lines[top : top + room]]
        at = max((line.width for line in rows), default=0) + SIDE_GAP
        has_side = width - at >= LEAST_SIDE  # notes, with the legend
        said = live_matrix_lines(self.tables, width - at, len(rows)) if has_side else []
        rows = beside(rows, said, at) if said else rows
        return [self._heading(width, legend=not said), *rows][:height]

    def _heading(self, width: int, *, legend: bool) -> Line:
        """Return the title, and how many points are done; step and time are in the header.

        `legend`: with the meaning of the marks, if it fits.
        """
        left: list[Run] = [("Matrix ", "title"), (f"{self.title} ", LABEL)]
        tail = points_text(self.progress) if self.progress is not None else ""
        tail = tail.removesuffix(" done")  # leaves room for the legend at 80 columns
        marks = [(" ", TEXT), *legend_runs(self.tables), (" ", TEXT)] if legend else []
        room = width - width_of_runs(left) - len(tail) - 1
        if width_of_runs(marks) <= room - LEAST_RULE:
            left, room = [*left, *marks], room - width_of_runs(marks)
        return Line.of(*clip([*left, ("─" * max(0, room), FAINT), (f" {tail}", LABEL)], width))

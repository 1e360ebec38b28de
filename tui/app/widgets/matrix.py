"""The matrix of a run that goes on: its tables in little room, how far it is."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import meter
from tui.app.widgets.lines import Lines
from tui.app.widgets.run_header import ROUND_UP_S
from tui.metrics.sparkline import Symbols
from tui.metrics.units import clock
from tui.results.matrix.progress import MatrixProgress
from tui.results.matrix.render import Look, table_lines, title_of
from tui.results.matrix.table import MatrixTable, tables_of
from tui.results.record.cells import Cell
from tui.text.line import ACCENT, FAINT, LABEL, TEXT, Line, Run, clip

LEAST_METER, MOST_METER = 8, 30


def compact_lines(cells: Sequence[Cell], width: int, *, heat: bool = True) -> tuple[list[Line], int]:
    """Return the tables in as few lines as they need, and which line the cell at work is on (0: none is)."""
    tables = tables_of(cells, compact=True)
    lines: list[Line] = []
    for table in tables:
        lines += [Line.of((title_of(table, profile=True), LABEL))] if len(tables) > 1 else []
        lines += table_lines(table, width, Look(details=False, heat=heat))
    at_work = (place for place, line in enumerate(lines) if any(role == ACCENT for _, role in line.runs))
    return lines, next(at_work, 0)


class MatrixPanel(Lines):
    """The matrix while it fills: what is done, what is at work, how long the rest takes."""

    DEFAULT_CSS = "MatrixPanel { height: 0; display: none; padding: 0 1; } MatrixPanel.-shown { display: block; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells: list[Cell] = []
        self.progress: MatrixProgress | None = None
        self.tables: Sequence[MatrixTable] = ()
        self.title = ""

    def show(self, cells: list[Cell], progress: MatrixProgress | None) -> None:
        """Show these cells."""
        self.cells, self.progress = cells, progress
        self.tables = tables_of(cells, compact=True)
        self.title = title_of(self.tables[0]) if len(self.tables) == 1 else "suite"
        self.update_lines()

    def wanted_height(self, width: int) -> int:
        """Return the lines that everything needs, heading included."""
        return 1 + len(compact_lines(self.cells, width)[0])

    def build(self, width: int, height: int) -> list[Line]:
        """The heading and the rows around the one at work."""
        if not self.cells:
            return []
        lines, at = compact_lines(self.cells, width, heat=self.symbols != "ascii")
        room = height - 1
        least = 1 if len(self.tables) == 1 else 2  # of a suite the first line is no axis
        head = lines[:1] if len(lines) > room > least else []  # names of the axes stay in sight
        room -= len(head)
        top = max(0, min(max(at - room // 2, len(head)), len(lines) - room))
        return [self._heading(width), *head, *lines[top : top + room]][:height]

    def _heading(self, width: int) -> Line:
        left: list[Run] = [("Matrix ", "title"), (self.title, LABEL), (" ", TEXT)]
        tail = self._tail()
        room = width - Line(tuple(left)).width - len(tail) - 1
        if room < LEAST_METER or self.progress is None:
            return Line.of(*clip([*left, (tail, LABEL)], width))
        bar = min(MOST_METER, room)
        gap = ("─" * (room - bar - 1) + " " if room > bar else "", FAINT)
        return Line.of(*left, gap, *meter(self.progress.fraction, bar, self.symbols), (" " + tail, LABEL))

    def _tail(self) -> str:
        progress = self.progress
        if progress is None:
            return ""
        left = ""
        if progress.remaining_s is not None and progress.over < progress.steps:
            left = f" · {'≤ ' if progress.at_most else ''}{clock(progress.remaining_s + ROUND_UP_S)} left"
        return f"{progress.cells_over}/{progress.cells} cells · {progress.place}{left}"

"""Tables of a matrix as styled lines: figures on a ground that is the stronger the higher they are."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import meter
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols
from tui.metrics.units import clock
from tui.results.matrix.cells import Cell
from tui.results.matrix.format import KNEE, Piece, Pieces, table_lines, title_of
from tui.results.matrix.progress import MatrixProgress
from tui.results.matrix.table import tables_of
from tui.text.line import FAINT, LABEL, TEXT, VALUE, Line, Run, clip

ROLES = {"head": LABEL, "label": TEXT, "detail": LABEL, "knee": "good", "missing": FAINT, "partial": TEXT}
ROLES |= {"failed": "bad", "cut": "warn", "running": "accent", "value": TEXT, "bar": "read"}
CELLS = ("value", "partial", "failed", "cut", "running", "missing")
SERIES = {"read": "read", "write": "write"}
LEAST_METER, MOST_METER = 8, 30
GROUNDS = (8, 16, 24, 32, 40, 48)  # per cent of the series' colour behind a figure, in few steps that can be told apart


def series_key(cell: Cell) -> str:
    """Return the style of a cell's figure: the colour of its direction, or that of latencies."""
    return "latency" if cell.unit == "ns" else SERIES.get(cell.what.partition(" ")[0], "other")


def ground(cell: Cell, share: float) -> str:
    """Return the style key of a figure on a ground of its direction's colour."""
    step = GROUNDS[min(len(GROUNDS) - 1, int(share * len(GROUNDS)))]
    return f"{VALUE}/{series_key(cell)}*{step}"


def piece_runs(piece: Piece, cursor: str = "", *, heat: bool = True) -> list[Run]:
    """Return a piece as runs; `cursor` is the key of the cell that is chosen."""
    cell = piece.cell
    if cell is not None and cell.key == cursor and piece.role in CELLS:
        return _tight(piece, "accent~")
    if piece.role == "bar" and cell is not None:
        return [(piece.text, series_key(cell))]
    if piece.role == "value" and cell is not None and heat and piece.share:
        return _tight(piece, ground(cell, piece.share))
    if piece.role == "value":
        return [(piece.text, VALUE)]
    return [(piece.text, ROLES[piece.role])]


def _tight(piece: Piece, key: str) -> list[Run]:
    """Return a piece in a style, with a blank before it that keeps cells apart."""
    text = piece.text
    if text.startswith(" "):
        return [(" ", TEXT), *_marked(text[1:], key)]
    return [*_marked(text.rstrip(), key), (" " * (len(text) - len(text.rstrip())), TEXT)]


def _marked(text: str, key: str) -> list[Run]:
    """Return a text whose knee mark stands out."""
    before, mark, after = text.partition(KNEE)
    return [(before, key), (mark, f"good/{key.partition('/')[2]}" if "/" in key else key), (after, key)]


def line_of(pieces: Pieces, cursor: str = "", *, heat: bool = True) -> Line:
    """Return a row of a table as a line."""
    return Line.of(*(run for piece in pieces for run in piece_runs(piece, cursor, heat=heat)))


def compact_lines(cells: Sequence[Cell], width: int, *, heat: bool = True) -> tuple[list[Line], int]:
    """Return the tables in as few lines as they need, and which line the cell at work is on (0: none is)."""
    tables = tables_of(cells, compact=True)
    lines: list[Line] = []
    at = 0
    for table in tables:
        if len(tables) > 1:
            lines.append(Line.of((title_of(table, profile=True), LABEL)))
        for pieces in table_lines(table, width, details=False):
            if not pieces:
                continue  # an empty line between blocks of columns
            if any(piece.cell is not None and piece.cell.state == "running" for piece in pieces):
                at = len(lines)
            lines.append(line_of(pieces, heat=heat))
    return lines, at


class MatrixPanel(Lines):
    """The matrix while it fills: what is done, what is at work, how long the rest takes."""

    DEFAULT_CSS = "MatrixPanel { height: 0; display: none; padding: 0 1; } MatrixPanel.-shown { display: block; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells: list[Cell] = []
        self.progress: MatrixProgress | None = None
        self.title = ""

    def show(self, cells: list[Cell], progress: MatrixProgress | None) -> None:
        """Show these cells."""
        self.cells, self.progress = cells, progress
        tables = tables_of(cells, compact=True)
        self.title = title_of(tables[0]) if len(tables) == 1 else "suite"
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
        head = lines[:1] if len(lines) > room > 2 else []  # names of the axes stay in sight
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
            left = f" · {'≤ ' if progress.at_most else ''}{clock(progress.remaining_s)} left"
        return f"{progress.cells_over}/{progress.cells} cells · {progress.place}{left}"

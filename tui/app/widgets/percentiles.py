"""Latency percentiles per direction: of the last interval and of the whole run, said in words which is which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from tui.app.widgets.lines import FAINT, LABEL, TEXT, Line, Lines, Run, clip, fit
from tui.metrics.buckets import index_to_value
from tui.metrics.sparkline import Symbols, spark
from tui.metrics.units import latency, latency_fixed

COLUMNS = (
    ("mean", "mean"),
    ("50", "p50"),
    ("95", "p95"),
    ("99", "p99"),
    ("99.5", "p99.5"),
    ("99.9", "p99.9"),
    ("max", "max"),
)
CELL = 9
LEAST_LABEL = 13
NAMES = 17  # direction and what a row covers, where a shape follows
LEAST_SHAPE = 20


@dataclass(frozen=True, slots=True)
class PercentileRow:
    """One line: a direction (empty: the same as above) in its style, what it covers, values in ns by column key."""

    direction: str
    key: str
    covers: str
    values: Mapping[str, float | None]
    strong: bool = True
    counts: Sequence[tuple[int, int]] = ()  # histogram: bucket index, count; ascending


class PercentileTable(Lines):
    """A heading line with the column names, then a line a row. Columns give way from the left when it gets narrow."""

    DEFAULT_CSS = "PercentileTable { height: auto; padding: 0 1; }"

    def __init__(self, symbols: Symbols = "braille", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.heading = "Latency"
        self.rows: tuple[PercentileRow, ...] = ()

    def show(self, heading: str, rows: Sequence[PercentileRow]) -> None:
        """Show these rows; the height follows their number."""
        grown = len(rows) != len(self.rows)
        self.heading, self.rows = heading, tuple(rows)
        if grown:
            self.styles.height = len(rows) + 1
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Heading and rows."""
        columns = shown_columns(width)
        label = width - CELL * len(columns)
        titles = "".join(f"{title:>{CELL}}" for _, title in columns)
        shape = self._shape_room(label)
        rows = (self._row(row, columns, label, shape) for row in self.rows)
        return [self._heading(titles, width, shape), *rows][:height]

    def _shape_room(self, label: int) -> int:
        """Return the cells for the shape of the distribution, 0 when there is too little room or nothing to show."""
        return label - NAMES - 2 if label >= NAMES + LEAST_SHAPE and any(row.counts for row in self.rows) else 0

    def _range(self) -> tuple[int, int]:
        """Return the lowest and the highest bucket of all rows: one scale for all shapes."""
        return min(r.counts[0][0] for r in self.rows if r.counts), max(r.counts[-1][0] for r in self.rows if r.counts)

    def _heading(self, titles: str, width: int, shape: int) -> Line:
        heading = rule(self.heading, titles, width)
        if not shape or len(self.heading) >= NAMES - 1:
            return heading
        low, high = (latency(index_to_value(index)) for index in self._range())
        axis = f"{low} {'─' * (shape - len(low) - len(high) - 2)} {high}"
        lead = "─" * (NAMES - len(self.heading) - 2)
        return Line.of((self.heading, "title"), (f" {lead} ", FAINT), (axis, LABEL), ("  " + titles[2:], LABEL))

    def _row(self, row: PercentileRow, columns: Sequence[tuple[str, str]], label: int, shape: int) -> Line:
        cells = "".join(f"{latency_fixed(row.values.get(key)):>{CELL}}" for key, _ in columns)
        name = row.direction + " " * (6 - len(row.direction))
        figures = (cells, TEXT if row.strong else LABEL)
        covers = NAMES - 6 if shape else label - 6
        runs: list[Run] = [(fit(name, 6), row.key), (fit(row.covers, covers), LABEL)]
        if shape:
            text = shape_of(row.counts, self._range(), shape, self.symbols)
            runs += [(text, row.key if row.strong else f"{row.key}*60"), ("  ", TEXT)]
        return Line.of(*runs, figures)


def shape_of(counts: Sequence[tuple[int, int]], span: tuple[int, int], width: int, symbols: Symbols) -> str:
    """Return a histogram as one row: latency to the right and counts upwards, both logarithmic, so that tails show.

    fio's buckets are nearly logarithmic: an even step in index is an even step in the logarithm of the latency.
    """
    low, high = span
    step = max(1e-9, (high - low + 1) / width)
    columns = [0] * width
    for index, count in counts:
        columns[min(width - 1, int((index - low) / step))] += count
    levels = [log2(count + 1) if count else None for count in columns]
    top = max((level for level in levels if level), default=1.0) * 1.15  # rows of full blocks would grow together
    return spark(levels, width, "ascii" if symbols == "ascii" else "block", high=top)


def shown_columns(width: int) -> Sequence[tuple[str, str]]:
    """Return the columns that fit: the mean goes first, then the median."""
    room = max(2, (width - LEAST_LABEL) // CELL)
    return COLUMNS[-room:]


def rule(title: str, tail: str, width: int, *, key: str = "title", tail_key: str = LABEL) -> Line:
    """Return a heading: a title, a thin line, and a tail flush right."""
    left: list[Run] = [(title, key), (" ", FAINT)]
    room = width - Line(tuple(left)).width - len(tail)
    if room < 0:
        return Line.of(*clip([*left, (tail, tail_key)], width))
    lead = len(tail) - len(tail.lstrip())
    line = "─" * max(room + lead - 1, 0)
    return Line.of(*left, (line + " " * (room + lead - len(line)), FAINT), (tail.lstrip(), tail_key))

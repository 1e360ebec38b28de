"""Latency percentiles per direction: of the last interval and of the whole run, said in words which is which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

from tui.app.widgets.lines import Lines
from tui.metrics.buckets import index_to_value
from tui.metrics.sparkline import Symbols, spark
from tui.metrics.units import latency, latency_fixed
from tui.text.line import FAINT, LABEL, TEXT, Line, Run, fit, rule

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
Counts = Sequence[tuple[int, int]]
"""Bucket index and count, indices ascending."""
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
    counts: Callable[[], Counts] | None = None  # the histogram, asked for only where it is drawn


class PercentileTable(Lines):
    """A heading line with the column names, then a line a row. Columns give way from the left when it gets narrow."""

    DEFAULT_CSS = "PercentileTable { height: auto; padding: 0 1; }"

    def __init__(self, symbols: Symbols = "braille", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.heading = "Latency"
        self.given: tuple[PercentileRow, ...] = ()
        self.brief = False  # without the rows that stand below a stronger one

    @property
    def rows(self) -> tuple[PercentileRow, ...]:
        """The rows that are shown."""
        return tuple(row for row in self.given if row.strong) if self.brief else self.given

    @property
    def spare(self) -> int:
        """How many rows others could have: what was so far below what is now."""
        weak = sum(not row.strong for row in self.given)
        return weak if weak < len(self.given) else 0

    def show(self, heading: str, rows: Sequence[PercentileRow]) -> None:
        """Show these rows; the height follows their number."""
        self.heading, self.given = heading, tuple(rows)
        self._fit()

    def shorten(self, *, brief: bool) -> None:
        """Give the spare rows to others, or take them back."""
        if brief != self.brief:
            self.brief = brief
            self._fit()

    def _fit(self) -> None:
        height = len(self.rows) + 1
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Heading and rows."""
        columns = shown_columns(width)
        label = width - CELL * len(columns)
        titles = "".join(f"{title:>{CELL}}" for _, title in columns)
        shapes = self._shapes(label)
        room = label - NAMES - 2 if any(shapes) else 0
        span = span_of(shapes)
        texts = [shape_of(counts, span, room, self.symbols) if counts else " " * room for counts in shapes]
        rows = (self._row(row, text, columns, label) for row, text in zip(self.rows, texts, strict=True))
        return [self._heading(titles, width, room, span), *rows][:height]

    def _shapes(self, label: int) -> list[Counts]:
        """Return the histogram of each row, empty when there is no room to draw it."""
        if label < NAMES + LEAST_SHAPE:
            return [()] * len(self.rows)
        return [row.counts() if row.counts is not None else () for row in self.rows]

    def _heading(self, titles: str, width: int, shape: int, span: tuple[int, int]) -> Line:
        if not shape or len(self.heading) >= NAMES - 1:
            return rule(self.heading, titles, width)
        low, high = (latency(index_to_value(index)) for index in span)
        axis = f"{low} {'─' * (shape - len(low) - len(high) - 2)} {high}"
        lead = "─" * (NAMES - len(self.heading) - 2)
        return Line.of((self.heading, "title"), (f" {lead} ", FAINT), (axis, LABEL), ("  " + titles, LABEL))

    @staticmethod
    def _row(row: PercentileRow, shape: str, columns: Sequence[tuple[str, str]], label: int) -> Line:
        cells = "".join(f"{latency_fixed(row.values.get(key)):>{CELL}}" for key, _ in columns)
        covers = NAMES - 6 if shape else label - 6
        runs: list[Run] = [(fit(row.direction, 6), row.key), (fit(row.covers, covers), LABEL)]
        if shape:
            runs += [(shape, row.key if row.strong else f"{row.key}*60"), ("  ", TEXT)]
        return Line.of(*runs, (cells, TEXT if row.strong else LABEL))


def span_of(shapes: Sequence[Counts]) -> tuple[int, int]:
    """Return the lowest and the highest bucket of all shapes: one scale for them all."""
    known = [counts for counts in shapes if counts]
    return min((counts[0][0] for counts in known), default=0), max((counts[-1][0] for counts in known), default=0)


def shape_of(counts: Counts, span: tuple[int, int], width: int, symbols: Symbols) -> str:
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

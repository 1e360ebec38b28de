"""A latency heat map as lines: log latency upwards, time to the right, density as shade."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, pairwise
from math import floor, log10
from statistics import median
from typing import Literal, NamedTuple

from tui.metrics.buckets import CURVE_PERCENTILES, value_to_index
from tui.metrics.registry import METRICS
from tui.metrics.series import (
    SHARES,
    HeatBins,
    Items,
    bucket_edge,
    column_percentiles,
    merged_items,
    weights_of,
)
from tui.text.line import LABEL, TEXT, Line, Run, fit
from tui.text.plot import TimeAxis, known_parts

OCTAVE = 64  # buckets per doubling of latency
SCALE = 8  # width of the labels on the left
LEGEND, CAPTION = 10, "% of I/Os"  # width of the legend on the right
CLOSE = 4  # up to this many rows, each may have a label
ROUND = (range(1, 10), (1, 2, 5), (1, 3), (1,))  # first digits of labels, the densest first
FITTED = 12  # with fewer rows, the axis leaves out the fastest and the slowest I/Os
FASTEST, SLOWEST = 0.01, 0.0001  # shares of the I/Os left out: nothing is read off the low end
QUARTER = OCTAVE // 4  # a fitted axis begins and ends at quarters of an octave
LATENCY = METRICS["latency"]
IMPORTANCE = (99.9, 50.0, 99.0)  # if lines share a row, the last one is drawn
MOST_HIDDEN = 0.1  # of its columns: a line that shares more with others is not drawn at all
LINGER = 1 / 3  # of a row: a line may be in a row while its value is this far beyond it
MARKS = {50.0: ("─", "-"), 99.0: ("━", "="), 99.9: ("┄", "~")}
SHADES = "░░░▒▓█"  # by weight, as above
RAMP = "..:+*#"  # none of MARKS
STRENGTHS = (14, 26, 42, 58, 76, 100)  # strength of the colour by weight, in per cent
Look = Literal["solid", "shade", "ascii"]
"""Two rows per cell in blended colours, or one row per cell in shaded blocks or ASCII."""


@dataclass(frozen=True, slots=True)
class LatencyAxis:
    """The buckets that are shown; I/Os beyond them count in the first and the last row."""

    low: int
    span: int
    fitted: bool = False
    beyond: tuple[bool, bool] = (False, False)  # whether I/Os are below, and above

    @property
    def end(self) -> int:
        """The bucket after the last one."""
        return self.low + self.span

    def labels(self, rows: int) -> Mapping[int, str]:
        """Return labels by row: the middle of rows on a fitted axis, otherwise round latencies.

        The first and the last row of an axis that leaves out I/Os are labelled as open.
        """
        if not self.fitted:
            return scale(self.low, self.span, rows)
        step = step_of(self.span, rows)
        middles = {row: self.low + row * step + step // 2 for row in range(rows)}
        found = {row: _short(middles[row]) for row in range(rows - 1, -1, -_apart(rows))}
        if self.beyond[1]:
            found[rows - 1] = f"≥{_short(self.low + (rows - 1) * step)}"
        if self.beyond[0] and 0 in found:
            found[0] = f"<{_short(self.low + step)}"
        return found

    def row_of(self, value_ns: float, rows: int) -> int:
        """Return the row that shows a latency."""
        return int(self.place_of(value_ns, rows))

    def place_of(self, value_ns: float, rows: int) -> float:
        """Return a latency's place among the rows: 2.5 is in the middle of row 2."""
        index = self.nearest(value_to_index(int(value_ns)), rows)
        return (index - self.low) / step_of(self.span, rows)

    def nearest(self, index: int, rows: int) -> int:
        """Return `index`, limited to the buckets that this many rows show."""
        return max(self.low, min(self.low + rows * step_of(self.span, rows) - 1, index))


class HeatPaint(NamedTuple):
    """How cells are drawn: role of the shades, look, and the percentiles drawn as lines."""

    role: str
    look: Look
    lines: tuple[float, ...] = IMPORTANCE


@dataclass(slots=True)
class HeatCells:
    """The drawn cells of a heat map, kept so that unchanged columns are not drawn again."""

    parts: Sequence[HeatBins] = ()
    low: int = 0  # lowest bucket shown, and the number of buckets
    span: int = OCTAVE
    reach: tuple[int, int] = (0, 0)  # lowest and highest bucket with I/Os
    _fitted: tuple[int, LatencyAxis] | None = None  # with the number of columns it was fitted to
    _percentiles: dict[tuple[int, int], tuple[object, dict[float, float | None]]] = field(
        default_factory=dict
    )
    _drawn: dict[tuple[object, ...], tuple[object, tuple[Run, ...]]] = field(default_factory=dict)

    def show(self, parts: Sequence[HeatBins]) -> None:
        """Show the sum of `parts`.

        The latency axis grows by whole octaves. It never shrinks, except when other bins are shown.
        """
        if len(parts) != len(self.parts) or any(
            a is not b for a, b in zip(parts, self.parts, strict=True)
        ):
            self.parts, self.low, self.span, self._fitted = tuple(parts), 0, 0, None
            self._drawn.clear()
            self._percentiles.clear()
        spans = [span for part in parts if (span := part.span) is not None]
        if not spans:
            return
        low, high = self.reach = min(low for low, _ in spans), max(high for _, high in spans)
        if not self.span or low < self.low or high >= self.low + self.span:
            first = low // OCTAVE * OCTAVE
            first = min(first, self.low) if self.span else first
            end = max((high // OCTAVE + 1) * OCTAVE, self.low + self.span)
            self.low, self.span = first, end - first
            self._drawn.clear()

    def axis(self, rows: int) -> LatencyAxis:
        """Return the latency axis for this many rows.

        With fewer rows than `FITTED`, it leaves out the fastest and the slowest few I/Os.
        """
        if rows >= FITTED or not self.span or self.empty:
            return LatencyAxis(self.low, self.span)
        columns = sum(len(part.columns) for part in self.parts)
        if self._fitted is None or self._fitted[0] != columns:
            old = self._fitted[1] if self._fitted is not None else None
            self._fitted = columns, self._fit(old)
        fitted = self._fitted[1]
        return replace(fitted, beyond=(self.reach[0] < fitted.low, self.reach[1] >= fitted.end))

    def _fit(self, old: LatencyAxis | None) -> LatencyAxis:
        """Return an axis that covers nearly all I/Os.

        The old axis is kept while it covers them and less than an octave of it is unused.
        """
        items = merged_items(
            part.items_of(place) for part in self.parts for place in list(part.columns)
        )
        first = _after(items, FASTEST) // QUARTER * QUARTER
        end = (_after(items[::-1], SLOWEST) // QUARTER + 1) * QUARTER
        end = max(end, first + OCTAVE)
        spare = (first - old.low, old.end - end) if old is not None else (-1, -1)
        if old is not None and min(spare) >= 0 and sum(spare) < OCTAVE:
            first, end = old.low, old.end
        return LatencyAxis(first, end - first, fitted=True)

    @property
    def empty(self) -> bool:
        """Whether there are no I/Os to show."""
        return not any(part.columns for part in self.parts)

    def items(self, start_s: int, end_s: int) -> Items:
        """Return the I/O counts by bucket from `start_s` to `end_s`."""
        return merged_items(part.between(start_s, end_s) for part in self.parts)

    def percentiles(self, start_s: int, end_s: int) -> dict[float, float | None]:
        """Return the percentiles drawn as lines, from `start_s` to `end_s`, in ns.

        A percentile is None if too few samples are beyond it.
        """
        return column_percentiles(self.items(start_s, end_s), CURVE_PERCENTILES)

    def lines(self, axis: TimeAxis, columns: int, rows: int) -> tuple[float, ...]:
        """Return the percentiles to draw as lines, the most important last.

        They are known in most columns, and have a row of their own in nearly all of these.
        """
        found = [each for each in self.tracks(axis, columns, rows) if each]
        kept: list[float] = []
        for each in reversed(IMPORTANCE):
            known = [at for at in found if each in at]
            hidden = sum(any(at.get(other) == at[each] for other in kept) for at in known)
            if 2 * len(known) > len(found) and hidden <= MOST_HIDDEN * len(known):
                kept.insert(0, each)
        return tuple(kept)

    def tracks(self, axis: TimeAxis, columns: int, rows: int) -> list[dict[float, int]]:
        """Return the row of each percentile in each column, without those that are unknown."""
        scale, known = (
            self.axis(rows),
            [self._known(axis.cell(at, columns)) for at in range(columns)],
        )
        found: list[dict[float, int]] = [{} for _ in known]
        for each in IMPORTANCE:
            values = [at.get(each) for at in known]
            for first, part in known_parts(values):
                drawn = calm_rows([scale.place_of(value, rows) for value in part])
                for at, row in enumerate(drawn, first):
                    found[at][each] = row
        return found

    def _known(self, span: tuple[int, int]) -> dict[float, float | None]:
        """Return the percentiles of a column, computed again only if its counts changed."""
        stamp = tuple(part.stamp(*span) for part in self.parts)
        held = self._percentiles.get(span)
        if held is None or held[0] != stamp:
            items = self.items(*span)
            found = column_percentiles(items, CURVE_PERCENTILES) if items else {}
            held = self._percentiles[span] = (stamp, found)
        return held[1]

    def drawn(
        self,
        span: tuple[int, int],
        rows: int,
        paint: HeatPaint,
        track: Mapping[float, int],
        *,
        here: bool,
    ) -> tuple[Run, ...]:
        """Return the cells of one column, top first, with lines in the rows of `track`; redrawn
        only if the counts or lines changed.
        """
        stamp = (*(part.stamp(*span) for part in self.parts), *track.items())
        axis = self.axis(rows)
        key = (span, rows, paint, here, axis)
        held = self._drawn.get(key)
        if held is None or held[0] != stamp:
            lines = {track[each]: each for each in paint.lines if each in track}
            cells = _column(self.items(*span), lines, axis, rows, paint, here=here)
            held = self._drawn[key] = (stamp, cells)
        return held[1]


def calm_rows(places: Sequence[float]) -> list[int]:
    """Return the row for each place of a line, with as few jumps as possible.

    A line whose values vary around the edge between two rows stays in the row of their median.
    """
    found: list[int] = []
    while len(found) < len(places):
        part = places[len(found) :]
        low = high = part[0]
        count = 0
        for place in part:
            ends = min(low, place), max(high, place)
            if _lowest_row(ends[1]) > floor(ends[0] + LINGER):
                break
            (low, high), count = ends, count + 1
        row = min(max(int(median(part[:count])), _lowest_row(high)), floor(low + LINGER))
        found += [row] * count
    return found


def _lowest_row(place: float) -> int:
    """Return the lowest row that a place may be in."""
    return floor(place - 1 - LINGER) + 1


def step_of(span: int, rows: int) -> int:
    """Return the number of buckets per row; even, so that both halves of a cell have as many."""
    return 2 * max(1, -(-span // (2 * rows)))


def _after(items: Items, share: float) -> int:
    """Return the bucket below which this share of the I/Os lies."""
    left = int(sum(count for _, count in items) * share)
    for index, count in items:
        left -= count
        if left < 0:
            return index
    return items[-1][0]


def _column(
    items: Items,
    lines: Mapping[int, float],
    axis: LatencyAxis,
    rows: int,
    paint: HeatPaint,
    *,
    here: bool,
) -> tuple[Run, ...]:
    role, look = paint.role, paint.look
    fine = 2 if look == "solid" else 1
    step = step_of(axis.span, rows)
    inside = [(axis.nearest(index, rows), count) for index, count in items]
    weights = weights_of(inside, axis.low, step // fine) if items else {}
    return tuple(
        _cell(weights, lines.get(row), row, role, look, here=here)
        for row in range(rows - 1, -1, -1)
    )


def heat_lines(
    cells: HeatCells, axis: TimeAxis, size: tuple[int, int], paint: HeatPaint
) -> list[Line]:
    """Return a heat map of `size` (width, rows), top row first: latency labels, then columns."""
    width, rows = size[0] - SCALE, size[1]
    cursor = axis.column_of(axis.cursor_s, width) if axis.cursor_s is not None else None
    columns = [
        cells.drawn(axis.cell(at, width), rows, paint, track, here=at == cursor)
        for at, track in enumerate(cells.tracks(axis, width, rows))
    ]
    lines, labels = [], cells.axis(rows).labels(rows)
    for place, row in enumerate(zip(*columns, strict=True)):
        joined = [
            ("".join(text for text, _ in group), key)
            for key, group in groupby(row, key=lambda run: run[1])
        ]
        label = fit(labels.get(rows - 1 - place, ""), SCALE - 1, right=True) + " "
        lines.append(Line.of((label, LABEL), *joined))
    return lines


@lru_cache(maxsize=32)
def density_lines(rows: int, role: str, look: Look) -> Sequence[Line]:
    """Return the legend of the shades, highest first, `LEGEND` cells wide.

    A shade stands for a share of the I/Os in its column.
    """
    caption = rows > CLOSE
    room = rows - caption
    step = 1 if room >= len(SHARES) else 2
    lines = [Line.of((fit(CAPTION, LEGEND, right=True), LABEL))] if caption else []
    for weight in range(len(SHARES) - 1, -1, -step)[:room]:
        plain = (RAMP if look == "ascii" else SHADES)[weight]
        mark: Run = ("██", _shade(role, weight)) if look == "solid" else (plain * 2, role)
        share = f"{SHARES[weight] * 100:g}" if SHARES[weight] else f"<{SHARES[1] * 100:g}"
        label = share if caption else f"{share} %"
        lines.append(Line.of((" ", TEXT), mark, (f" {label}".ljust(LEGEND - 3), LABEL)))
    return [*lines, *[Line.of((" " * LEGEND, TEXT))] * (rows - len(lines))]


@lru_cache(maxsize=32)
def scale(low: int, span: int, rows: int) -> Mapping[int, str]:
    """Return round latencies by row, with row 0 at the bottom: as many as fit without crowding.

    If no set of round latencies fits, the latencies are those in the middle of rows.
    """
    step = step_of(span, rows)
    edges = [bucket_edge(low + row * step) for row in range(rows + 1)]
    apart = _apart(rows)
    for values in _choices(edges[0], edges[-1]):
        found = {bisect_right(edges, value) - 1: value for value in values}
        if 2 <= len(found) == len(values) and all(
            b - a >= apart for a, b in pairwise(sorted(found))
        ):
            return {row: LATENCY.rounded(value) for row, value in found.items()}
    return {row: _short(low + row * step + step // 2) for row in range(0, rows, apart)}


def _short(bucket: int) -> str:
    """Return the lower edge of a bucket with two digits."""
    return LATENCY.rounded(float(f"{bucket_edge(bucket):.2g}"))


def _apart(rows: int) -> int:
    return 2 if rows > CLOSE else 1


def _choices(least: float, end: float) -> Iterator[list[float]]:
    """Yield sets of round latencies for labels, the densest first.

    The last ones are powers of ten, finally every third.
    """
    for digits in ROUND:
        yield (tens := list(_round_values(digits, least, end)))
    yield from (tens[1:], tens[:-1])
    for step in (2, 3):
        yield from (tens[first::step] for first in range(step))


def _round_values(digits: Sequence[int], least: float, end: float) -> Iterator[float]:
    decade = 10.0 ** floor(log10(least))
    while decade < end:
        yield from (value for digit in digits if least <= (value := digit * decade) < end)
        decade *= 10


def _cell(
    weights: Mapping[int, int], line: float | None, row: int, role: str, look: Look, *, here: bool
) -> Run:
    """Return one cell: the cursor, the percentile line through it, or the shade."""
    if look == "solid":
        upper, lower = weights.get(2 * row + 1), weights.get(2 * row)
        if line is None and not here:
            return _halves(role, upper, lower)
        most = max((each for each in (upper, lower) if each is not None), default=None)
        mark, own = ("│", "accent") if here or line is None else (MARKS[line][0], "bright")
        return mark, f"{own}/{_shade(role, most)}" if most is not None else own
    weight, plain = weights.get(row), look == "ascii"
    if here:
        return "│", "accent"
    if line is not None:
        return MARKS[line][plain], "bright"
    return (" ", TEXT) if weight is None else ((RAMP if plain else SHADES)[weight], role)


def _shade(role: str, weight: int | None) -> str:
    strength = STRENGTHS[weight or 0]
    return role if strength == 100 else f"{role}*{strength}"


def _halves(role: str, upper: int | None, lower: int | None) -> Run:
    if upper is None:
        return (" ", TEXT) if lower is None else ("▄", _shade(role, lower))
    if lower is None:
        return "▀", _shade(role, upper)
    return (
        ("█", _shade(role, upper))
        if upper == lower
        else ("▀", f"{_shade(role, upper)}/{_shade(role, lower)}")
    )

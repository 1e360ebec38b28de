"""The latency heat map in its frame, and percentiles in the title: those of the table, or of the second at the cursor.

The table has those of the last interval, and once the load is over those of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui.app.widgets.graph import ASCII_FRAME, ROUND_FRAME, frame_line, times_in_frame
from tui.app.widgets.lines import Lines
from tui.metrics.heat import HeatBins
from tui.metrics.sparkline import Symbols
from tui.metrics.units import latency
from tui.text.heat import LINES, MARKS, SCALE, HeatCells, Look, heat_lines
from tui.text.line import FAINT, LABEL, VALUE, Line, Run, padded, width_of
from tui.text.timeaxis import TimeAxis

LEAST_ROWS = 3
LONG_TITLE = "Latency over time · "
WHEN = 0.0  # in place of a percentile
IMPORTANCE = (WHEN, 99.0, 50.0, 99.9)


Told = Mapping[float, float | None]
"""Latency in ns by percentile."""


class HeatPanel(Lines):
    """Latency upwards by its logarithm, time to the right over the planned run, density as shade."""

    DEFAULT_CSS = "HeatPanel { height: 8; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells = HeatCells()
        self.title, self.role = "", "latency"
        self.axis = TimeAxis(0, 60)
        self.told: Told = {}

    def show(self, parts: Sequence[HeatBins], title: str, role: str, axis: TimeAxis, told: Told) -> None:
        """Show these bins, added up; `told`: the percentiles that the title has without a cursor."""
        self.title, self.role, self.axis, self.told = title, role, axis, told
        self.cells.show(parts)
        self.update_lines()

    @property
    def look(self) -> Look:
        """How density is drawn: colours that cannot be mixed are shaded by characters."""
        if self.symbols == "ascii":
            return "ascii"
        palette = self.get_component_styles("lines--latency").color.ansi is not None
        return "shade" if palette or self.app.no_color else "solid"

    def build(self, width: int, height: int) -> list[Line]:
        """Frame with title and percentiles, the map, its times."""
        inner, rows = width - 4, height - 2
        if rows < LEAST_ROWS or inner < SCALE + 10:
            return []
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        title, legend = self._heading(width - 4)
        head = frame_line(sides[0], sides[4], sides[1], [(title, "title")], legend, width)
        if self.cells.empty:
            body = [Line.of(("no load yet", LABEL)), *[Line()] * (rows - 1)]
        else:
            body = heat_lines(self.cells, self.axis, (inner, rows), self.role, self.look)
        framed = [Line.of((sides[5] + " ", FAINT), *padded(row.runs, inner), (" " + sides[5], FAINT)) for row in body]
        return [head, *framed, self._foot(sides, inner)]

    def _heading(self, room: int) -> tuple[str, list[Run]]:
        """Return title and legend in so many cells: the title gives way first, then what the legend lacks least."""
        titles = (self.title, self.title.replace(" over time", "", 1), self.title.removeprefix(LONG_TITLE))
        legend = self._legend()
        title = next((each for each in titles if _fits(each, legend.values(), room)), titles[-1])
        for least in reversed(IMPORTANCE):
            if not _fits(title, legend.values(), room):
                legend.pop(least, None)
        return title, [*legend.values()]

    def _legend(self) -> dict[float, Run]:
        """Return each line's mark with its value, and which second it is of (`WHEN`), in order."""
        axis = self.axis
        if self.cells.empty:
            return {}
        found = self.told if axis.cursor_s is None else self.cells.percentiles(axis.cursor_s, axis.cursor_s + 1)
        plain = self.symbols == "ascii"
        runs: dict[float, Run] = {
            each: (f"{MARKS[each][plain]} p{each:g} {latency(value)}", LABEL)
            for each in LINES
            if (value := found.get(each)) is not None
        }
        return {WHEN: (axis.cursor_text, VALUE), **runs} if axis.cursor_text else runs

    def _foot(self, sides: str, inner: int) -> Line:
        """Return the lower frame with the times set into it."""
        times = times_in_frame(self.axis.labels(inner - SCALE), sides[4])
        return Line.of((sides[2] + sides[4] * (SCALE + 1), FAINT), *times, (sides[4] + sides[3], FAINT))


def _fits(title: str, legend: Iterable[Run], room: int) -> bool:
    """Tell whether a title and a legend fit into a frame line, each part between blanks."""
    return sum(width_of(text) + 2 for text, _ in ((title, ""), *legend)) < room

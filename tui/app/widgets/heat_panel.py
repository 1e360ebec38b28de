"""The latency heat map in its frame: percentiles of the newest column, or of the one under the cursor, in the title."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import ASCII_FRAME, ROUND_FRAME, frame_line, times_in_frame
from tui.app.widgets.lines import Lines
from tui.metrics.heat import HeatBins
from tui.metrics.sparkline import Symbols
from tui.metrics.units import clock, latency
from tui.text.heat import LINES, MARKS, SCALE, HeatCells, Look, heat_lines
from tui.text.line import FAINT, LABEL, VALUE, Line, Run, padded
from tui.text.timeaxis import TimeAxis

LEAST_ROWS = 3


class HeatPanel(Lines):
    """Latency upwards by its logarithm, time to the right over the planned run, density as shade."""

    DEFAULT_CSS = "HeatPanel { height: 8; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.cells = HeatCells()
        self.title, self.role = "", "latency"
        self.axis = TimeAxis(0, 60)
        self.newest_s: int | None = None

    def show(self, parts: Sequence[HeatBins], title: str, role: str, axis: TimeAxis, newest_s: int | None) -> None:
        """Show these bins, added up; `newest_s` is the end of the newest whole second."""
        self.title, self.role, self.axis, self.newest_s = title, role, axis, newest_s
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
        head = frame_line(sides[0], sides[4], sides[1], [(self.title, "title")], self._legend(), width)
        if self.cells.empty:
            body = [Line.of(("no load yet", LABEL)), *[Line()] * (rows - 1)]
        else:
            body = heat_lines(self.cells, self.axis, (inner, rows), self.role, self.look)
        framed = [Line.of((sides[5] + " ", FAINT), *padded(row.runs, inner), (" " + sides[5], FAINT)) for row in body]
        return [head, *framed, self._foot(sides, inner)]

    def _legend(self) -> list[Run]:
        """Return each line's mark with its value, and which second it is of."""
        axis = self.axis
        at = axis.cursor_s if axis.cursor_s is not None else (self.newest_s or 0) - 1
        if self.cells.empty or (self.newest_s is None and axis.cursor_s is None):
            return []
        found = self.cells.percentiles(at, at + 1)
        plain = self.symbols == "ascii"
        runs: list[Run] = [
            (f"{MARKS[each][plain]} p{each:g} {latency(value)}", LABEL)
            for each in LINES
            if (value := found.get(each)) is not None
        ]
        when = [(f"at {clock(axis.cursor_s - axis.start_s)}", VALUE)] if axis.cursor_s is not None else []
        return [*when, *runs]

    def _foot(self, sides: str, inner: int) -> Line:
        """Return the lower frame with the times set into it."""
        times = times_in_frame(self.axis.labels(inner - SCALE), sides[4])
        return Line.of((sides[2] + sides[4] * (SCALE + 1), FAINT), *times, (sides[4] + sides[3], FAINT))

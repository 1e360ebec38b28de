"""The figures of now in one line, with the course of the rate: where there is no room for graphs."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import Graph
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols, spark
from tui.text.line import ACCENT, LABEL, TEXT, Line, Run, clip, width_of_runs
from tui.text.timeaxis import spread_over

SHORT = {"Bandwidth": "BW", "Latency": "lat"}
LEAST_TREND = 10


class Pulse(Lines):
    """Figures of graphs beside each other; what is left is the first one's course."""

    DEFAULT_CSS = "Pulse { height: 1; padding: 0 1; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.graphs: Sequence[Graph] = ()

    def show(self, graphs: Sequence[Graph]) -> None:
        """Show the figures of these graphs."""
        self.graphs = graphs
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """The one line."""
        at = self.graphs[0].axis.cursor_text if self.graphs else ""
        runs: list[Run] = [(at, ACCENT)] if at else []
        for place, graph in enumerate(self.graphs):
            title, _, name = graph.title.partition(" · ")
            title = SHORT.get(title, title) + (f" {name}" if name and not place else "")
            against = f" ({graph.against})" if graph.against and not place else ""
            runs += [("   " if runs else "", TEXT), (title + " ", LABEL), *graph.figures, (against, LABEL)]
        room = width - width_of_runs(runs) - 2
        layers = self.graphs[0].layers if self.graphs else ()
        if room >= LEAST_TREND and layers:
            first, axis = layers[0], self.graphs[0].axis
            values = spread_over(first.values, first.first_s, axis, room * (2 if self.symbols == "braille" else 1))
            top = max((value for value in values if value is not None), default=1.0) * 1.35
            runs += [("  ", TEXT), (spark(values, room, self.symbols, high=top).replace("\u2800", " "), first.key)]
        return [Line.of(*clip(runs, width))]

"""The figures of now in one line, with the course of the rate: where there is no room for graphs."""

from __future__ import annotations

from collections.abc import Sequence

from tui.app.widgets.graph import Graph
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols, spark
from tui.text.line import ACCENT, LABEL, TEXT, Line, Run, clip, width_of_runs
from tui.text.timeaxis import spread_over

SHORT = {"Bandwidth": "BW", "Latency": "lat"}
LEAST_PARTS = 2  # rate and latency
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
        parts = [_said(graph, first=not place) for place, graph in enumerate(self.graphs)]
        runs = _joined(at, parts)
        if width_of_runs(runs) > width and len(parts) > LEAST_PARTS:  # bandwidth follows from the rate
            runs = _joined(at, [parts[0], *parts[2:]])
        room = width - width_of_runs(runs) - 2
        layers = self.graphs[0].layers if self.graphs else ()
        if room >= LEAST_TREND and layers:
            first, axis = layers[0], self.graphs[0].axis
            values = spread_over(first.values, first.first_s, axis, room * (2 if self.symbols == "braille" else 1))
            top = max((value for value in values if value is not None), default=1.0) * 1.35
            runs += [("  ", TEXT), (spark(values, room, self.symbols, high=top).replace("\u2800", " "), first.key)]
        return [Line.of(*clip(runs, width))]


def _said(graph: Graph, *, first: bool) -> list[Run]:
    """Return the figures of a graph with its title; the first one says whose they are, and what they were before."""
    title, _, name = graph.title.partition(" · ")
    title = SHORT.get(title, title) + (f" {name}" if name and first else "")
    against = f" ({graph.against})" if graph.against and first else ""
    return [(title + " ", LABEL), *graph.figures, (against, LABEL)]


def _joined(at: str, parts: Sequence[list[Run]]) -> list[Run]:
    runs: list[Run] = [(at, ACCENT)] if at else []
    for part in parts:
        runs += [("   " if runs else "", TEXT), *part]
    return runs

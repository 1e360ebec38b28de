"""Marked runs, each held against the first: what `benchtui compare` says, to scroll through."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.widget import Widget

from tui.app.screens.base import StepScreen
from tui.app.widgets.textpane import TextPane
from tui.model.problem import BenchtuiError
from tui.text.line import ACCENT, BAD, LABEL, Line, wrap

if TYPE_CHECKING:
    from tui.results.compare.compare import Comparison
    from tui.results.compare.criteria import Judged

Found = list[tuple["Comparison", list["Judged"]]]
LEAST_CHART_WIDTH, LEAST_CHART_HEIGHT, CHART_HEIGHT = 60, 10, 18


class CompareScreen(StepScreen):
    """The comparison of runs; the first one is what the others are held against."""

    SCOPE = "compare"

    def __init__(self, *runs: Path) -> None:
        super().__init__()
        self.runs = runs
        self.found: Found = []
        self.every = False
        self.drawn: bool | None = None  # until somebody says: curves of searches are, latencies are not

    def compose_body(self) -> Iterable[Widget]:
        """One pane that scrolls."""
        pane = TextPane(id="compare-text")
        pane.border_title = "Compare"
        yield pane

    @property
    def pane(self) -> TextPane:
        """The pane."""
        return self.query_one("#compare-text", TextPane)

    @property
    def in_colour(self) -> bool:
        """Curves are told apart by colour."""
        return self.shell.symbols.name != "ascii" and not self.shell.options.environ.get("NO_COLOR")

    def on_mount(self) -> None:
        """Read the records without holding up the keys."""
        self.pane.show(lambda _: [Line.of(("reading the records", LABEL))])
        self.pane.focus()
        self.load()

    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Compare off the event loop: the statistics are loaded there too."""
        try:
            self.found = await asyncio.to_thread(compared, self.runs, self.shell.paths.noise)
            if any(each.search is not None for each, _ in self.found):
                await asyncio.to_thread(load_charts)
        except BenchtuiError as error:
            said = str(error)
            self.pane.show(lambda width: [Line(part) for part in wrap([(said, BAD)], width)])
            return
        self.paint()

    def paint(self) -> None:
        """Show what was found."""
        self.pane.show(self.lines)

    def lines(self, width: int) -> list[Line]:
        """Return the page for a width."""
        from tui.results.compare.text import answer_lines, comparison_lines, judged_lines

        lines = [self.order_line()] if self.found else []
        for each, judged in self.found:
            lines += [Line()]
            shown = (each.search is not None if self.drawn is None else self.drawn) and width >= LEAST_CHART_WIDTH
            if shown and each.search is not None:  # its curve is the answer: it is seen without scrolling
                room = self.pane.size.height - 4 - len(answer_lines(each, width))
                chart = self.drawings(each, width, min(max(room, LEAST_CHART_HEIGHT), CHART_HEIGHT))
                lines += [*comparison_lines(each, width, drawn=chart), *judged_lines(judged)]
                continue
            lines += [*comparison_lines(each, width, every=self.every), *judged_lines(judged)]
            lines += self.drawings(each, width) if shown else []
        return lines

    def drawings(self, found: Comparison, width: int, height: int = CHART_HEIGHT) -> list[Line]:
        """Return the charts of one comparison."""
        from tui.results.compare.charts import charts

        made = charts(found, width, height, coloured=self.in_colour)
        return [line for chart in made for line in (Line(), *chart)]

    def order_line(self) -> Line:
        """Return which run the others are held against, and how it can be another one."""
        first = self.found[0][0].a[0].created_utc or ""
        others = [found.b[0].created_utc or "" for found, _ in self.found]
        which = "as old as the other" if {first} == {*others} else "the oldest run" if first <= min(others) else "newer"
        return Line.of(("A ", ACCENT), (f"is {which}; x makes the next run A", LABEL))

    # -- actions

    def action_all(self) -> None:
        """Show every figure of every point of a matrix, or the headlines."""
        self.every = not self.every
        self.paint()

    def action_swap(self) -> None:
        """Make the next run the one that the others are held against."""
        self.runs = (*self.runs[1:], self.runs[0])
        self.load()

    def action_curves(self) -> None:
        """Show latencies over each other, or not."""
        searched = any(each.search is not None for each, _ in self.found)
        self.drawn = not (searched if self.drawn is None else self.drawn)
        self.draw()

    @work(exclusive=True, group="draw", exit_on_error=False)
    async def draw(self) -> None:
        """Load the charts off the event loop, then show."""
        await asyncio.to_thread(load_charts)
        self.paint()


def load_charts() -> None:
    """Load what draws."""
    import tui.results.compare.charts  # noqa: F401


def compared(runs: Iterable[Path], noise: Path) -> Found:
    """Return each run against the first, and how it stands by its thresholds. Raises BenchtuiError."""
    from tui.results.compare.compare import compare
    from tui.results.compare.criteria import criteria_of, judge
    from tui.results.compare.noise import NoiseFloors
    from tui.results.record.load import load_record

    first, *others = [load_record(run_dir) for run_dir in runs]
    floors = NoiseFloors.read(noise)
    found = [compare([first], [other], floors) for other in others]
    return [(each, judge(each.a, each.b, criteria_of(each.b))) for each in found]

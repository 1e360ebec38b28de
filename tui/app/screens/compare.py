"""Compare: the marked runs, each compared with the first, as `benchtui compare` prints it."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import work
from textual.widget import Widget

from tui.app.frame.step_screen import KeyBar, StepScreen
from tui.app.services.comparing import ComparisonRequest, ShownComparison, compared
from tui.app.services.exporting import copy_of_comparison, report_runs
from tui.app.widgets.lines import TextPane
from tui.model.problem import BenchtuiError
from tui.text.line import BAD, LABEL, Line, beside, wrap

if TYPE_CHECKING:
    from tui.analysis.compare import Comparison

NO_SIDES = (
    "no repetitions among these runs: repetitions have the same parameters or tags (t on Runs)"
)
LEAST_CHART_WIDTH, LEAST_CHART_HEIGHT, CHART_HEIGHT = 60, 9, 18
LEAST_PAIR_WIDTH, GUTTER = 100, 3  # two charts next to each other
CHARTS = "tui.view.comparison_charts"


class CompareScreen(StepScreen):
    """Compares sides of one or several runs; all others are compared with the first side."""

    SCOPE = "compare"

    def __init__(self, *runs: Path) -> None:
        super().__init__()
        self.runs = runs
        self.wish = ComparisonRequest()
        self.shown: ShownComparison | None = None
        self.every = False
        # None: curves of searches are drawn, latencies if they fit
        self.drawn: bool | None = None
        self.fitted = False  # both charts fit
        self.chart_at = 0  # the first line of the charts

    def compose_body(self) -> Iterable[Widget]:
        """Yield a pane that scrolls."""
        pane = TextPane(id="compare-text")
        pane.border_title = "Compare"
        yield pane

    @property
    def pane(self) -> TextPane:
        """The pane that shows the comparison."""
        return self.query_one("#compare-text", TextPane)

    def on_mount(self) -> None:
        """Read and compare the runs."""
        self.pane.show(lambda _: [Line.of(("reading records", LABEL))])
        self.pane.focus()
        self.load()

    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Read and compare the runs in a thread, which also imports the statistics."""
        try:
            self.shown = await asyncio.to_thread(
                compared, self.runs, self.shell.paths.noise, self.wish
            )
            if self.searched:
                await asyncio.to_thread(load_charts)
        except BenchtuiError as error:
            problem_text = str(error)
            self.pane.show(
                lambda width: [Line(part) for part in wrap([(problem_text, BAD)], width)]
            )
            return
        self.paint()

    @property
    def searched(self) -> bool:
        """Whether any of the runs is a search."""
        return self.shown is not None and any(
            each.search is not None for each, _ in self.shown.found
        )

    def paint(self) -> None:
        """Show the comparison, and the keys that apply to it."""
        self.pane.show(self.lines)
        if self.shown is not None:
            single = all(
                len(each.points) <= 1 or each.search is not None for each, _ in self.shown.found
            )
            useless = {
                "compare.sides": not self.shown.can_join,
                "compare.accept": not self.shown.can_accept,
            }
            useless["compare.all"] = single
            self.query_one(KeyBar).leave_out(
                *(key for key, is_useless in useless.items() if is_useless)
            )

    def lines(self, width: int) -> list[Line]:
        """Return the page in lines of at most `width` cells."""
        from tui.view.comparison import answer_lines, comparison_lines, judged_lines

        if self.shown is None:
            return []
        lines: list[Line] = []
        self.chart_at = 0
        for each, judged in self.shown.found:
            about = [*self.shown.lines(width)] if not lines else []  # the answer comes first
            lines += [Line()] if lines else []
            shown = (
                each.search is not None if self.drawn is None else self.drawn
            ) and width >= LEAST_CHART_WIDTH
            # its curve is the answer: visible without scrolling
            if shown and each.search is not None:
                room = self.pane.size.height - 3 - len(about) - len(answer_lines(each, width))
                chart = self.drawings(each, width, min(max(room, LEAST_CHART_HEIGHT), CHART_HEIGHT))
                lines += [
                    *comparison_lines(each, width, drawn=[*about, *chart]),
                    *judged_lines(judged),
                ]
                continue
            lines += [
                *comparison_lines(each, width, every=self.every, drawn=about),
                *judged_lines(judged),
            ]
            if shown and (charts := self.drawings(each, width, self.chart_height)):
                self.chart_at = self.chart_at or len(lines) + 1  # after the empty line
                lines += charts
        if self.chart_at:  # so that the charts can be scrolled to the top
            lines += [Line()] * (self.chart_at + self.pane.size.height - len(lines))
        return [*lines, *self.fitting(width, self.pane.size.height - len(lines))]

    @property
    def chart_height(self) -> int:
        """Height of a chart that the user asked for; two fit on the screen if still readable."""
        half = self.pane.size.height // 2 - 1
        return min(half if half >= LEAST_CHART_HEIGHT else CHART_HEIGHT, CHART_HEIGHT)

    def fitting(self, width: int, room: int) -> list[Line]:
        """Return latency charts if two sides are compared and charts fit below the page.

        Empty if the user has switched charts on or off. The first call only starts to load them.
        """
        self.fitted = False
        if (
            self.drawn is not None
            or self.shown is None
            or len(self.shown.found) != 1
            or self.searched
        ):
            return []
        if width < LEAST_CHART_WIDTH or room <= LEAST_CHART_HEIGHT:
            return []
        if CHARTS not in sys.modules:
            self.draw()  # called again when they are loaded
            return []
        ((found, _),) = self.shown.found
        if width >= LEAST_PAIR_WIDTH:
            self.fitted = True
            made = [*self.charts(found, half_of(width), room - 1)]
            return side_by_side(made[:2], width)
        self.fitted = both = room >= 2 * (LEAST_CHART_HEIGHT + 1)
        height = room // 2 - 1 if both else room - 1
        made = [*self.charts(found, width, min(height, CHART_HEIGHT))]
        kept = made[:2] if both else made[1:2]  # few rows: shares show more than curves
        return [line for chart in kept for line in chart]

    def charts(
        self, found: Comparison, width: int, height: int = CHART_HEIGHT
    ) -> Iterator[list[Line]]:
        """Yield the charts of one comparison, each with an empty line above it."""
        from tui.view.comparison_charts import charts

        yield from (
            [Line(), *chart]
            for chart in charts(found, width, height, coloured=self.shell.draws_colors)
        )

    def drawings(self, found: Comparison, width: int, height: int = CHART_HEIGHT) -> list[Line]:
        """Return the charts of one comparison: next to each other in pairs, if they fit."""
        if width >= LEAST_PAIR_WIDTH and found.search is None:
            made = [*self.charts(found, half_of(width), height)]
            pairs = [made[at : at + 2] for at in range(0, len(made), 2)]
            return [line for pair in pairs for line in side_by_side(pair, width)]
        return [line for chart in self.charts(found, width, height) for line in chart]

    # -- actions

    def action_all(self) -> None:
        """Switch between every figure of a matrix and its headlines."""
        self.every = not self.every
        self.paint()

    def action_swap(self) -> None:
        """Make the next side the first one, with which all others are compared."""
        self.wish = replace(self.wish, turn=self.wish.turn + 1)
        self.load()

    def action_sides(self) -> None:
        """Switch between repetitions grouped into sides and each run on its own."""
        if self.shown is None:
            return
        if not self.shown.can_join:
            self.notify(NO_SIDES, severity="warning")
            return
        self.wish = replace(self.wish, join=not self.shown.by, turn=0)
        self.load()

    def action_accept(self) -> None:
        """Switch whether runs with different parameters are compared."""
        if self.shown is None:
            return
        if not self.shown.can_accept:
            self.notify(
                "no parameter differs in a way that prevents a comparison", severity="warning"
            )
            return
        self.wish = replace(self.wish, accept=not self.shown.across)
        self.load()

    @work(exclusive=True, group="report", exit_on_error=False)
    async def action_report(self) -> None:
        """Write the comparison as a report."""
        if self.shown is not None:
            await report_runs(self, self.shown.sides, self.shell.options.environ, self.shown.across)

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy(self) -> None:
        """Ask which text of the comparison to copy, and copy it through the terminal."""
        if self.shown is not None:
            await copy_of_comparison(self, self.shown)

    def action_curves(self) -> None:
        """Show the latency charts and scroll to them, or hide them."""
        self.drawn = not (self.searched or self.fitted if self.drawn is None else self.drawn)
        self.draw(seen=self.drawn)

    @work(exclusive=True, group="draw", exit_on_error=False)
    async def draw(self, *, seen: bool = False) -> None:
        """Import the charts in a thread, then show the comparison with them.

        `seen`: scroll to them.
        """
        await asyncio.to_thread(load_charts)
        self.paint()
        if seen and not self.chart_at and not self.searched:
            self.notify("the runs have no latencies in common")
        if seen and self.chart_at:
            self.pane.call_after_refresh(self.pane.scroll_to, y=self.chart_at, animate=False)


def half_of(width: int) -> int:
    """Return the width of each of two charts next to each other."""
    return (width - GUTTER) // 2


def side_by_side(charts: Sequence[list[Line]], width: int) -> list[Line]:
    """Return one or two charts next to each other."""
    first, *others = charts or [[]]
    return beside(first, others[0], half_of(width) + GUTTER) if others else first


def load_charts() -> None:
    """Import the module that draws charts."""
    importlib.import_module(CHARTS)

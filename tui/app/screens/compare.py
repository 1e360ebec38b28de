"""Compare: the marked runs, each compared with the first, as `benchtui compare` prints it."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterable
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
from tui.text.line import BAD, LABEL, Line, wrap
from tui.text.plot import LOWEST

if TYPE_CHECKING:
    from tui.analysis.compare import Comparison

NO_SIDES = (
    "no repetitions among these runs: repetitions have the same parameters or tags (t on Runs)"
)
LEAST_CHART_WIDTH, LEAST_CHART_HEIGHT, CHART_HEIGHT = 60, 9, 18
CHARTS = "tui.view.comparison_charts"


class CompareScreen(StepScreen):
    """Compares sides, each of one or several runs.

    Every further side is compared with the first.
    """

    SCOPE = "compare"

    def __init__(self, *runs: Path) -> None:
        super().__init__()
        self.runs = runs
        self.wish = ComparisonRequest()
        self.shown: ShownComparison | None = None
        self.every = False
        self.drawn = True  # curves of searches
        self.latencies = False  # only latencies are shown
        self.explained = False  # how changes were tested is shown

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
        self.pane.border_title = "Compare: latencies" if self.latencies else "Compare"
        if self.shown is not None:
            single = all(
                len(each.points) <= 1 or each.search is not None for each, _ in self.shown.found
            )
            useless = {
                "compare.sides": not self.shown.can_join,
                "compare.accept": not self.shown.can_accept,
            }
            useless["compare.all"] = single
            bar = self.query_one(KeyBar)
            bar.leave_out(*(key for key, is_useless in useless.items() if is_useless))
            bar.relabel({"compare.curves": "all figures"} if self.latencies else {})

    def lines(self, width: int) -> list[Line]:
        """Return the page in lines of at most `width` cells."""
        if self.shown is None:
            return []
        if self.latencies:
            return self.latency_lines(width)
        from tui.view.comparison import (
            answer_lines,
            figure_lines,
            judged_lines,
            method_line,
            method_lines,
        )

        lines: list[Line] = []
        methods: dict[str, Line] = {}
        for each, judged in self.shown.found:
            lines += [Line()] if lines else []
            lines += answer_lines(each, width, titles=self.shown.titles)
            about = [] if methods else self.shown.lines(width)  # the answer comes first
            lines += about
            # its curve is the answer: visible without scrolling
            if each.search is not None and self.drawn and width >= LEAST_CHART_WIDTH:
                room = max(self.pane.size.height - 3 - len(lines), LEAST_CHART_HEIGHT)
                lines += self.drawings(each, width, min(room, CHART_HEIGHT))
            lines += [*figure_lines(each, width, every=self.every), *judged_lines(judged)]
            explained = method_lines(each, width) if self.explained else []
            told = explained or method_line(each, width)
            methods |= {line.plain: line for line in told}
        lines += methods.values()
        return [*lines, *self.fitting(width, self.pane.size.height - len(lines))]

    def latency_lines(self, width: int) -> list[Line]:
        """Return figures and charts of the latencies, to fill the whole pane."""
        from tui.view.comparison_charts import latency_page

        assert self.shown is not None
        lines: list[Line] = []
        for each, _ in self.shown.found:
            lines += [Line()] if lines else []
            lines += latency_page(
                each,
                self.shown.names(each),
                width,
                self.pane.size.height,
                coloured=self.shell.draws_colors,
            )
        return lines

    def fitting(self, width: int, room: int) -> list[Line]:
        """Return latency charts if two sides are compared and charts fit below the page.

        The first call only starts to load them.
        """
        if self.shown is None or len(self.shown.found) != 1 or self.searched:
            return []
        if width < LEAST_CHART_WIDTH or room < LOWEST:
            return []
        if CHARTS not in sys.modules:
            self.draw()  # called again when they are loaded
            return []
        from tui.view.comparison_charts import fitting_charts

        ((found, _),) = self.shown.found
        gap = [Line()] if room > LOWEST else []
        room -= len(gap)
        return [*gap, *fitting_charts(found, width, room, coloured=self.shell.draws_colors)]

    def drawings(self, found: Comparison, width: int, height: int) -> list[Line]:
        """Return the charts of two searches."""
        from tui.view.comparison_charts import charts

        made = charts(found, width, height, coloured=self.shell.draws_colors)
        return [line for chart in made for line in (Line(), *chart)]

    # -- actions

    def action_all(self) -> None:
        """Switch between every figure of a matrix and its headlines."""
        self.every = not self.every
        self.paint()

    def action_method(self) -> None:
        """Explain how changes were tested, or return to the summary in one line."""
        self.explained = not self.explained
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
        """Switch between the page and the latencies, or a search's curves, in the whole pane."""
        if self.searched:
            self.drawn = not self.drawn
            self.paint()
            return
        self.latencies = not self.latencies
        self.draw()

    @work(exclusive=True, group="draw", exit_on_error=False)
    async def draw(self) -> None:
        """Import the charts in a thread, then show the comparison with them."""
        await asyncio.to_thread(load_charts)
        if self.latencies and not self.latency_lines(LEAST_CHART_WIDTH):
            self.latencies = False
            self.notify("the runs have no latencies in common")
        self.paint()
        self.pane.scroll_home(animate=False)


def load_charts() -> None:
    """Import the module that draws charts."""
    importlib.import_module(CHARTS)

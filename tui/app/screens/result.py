"""Result (step 5): what a run measured, on one page."""

from __future__ import annotations

import asyncio
import importlib
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import VerticalScroll
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.widget import Widget

from tui.app.frame.step_screen import KeyBar, StepScreen
from tui.app.screens.result_page import NARROW, Page, page_of
from tui.app.screens.result_text import (
    beside,
    lines_above_chart,
    page_lines,
    shown_tab,
    tab_at,
    tab_line,
    tabs_of,
    title_line,
)
from tui.app.services import remedies
from tui.app.services.run_commands import RunChanged, is_ours
from tui.app.terminal import run_actions
from tui.app.widgets.lines import Lines
from tui.journal.rundir import readable_plan
from tui.model.problem import BenchtuiError
from tui.text.line import LABEL, Line, Run, whole_heads
from tui.text.plot import LEAST_HEIGHT
from tui.view.matrix import CURSOR
from tui.view.step_notes import measured_nothing

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.view.charts import ChartMetric
    from tui.view.objections import ObjectionAnswer
    from tui.view.published import PublishedView

CHART_SHARE = 0.42
LEAST_CHART, MOST_CHART = 9, 26
AROUND = 4  # rows outside the page: header, run, tabs, keys
ONE_CHART = frozenset({"summary"})  # tabs that end in a single chart
WITHOUT_RECORD = {"result.replay", "result.again"}
NEED_A_RECORD = frozenset(action.id for action in run_actions.RESULT) - WITHOUT_RECORD


class ResultPage(Lines):
    """The page, as tall as its lines; its container scrolls it."""

    DEFAULT_CSS = "ResultPage { height: auto; padding: 0 1; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.page: Page | None = None
        self.text: Run = ("reading the record", LABEL)
        self._made: tuple[object, list[Line]] | None = None

    def show(self, page: Page) -> None:
        """Show a page."""
        self.page = page
        self.refresh(layout=True)
        self.call_after_refresh(self.update_lines)

    def show_text(self, text: str, role: str) -> None:
        """Show a text in place of a page."""
        self.page, self.text = None, (text, role)
        self.refresh(layout=True)
        self.call_after_refresh(self.update_lines)

    def lines_for(self, width: int) -> list[Line]:
        """Return the lines for a width.

        They are cached by page and width, because charts take milliseconds.
        """
        if self.page is None:
            text, role = self.text
            return [
                Line.of((part, role))
                for line in text.split("\n")
                for part in textwrap.wrap(line, width) or [""]
            ]
        height = max(LEAST_CHART, min(MOST_CHART, round(self.screen.size.height * CHART_SHARE)))
        room = self.screen.size.height - AROUND
        wanted = (self.page, width, height, room)
        if self._made is None or self._made[0] != wanted:
            self._made = (wanted, whole_heads(filled(self.page, width, height, room), room))
        return self._made[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return the number of lines."""
        return len(self.lines_for(width))

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return all lines of the page."""
        return self.lines_for(width)


def filled(page: Page, width: int, height: int, room: int) -> list[Line]:
    """Return the lines of a page, with a chart as high as `room` allows.

    The chart grows or shrinks so that the page fits the screen or, on a small screen, so that the
    whole chart is visible without scrolling.
    """
    if shown_tab(page).name == "time" and width < NARROW:
        height = min(height, max((room - 1) // 2 - 1, LEAST_HEIGHT))  # two charts, each whole
    lines = page_lines(page, width, height)
    fitting = height + room - len(lines)
    if fitting == height or shown_tab(page).name not in ONE_CHART:
        return lines
    if page.shown_step is not None and page.shown_step.metadata is not None:
        # their chart is lower than allowed: a line for each operation says as much as two
        without = len(page_lines(page, width, 0))
        low = page_lines(page, width, room - without)
        return low if without < len(low) <= room else lines
    if fitting < LEAST_CHART and page.shown_matrix is not None and len(lines) > room:
        low = page_lines(page, width, fitting) if fitting >= LEAST_HEIGHT else lines
        # otherwise the chart of a row would be cut
        return low if len(low) <= room else page_lines(page, width, 0)
    if fitting < LEAST_CHART and page.record.search is not None:
        low = page_lines(page, width, LEAST_HEIGHT)
        return low if len(low) <= room else lines
    if fitting < LEAST_CHART:
        fitting = room - lines_above_chart(page, width)
        # lines of a matrix below the chart say more than a higher chart
        is_plain = page.shown_matrix is None
        has_room = fitting >= LEAST_HEIGHT - 1 and page.all_hosts and is_plain
        return page_lines(page, width, fitting) if has_room else lines
    other = page_lines(page, width, fitting)
    return other if len(other) <= room else lines


class TabChosen(Message):
    """Sent when a tab is clicked."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class ResultTop(Lines):
    """The fixed lines above the page: the run, and the tabs."""

    DEFAULT_CSS = "ResultTop { height: 2; padding: 0 1; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.page: Page | None = None

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return the line about the run, and the line of tabs."""
        return (
            [title_line(self.page, width), tab_line(self.page, width)]
            if self.page is not None
            else []
        )

    def on_click(self, event: Click) -> None:
        """Send `TabChosen` for a click on a tab."""
        if (
            self.page is not None
            and event.y == 1
            and (name := tab_at(self.page, self.size.width, event.x - 1))
        ):
            self.post_message(TabChosen(name))


class ResultScreen(StepScreen):
    """Shows the result of one run.

    If run.json is missing, the record is built from the journal.
    """

    SCOPE = "result"
    CSS_PATH = "result.tcss"

    def __init__(self, run_dir: Path) -> None:
        super().__init__()
        self.run_dir = run_dir
        self.page: Page | None = None
        self.wanted_tab = ""  # by a key pressed before the record was read
        self.useless: set[str] = set()  # actions without an effect on this page

    def compose_body(self) -> Iterable[Widget]:
        """Yield the fixed lines, and the page below them."""
        yield ResultTop(id="result-top")
        with VerticalScroll(id="result-scroll", can_focus=False):
            yield ResultPage(id="result-page")

    @property
    def run_at_hand(self) -> Path:
        """Directory of the run whose result is shown."""
        return self.run_dir

    @property
    def view(self) -> ResultPage:
        """The widget that shows the page."""
        return self.query_one("#result-page", ResultPage)

    @property
    def scroll(self) -> VerticalScroll:
        """The container that scrolls the page."""
        return self.query_one("#result-scroll", VerticalScroll)

    def on_mount(self) -> None:
        """Read the record in a thread."""
        self.watch(self.scroll, "show_vertical_scrollbar", self.show_keys, init=False)
        self.load()

    @on(RunChanged)
    @work(exclusive=True, group="load", exit_on_error=False)
    async def load(self) -> None:
        """Read the record and show it."""
        try:
            record = await asyncio.to_thread(record_of, self.run_dir)
            published = await asyncio.to_thread(published_of, record, self.shell.paths.baselines)
            answers = tuple(await asyncio.to_thread(answers_of, record))
            # its first import takes a while
            await asyncio.to_thread(importlib.import_module, "plotext")
        except BenchtuiError as error:
            self.view.show_text(f"no result to show\n{error}\n\np replays the journal", "bad")
            self.useless = {*NEED_A_RECORD}
            self.show_keys()
            return
        shell, path = self.shell, self.run_dir / "run.json"
        page = page_of(
            record, path, colors=shell.draws_colors, symbols=shell.symbols.name, before=self.page
        )
        page = replace(page, published=published, answers=answers)
        wanted, self.wanted_tab = self.wanted_tab, ""
        has_it = any(tab.name == wanted for tab in tabs_of(page))
        self.show(replace(page, tab=wanted) if has_it else page)

    def show(self, page: Page) -> None:
        """Show a page."""
        self.page = page
        self.view.show(page)
        top = self.query_one(ResultTop)
        top.page = page
        top.update_lines()
        useful = {
            "result.job": len(page.jobs) > 1,
            "result.remedy": remedies.of_record(page.record) is not None,
            "result.again": page.record.state not in ("imported", "baseline"),
        }
        useful["result.defend"] = page.tab != "defend" and any(
            tab.name == "defend" for tab in tabs_of(page)
        )
        useful["result.findings"] = page.tab != "findings"
        useful["result.replay"] = not measured_nothing(page.record)
        self.useless = {key for key, is_useful in useful.items() if not is_useful}
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys that are useful now, and the scroll key if not all lines fit."""
        scrolls = self.scroll.show_vertical_scrollbar
        unused = self.useless if scrolls else {*self.useless, "result.down"}
        self.query_one(KeyBar).leave_out(*unused)

    def show_tab(self, name: str) -> None:
        """Show another tab, scrolled to its top."""
        if self.page is not None:
            self.show(replace(self.page, tab=name))
            self.action_to_end(-1)

    def on_tab_chosen(self, message: TabChosen) -> None:
        """Show the tab that was clicked."""
        self.show_tab(message.name)

    # -- actions

    def action_tab(self, places: int) -> None:
        """Show the tab `places` to the right."""
        if self.page is not None:
            self.show_tab(beside(self.page, places))

    def action_toggle_tab(self, name: str) -> None:
        """Show a tab or, if it is shown, the summary."""
        if self.page is None:
            self.wanted_tab = name
            return
        if name == "defend" and not self.page.answers:
            self.notify("nothing was measured: no objections", severity="warning")
            return
        self.show_tab("summary" if self.page.tab == name else name)

    def action_chart(self, metric: ChartMetric) -> None:
        """Draw another metric over time; in a matrix, show it in the cells."""
        if self.page is not None:
            self.show(self.page.with_metric(metric))

    def action_open(self) -> None:
        """Show the step of the cell under the cursor.

        If it has several repetitions, show the one closest to the median.
        """
        page = self.page
        if (
            page is not None
            and page.shown_matrix is not None
            and page.shown_matrix.cell.step is not None
        ):
            self.show(replace(page, inside=True, step=page.shown_matrix.cell.step))
            self.action_to_end(-1)

    def action_matrix(self) -> None:
        """Switch between the matrix and one of its steps."""
        if self.page is None or self.page.matrix is None:
            self.notify("this run has no matrix")
        elif self.page.inside:
            self.show_matrix(self.page)
        else:
            self.action_open()

    def show_matrix(self, page: Page) -> None:
        """Show the matrix, with the cursor on the cell of the current step."""
        self.show(page.with_matrix())
        self.call_after_refresh(self.scroll_to_cursor)

    def scroll_to_cursor(self) -> None:
        """Scroll the line of the cursor into view, with one line above and below."""
        lines = self.view.lines_for(self.view.size.width)
        place = next(
            (y for y, line in enumerate(lines) if any(key == CURSOR for _, key in line.runs)), None
        )
        if place is not None:
            self.scroll.scroll_to_region(Region(0, max(0, place - 1), 1, 3), animate=False)

    def action_move_cursor(self, rows: int, columns: int) -> None:
        """Move the cursor of the matrix; at the first or last row, scroll.

        Without a matrix, show the next tab or scroll.
        """
        moved = self.page.with_cursor(rows, columns) if self.page is not None else None
        if moved is not None:
            self.show(moved)
            self.call_after_refresh(self.scroll_to_cursor)
        elif rows:
            self.scroll.scroll_relative(y=rows, animate=False)
        elif self.page is not None and self.page.shown_matrix is None:
            self.action_tab(columns)

    def action_job(self) -> None:
        """Show the next job; after the last one, all jobs together."""
        if self.page is None or len(self.page.jobs) < 2:
            self.notify("this step has only one job")
        else:
            self.show(self.page.with_next_job())

    def action_step(self, places: int) -> None:
        """Show the step `places` further on."""
        if self.page is not None:
            last = len(self.page.record.steps) - 1
            self.show(replace(self.page, step=max(0, min(last, self.page.step + places))))

    def action_remedy(self) -> None:
        """Ask, then apply the remedy for a refused or failed run."""
        if self.page is not None and is_ours(self, self.run_dir, hosts=True):
            plan = readable_plan(self.run_dir)
            remedies.mend(self, remedies.of_record(self.page.record), self.run_dir, plan)

    def action_back(self) -> None:
        """Return from a tab to the summary, from a step to the matrix, else to the list of runs."""
        page = self.page
        if page is not None and page.tab != "summary":
            self.show_tab("summary")
        elif page is not None and page.matrix is not None and page.inside:
            self.show_matrix(page)
        else:
            super().action_back()

    def action_to_end(self, places: int) -> None:
        """Scroll to the top or to the end of the page."""
        (self.scroll.scroll_home if places < 0 else self.scroll.scroll_end)(animate=False)

    def action_page(self, places: int) -> None:
        """Scroll by half a screen."""
        self.scroll.scroll_relative(y=places * max(1, self.scroll.size.height // 2), animate=False)


def record_of(run_dir: Path) -> RunRecord:
    """Return the record of a run, from the journal if run.json is missing.

    Unless the run is still running, this also writes run.json. Raises BenchtuiError.
    """
    from pydantic import ValidationError

    from tui.journal.rundir import is_running
    from tui.library.build import write_record
    from tui.library.load import record_so_far
    from tui.model.bounded import read_file
    from tui.model.record import parse_record

    path = run_dir / "run.json"
    try:
        return parse_record(read_file(path))
    except FileNotFoundError:
        return record_so_far(run_dir) if is_running(run_dir) else write_record(run_dir)
    except ValidationError as error:
        raise BenchtuiError(f"{path}: not a run record: {error.errors()[0]['msg']}") from error
    except OSError as error:
        raise BenchtuiError(f"{path}: {error.strerror}") from error


def answers_of(record: RunRecord) -> list[ObjectionAnswer]:
    """Return the answer to every objection to a run."""
    from tui.view.objection_catalogue import objections_to

    return objections_to(record)


def published_of(record: RunRecord, user_dir: Path) -> PublishedView | None:
    """Return a run next to published results; None if its profile has none."""
    from tui.view.published import published

    return published(record, user_dir)[0]

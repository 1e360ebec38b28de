"""Step 4: the whole cluster in one picture while a run goes on, and the same picture of a run
played again.

Pull, not push: one timer reads the journal into the state and hands it to the widgets, which
repaint the cells that changed. Nothing is sent per sample, and nothing at all while the screen is
hidden."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget

from tui.app.dialogs.findings import HostDialog
from tui.app.frame.step_screen import ROOMY, KeyBar
from tui.app.screens import live_details, live_text
from tui.app.screens.live_details import HostDetails
from tui.app.screens.live_feed import Now
from tui.app.screens.live_layout import ROOMY_LINES
from tui.app.screens.live_rooms import FIXED, RoomsScreen
from tui.app.services import remedies
from tui.app.widgets.field import TextInput
from tui.app.widgets.figure_tiles import FigureTiles, live_tiles
from tui.app.widgets.graph import Graph, GraphPanel, Pulse
from tui.app.widgets.graph_panels import HeatPanel, Subject, panels, with_behind
from tui.app.widgets.host_columns import RowFigures
from tui.app.widgets.host_rows import ServerTable
from tui.app.widgets.host_strip import HostLine, HostStrip
from tui.app.widgets.host_table import FOLD, NOBODY, HostTable
from tui.app.widgets.run_panels import (
    ELSEWHERE,
    NOTHING_TOLD,
    Banner,
    HostFactsBar,
    MessageLog,
    OperationsPanel,
    PercentileTable,
    RunHeader,
)
from tui.app.widgets.search_panel import MatrixPanel, SearchPanel
from tui.metrics.units import clock
from tui.record.progress import LiveMatrix
from tui.record.search import LiveSearch
from tui.text.line import Line
from tui.text.plot import TimeAxis
from tui.view import live_health
from tui.view.live_marks import Marks
from tui.view.live_series import HostsOverTime
from tui.view.live_wait import FIRST_SAMPLES, waiting_of


class LiveScreen(RoomsScreen):
    """One run, live or (with a speed) as a replay: what is chosen to be looked at, and the panels
    that show it.
    """

    SCOPE = "live"
    CSS_PATH = "live.tcss"
    ZOOMS: ClassVar[tuple[str, ...]] = ("heat", "strip", *RoomsScreen.PANELS)

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        super().__init__(run_dir, replay_speed, now, alive)
        self.search = LiveSearch(self.plan)
        self.matrix = LiveMatrix(None if self.search.searches else self.plan)
        self.matrix_size = "some" if self.matrix.plan is not None else "none"
        self.marks = Marks()
        self.alone: HostsOverTime | None = None  # of the host that is shown alone

    # -- building

    def compose_body(self) -> Iterable[Widget]:
        """Header, health, matrix or search, figures, graphs, heat map, percentiles, hosts,
        messages.
        """
        symbols = self.shell.symbols
        yield RunHeader(symbols.name, id="live-header")
        yield Banner(id="live-banner")
        yield Banner(id="live-health")
        yield MatrixPanel(symbols.name, id="live-matrix")
        yield SearchPanel(symbols.name, id="live-search")
        yield FigureTiles(symbols.name, id="live-figures")
        yield Pulse(symbols.name, id="live-pulse")
        yield HostLine(symbols.name, id="live-line", classes="-none")
        with Horizontal(id="live-graphs"):
            for name in self.PANELS:
                yield GraphPanel(id=f"live-{name}", symbols=symbols.name)
            yield HostStrip(symbols.name, id="live-strip", classes="-none")
        yield HeatPanel(symbols.name, id="live-heat")
        yield OperationsPanel(id="live-operations")
        yield HostFactsBar(id="live-facts")
        yield PercentileTable(symbols.name, id="live-percentiles")
        thresholds = self.plan.thresholds if self.plan is not None else {}
        yield HostTable(symbols.name, thresholds, id="live-hosts")
        yield TextInput(
            placeholder="filter: part of a host's name, or h[1-4]",
            classes="filter",
            id="live-filter",
        )
        yield ServerTable(thresholds, id="live-servers")
        marks = {"info": symbols.dot, "warning": symbols.warn, "error": symbols.bad}
        yield MessageLog(marks, id="live-messages")

    # -- painting

    def painting(self) -> Iterator[None]:
        """Hand the state to the widgets, panel by panel."""
        if not self.is_mounted:
            return
        self.keep_cursor()
        feed, state = self.feed, self.feed.state
        axis = replace(self.axis, marks=self.marks.of(state, self.found, self.host))
        view = state.hosts.get(self.host or "")
        subject = live_text.subject_of(
            state, view, self.shown_job, live_text.about(state, self.plan)
        )
        self.show_search()
        mode = live_text.mode(feed, self.rate_hz, paused=self.paused)
        head = live_text.head(feed, self.plan, mode, self.search_panel.view)
        self.query_one("#live-header", RunHeader).show(head)
        strip = live_text.banner(feed, self.plan, self.size.width - 2, self.size.height)
        self.query_one("#live-banner", Banner).show(strip)
        yield
        self.paint_hosts(subject, axis)
        yield
        self.paint_health()
        plain, counted = (
            self.shell.symbols.name == "ascii",
            live_text.operation_of(state, self.plan),
        )
        waits = live_text.latencies_of(state, subject)
        self.waiting = waiting_of(state, self.plan)
        yield
        graphs: tuple[Graph, ...] = panels(
            subject, waits, axis, ascii_only=plain, counted=counted, waiting=self.waiting
        )
        if self.shown_job is None:  # of single jobs nothing is kept
            graphs = with_behind(graphs, subject, self.behind, state.current.step, self.host or "")
        self.paint_graphs(graphs, counted=bool(counted))
        yield
        self.paint_strip(axis)
        yield
        self.query_one(HeatPanel).empty = (
            self.waiting.text if self.waiting is not None else FIRST_SAMPLES
        )
        self.paint_heat(waits, axis)
        yield
        if live_text.metadata_step(state, self.plan) is None:
            at = axis.cursor_s
            tail = (
                None
                if at is None
                else self.query_one(HeatPanel).cells.percentiles(at, at + 1).get(99.0)
            )
            tiles = self.waiting.tiles if self.waiting is not None else ()
            self.query_one(FigureTiles).show(
                tiles or live_tiles(subject, waits, axis, tail, counted)
            )
        yield
        said_of_host = live_text.host_facts(
            state, view, self.table.found, self.table.spread, axis.cursor_s
        )
        self.query_one("#live-facts", HostFactsBar).show(*said_of_host, self.detail_lines(axis))
        kind = live_text.latency_kind_of(state, self.plan)
        shown = live_text.percentiles(waits, kind, self.heat_beside(), axis, counted=bool(counted))
        self.query_one("#live-percentiles", PercentileTable).show(*shown)
        yield
        said = live_text.messages(state, view)
        messages = self.room_for_messages(len(said))
        operations = self.show_operations(messages)
        if self.matrix_size != "none":
            self.matrix_panel.show(self.matrix.cells(state), self.matrix.progress(state))
        self.show_keys()
        self.share_room(messages + operations)
        self.log_pane.empty = ELSEWHERE if live_text.says_all(state) else NOTHING_TOLD
        self.log_pane.show(said)

    def detail_lines(self, axis: TimeAxis) -> list[Line]:
        """Return what stands under the facts of the host that is shown alone, where there is
        room.
        """
        state, host = self.feed.state, self.host or ""
        if host not in state.hosts or self.size.height < ROOMY_LINES:
            return []
        self.alone = live_details.over_time(state, host, self.alone)
        details = HostDetails(state, host, self.alone, axis, self.shell.symbols.name)
        return details.strip(self.size.width - 2)

    def paint_health(self) -> None:
        """Say how well the run is."""
        lines = 2 if self.size.height >= ROOMY_LINES else 1
        spread = self.table.spread_now
        told = live_health.health(
            self.found, self.feed.state, self.plan, spread, self.size.width - 2, lines=lines
        )
        self.query_one("#live-health", Banner).show(told)

    def paint_hosts(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the hosts, worst first, and the servers, now or at the cursor."""
        state, table = self.feed.state, self.table
        clients, servers = live_text.telemetry_of(state, axis.cursor_s)
        table.brief, table.blank = live_text.says_all(state), live_text.is_between(state)
        table.cursor_s, table.cursor_text = axis.cursor_s, axis.cursor_text
        table.show(
            list(state.hosts_shown.values()),
            state.clock.now,
            RowFigures(self.shown_job, subject.host_waits, live_text.counted_of(state, self.plan)),
            live_health.marks(self.found, len(state.hosts)),
            clients,
        )
        seen_t = state.clock.now if axis.cursor_s is None else axis.cursor_s + 1.0
        self.query_one("#live-servers", ServerTable).show(servers, seen_t)

    def paint_graphs(self, graphs: Sequence[Graph], *, counted: bool) -> None:
        """Show the graphs, and the same figures in a line for where these have no room.

        `counted`: files, which stay empty, so that there is no bandwidth.
        """
        for name, graph in zip(self.PANELS, graphs, strict=True):
            self.query_one(f"#live-{name}", GraphPanel).show(graph)
        pairs = zip(self.PANELS, graphs, strict=True)
        self.query_one("#live-pulse", Pulse).show(
            [each for name, each in pairs if name != "bandwidth" or not counted]
        )

    def paint_strip(self, axis: TimeAxis) -> None:
        """Show hosts over time, where they have room."""
        state = self.feed.state
        self.query_one("#live-strip", HostStrip).whole = self.zoomed == "strip"
        span = None if live_text.is_between(state) else state.total.span
        end_s = span[1] if span is not None else axis.start_s
        for strip in self.query(HostStrip):
            strip.show(state.hosts_shown, axis, end_s, state.current, self.shown_job)

    # -- what has room

    def show_keys(self) -> None:
        """Say which keys matter: that of jobs where there are several."""
        if self.filter.has_focus:
            return
        jobs, bar = len(live_text.job_choices(self.feed.state)) > 1, self.query_one(KeyBar)
        gone = live_text.is_gone(self.feed)
        over = self.feed.state.ended or gone
        mends = remedies.of_state(self.feed.state) is not None
        useless = {"live.job": jobs, "live.stop": not over, "live.remedy": mends}
        useless["live.behind"] = not self.search.searches
        bar.leave_out(*(key for key, useful in useless.items() if not useful))
        shown = live_details.FooterState(self.feed.replay, over, gone, mends, jobs,
            self.found is not None,
                             self.size.width >= ROOMY, self.has_class("-log"), self.zoomed,
                             self.cursor_s is not None)  # fmt: skip
        bar.show_hint(*live_details.hint(shown))

    # -- actions: the display

    def action_put(self, name: str) -> None:
        """Put a panel away, or show it again."""
        self.hidden ^= {name}
        if name in FIXED:
            self.query_one(f"#live-{name}").set_class(not self.is_shown(name), "-none")
        self.call_after_refresh(self.paint)

    def action_job(self) -> None:
        """Show the next job alone, or the next role; after the last one all together."""
        state = self.feed.state
        choices = live_text.job_choices(state)
        if len(choices) < 2:
            self.notify("there is one job: nothing to choose from")
            return
        shown = (state.step, self.shown_job)
        step, self.job = choices[
            (choices.index(shown) + 1) % len(choices) if shown in choices else 0
        ]
        if step is not None and step != state.step:
            state.show(step)
        self.paint()

    def action_fold(self) -> None:
        """Fold hosts that are like the others where they have no room, never, or always."""
        self.table.next_view()
        self.paint()

    def show_rows(self) -> None:
        """Show the hosts whose names hold what was typed."""
        self.table.wanted = self.filter.value.strip()
        self.paint()

    @property
    def picklist(self) -> HostTable:
        """The list that is filtered."""
        return self.table

    def action_zoom(self) -> None:
        """Give all room to the heat map, then to one graph after the other, then share it again."""
        order = [None, *(name for name in self.ZOOMS if name != "strip" or self.compares_hosts)]
        self.zoom(order[(order.index(self.zoomed) + 1) % len(order)])

    def zoom(self, name: str | None) -> None:
        """Give all room to a panel, or share it."""
        self.zoomed = name
        self.set_class(name is not None, "-zoomed")
        (self.query_one("#live-strip") if name == "strip" else self.table).focus()
        self.call_after_refresh(self.paint)

    def action_log(self) -> None:
        """Show all messages instead of the hosts, or the hosts again."""
        self.set_class(not self.has_class("-log"), "-log")
        self.log_pane.whole = self.has_class("-log")
        self.log_pane.scroll_back = 0
        (self.log_pane if self.log_pane.whole else self.table).focus()
        self.call_after_refresh(self.paint)

    def action_matrix(self) -> None:
        """Give the matrix the room of the hosts, then none, then some again."""
        if self.search.searches:
            self.action_put("search")
            return
        if self.matrix.plan is None:
            self.notify("this run has one measurement: there is no matrix")
            return
        after = {"some": "most", "most": "none", "none": "some"}
        self.matrix_size = after[self.matrix_size]
        self.set_class(self.matrix_size == "most", "-matrix")
        self.call_after_refresh(self.paint)

    def action_open(self) -> None:
        """Show the host under the cursor in all panels; of a run that is over, go to its result."""
        over = live_text.is_over(self.feed)
        if self.table.cursor_key == NOBODY:
            return
        if self.table.cursor_key == FOLD:
            self.table.view = "all"
            self.paint()
            return
        if over and not self.feed.replay:
            self.shell.open_result(self.run_dir)
            return
        self.show_host(None if self.host == self.table.cursor_key else self.table.cursor_key)

    def action_about(self) -> None:
        """Show all there is of the host under the cursor, or of the server where the cursor is
        among these.
        """
        servers, state = self.query_one("#live-servers", ServerTable), self.feed.state
        name = (servers if servers.has_focus else self.table).cursor_key or ""
        view, over = state.hosts.get(name), live_details.over_time(state, name)
        if view is None and not over.known:
            self.notify(
                "choose a host first: Enter shows those that are folded"
                if name == FOLD
                else "no host yet"
            )
            return
        said = live_text.host_facts(state, view, self.table.found, self.table.spread)[2]
        now_s = state.clock.now - live_text.clock_zero_t(state, self.plan)
        details = HostDetails(state, name, over, self.axis, self.shell.symbols.name)
        make = partial(details.whole, said)
        self.app.push_screen(HostDialog(f"{name} at {clock(now_s)}", make))

    def show_host(self, name: str | None) -> None:
        """Show one host in all panels, or all hosts together."""
        self.host = name
        self.paint()

    @on(HostTable.Clicked)
    def choose_clicked(self, event: HostTable.Clicked) -> None:
        """A double click shows a host."""
        if event.twice:
            self.show_host(event.key)

    @on(HostTable.Moved)
    def follow_cursor(self, event: HostTable.Moved) -> None:
        """While one host is shown, the panels follow the cursor."""
        if self.host is not None and event.key not in (FOLD, NOBODY):
            self.show_host(event.key)
        elif self.by_host:
            self.paint()

    def action_back(self) -> None:
        """Leave the log or the host first, then the screen."""
        if self.filter.has_class("-shown"):
            super().action_back()
        elif self.has_class("-log"):
            self.action_log()
        elif self.zoomed is not None:
            self.zoom(None)
        elif self.cursor_s is not None:
            self.cursor_s = None
            self.paint()
        elif self.host is not None:
            self.show_host(None)
        elif self.by_host:
            self.action_heat_host()
        else:
            super().action_back()

    def action_detach(self) -> None:
        """Leave the screen; the run needs nobody to watch it."""
        if not self.feed.replay and not self.feed.state.ended:
            self.notify(f"{self.run_dir.name} is still running; press 4 to watch")
        self.shell.go("runs" if self.feed.replay else "hosts")

"""Live (step 4): one run, live or replayed; keys, choices, panels, painting.

Pull, not push: one timer folds the journal into the state and passes it to the widgets, which
repaint the cells that changed. Nothing is sent per sample, and nothing at all while another screen
is shown.
"""

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
from tui.app.screens import live_details, live_host, live_percentiles, live_text
from tui.app.screens.live_details import HostDetails
from tui.app.screens.live_feed import Now, ReplayFeed
from tui.app.screens.live_layout import FIXED, GRAPH_PANELS, ROOMY_LINES, PanelRooms
from tui.app.screens.live_look import BehindGraphs, HeatMap, Look, PointsPanels
from tui.app.screens.live_watching import WatchingScreen
from tui.app.services import remedies
from tui.app.widgets.figure_tiles import TILE_LINES, FigureTiles, live_tiles
from tui.app.widgets.form import FilterInput
from tui.app.widgets.graph import Graph, GraphPanel, Pulse
from tui.app.widgets.graph_panels import HeatPanel, Subject, panels, with_behind
from tui.app.widgets.host_rows import RowFigures
from tui.app.widgets.host_strip import HostStrip
from tui.app.widgets.host_table import FOLD, NOBODY, HostTable, ServerTable
from tui.app.widgets.run_panels import (
    Banner,
    HostFactsBar,
    MessageLog,
    OperationsPanel,
    PercentileTable,
    RunHeader,
)
from tui.app.widgets.search_panel import MatrixPanel, SearchPanel
from tui.metrics.units import clock
from tui.text.line import LABEL, TEXT, Line, Run, width_of
from tui.text.plot import TimeAxis
from tui.view import live_health, live_series
from tui.view.live_lanes import HostsOverTime
from tui.view.live_marks import Marks
from tui.view.live_wait import FIRST_SAMPLES, NO_SAMPLES, first_samples_text, waiting_of
from tui.view.operations import is_in_phase, operation_tiles

SEEK_S = 10.0  # of a replay, per key
LEAST_OPERATIONS = 2  # lines of the rates of an MPI benchmark above its operations
NOW: Run = (
    "now  ",
    LABEL,
)  # before the health of a run, while the graphs look at an earlier second


class LiveScreen(WatchingScreen):
    """Shows one run, live or (with a speed) as a replay."""

    SCOPE = "live"
    CSS_PATH = "live.tcss"
    ZOOMS: ClassVar[tuple[str, ...]] = ("heat", "strip", *GRAPH_PANELS)

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        super().__init__(run_dir, replay_speed, now, alive)
        self.look = Look(self)
        self.heat = HeatMap(self, self.look)
        self.points = PointsPanels(self)
        self.rooms = PanelRooms(self, self.look, self.heat, self.points)
        self.behind = BehindGraphs(self)
        self.panels = RunPanels(self, self.rooms, self.behind)

    # -- building

    def compose_body(self) -> Iterable[Widget]:
        """Yield the panels, from the header to the messages."""
        symbols = self.shell.symbols
        yield RunHeader(symbols.name, id="live-header")
        yield Banner(id="live-banner")
        yield Banner(id="live-health")
        yield MatrixPanel(symbols.name, id="live-matrix")
        yield SearchPanel(symbols.name, id="live-search")
        yield FigureTiles(symbols.name, id="live-figures")
        yield Pulse(symbols.name, id="live-pulse")
        with Horizontal(id="live-graphs"):
            for name in GRAPH_PANELS:
                yield GraphPanel(id=f"live-{name}", symbols=symbols.name)
            yield HostStrip(symbols.name, id="live-strip", classes="-none")
        yield HeatPanel(symbols.name, id="live-heat")
        yield OperationsPanel(id="live-operations")
        yield HostFactsBar(id="live-facts")
        percentiles = PercentileTable(symbols.name, id="live-percentiles")
        yield percentiles.set_class(not self.rooms.is_shown("percentiles"), "-none")
        thresholds = self.plan.thresholds if self.plan is not None else {}
        yield HostTable(symbols.name, thresholds, id="live-hosts")
        yield FilterInput("part of a host name, or h[1-4]", "live-filter")
        yield ServerTable(thresholds, id="live-servers")
        yield OperationsPanel(id="live-plan")
        marks = {"info": symbols.dot, "warning": symbols.warn, "error": symbols.bad}
        yield MessageLog(marks, id="live-messages")

    def painting(self) -> Iterator[None]:
        """Paint the panels, yielding after each so that keys can be handled."""
        if self.is_mounted:
            self.rooms.fit_graphs()
            yield from self.panels.painting()
            self.show_keys()

    def show_keys(self) -> None:
        """Show the currently useful keys in the footer."""
        if self.filter.has_focus:
            return
        jobs, bar = len(live_text.job_choices(self.feed.state)) > 1, self.query_one(KeyBar)
        gone = live_text.is_gone(self.feed)
        over = self.feed.state.ended or gone
        mends = remedies.of_state(self.feed.state) is not None
        useless = {"live.job": jobs, "live.stop": not over, "live.remedy": mends}
        useless["live.behind"] = not self.points.search.searches
        bar.leave_out(*(key for key, useful in useless.items() if not useful))
        at, shows_result = self.table.cursor_key, over and not self.feed.replay
        leaves = at == FOLD or (at is not None and at == self.look.host and not shows_result)
        opens = "all hosts" if leaves else "result" if shows_result else "host"
        bar.relabel({"live.open": opens})
        shown = live_details.FooterState(self.feed.replay, over, gone, mends, jobs,
            self.found is not None,
                             self.size.width >= ROOMY, self.has_class("-log"), self.rooms.zoomed,
                             self.look.cursor_s is not None, opens,
                             self.heat.has_choice)  # fmt: skip
        bar.show_hint(*live_details.hint(shown))

    # -- actions: the display

    def action_put(self, name: str) -> None:
        """Hide a panel, or show it again."""
        self.rooms.hidden ^= {name}
        if name in FIXED:
            self.query_one(f"#live-{name}").set_class(not self.rooms.is_shown(name), "-none")
        self.call_after_refresh(self.paint)

    def action_job(self) -> None:
        """Show the next job or role; after the last one, all jobs together."""
        self.look.next_job()

    def action_fold(self) -> None:
        """Change when unremarkable hosts are collapsed: if not all hosts fit, never, always."""
        self.table.next_view()
        self.paint()

    def show_rows(self) -> None:
        """Show the hosts that match the filter."""
        self.table.wanted = self.filter.value.strip()
        self.paint()

    @property
    def picklist(self) -> HostTable:
        """The table of hosts, which the filter applies to."""
        return self.table

    def action_zoom(self) -> None:
        """Maximize the heat map, then the strip of hosts if any, then each graph, then none."""
        order = [
            None,
            *(name for name in self.ZOOMS if name != "strip" or self.rooms.compares_hosts),
        ]
        self.zoom(order[(order.index(self.rooms.zoomed) + 1) % len(order)])

    def zoom(self, name: str | None) -> None:
        """Maximize the panel `name`; None restores the layout."""
        self.rooms.zoomed = name
        self.set_class(name is not None, "-zoomed")
        (self.query_one("#live-strip") if name == "strip" else self.table).focus()
        self.call_after_refresh(self.paint)

    def action_log(self) -> None:
        """Switch between all messages and the hosts."""
        log_pane = self.query_one("#live-messages", MessageLog)
        self.set_class(not self.has_class("-log"), "-log")
        log_pane.whole = self.has_class("-log")
        log_pane.scroll_back = 0
        (log_pane if log_pane.whole else self.table).focus()
        self.call_after_refresh(self.paint)

    def action_matrix(self) -> None:
        """Show the matrix in place of the hosts, then hide it, then show both.

        The panel of a search is hidden or shown again.
        """
        if self.points.search.searches:
            self.action_put("search")
            return
        self.points.next_size()

    def action_open(self) -> None:
        """Show the host under the cursor in all panels, or all hosts again.

        On the line of collapsed hosts, expand the line; if the run has ended, show its result.
        """
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
        self.show_host(None if self.look.host == self.table.cursor_key else self.table.cursor_key)

    def action_about(self) -> None:
        """Show all details of the host under the cursor.

        If the server table has the focus, show the server's details.
        """
        servers, state = self.query_one("#live-servers", ServerTable), self.feed.state
        name = (servers if servers.has_focus else self.table).cursor_key or ""
        view, over = state.hosts.get(name), live_details.over_time(state, name)
        if view is None and not over.known:
            self.notify(
                "choose a host first: press Enter to expand the collapsed hosts"
                if name == FOLD
                else "no hosts yet"
            )
            return
        said = live_host.host_facts(state, view, self.table.found, self.table.spread)[2]
        now_s = state.clock.now - live_text.clock_zero_t(state, self.plan)
        details = HostDetails(state, name, over, self.look.axis, self.shell.symbols.name)
        make = partial(details.whole, said)
        self.app.push_screen(HostDialog(f"{name} at {clock(now_s)}", make))

    def show_host(self, name: str | None) -> None:
        """Show the figures of one host in all panels; None shows all hosts together."""
        self.look.host = name
        self.paint()

    @on(HostTable.Clicked)
    def choose_clicked(self, event: HostTable.Clicked) -> None:
        """Show a host in all panels, on a double click."""
        if event.twice:
            self.show_host(event.key)

    @on(HostTable.Moved)
    def follow_cursor(self, event: HostTable.Moved) -> None:
        """Show the host under the cursor in all panels, if they show a single host."""
        self.show_keys()
        if self.look.host is not None and event.key not in (FOLD, NOBODY):
            self.show_host(event.key)
        elif self.heat.by_host:
            self.paint()

    def action_back(self) -> None:
        """Leave filter, log, zoom, cursor or single host, whichever is active; else the screen."""
        if self.filter.has_class("-shown"):
            super().action_back()
        elif self.has_class("-log"):
            self.action_log()
        elif self.rooms.zoomed is not None:
            self.zoom(None)
        elif self.look.cursor_s is not None:
            self.look.cursor_s = None
            self.paint()
        elif self.look.host is not None:
            self.show_host(None)
        elif self.heat.by_host:
            self.heat.follow_host()
        else:
            super().action_back()

    def action_detach(self) -> None:
        """Leave the screen while the run continues."""
        if not self.feed.replay and not self.feed.state.ended:
            self.notify(f"{self.run_dir.name} is still running; press 4 to watch")
        self.shell.go("runs" if self.feed.replay else "hosts")

    def action_seek(self, places: int) -> None:
        """Seek a replay by 10 s; in a live run move the cursor of the graphs."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.seek(SEEK_S * places)
            self.catch_up()
        else:
            self.look.move_cursor(places)

    def action_cursor(self, places: int) -> None:
        """Move the cursor by columns in all graphs, at first from the newest second."""
        self.look.move_cursor(places)

    def action_heat_host(self) -> None:
        """Switch the heat map between the host under the cursor and all hosts."""
        self.heat.follow_host()

    def action_direction(self) -> None:
        """Show the next direction; after the last one, all directions together."""
        self.heat.next_direction()

    def action_behind(self) -> None:
        """Overlay the graphs with the previous run, then published results, then nothing."""
        if self.points.search.searches:
            self.notify("searches measure different points; press c on Runs to compare them")
        else:
            self.behind.show_next()


class RunPanels:
    """Paints the panels of Live from the state of the run."""

    def __init__(self, screen: WatchingScreen, rooms: PanelRooms, behind: BehindGraphs) -> None:
        self.screen = screen
        self.rooms = rooms
        self.look, self.heat, self.points = rooms.look, rooms.heat, rooms.points
        self.behind = behind
        self.marks = Marks()
        self.alone: HostsOverTime | None = None  # of the host that is shown alone
        self.together = HostsOverTime()  # of a metadata benchmark

    def painting(self) -> Iterator[None]:
        """Paint the panels, yielding after each so that keys can be handled."""
        self.look.keep_cursor()
        feed, state = self.screen.feed, self.screen.feed.state
        state.clock.window_s = live_text.window_s(feed)
        axis = replace(
            self.look.axis, marks=self.marks.of(state, self.screen.found, self.look.host)
        )
        view = state.hosts.get(self.look.host or "")
        subject = live_text.subject_of(state, view, self.look.shown_job, self.screen.plan)
        self.points.show_search()
        mode = live_text.mode(feed, self.screen.pace.every_s, paused=self.screen.paused)
        head = live_text.head(feed, self.screen.plan, mode, self.points.search_panel.view)
        self.screen.query_one("#live-header", RunHeader).show(self.look.rewound(head))
        strip = live_text.banner(
            feed,
            self.screen.plan,
            self.screen.size.width - 2,
            self.screen.size.height,
            self.screen.judging.kept,
        )
        self.screen.query_one("#live-banner", Banner).show(strip)
        yield
        hosts_are_due = self.screen.host_pace.is_due()
        if hosts_are_due:
            yield from self.painting_hosts(subject, axis)
        yield
        self.look.waiting = waiting_of(state, self.screen.plan)
        self.paint_health()
        plain, counted = (
            self.screen.shell.symbols.name == "ascii",
            live_text.operation_of(state, self.screen.plan),
        )
        waits = live_text.latencies_of(state, subject)
        yield
        graphs: tuple[Graph, ...] = panels(
            subject, waits, axis, ascii_only=plain, counted=counted, waiting=self.look.waiting
        )
        none = NO_SAMPLES if state.ended else first_samples_text(state, self.screen.plan)
        if none != FIRST_SAMPLES:
            graphs = tuple(
                replace(graph, empty=none) if state.ended or graph.empty == FIRST_SAMPLES else graph
                for graph in graphs
            )
        if self.look.shown_job is None:  # single jobs are not kept
            graphs = with_behind(
                graphs, subject, self.behind.shown, state.current.step, self.look.host or ""
            )
        self.paint_graphs(graphs, counted=bool(counted))
        yield
        if hosts_are_due:
            yield from self.painting_strip(axis)
        yield
        self.screen.query_one(HeatPanel).empty = (
            self.look.waiting.text if self.look.waiting is not None else none
        )
        self.heat.paint(waits, axis)
        yield
        if live_text.metadata_step(state, self.screen.plan) is None:
            tiles = self.look.waiting.tiles if self.look.waiting is not None else ()
            self.screen.query_one(FigureTiles).show(
                tiles
                or live_tiles(
                    subject,
                    waits,
                    axis,
                    self.heat.beside(),
                    counted,
                )
            )
        yield
        details = self.detail_lines(axis)
        name, facts, said_of_host = live_host.host_facts(
            state,
            view,
            self.screen.table.found,
            self.screen.table.spread,
            axis.cursor_s,
            over_time=bool(details),
        )
        if self.screen.table.spread_now.lags(name):
            said_of_host = ("", LABEL)  # its row says so
        leaves = live_text.is_over(feed) and not feed.replay
        self.screen.query_one("#live-facts", HostFactsBar).show(
            name, facts, said_of_host, details, leaves=leaves
        )
        kind = live_text.latency_kind_of(state, self.screen.plan)
        shown = live_percentiles.percentiles(
            waits, kind, self.heat.beside(), axis, counted=bool(counted)
        )
        self.screen.query_one("#live-percentiles", PercentileTable).show(*shown)
        yield
        log_pane = self.screen.query_one("#live-messages", MessageLog)
        said = live_text.messages(state, view, self.screen.plan, whole=log_pane.whole)
        messages = self.rooms.room_for_messages(len(said))
        operations = self.show_operations(messages)
        self.points.show_matrix()
        self.rooms.share_room(operations, messages)
        log_pane.show(said)

    def detail_lines(self, axis: TimeAxis) -> list[Line]:
        """Return details of the host shown alone, to be shown below its facts if they fit."""
        state, host = self.screen.feed.state, self.look.host or ""
        if host not in state.hosts or self.screen.size.height < ROOMY_LINES:
            return []
        self.alone = live_details.over_time(state, host, self.alone)
        details = HostDetails(state, host, self.alone, axis, self.screen.shell.symbols.name)
        return details.strip(self.screen.size.width - 2)

    def paint_health(self) -> None:
        """Show the health of the run."""
        lines = 2 if self.screen.size.height >= ROOMY_LINES else 1
        spread, state = self.screen.table.spread_now, self.screen.feed.state
        rewound = self.look.cursor_s is not None and not state.ended
        now = NOW if rewound else ("", LABEL)
        told = live_health.health(
            self.screen.found,
            state,
            self.screen.plan,
            spread,
            self.screen.size.width - 2 - width_of(now[0]),
            lines=lines,
        )
        if not told and self.look.waiting is not None and self.rooms.says_layout:
            more = self.look.waiting.lines[self.look.waiting.repeated :]  # tiles have the rest
            told = [Line.of(("  ·  ".join(more), TEXT))] if more else []
        self.screen.query_one("#live-health", Banner).show(
            [Line.of(now, *line.runs) for line in told] if rewound else told
        )

    def painting_hosts(self, subject: Subject, axis: TimeAxis) -> Iterator[None]:
        """Show hosts, worst first, and servers; as they are now or at the cursor.

        Yields between parts of the work.
        """
        state, table = self.screen.feed.state, self.screen.table
        clients, servers = live_text.telemetry_of(state, axis.cursor_s)
        table.unmeasured, table.blank = live_text.says_all(state), live_text.is_between(state)
        table.cursor_s, table.cursor_text = axis.cursor_s, axis.cursor_text
        yield from table.showing(
            list(state.hosts_shown.values()),
            state.clock.now,
            RowFigures(
                self.look.shown_job,
                subject.host_waits,
                live_text.counted_of(state, self.screen.plan),
                subject.called(subject.host_waits),
                live_text.layout_bytes(state),
                live_text.covered_s(subject.total),
            ),
            live_health.marks(self.screen.found, len(state.hosts)),
            clients,
        )
        yield
        seen_t = state.clock.now if axis.cursor_s is None else axis.cursor_s + 1.0
        server_table = self.screen.query_one("#live-servers", ServerTable)
        server_table.marked = table.cells.telemetry.marked
        server_table.show(servers, seen_t, self.screen.table.cells.longest_name)

    def paint_graphs(self, graphs: Sequence[Graph], *, counted: bool) -> None:
        """Show the graphs, and one line with their figures in case the graphs do not fit.

        `counted`: the load counts operations on files, which have no bandwidth.
        """
        for name, graph in zip(GRAPH_PANELS, graphs, strict=True):
            self.screen.query_one(f"#live-{name}", GraphPanel).show(graph)
        pairs = zip(GRAPH_PANELS, graphs, strict=True)
        self.screen.query_one("#live-pulse", Pulse).show(
            [each for name, each in pairs if name != "bandwidth" or not counted]
        )

    def painting_strip(self, axis: TimeAxis) -> Iterator[None]:
        """Show the strip of hosts over time, yielding after each part of the hosts."""
        state = self.screen.feed.state
        strip = self.screen.query_one("#live-strip", HostStrip)
        strip.whole = self.rooms.zoomed == "strip"
        span = None if live_text.is_between(state) else state.total.span
        end_s = span[1] if span is not None else axis.start_s
        yield from strip.showing(state.hosts_shown, axis, end_s, state.current, self.look.shown_job)

    def show_operations(self, messages: int) -> int:
        """Show the phases of an MPI benchmark, which has no samples, in place of graphs.

        For a run that measured nothing, prepare the lines of its plan. `messages`: height of the
        message log. Returns the height used.
        """
        state = self.screen.feed.state
        nothing = live_text.says_all(state)
        self.screen.set_class(nothing, "-nothing")
        step = live_text.metadata_step(state, self.screen.plan) if not nothing else None
        self.screen.set_class(step is not None, "-operations")
        plan = self.screen.plan if nothing else None
        if plan is not None:
            self.screen.query_one("#live-plan", OperationsPanel).make = partial(
                live_details.unused_plan, plan
            )
        if step is None:
            return 0
        at = state.at_step(step.index)
        if self.together.step is not at:
            self.together = HostsOverTime(at)
        self.together.take(each.lately(state.clock.window_s) for each in at.telemetry.values())
        word, rates = self.behind.rates_before(step.index)
        moved = step.mpi.bytes_per_op if step.mpi is not None else 0
        waits = self.look.waiting.text if self.look.waiting is not None else ""
        room = self.rooms.room_for_operations(messages)
        tiles = operation_tiles(at.metadata, step, len(state.hosts_shown), state.clock.now)
        fit = bool(tiles) and room >= TILE_LINES + len(step.directions) + LEAST_OPERATIONS
        lines = TILE_LINES if fit else 0
        in_tiles = fit and is_in_phase(at.metadata, step)
        beside = live_series.Beside(
            self.together, self.screen.shell.symbols.name, word, rates, moved, waits, in_tiles
        )
        self.screen.query_one(FigureTiles).show(tiles)
        self.rooms.give("figures", lines)
        room -= lines
        phases, now = tuple(step.directions), state.clock.now
        make = partial(
            live_series.live_lines, at.metadata, now, phases=phases, room=room, beside=beside
        )
        height = len(make(self.screen.size.width - 2))
        self.screen.query_one("#live-operations", OperationsPanel).show(make, height)
        return height + lines

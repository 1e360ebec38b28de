"""Live: the panels, painted from the state of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui.app.screens import live_details, live_text
from tui.app.screens.live_details import HostDetails
from tui.app.screens.live_layout import GRAPH_PANELS, ROOMY_LINES
from tui.app.widgets.figure_tiles import TILE_LINES, FigureTiles, live_tiles
from tui.app.widgets.graph import Graph, GraphPanel, Pulse
from tui.app.widgets.graph_panels import HeatPanel, Subject, panels, with_behind
from tui.app.widgets.host_columns import RowFigures
from tui.app.widgets.host_rows import ServerTable
from tui.app.widgets.host_strip import HostStrip
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
from tui.text.line import Line
from tui.text.plot import TimeAxis
from tui.view import live_health, live_series
from tui.view.live_marks import Marks
from tui.view.live_operations import operation_tiles
from tui.view.live_series import HostsOverTime
from tui.view.live_wait import FIRST_SAMPLES, waiting_of

if TYPE_CHECKING:
    from tui.app.screens.live_behind import BehindGraphs
    from tui.app.screens.live_layout import PanelRooms
    from tui.app.screens.live_watching import WatchingScreen

LEAST_OPERATIONS = 2  # lines of the rates of an MPI benchmark above its operations


class RunPanels:
    """Shows the state of the run in each panel."""

    def __init__(self, screen: WatchingScreen, rooms: PanelRooms, behind: BehindGraphs) -> None:
        self.screen = screen
        self.rooms = rooms
        self.look, self.heat, self.points = rooms.look, rooms.heat, rooms.points
        self.behind = behind
        self.marks = Marks()
        self.alone: HostsOverTime | None = None  # of the host that is shown alone
        self.together = HostsOverTime()  # of a metadata benchmark

    def painting(self) -> Iterator[None]:
        """Paint the panels one by one."""
        self.look.keep_cursor()
        feed, state = self.screen.feed, self.screen.feed.state
        axis = replace(
            self.look.axis, marks=self.marks.of(state, self.screen.found, self.look.host)
        )
        view = state.hosts.get(self.look.host or "")
        subject = live_text.subject_of(
            state, view, self.look.shown_job, live_text.about(state, self.screen.plan)
        )
        self.points.show_search()
        mode = live_text.mode(feed, self.screen.rate_hz, paused=self.screen.paused)
        head = live_text.head(feed, self.screen.plan, mode, self.points.search_panel.view)
        self.screen.query_one("#live-header", RunHeader).show(head)
        strip = live_text.banner(
            feed, self.screen.plan, self.screen.size.width - 2, self.screen.size.height
        )
        self.screen.query_one("#live-banner", Banner).show(strip)
        yield
        hosts_are_due = self.screen.host_pace.is_due(len(state.hosts))
        if hosts_are_due:
            self.paint_hosts(subject, axis)
        yield
        self.paint_health()
        plain, counted = (
            self.screen.shell.symbols.name == "ascii",
            live_text.operation_of(state, self.screen.plan),
        )
        waits = live_text.latencies_of(state, subject)
        self.look.waiting = waiting_of(state, self.screen.plan)
        yield
        graphs: tuple[Graph, ...] = panels(
            subject, waits, axis, ascii_only=plain, counted=counted, waiting=self.look.waiting
        )
        if self.look.shown_job is None:  # single jobs are not kept
            graphs = with_behind(
                graphs, subject, self.behind.shown, state.current.step, self.look.host or ""
            )
        self.paint_graphs(graphs, counted=bool(counted))
        yield
        if hosts_are_due:
            self.paint_strip(axis)
        yield
        self.screen.query_one(HeatPanel).empty = (
            self.look.waiting.text if self.look.waiting is not None else FIRST_SAMPLES
        )
        self.heat.paint(waits, axis)
        yield
        if live_text.metadata_step(state, self.screen.plan) is None:
            at = axis.cursor_s
            tail = (
                None
                if at is None
                else self.screen.query_one(HeatPanel).cells.percentiles(at, at + 1).get(99.0)
            )
            tiles = self.look.waiting.tiles if self.look.waiting is not None else ()
            self.screen.query_one(FigureTiles).show(
                tiles or live_tiles(subject, waits, axis, tail, counted)
            )
        yield
        said_of_host = live_text.host_facts(
            state, view, self.screen.table.found, self.screen.table.spread, axis.cursor_s
        )
        self.screen.query_one("#live-facts", HostFactsBar).show(
            *said_of_host, self.detail_lines(axis)
        )
        kind = live_text.latency_kind_of(state, self.screen.plan)
        shown = live_text.percentiles(waits, kind, self.heat.beside(), axis, counted=bool(counted))
        self.screen.query_one("#live-percentiles", PercentileTable).show(*shown)
        yield
        said = live_text.messages(state, view)
        messages = self.rooms.room_for_messages(len(said))
        operations = self.show_operations(messages)
        self.points.show_matrix()
        self.rooms.share_room(messages + operations)
        log_pane = self.screen.query_one("#live-messages", MessageLog)
        log_pane.empty = ELSEWHERE if live_text.says_all(state) else NOTHING_TOLD
        log_pane.show(said)

    def detail_lines(self, axis: TimeAxis) -> list[Line]:
        """Return the details below the facts of the host shown alone, if they fit."""
        state, host = self.screen.feed.state, self.look.host or ""
        if host not in state.hosts or self.screen.size.height < ROOMY_LINES:
            return []
        self.alone = live_details.over_time(state, host, self.alone)
        details = HostDetails(state, host, self.alone, axis, self.screen.shell.symbols.name)
        return details.strip(self.screen.size.width - 2)

    def paint_health(self) -> None:
        """Show the run's health."""
        lines = 2 if self.screen.size.height >= ROOMY_LINES else 1
        spread = self.screen.table.spread_now
        told = live_health.health(
            self.screen.found,
            self.screen.feed.state,
            self.screen.plan,
            spread,
            self.screen.size.width - 2,
            lines=lines,
        )
        self.screen.query_one("#live-health", Banner).show(told)

    def paint_hosts(self, subject: Subject, axis: TimeAxis) -> None:
        """Show the hosts, worst first, and the servers, now or at the cursor."""
        state, table = self.screen.feed.state, self.screen.table
        clients, servers = live_text.telemetry_of(state, axis.cursor_s)
        table.brief, table.blank = live_text.says_all(state), live_text.is_between(state)
        table.cursor_s, table.cursor_text = axis.cursor_s, axis.cursor_text
        table.show(
            list(state.hosts_shown.values()),
            state.clock.now,
            RowFigures(
                self.look.shown_job,
                subject.host_waits,
                live_text.counted_of(state, self.screen.plan),
            ),
            live_health.marks(self.screen.found, len(state.hosts)),
            clients,
        )
        seen_t = state.clock.now if axis.cursor_s is None else axis.cursor_s + 1.0
        self.screen.query_one("#live-servers", ServerTable).show(servers, seen_t)

    def paint_graphs(self, graphs: Sequence[Graph], *, counted: bool) -> None:
        """Show the graphs, and the same figures in one line for when they do not fit.

        `counted`: operations on files, which have no bandwidth.
        """
        for name, graph in zip(GRAPH_PANELS, graphs, strict=True):
            self.screen.query_one(f"#live-{name}", GraphPanel).show(graph)
        pairs = zip(GRAPH_PANELS, graphs, strict=True)
        self.screen.query_one("#live-pulse", Pulse).show(
            [each for name, each in pairs if name != "bandwidth" or not counted]
        )

    def paint_strip(self, axis: TimeAxis) -> None:
        """Show hosts over time."""
        state = self.screen.feed.state
        self.screen.query_one("#live-strip", HostStrip).whole = self.rooms.zoomed == "strip"
        span = None if live_text.is_between(state) else state.total.span
        end_s = span[1] if span is not None else axis.start_s
        for strip in self.screen.query(HostStrip):
            strip.show(state.hosts_shown, axis, end_s, state.current, self.look.shown_job)

    def show_operations(self, messages: int) -> int:
        """For an MPI benchmark, which has no samples, show its phases instead of graphs.

        `messages`: lines of the message log. Returns the height of the operations.
        """
        state = self.screen.feed.state
        nothing = live_text.says_all(state)
        self.screen.set_class(nothing, "-nothing")
        step = live_text.metadata_step(state, self.screen.plan) if not nothing else None
        self.screen.set_class(step is not None, "-operations")
        if step is None:
            return 0
        at = state.at_step(step.index)
        if self.together.step is not at:
            self.together = HostsOverTime(at)
        self.together.take(at.telemetry.values())
        word, rates = self.behind.rates_before(step.index)
        moved = step.mpi.bytes_per_op if step.mpi is not None else 0
        waits = self.look.waiting.text if self.look.waiting is not None else ""
        beside = live_series.Beside(
            self.together, self.screen.shell.symbols.name, word, rates, moved, waits
        )
        room = self.rooms.room_for_operations(messages)
        tiles = operation_tiles(at.metadata, step, len(state.hosts_shown), state.clock.now)
        lines = (
            TILE_LINES
            if tiles and room >= TILE_LINES + len(step.directions) + LEAST_OPERATIONS
            else 0
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

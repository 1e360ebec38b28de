"""Live: how its panels share the lines of the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from tui.app.frame.step_screen import BROAD
from tui.app.screens import live_text
from tui.app.screens.live_feed import Now
from tui.app.screens.live_layout import (
    CLEAR_HEAT,
    GRAPHS,
    HEADS,
    LEAST_HEAT,
    LEAST_HOST_LINES,
    ROOMY_LINES,
    Shown,
    rooms_of,
    with_tiles_if,
)
from tui.app.screens.live_search import VersusScreen
from tui.app.widgets.figure_tiles import TILE_LINES, FigureTiles
from tui.app.widgets.graph import GraphPanel, Pulse
from tui.app.widgets.host_rows import ServerTable
from tui.app.widgets.host_strip import HostLine
from tui.app.widgets.run_panels import (
    Banner,
    HostFactsBar,
    MessageLog,
    OperationsPanel,
    PercentileTable,
)
from tui.app.widgets.search_panel import MatrixPanel
from tui.view import live_series
from tui.view.live_hosts import LEAST_HOSTS
from tui.view.live_operations import operation_tiles
from tui.view.live_series import HostsOverTime
from tui.view.live_wait import Waiting

CHROME_LINES = 4  # top bar, two lines of header, footer
STRIPS = ("banner", "health")  # as high as their lines
FIXED = ("percentiles", "messages")  # widgets whose height does not give way
LEAST_STRIP = 100  # columns of a terminal that has hosts over time beside its graphs
LEAST_OPERATIONS = 2  # lines of the rates of an MPI benchmark above its operations
LEAST_MATRIX = 3  # a heading, the axes, one row


class RoomsScreen(VersusScreen):
    """A screen of one run whose panels share what lines there are."""

    RATES: ClassVar[tuple[str, ...]] = ("iops", "bandwidth")
    PANELS: ClassVar[tuple[str, ...]] = (*RATES, "latency")

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        super().__init__(run_dir, replay_speed, now, alive)
        self.zoomed: str | None = None
        self.hidden: set[str] = set()  # panels that were put away
        self.together = HostsOverTime()  # of a metadata benchmark
        self.waiting: Waiting | None = None  # what the run waits for before its load

    @property
    def matrix_panel(self) -> MatrixPanel:
        """The matrix, of runs that have one."""
        return self.query_one("#live-matrix", MatrixPanel)

    @property
    def log_pane(self) -> MessageLog:
        """The messages."""
        return self.query_one("#live-messages", MessageLog)

    def show_operations(self, messages: int) -> int:
        """In a step of an MPI benchmark, show its phases in place of graphs that it has no samples
        for.

        `messages`: lines that these take. Returns the height of what is shown.
        """
        state = self.feed.state
        nothing = live_text.says_all(state)
        self.set_class(nothing, "-nothing")
        step = live_text.metadata_step(state, self.plan) if not nothing else None
        self.set_class(step is not None, "-operations")
        if step is None:
            return 0
        at = state.at_step(step.index)
        if self.together.step is not at:
            self.together = HostsOverTime(at)
        self.together.take(at.telemetry.values())
        word, rates = self.rates_before(step.index)
        moved = step.mpi.bytes_per_op if step.mpi is not None else 0
        waits = self.waiting.text if self.waiting is not None else ""
        beside = live_series.Beside(
            self.together, self.shell.symbols.name, word, rates, moved, waits
        )
        room = self.room_for_operations(messages)
        tiles = operation_tiles(at.metadata, step, len(state.hosts_shown), state.clock.now)
        lines = (
            TILE_LINES
            if tiles and room >= TILE_LINES + len(step.directions) + LEAST_OPERATIONS
            else 0
        )
        self.query_one(FigureTiles).show(tiles)
        self.give("figures", lines)
        room -= lines
        phases, now = tuple(step.directions), state.clock.now
        make = partial(
            live_series.live_lines, at.metadata, now, phases=phases, room=room, beside=beside
        )
        height = len(make(self.size.width - 2))
        self.query_one("#live-operations", OperationsPanel).show(make, height)
        return height + lines

    def room_for_operations(self, messages: int) -> int:
        """Return the lines that a metadata benchmark has: all but those of some hosts, servers and
        messages.
        """
        strips = sum(len(self.query_one(f"#live-{name}", Banner).text) for name in STRIPS)
        hosts = (
            min(len(self.feed.state.hosts), max(LEAST_HOST_LINES, self.size.height // 6)) + HEADS
        )
        facts = self.query_one("#live-facts", HostFactsBar).wanted
        return (
            self.size.height
            - CHROME_LINES
            - strips
            - messages
            - facts
            - hosts
            - self.room_for_servers()
        )

    def room_for_messages(self, count: int) -> int:
        """Give the messages a line each under their heading, up to an eighth of the screen.

        Return their height.
        """
        if self.has_class("-log"):
            self.log_pane.styles.height = "1fr"
        if self.has_class("-log") or not self.is_shown("messages"):
            return 0
        height = min(count + 1, max(2, self.size.height // 8))
        if self.log_pane.styles.height is None or self.log_pane.styles.height.value != height:
            self.log_pane.styles.height = height
        return height

    def share_room(self, others: int) -> None:
        """Share the lines among graphs, heat map and hosts: what has no room stands in a line, or
        is folded.
        """
        height = self.size.height
        sampled = not self.has_class("-operations")
        table = self.query_one(PercentileTable)
        measured = not self.is_prepared
        with_table = sampled and self.is_shown("percentiles") and measured
        self.set_class(not measured, "-waiting")
        others += len(table.given) + 1 if with_table else 0
        others += sum(len(self.query_one(f"#live-{name}", Banner).text) for name in STRIPS)
        others += self.query_one("#live-facts", HostFactsBar).wanted
        others += self.room_for_servers()
        others += self.room_for_matrix(height - CHROME_LINES - others)
        others += self.room_for_search(height - CHROME_LINES - others)
        if self.has_class("-nothing"):
            return
        roomy = height >= ROOMY_LINES
        room = height - CHROME_LINES - others
        graphs, heat = (sampled and self.is_shown(name) for name in ("graphs", "heat"))
        heat = heat and measured and not self.means_alone
        hosts, least = len(self.table.hosts), self.table.least_rows
        if self.has_class("-matrix"):  # it has their lines
            room, hosts, least = room + HEADS, 0, 0
        wanted = Shown(hosts, least, graphs, heat)
        shared = partial(rooms_of, shown=wanted, roomy=roomy)
        tiles = graphs and bool(self.query_one(FigureTiles).tiles)
        rooms = with_tiles_if(tiles, room, shared)
        scarce = 0 < rooms.heat < CLEAR_HEAT and (
            table.spare > 1 or (roomy and rooms.tiles > 0 and table.spare > 0)
        )
        table.shorten(brief=with_table and scarce)
        if with_table and scarce:
            rooms = with_tiles_if(tiles, room + table.spare, shared)
        self.query_one(Pulse).brief = rooms.tiles > 0
        for name in self.RATES:
            self.query_one(f"#live-{name}", GraphPanel).leave_out(told=rooms.tiles > 0)
        wide = {"graphs": rooms.graphs, "heat": rooms.heat, "pulse": rooms.pulse}
        for name, lines in (wide | {"figures": rooms.tiles} if sampled else wide).items():
            self.give(name, lines)
        line = self.query_one(HostLine)
        in_line = (
            rooms.pulse > 0 and rooms.tiles > 0 and self.compares_hosts and self.zoomed is None
        )
        in_line = in_line and line.tells(self.size.width - 2)
        line.set_class(not in_line, "-none")
        self.query_one("#live-pulse").set_class(
            in_line or rooms.pulse == 0 or self.zoomed is not None, "-none"
        )
        counts = bool(live_text.operation_of(self.feed.state, self.plan))
        # files stay empty
        away = {"latency" if rooms.heat or not measured else "", "bandwidth" if counts else ""}
        away |= {"bandwidth"} if not measured and self.feed.state.phase != "layout" else set()
        away |= self.left_out(away, tiles=rooms.tiles > 0)
        for name in (*self.PANELS, "strip"):
            shown = self.zoomed == name if self.zoomed else name not in away
            self.query_one(f"#live-{name}").set_class(not shown, "-none")
        folds = rooms.folds and sampled  # without figures nobody is like the others: they scroll
        if self.table.folds != folds:
            self.table.folds = folds
            self.table.put_rows()

    def left_out(self, away: set[str], *, tiles: bool) -> set[str]:
        """Return what has no room in the row of graphs: hosts over time, or the bandwidth that
        tiles tell.
        """
        if not self.compares_hosts or self.is_prepared or self.size.width < LEAST_STRIP:
            return {"strip"}
        graphs = {*self.PANELS} - away
        if self.size.width >= BROAD or len(graphs) < len(self.RATES):
            return set()
        if len(graphs) > len(self.RATES):
            return {"strip"}
        return {"bandwidth"} if tiles else set()

    @property
    def compares_hosts(self) -> bool:
        """Whether there are hosts to compare, with figures of their own."""
        return len(self.feed.state.hosts) >= LEAST_HOSTS and not self.has_class("-operations")

    @property
    def is_prepared(self) -> bool:
        """Whether a load is prepared, and there are no latencies to show: neither its own nor those
        of one before.
        """
        state = self.feed.state
        return self.waiting is not None and (
            state.phase == "layout" or state.current.phase != "measure"
        )

    def give(self, name: str, lines: int) -> None:
        """Give a panel so many lines; a zoomed one takes what there is."""
        panel = self.query_one(f"#live-{name}")
        within = "heat" if self.zoomed == "heat" else "graphs"
        if self.zoomed is not None:
            panel.set_class(name != within, "-none")
            panel.styles.height = "1fr"
            return
        panel.set_class(lines == 0, "-none")
        if (
            panel.styles.height is None
            or panel.styles.height.value != lines
            or panel.styles.height.is_fraction
        ):
            panel.styles.height = lines

    def is_shown(self, name: str) -> bool:
        """Tell whether a panel was not put away."""
        return name not in self.hidden

    def room_for_servers(self) -> int:
        """Give the servers a line each, as far as a quarter of the screen goes, and a heading.

        Return their height.
        """
        table = self.query_one("#live-servers", ServerTable)
        height = min(len(table.rows), max(2, self.size.height // 4 - 1)) + 1 if table.rows else 0
        if table.styles.height is None or table.styles.height.value != height:
            table.styles.height = height
            table.set_class(height > 0, "-shown")
        return height

    def room_for_matrix(self, room: int) -> int:
        """Give the matrix what it needs; graphs, and some hosts, keep what they need least.

        Return its height.
        """
        panel = self.matrix_panel
        wanted = panel.wanted_height(self.size.width - 2) if self.matrix_size != "none" else 0
        roomy = self.size.height >= ROOMY_LINES
        graphs = GRAPHS + LEAST_HEAT if roomy else GRAPHS
        least = 3 if not roomy else min(len(self.feed.state.hosts) + 2, room // 4)
        height = min(wanted, room - graphs - (0 if self.matrix_size == "most" else least))
        height = height if height >= LEAST_MATRIX else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height

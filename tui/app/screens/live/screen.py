"""Step 4: the whole cluster in one picture while a run goes on, and the same picture of a run played again.

Pull, not push: one timer reads the journal into the state and hands it to the widgets, which repaint the cells that
changed. Nothing is sent per sample, and nothing at all while the screen is hidden.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on, work
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widget import Widget

from tui.app.screens.live import findings_text, operations_text
from tui.app.screens.live import text as live_text
from tui.app.screens.live.feed import LiveFeed, Now, ReplayFeed
from tui.app.screens.live.judging import JudgingScreen
from tui.app.widgets.chrome import KeyBar
from tui.app.widgets.graph import GraphPanel
from tui.app.widgets.graph_panels import panels
from tui.app.widgets.host_table import HostTable
from tui.app.widgets.matrix import MatrixPanel
from tui.app.widgets.messages import MessageLog
from tui.app.widgets.operations import OperationsPanel
from tui.app.widgets.percentiles import PercentileTable
from tui.app.widgets.run_header import Banner, HostFacts, RunHeader
from tui.app.widgets.server_table import ServerTable
from tui.model.settings import RATES_HZ
from tui.results.matrix.live import LiveMatrix

SWITCH_AFTER_S = 3.0
CATCH_UP_PAINT_S = 0.3
CHROME_LINES = 4  # top bar, two lines of header, footer
MIN_GRAPH, MAX_GRAPH = 7, 16
FIXED = ("percentiles", "messages")  # widgets whose height does not give way
STRIPS = ("banner", "findings")  # likewise, as high as their lines
LEAST_MATRIX = 3  # a heading, the axes, one row
ROOMY_LINES = 30  # terminals from this height on have room for more than one row a host
LOOK_AT_ENGINE_S = 2.0
REPLAY_KEYS = (("Space", "play/hold"), ("←→", "10 s"), ("+-", "speed"), ("Enter", "host"), ("s", "sort"))


class LiveScreen(JudgingScreen):
    """One run, live or (with a speed) as a replay.

    `now` is the wall clock in seconds since 1970; `alive` tells whether a run's engine lives (default: the app does).
    """

    SCOPE = "live"
    CSS_PATH = "screen.tcss"
    PANELS: ClassVar[tuple[str, ...]] = ("iops", "bandwidth", "latency")

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        replay = replay_speed is not None
        feed = ReplayFeed(run_dir, replay_speed or 1.0, now) if replay else LiveFeed(run_dir, now)
        super().__init__(run_dir, feed, live_text.plan_of(run_dir))
        self.alive = alive
        self.wall = now
        self.rate_hz = RATES_HZ[0]
        self.paused = False
        self.host: str | None = None
        self.job: str | None = None  # that was chosen; steps that have no such job show all
        self.zoomed: int | None = None
        self.began_over: bool | None = None  # the run was over when this screen opened
        self.touched = False  # a key was pressed since the run ended
        self.ended_at: float | None = None
        self._timer: Timer | None = None
        self._graph_height = 0
        self.matrix = LiveMatrix(self.plan)
        self.matrix_size = "some" if self.matrix.plan is not None else "none"  # most: in place of the hosts
        self._looked_at_engine = 0.0

    # -- building

    def compose_body(self) -> Iterable[Widget]:
        """Header, strip, three graphs, percentiles, hosts, messages."""
        symbols = self.shell.symbols
        yield RunHeader(symbols.name, id="live-header")
        yield Banner(id="live-banner")
        yield Banner(id="live-findings")
        with Horizontal(id="live-graphs"):
            for name in self.PANELS:
                yield GraphPanel(id=f"live-{name}", symbols=symbols.name)
        yield OperationsPanel(id="live-operations")
        yield HostFacts(id="live-facts")
        yield PercentileTable(symbols.name, id="live-percentiles")
        yield MatrixPanel(symbols.name, id="live-matrix")
        yield HostTable(symbols.name, id="live-hosts")
        yield ServerTable(id="live-servers")
        marks = {"info": symbols.dot, "warning": symbols.warn, "error": symbols.bad}
        yield MessageLog(marks, id="live-messages")

    def on_mount(self) -> None:
        """Read what is there, then go on by the clock."""
        self.table.focus()
        self.rate_hz = self.shell.options.settings.refresh
        self._timer = self.set_interval(1 / self.rate_hz, self.tick)
        self.catch_up()

    @property
    def matrix_panel(self) -> MatrixPanel:
        """The matrix, of runs that have one."""
        return self.query_one("#live-matrix", MatrixPanel)

    @property
    def log_pane(self) -> MessageLog:
        """The messages."""
        return self.query_one("#live-messages", MessageLog)

    # -- time

    @work(exclusive=True, group="catch-up")
    async def catch_up(self) -> None:
        """Read a journal that is long already in pieces, so that keys work meanwhile."""
        painted = 0.0
        while self.feed.advance():
            if time.monotonic() - painted >= CATCH_UP_PAINT_S:
                self.paint()
                painted = time.monotonic()
            await asyncio.sleep(0)
        if self.began_over is None:
            self.began_over = self.feed.state.ended
        await self.load_checks()
        self.look()
        self.paint()

    def tick(self) -> None:
        """Take what is new and show it."""
        self.look_at_engine()
        if self.feed.advance():
            self.catch_up_if_behind()
        else:
            self.look()
        if not self.paused:
            self.paint()
        self.switch_when_over()

    def catch_up_if_behind(self) -> None:
        """More came than fits into a tick: many hosts, a seek, or a terminal that was asleep."""
        if not any(w.group == "catch-up" and w.is_running for w in self.workers):
            self.catch_up()

    def look_at_engine(self) -> None:
        """Find out every other second whether the engine still lives."""
        feed = self.feed
        if not isinstance(feed, LiveFeed) or feed.state.ended or feed.gone:
            return
        if self.wall() - self._looked_at_engine >= LOOK_AT_ENGINE_S:
            self._looked_at_engine = self.wall()
            self.ask_engine()

    @work(thread=True, exclusive=True, group="engine", exit_on_error=False)
    def ask_engine(self) -> None:
        """Ask the store, off the event loop."""
        if not (self.alive or self.shell.run_is_alive)(self.run_dir):
            self.app.call_from_thread(self.engine_is_gone)

    def engine_is_gone(self) -> None:
        """The engine does not live; unless its last words are in the journal, it died."""
        feed = self.feed
        while feed.advance():
            pass
        if isinstance(feed, LiveFeed) and not feed.state.ended:
            feed.gone = True
        self.paint()

    def switch_when_over(self) -> None:
        """Go on to the result of a run that was watched to its good end, unless somebody is still looking around."""
        state = self.feed.state
        if self.feed.replay or not state.ended or self.began_over is not False:
            return
        if self.ended_at is None:
            self.ended_at = self.wall()
            self.shell.subjects["result"] = (self.run_dir,)
            self.refresh_chrome()
        elif state.state == "complete" and self.wall() - self.ended_at >= SWITCH_AFTER_S and self.is_watched:
            self.touched = True  # whoever comes back wants to stay
            self.shell.open_result(self.run_dir)

    @property
    def back(self) -> str:
        """A replay was opened from the list of runs."""
        return "runs" if self.feed.replay else super().back

    @property
    def is_watched(self) -> bool:
        """Nobody has pressed a key since the run ended, and nothing lies over this screen."""
        return not self.touched and self.app.screen is self

    def on_key(self, _: events.Key) -> None:
        """Whoever presses keys is looking around."""
        self.touched = self.touched or self.ended_at is not None

    @on(events.ScreenSuspend)
    def hold_timer(self) -> None:
        """Nothing is read or painted while another screen is shown."""
        if self._timer is not None:
            self._timer.pause()

    @on(events.ScreenResume)
    def go_on(self) -> None:
        """Read what came meanwhile."""
        if self._timer is not None:
            self._timer.resume()
            self.catch_up()

    # -- painting

    def paint(self) -> None:
        """Hand the state to the widgets."""
        if not self.is_mounted:
            return
        feed, state = self.feed, self.feed.state
        view = state.hosts.get(self.host or "")
        subject = live_text.subject_of(state, view, self.shown_job, live_text.about(state, self.plan))
        self.query_one("#live-header", RunHeader).show(live_text.head(feed, self.plan, self.mode()))
        strip = live_text.banner(feed, self.plan, self.size.width - 2, self.size.height)
        self.query_one("#live-banner", Banner).show(strip)
        found = self.found
        told = findings_text.strip(found, state, self.plan, self.size.width - 2)
        self.query_one("#live-findings", Banner).show(told)
        graphs = panels(state, subject, ascii_only=self.shell.symbols.name == "ascii")
        for name, graph in zip(self.PANELS, graphs, strict=True):
            self.query_one(f"#live-{name}", GraphPanel).show(graph)
        self.query_one("#live-facts", HostFacts).show(*live_text.host_facts(state, view))
        kind = live_text.latency_kind_of(state, self.plan)
        self.query_one("#live-percentiles", PercentileTable).show(*live_text.percentiles(subject, kind))
        self.show_operations()
        marks = findings_text.marks(found)
        clients, servers = live_text.telemetry_of(state)
        self.table.show(list(state.hosts.values()), state.clock.now, self.shown_job, subject.host_waits, marks, clients)
        self.query_one("#live-servers", ServerTable).show(servers, state.clock.now)
        if self.matrix_size != "none":
            self.matrix_panel.show(self.matrix.cells(state), self.matrix.progress(state))
        self.show_keys()
        self.share_room()
        self.log_pane.show(live_text.messages(state, view))

    @property
    def shown_job(self) -> str | None:
        """The job that is shown alone; None: all together."""
        return self.job if self.job in self.feed.state.current.jobs else None

    def show_keys(self) -> None:
        """Say which keys matter: that of jobs where there are several."""
        jobs, bar = len(self.feed.state.current.jobs) > 1, self.query_one(KeyBar)
        bar.leave_out(*(() if jobs else ("live.job",)))
        if self.feed.replay:
            bar.show_hint(*REPLAY_KEYS, ("J", "job") if jobs else ("L", "log"), ("?", "help"), ("q", "quit"))

    def show_operations(self) -> None:
        """In a step of a metadata benchmark, show its phases in place of graphs that it has no samples for."""
        state = self.feed.state
        step = live_text.metadata_step(state, self.plan)
        self.set_class(step is not None, "-operations")
        if step is not None:
            view, now = state.at_step(step.index).metadata, state.clock.now
            phases = tuple(step.directions)
            make = partial(operations_text.live_lines, view, now, phases=phases)
            self.query_one("#live-operations", OperationsPanel).show(make, len(make(self.size.width - 2)))

    def share_room(self) -> None:
        """Give the graphs the room that few hosts leave; many hosts get what is above the graphs' least height."""
        height = self.size.height
        others = sum(self.query_one(f"#live-{name}").outer_size.height for name in FIXED)
        others += sum(len(self.query_one(f"#live-{name}", Banner).text) for name in STRIPS)
        others += self.room_for_servers()
        others += self.room_for_matrix(height - CHROME_LINES - others)
        spare = height - CHROME_LINES - others - (len(self.feed.state.hosts) + 3)
        wanted = max(MIN_GRAPH, min(MAX_GRAPH, max(spare, height * 3 // 10)))
        if wanted != self._graph_height:
            self._graph_height = wanted
            self.query_one("#live-graphs").styles.height = wanted

    def room_for_servers(self) -> int:
        """Give the servers a line each, as far as a quarter of the screen goes, and a heading; return their height."""
        table = self.query_one("#live-servers", ServerTable)
        height = min(len(table.rows), max(2, self.size.height // 4 - 1)) + 1 if table.rows else 0
        if table.styles.height is None or table.styles.height.value != height:
            table.styles.height = height
            table.set_class(height > 0, "-shown")
        return height

    def room_for_matrix(self, room: int) -> int:
        """Give the matrix what it needs of the lines under the graphs, the hosts keep some; return its height."""
        panel = self.matrix_panel
        wanted = panel.wanted_height(self.size.width - 2) if self.matrix_size != "none" else 0
        graphs = MIN_GRAPH if self.size.height < ROOMY_LINES else MIN_GRAPH + 3
        hosts = len(self.feed.state.hosts)
        least = 2 if self.size.height < ROOMY_LINES else min(hosts + 2, room // 4)
        height = min(wanted, room - graphs - (0 if self.matrix_size == "most" else least))
        height = height if height >= LEAST_MATRIX else 0
        if height != panel.outer_size.height or panel.has_class("-shown") != (height > 0):
            panel.styles.height = height
            panel.set_class(height > 0, "-shown")
        return height

    def mode(self) -> str:
        """Return what is unusual about what is shown: replay, held display, a faster refresh."""
        feed = self.feed
        if isinstance(feed, ReplayFeed):
            speed = "max" if feed.speed > 100 else f"{feed.speed:g}x"
            return f"REPLAY {speed if feed.playing else 'held'}"
        if self.paused:
            return "DISPLAY HELD (p)"
        return f"{self.rate_hz} Hz" if self.rate_hz != RATES_HZ[0] else ""

    # -- actions: the display

    def action_pause(self) -> None:
        """Hold the display, not the run."""
        if self.feed.replay:
            self.action_play()
            return
        self.paused = not self.paused
        self.paint_held()

    def paint_held(self) -> None:
        """Say that the display is held, or bring it up to date."""
        if not self.paused:
            self.paint()
            return
        self.query_one("#live-header", RunHeader).show(live_text.head(self.feed, self.plan, self.mode()))

    def action_faster(self) -> None:
        """Refresh more often, or play faster."""
        self.change_rate(1)

    def action_slower(self) -> None:
        """Refresh less often, or play slower."""
        self.change_rate(-1)

    def change_rate(self, places: int) -> None:
        """Take another refresh rate or replay speed."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.change_speed(places)
        else:
            place = max(0, min(len(RATES_HZ) - 1, RATES_HZ.index(self.rate_hz) + places))
            self.rate_hz = RATES_HZ[place]
        self.restart_timer()
        self.paint()

    def restart_timer(self) -> None:
        """Tick at the chosen rate."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / self.rate_hz, self.tick)

    def action_job(self) -> None:
        """Show the next job alone; after the last one all together."""
        jobs = list(self.feed.state.current.jobs)
        if len(jobs) < 2:
            self.notify("there is one job: nothing to choose from")
            return
        order = [None, *jobs]
        self.job = order[(order.index(self.shown_job) + 1) % len(order)]
        self.paint()

    def action_sort(self) -> None:
        """Sort the hosts by the next column."""
        self.table.sort_by_next()

    def action_reverse(self) -> None:
        """Turn the order of the hosts round."""
        self.table.sort_by_next(reverse=True)

    def action_zoom(self) -> None:
        """Give one graph all the room, then the next, then all three again."""
        self.zoomed = 0 if self.zoomed is None else self.zoomed + 1 if self.zoomed < len(self.PANELS) - 1 else None
        for place, name in enumerate(self.PANELS):
            self.query_one(f"#live-{name}").display = self.zoomed in (None, place)
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
        if self.matrix.plan is None:
            self.notify("this run has one measurement: there is no matrix")
            return
        after = {"some": "most", "most": "none", "none": "some"}
        self.matrix_size = after[self.matrix_size]
        self.set_class(self.matrix_size == "most", "-matrix")
        self.call_after_refresh(self.paint)

    def action_open(self) -> None:
        """Show the host under the cursor in all panels; of a run that is over, go to its result."""
        over = self.feed.state.ended or (isinstance(self.feed, LiveFeed) and self.feed.gone)
        if over and not self.feed.replay:
            self.shell.open_result(self.run_dir)
            return
        self.show_host(None if self.host == self.table.cursor_key else self.table.cursor_key)

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
        if self.host is not None:
            self.show_host(event.key)

    def action_back(self) -> None:
        """Leave the log or the host first, then the screen."""
        if self.has_class("-log"):
            self.action_log()
        elif self.host is not None:
            self.show_host(None)
        else:
            super().action_back()

    def action_detach(self) -> None:
        """Leave the screen; the run needs nobody to watch it."""
        if not self.feed.replay and not self.feed.state.ended:
            self.notify(f"{self.run_dir.name} goes on; 4 brings you back")
        self.shell.go("runs" if self.feed.replay else "hosts")

    # -- actions: the replay

    def action_play(self) -> None:
        """Play or hold."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.toggle()
            self.catch_up()

    def action_seek_back(self) -> None:
        """Ten seconds back."""
        self.seek(-10.0)

    def action_seek_on(self) -> None:
        """Ten seconds on."""
        self.seek(10.0)

    def seek(self, distance_s: float) -> None:
        """Move in a replay."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.seek(distance_s)
            self.catch_up()

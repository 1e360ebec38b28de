"""The base of Live: follow or replay a run, control it, run its checks between keys."""

from __future__ import annotations

import asyncio
import gc
import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.screen import ModalScreen
from textual.timer import Timer

from tui.app.dialogs.findings import FindingsDialog
from tui.app.frame.step_screen import FilteredScreen
from tui.app.screens import live_text
from tui.app.screens.live_control import Ending, RunControl
from tui.app.screens.live_feed import SLICE_S, LiveFeed, Now, ReplayFeed
from tui.app.widgets.graph_panels import HeatPanel
from tui.app.widgets.host_table import HostTable
from tui.journal.rundir import readable_plan
from tui.model.settings import RATES_HZ
from tui.record.progress import can_be_judged

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.app.frame.step_screen import StepScreen
    from tui.journal.measurement import Measurement
    from tui.journal.state import RunState
    from tui.judge.live import LiveFindings
    from tui.library.load import KeptVerdict
    from tui.model.plan import Plan

NOT_YET = "no checks have run yet: they start 10 s into the load"
SWITCH_AFTER_S = 3.0
CATCH_UP_PAINT_S = 0.3
# per refresh: of 1024 hosts, events are read at every second refresh, rows compared at every fourth
HOSTS_READ, HOSTS_COMPARED = 512, 256
EARLY = 0.5  # of a refresh: timers are not exact
READ_SHARE = 3.0  # reading time per paint, as a multiple of the paint's duration
MANY_HOSTS, MANY_OBJECTS = 100, 5_000  # objects created per second by 1000 hosts, in two passes
GIVE_WAY_S = 0.002  # a key needs several turns of the event loop until painted
LOOK_SLICE_S = 0.005  # of checks; the next part may be a check of all hosts, which takes 30 ms
LONGEST_KEY_S = 0.1  # endless keys do not delay reading
UNDER_WAY_S = 3  # of a measurement, after which all hosts have reported
SETTLED_S = 2.0  # after which nothing refers to a screen that has ended


class WatchingScreen(FilteredScreen):
    """Follows or replays one run.

    `now` returns the time in seconds since 1970; `alive` returns whether a run's engine is alive.
    """

    def __init__(
        self,
        run_dir: Path,
        replay_speed: float | None = None,
        now: Now = time.time,
        alive: Callable[[Path], bool] | None = None,
    ) -> None:
        replay = replay_speed is not None
        feed = ReplayFeed(run_dir, replay_speed or 1.0, now) if replay else LiveFeed(run_dir, now)
        super().__init__()
        self.run_dir = run_dir
        self.feed: LiveFeed | ReplayFeed = feed
        self.plan = readable_plan(run_dir)
        self.control = RunControl(self, run_dir, self.feed)
        self.judging = Judging(run_dir, self.plan)
        self.wall = now
        self.rate_hz = RATES_HZ[0]
        self.paused = False
        self.began_over: bool | None = None  # the run had ended when this screen opened
        self.touched = False  # a key was pressed since the run ended
        self.ended_at: float | None = None
        self.pace = RefreshInterval(self, HOSTS_READ)
        self.host_pace = RefreshInterval(self, HOSTS_COMPARED)
        self.rest = Rest()
        self._timer: Timer | None = None
        self.engine: EngineWatch | None = None  # None for a replay
        if isinstance(feed, LiveFeed):
            self.engine = EngineWatch(
                self,
                feed,
                lambda: (alive or self.shell.run_is_alive)(run_dir),
                lambda: self.paused,
                lambda: self.paint(),
            )

    @property
    def run_at_hand(self) -> Path:
        """Directory of the run."""
        return self.run_dir

    @property
    def table(self) -> HostTable:
        """The table of hosts."""
        return self.query_one("#live-hosts", HostTable)

    @property
    def found(self) -> LiveFindings | None:
        """The findings for the current state; None before the first check."""
        return self.judging.found(self.feed.state)

    def on_mount(self) -> None:
        """Read the journal so far, then follow it with a timer."""
        self.table.focus()
        self.rate_hz = self.shell.options.settings.refresh
        self._timer = self.set_interval(1 / self.rate_hz, self.tick)
        self.catch_up()

    def painting(self) -> Iterator[None]:
        """Paint the panels, yielding after each so that keys can be handled."""
        raise NotImplementedError

    def paint(self) -> None:
        """Paint all panels, hosts included."""
        self.host_pace.skip()
        for _ in self.painting():
            pass

    @work(exclusive=True, group="catch-up")
    async def catch_up(self, *, anew: bool = True) -> None:
        """Read and show new events, a long journal in pieces, so that keys work meanwhile.

        `anew`: the screen is outdated, so hosts are sorted again.
        """
        await self.read_in_pieces(painted=0.0 if anew else time.monotonic() + 1 / self.rate_hz)
        if not self.is_followed:
            return
        if self.began_over is None:
            self.began_over = self.feed.state.ended
        await self.judging.load(self.feed.state)
        if not self.is_followed:
            return
        if anew:
            self.table.sort_anew()
            self.query_one(HeatPanel).fit_anew()
            self.host_pace.skip()
        if not self.feed.replay:
            self.rest.leave(self.feed.state, anew=anew)
        await let_keys_pass(self.shell)
        if self.is_followed:
            await self.judging.look(self.feed.state, self.shell, at_once=anew and self.feed.replay)
            await let_keys_pass(self.shell)
        if self.is_followed:
            await in_slices(self.painting(), self.shell, lambda: self.is_followed)
            self.switch_when_over()

    async def read_in_pieces(self, painted: float) -> None:
        """Read the journal to its end, painting now and then.

        `painted`: time of the last paint, by time.monotonic.
        """
        gave_way, pause_s = 0.0, CATCH_UP_PAINT_S
        while self.is_followed and self.feed.advance():
            # checks run at any replay speed
            if isinstance(self.feed, ReplayFeed) and self.feed.stopped:
                await self.judging.load(self.feed.state)
                await self.judging.look(self.feed.state, self.shell)
            if time.monotonic() - painted >= pause_s:
                await let_keys_pass(self.shell)
                begun = time.monotonic()
                if self.is_followed:
                    await in_slices(self.painting(), self.shell, lambda: self.is_followed)
                painted, gave_way = time.monotonic(), 0.0
                if not self.feed.replay:
                    self.rest.leave_so_far(self.feed.state)
                pause_s = max(CATCH_UP_PAINT_S, READ_SHARE * (painted - begun))
            if time.monotonic() - gave_way >= SLICE_S:
                await let_keys_pass(self.shell)
                gave_way = time.monotonic()

    def tick(self) -> None:
        """Read and show new events, unless the previous call is still busy.

        Does nothing while the display is paused, so that all figures show the same moment.
        """
        if self.paused:
            return
        if self.engine is not None:
            self.engine.look()
        if not self.pace.is_due():
            return
        if not any(w.group == "catch-up" and w.is_running for w in self.workers):
            self.catch_up(anew=False)

    @property
    def is_followed(self) -> bool:
        """Whether new events are shown: not while paused, nor after leaving the screen."""
        return self.display and not self.paused

    def switch_when_over(self) -> None:
        """Show the result of a run that completed while watched, 3 s after its end.

        Does nothing if the user has pressed a key since, or is looking at another screen.
        """
        state = self.feed.state
        self.control.close_question()
        if self.feed.replay or not state.ended or self.began_over is not False:
            return
        if self.ended_at is None:
            self.ended_at = self.wall()
            self.shell.run_ended(self.run_dir)
            self.refresh_chrome()
        elif (
            state.state == "complete"
            and self.wall() - self.ended_at >= SWITCH_AFTER_S
            and not self.touched
            and self.app.screen is self
        ):
            self.touched = True  # do not switch again after coming back
            self.shell.open_result(self.run_dir)

    @property
    def back(self) -> str:
        """Name of the screen that Escape leads to; for a replay the list of runs."""
        return "runs" if self.feed.replay else super().back

    def on_key(self, _: events.Key) -> None:
        """Remember that a key was pressed after the run had ended."""
        self.touched = self.touched or self.ended_at is not None

    @on(events.Resize)
    def share_anew(self) -> None:
        """Divide the new size among the panels, even while the display is paused."""
        if self.feed.events:
            self.call_after_refresh(self.paint)

    @on(events.ScreenSuspend)
    def hold_timer(self) -> None:
        """Stop reading and painting while another screen is shown; continue behind a dialog."""
        if self._timer is not None and not isinstance(self.app.screen, ModalScreen):
            self._timer.pause()

    @on(events.Unmount)
    def end_rest(self) -> None:
        """Include the data of a run with many hosts in garbage collections again.

        The screen has ended and no longer needs that data.
        """
        if self.rest.excludes:
            gc.unfreeze()
            # by the app: a timer of this screen would be one of the things that keep it
            self.app.call_later(self.app.set_timer, SETTLED_S, free_ended_screens)

    @on(events.ScreenResume)
    def show_again(self) -> None:
        """Show what happened meanwhile; a paused display only adapts to the size."""
        if self._timer is not None:
            self._timer.resume()
            self.share_anew() if self.paused else self.catch_up()

    # -- actions: the display

    def action_pause(self) -> None:
        """Pause the display, not the run."""
        if self.feed.replay:
            self.action_play()
            return
        self.paused = not self.paused
        if self.paused:
            self.paint()  # to show the mode
        else:
            self.catch_up()

    def action_rate(self, places: int) -> None:
        """Change refresh rate or replay speed."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.change_speed(places)
        else:
            place = max(0, min(len(RATES_HZ) - 1, RATES_HZ.index(self.rate_hz) + places))
            self.rate_hz = RATES_HZ[place]
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / self.rate_hz, self.tick)
        self.paint()

    # -- actions: the replay

    def action_play(self) -> None:
        """Play or pause the replay."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.toggle()
            self.catch_up()

    # -- actions: the run

    def action_end(self, what: Ending) -> None:
        """Ask, then stop or abort the run, or stop the load of the host under the cursor."""
        self.control.end(what, self.table.cursor_key)

    def action_remedy(self) -> None:
        """Ask, then apply the remedy for a refused or failed run."""
        self.control.mend(self.plan)

    def action_note(self) -> None:
        """Ask for a note on the run."""
        from tui.app.services.run_commands import note  # loads the library

        note(self, self.run_dir)

    def action_findings(self) -> None:
        """Show all findings so far."""
        found = self.found
        if found is None:
            over = self.feed.state.ended
            said = "no checks ran during the run; see Result for findings" if over else NOT_YET
            self.notify(said)
            return
        from tui.view.findings import live_lines

        zero_t = live_text.clock_zero_t(self.feed.state, self.plan)
        self.app.push_screen(
            FindingsDialog("Findings so far", lambda width: live_lines(found, width, zero_t))
        )


class RefreshInterval:
    """How often a task is due: on every refresh for up to `hosts` hosts, less often for more."""

    def __init__(self, screen: WatchingScreen, hosts: float) -> None:
        self._screen = screen
        self._hosts = hosts
        self._last_s = float("-inf")  # of time.monotonic()

    def skip(self) -> None:
        """Make the next `is_due` return true."""
        self._last_s = float("-inf")

    @property
    def refreshes(self) -> int:
        """Number of refreshes from one due time to the next."""
        return max(1, round(len(self._screen.feed.state.hosts) / self._hosts))

    @property
    def every_s(self) -> float:
        """Seconds from one due time to the next."""
        return self.refreshes / self._screen.rate_hz

    def is_due(self) -> bool:
        """Return whether the task is due; if so, the interval to the next time starts now."""
        now_s = time.monotonic()
        due_s = (self.refreshes - EARLY) / self._screen.rate_hz
        if self.refreshes > 1 and now_s - self._last_s < due_s:
            return False
        self._last_s = now_s
        return True


class Rest:
    """Excludes the data of a live run from garbage collection, once per measurement."""

    def __init__(self) -> None:
        self.measurement: Measurement | None = None  # the last one that was excluded
        self.excludes = False

    def leave_so_far(self, state: RunState) -> None:
        """Exclude the data of a long journal; a full collection of it would take 150 ms."""
        if len(state.hosts) >= MANY_HOSTS:
            self.excludes = True
            gc.freeze()

    def leave(self, state: RunState, *, anew: bool) -> None:
        """Exclude everything that exists, once per measurement.

        `anew`: the journal has just been read; otherwise wait until the load has figures for three
        seconds.
        """
        current, span = state.current, state.current.whole.span
        if self.measurement is current:
            return
        if anew or (span is not None and span[1] - span[0] >= UNDER_WAY_S):
            self.measurement, self.excludes = current, len(state.hosts) >= MANY_HOSTS
            leave_to_rest(len(state.hosts))


def leave_to_rest(hosts: int) -> None:
    """Exclude the data of many hosts from garbage collection, and collect rarely.

    A pass over 1000 hosts takes 50 to 100 ms, during which no key is handled.
    """
    if hosts >= MANY_HOSTS:
        # nothing excluded yet: a screen of many hosts has ended, and its run is garbage
        gc.collect(1 if gc.get_freeze_count() else 2)
        gc.freeze()
        gc.set_threshold(MANY_OBJECTS, *gc.get_threshold()[1:])


def free_ended_screens() -> None:
    """Free the data of screens that have ended, even if excluded from garbage collection."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
        gc.freeze()


LOOK_AT_ENGINE_S = 2.0


class EngineWatch:
    """Checks every 2 s whether the engine of the run is alive.

    `held` returns whether the display is paused; `paint` shows that the engine is gone.
    """

    def __init__(
        self,
        screen: StepScreen,
        feed: LiveFeed,
        lives: Callable[[], bool],
        held: Callable[[], bool],
        paint: Callable[[], None],
    ) -> None:
        self.screen, self.feed, self.lives, self.held, self.paint = screen, feed, lives, held, paint
        self._looked_at = 0.0

    def look(self) -> None:
        """Check in a thread whether the engine is alive, if it is time to."""
        feed = self.feed
        if feed.state.ended or feed.gone or feed.wall() - self._looked_at < LOOK_AT_ENGINE_S:
            return
        self._looked_at = feed.wall()
        self.screen.in_thread(self.lives, self._answered, "engine")

    def _answered(self, lives: bool) -> None:
        """Mark the engine as gone, unless the journal has ended or another engine took over."""
        if lives or self.held():
            return  # checked again later
        known = len(self.feed.state.resumed)
        while self.feed.advance():
            pass
        taken_over = len(self.feed.state.resumed) > known  # checked next
        self.feed.gone = not self.feed.state.ended and not taken_over
        self.paint()


async def let_keys_pass(shell: AppShell) -> None:
    """Let waiting keys be handled before a long task continues."""
    await asyncio.sleep(GIVE_WAY_S)
    most = time.monotonic() + LONGEST_KEY_S
    while shell.key_on_its_way and time.monotonic() < most:
        await asyncio.sleep(GIVE_WAY_S)


async def in_slices(parts: Iterator[None], shell: AppShell, wanted: Callable[[], bool]) -> None:
    """Run a long task part by part while `wanted` returns true; keys are handled first."""
    gave_way = time.monotonic()
    for _ in parts:
        if time.monotonic() - gave_way >= LOOK_SLICE_S:
            await let_keys_pass(shell)
            if not wanted():
                return
            gave_way = time.monotonic()


class Judging:
    """The findings of one run; they start again with the state, such as after seeking back."""

    def __init__(self, run_dir: Path, plan: Plan | None) -> None:
        self.run_dir = run_dir
        self.plan = plan
        self.kept: KeptVerdict | None = None  # of a run that has ended
        self._findings: LiveFindings | None = None
        self._of: RunState | None = None

    def found(self, state: RunState) -> LiveFindings | None:
        """Return the findings for this state of the run; None before the first check."""
        return self._findings if self._of is state else None

    async def load(self, state: RunState) -> None:
        """Import the checks in a thread, once there is something to check."""
        if self.plan is not None and can_be_judged(state, state.clock.now):
            await asyncio.to_thread(importlib.import_module, "tui.judge.live")

    async def _read_verdict(self, state: RunState) -> None:
        """Read the verdict in the record, once the run has ended."""
        if not state.ended:
            self.kept = None
        elif self.kept is None:
            from tui.library.load import kept_verdict

            self.kept = await asyncio.to_thread(kept_verdict, self.run_dir)

    async def look(self, state: RunState, shell: AppShell, *, at_once: bool = False) -> None:
        """Run the checks that are due, without delaying keys.

        `at_once`: all checks are due now; a finding that covers enough time needs no second check.
        """
        if (
            self.plan is not None
            and self._of is not state
            and can_be_judged(state, state.clock.now)
        ):
            from tui.judge.live import LiveFindings

            self._findings, self._of = LiveFindings(self.plan), state
        await self._read_verdict(state)
        found = self.found(state)
        if found is not None and self.kept is not None and not found.settled:
            found.settle(self.kept.findings, state.clock.now)
        if found is not None:
            if at_once:
                found.look_at_once()
            slices = found.update_in_slices(state, state.clock.now)
            try:
                await in_slices(slices, shell, lambda: True)
            finally:
                for _ in slices:  # finish a look that was begun, even if the screen is left
                    pass

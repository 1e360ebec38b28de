"""Live: act on the run (stop, abort, note), judge it while it runs, follow its journal."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.timer import Timer

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.findings import FindingsDialog
from tui.app.dialogs.text_entry import NoteDialog
from tui.app.frame.step_screen import FilteredScreen
from tui.app.screens import live_text
from tui.app.screens.live_feed import SLICE_S, LiveFeed, Now, ReplayFeed
from tui.app.screens.live_text import clock_zero_t
from tui.app.services import remedies
from tui.app.widgets.host_table import HostTable
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError
from tui.model.settings import RATES_HZ
from tui.record.progress import can_be_judged

if TYPE_CHECKING:
    from tui.judge.live import LiveFindings

HOLDS_LOAD = ("running", "connecting")  # states in which one host can be stopped alone


class SteeringScreen(FilteredScreen):
    """A screen of one run that can be told something; questions come first."""

    def __init__(self, run_dir: Path, feed: LiveFeed | ReplayFeed, plan: Plan | None) -> None:
        super().__init__()
        self.run_dir = run_dir
        self.feed = feed
        self.plan = plan

    @property
    def run_at_hand(self) -> Path:
        """The run that is shown."""
        return self.run_dir

    @property
    def table(self) -> HostTable:
        """The hosts."""
        return self.query_one("#live-hosts", HostTable)

    def action_stop(self) -> None:
        """Ask, then stop and keep what was measured."""
        self.ask_to_end(
            "stop", "Stop the run now?", "Every host ends its load; what was measured is kept."
        )

    def action_abort(self) -> None:
        """Ask, then end at once."""
        self.ask_to_end(
            "abort",
            "Abort the run?",
            "Every host kills its load at once; the result is marked aborted.",
        )

    def action_stop_host(self) -> None:
        """Ask, then end the load of the host under the cursor, whose figures are kept."""
        if not self.can_end():
            return
        host = self.table.cursor_key
        view = self.feed.state.hosts.get(host or "")
        if view is None or view.state not in HOLDS_LOAD:
            self.notify(f"{host} has no load now" if host else "no host yet", markup=False)
            return
        body = (
            f"{self.run_dir.name}\nThe others go on; what {view.name} measured is kept, and the run"
            " is partial."
        )
        request = {"verb": "stop-host", "host": view.name, "by": "app"}
        question = Confirm(f"End the load of {view.name} alone?", body, warns=True)
        self.app.push_screen(question, partial(self.told_by_answer, request))

    def can_end(self) -> bool:
        """Whether something can be ended; says why not."""
        over = self.feed.state.ended or (isinstance(self.feed, LiveFeed) and self.feed.gone)
        if self.feed.replay or over:
            self.notify(
                "this run is over" if not self.feed.replay else "a replay has nothing to stop"
            )
        return not (self.feed.replay or over)

    def ask_to_end(self, verb: str, question: str, body: str) -> None:
        """Put the question, unless there is nothing to end."""
        if not self.can_end():
            return
        count = len(self.feed.state.hosts)
        body = f"{self.run_dir.name}\n{count} host{'s' if count != 1 else ''}. {body}"
        request = {"verb": verb, "by": "app"}
        self.app.push_screen(
            Confirm(question, body, warns=True), partial(self.told_by_answer, request)
        )

    def told_by_answer(self, request: dict[str, str], answer: str | None) -> None:
        """Send a request when the answer was yes."""
        if answer == "yes":
            self.tell_engine(request)

    def action_remedy(self) -> None:
        """Do what can be done about a run that was refused or failed, after a question."""
        if self.feed.replay:
            self.notify("a replay needs no remedy")
        else:
            remedies.mend(self, remedies.of_state(self.feed.state), self.run_dir, self.plan)

    def action_note(self) -> None:
        """Ask for a remark."""
        self.app.push_screen(NoteDialog(self.run_dir.name), self.note_written)

    def note_written(self, text: str | None) -> None:
        """Keep a remark."""
        if text:
            self.tell_engine({"verb": "note", "text": text, "by": "app"})

    @work(group="control", exit_on_error=False)
    async def tell_engine(self, request: dict[str, str]) -> None:
        """Send a request through the run's door, or write a note to the record of a run that is
        over.
        """
        try:
            error = await asyncio.to_thread(live_text.deliver, self.run_dir, request)
        except BenchtuiError as problem:
            error = str(problem)
        if error:
            self.notify(error, severity="error", markup=False)
        elif request["verb"] == "note":
            self.notify("noted")


GIVE_WAY_S = 0.002  # a key goes through several turns of the loop until it is painted
LOOK_SLICE_S = 0.005  # of a look; the next part may be a check of all hosts, which takes 30 ms
LONGEST_KEY_S = 0.1  # keys that come without end do not hold up what is read
NOT_YET = "nothing was checked yet: that begins ten seconds into the load"
FRAME_S = 0.02  # Textual paints what a key changed 60 times a second at most


class JudgingScreen(SteeringScreen):
    """A screen of one run whose checks are made now and then."""

    def __init__(self, run_dir: Path, feed: LiveFeed | ReplayFeed, plan: Plan | None) -> None:
        super().__init__(run_dir, feed, plan)
        self._findings: LiveFindings | None = None
        # the state that they are of: a replay that goes back begins another one
        self._judged: object = None

    @property
    def found(self) -> LiveFindings | None:
        """What was found of the run as it is shown; None before anything was looked at."""
        return self._findings if self._judged is self.feed.state else None

    async def load_checks(self) -> None:
        """Load what judges a run, off the event loop, once there is something to judge."""
        if self.plan is not None and can_be_judged(self.feed.state, self.feed.state.clock.now):
            await asyncio.to_thread(importlib.import_module, "tui.judge.live")

    async def look(self) -> None:
        """Make the checks that can be made now, when it is time.

        Those of a step are over when another one begins.
        """
        state = self.feed.state
        if (
            self.plan is not None
            and self._judged is not state
            and can_be_judged(state, state.clock.now)
        ):
            from tui.judge.live import LiveFindings

            self._findings, self._judged = LiveFindings(self.plan), state
        if self.found is not None and state.ended and not self.found.settled:
            from tui.library.load import kept_findings

            kept = await asyncio.to_thread(kept_findings, self.run_dir)
            if kept is not None and self.found is not None:
                self.found.settle(kept, state.clock.now)
        if self.found is not None:
            slices, gave_way = self.found.looking(state, state.clock.now), time.monotonic()
            try:
                for _ in slices:
                    if time.monotonic() - gave_way >= LOOK_SLICE_S:
                        await self.let_keys_pass()
                        gave_way = time.monotonic()
            finally:
                for _ in slices:  # a look that was begun is finished, also by who leaves
                    pass

    async def let_keys_pass(self) -> None:
        """A key that waits is painted first: reading, looking and painting are long turns of the
        loop.
        """
        await asyncio.sleep(GIVE_WAY_S)
        most = time.monotonic() + LONGEST_KEY_S
        waited = False
        while self.shell.key_on_its_way and time.monotonic() < most:
            waited = True
            await asyncio.sleep(GIVE_WAY_S)
        if waited:
            await asyncio.sleep(FRAME_S)

    def action_findings(self) -> None:
        """Show all that was found so far."""
        found = self.found
        if found is None:
            over = self.feed.state.ended
            said = "nothing was checked while it ran: Result has the findings" if over else NOT_YET
            self.notify(said)
            return
        from tui.view.findings import live_lines

        zero_t = clock_zero_t(self.feed.state, self.plan)
        self.app.push_screen(
            FindingsDialog("Findings so far", lambda width: live_lines(found, width, zero_t))
        )


SWITCH_AFTER_S = 3.0
CATCH_UP_PAINT_S = 0.3
LOOK_AT_ENGINE_S = 2.0


class WatchingScreen(JudgingScreen):
    """A screen of one run that follows it, or plays it again.

    `now` is the wall clock in seconds since 1970; `alive` tells whether a run's engine lives
    (default: the app does).
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
        super().__init__(run_dir, feed, live_text.plan_of(run_dir))
        self.alive = alive
        self.wall = now
        self.rate_hz = RATES_HZ[0]
        self.paused = False
        self.began_over: bool | None = None  # the run was over when this screen opened
        self.touched = False  # a key was pressed since the run ended
        self.ended_at: float | None = None
        self._timer: Timer | None = None
        self._looked_at_engine = 0.0

    def on_mount(self) -> None:
        """Read what is there, then go on by the clock."""
        self.table.focus()
        self.rate_hz = self.shell.options.settings.refresh
        self._timer = self.set_interval(1 / self.rate_hz, self.tick)
        self.catch_up()

    def paint(self) -> None:
        """Hand the state to the widgets."""
        raise NotImplementedError

    def move_cursor(self, places: int) -> None:
        """Move the cursor of all graphs by columns."""
        raise NotImplementedError

    @work(exclusive=True, group="catch-up")
    async def catch_up(self, *, anew: bool = True) -> None:
        """Read a journal that is long already in pieces, so that keys work meanwhile.

        `anew`: what was shown is of another time, so hosts are put in order again.
        """
        await self.read_in_pieces(painted=0.0 if anew else time.monotonic())
        if not self.is_followed:
            return
        if self.began_over is None:
            self.began_over = self.feed.state.ended
        await self.load_checks()
        if not self.is_followed:
            return
        if anew:
            self.table.sort_anew()
        await self.let_keys_pass()
        if self.is_followed:
            await self.look()
            await self.let_keys_pass()
        if self.is_followed:
            self.paint()
            self.switch_when_over()

    async def read_in_pieces(self, painted: float) -> None:
        """Read the journal to its end; paint now and then, last at `painted` (time.monotonic)."""
        gave_way = 0.0
        while self.is_followed and self.feed.advance():
            # it is judged however fast it is played
            if isinstance(self.feed, ReplayFeed) and self.feed.stopped:
                await self.load_checks()
                await self.look()
            if time.monotonic() - painted >= CATCH_UP_PAINT_S:
                await self.let_keys_pass()
                if self.is_followed:
                    self.paint()
                painted, gave_way = time.monotonic(), 0.0
            if time.monotonic() - gave_way >= SLICE_S:
                await asyncio.sleep(GIVE_WAY_S)
                gave_way = time.monotonic()

    def tick(self) -> None:
        """Take what is new and show it.

        Nothing while the display is held, so that keys show figures of one time.
        """
        if not self.paused:
            self.look_at_engine()
            self.read_on()

    @property
    def is_followed(self) -> bool:
        """The journal is read on: not while the display is held, nor once somebody left and the
        widgets are gone.
        """
        return self.display and not self.paused

    def read_on(self) -> None:
        """Take what is new, unless that goes on already: many hosts, a seek, or a terminal that was
        asleep.
        """
        if not any(w.group == "catch-up" and w.is_running for w in self.workers):
            self.catch_up(anew=False)

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
        if self.paused:
            return  # it is asked again
        feed = self.feed
        while feed.advance():
            pass
        if isinstance(feed, LiveFeed) and not feed.state.ended:
            feed.gone = True
        self.paint()

    def switch_when_over(self) -> None:
        """Go on to the result of a run that was watched to its good end, unless somebody is still
        looking around.
        """
        state = self.feed.state
        if self.feed.replay or not state.ended or self.began_over is not False:
            return
        if self.ended_at is None:
            self.ended_at = self.wall()
            self.shell.run_ended(self.run_dir)
            self.refresh_chrome()
        elif (
            state.state == "complete"
            and self.wall() - self.ended_at >= SWITCH_AFTER_S
            and self.is_watched
        ):
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

    @on(events.Resize)
    def share_anew(self) -> None:
        """Panels share what room there is now, also while the display is held."""
        if self.feed.events:
            self.call_after_refresh(self.paint)

    @on(events.ScreenSuspend)
    def hold_timer(self) -> None:
        """Nothing is read or painted while another screen is shown."""
        if self._timer is not None:
            self._timer.pause()

    @on(events.ScreenResume)
    def go_on(self) -> None:
        """Read what came meanwhile; a display that is held has another size at most."""
        if self._timer is not None:
            self._timer.resume()
            self.share_anew() if self.paused else self.catch_up()

    # -- actions: the display

    def mode(self) -> str:
        """Return what is unusual about what is shown: replay, held display, a faster refresh."""
        feed = self.feed
        if isinstance(feed, ReplayFeed):
            speed = "max" if feed.speed > 100 else f"{feed.speed:g}x"
            return f"REPLAY {speed if feed.playing else 'held'}"
        if self.paused:
            return "DISPLAY HELD (p)"
        return f"{self.rate_hz} Hz" if self.rate_hz != RATES_HZ[0] else ""

    def action_pause(self) -> None:
        """Hold the display, not the run."""
        if self.feed.replay:
            self.action_play()
            return
        self.paused = not self.paused
        if self.paused:
            self.paint()  # says so
        else:
            self.catch_up()

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

    # -- actions: the replay

    def action_play(self) -> None:
        """Play or hold."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.toggle()
            self.catch_up()

    def action_seek_back(self) -> None:
        """Ten seconds back; where time goes on by itself, the cursor back."""
        self.seek(-10.0) if self.feed.replay else self.move_cursor(-1)

    def action_seek_on(self) -> None:
        """Ten seconds on; where time goes on by itself, the cursor on."""
        self.seek(10.0) if self.feed.replay else self.move_cursor(1)

    def seek(self, distance_s: float) -> None:
        """Move in a replay."""
        if isinstance(self.feed, ReplayFeed):
            self.feed.seek(distance_s)
            self.catch_up()

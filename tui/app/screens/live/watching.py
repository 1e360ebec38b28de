"""Reading on: the clock of the Live screen, what it reads when, and what happens when a run is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from textual import events, on, work
from textual.timer import Timer

from tui.app.screens.live import text as live_text
from tui.app.screens.live.feed import SLICE_S, LiveFeed, Now, ReplayFeed
from tui.app.screens.live.judging import GIVE_WAY_S, JudgingScreen
from tui.model.settings import RATES_HZ

SWITCH_AFTER_S = 3.0
CATCH_UP_PAINT_S = 0.3
LOOK_AT_ENGINE_S = 2.0


class WatchingScreen(JudgingScreen):
    """A screen of one run that follows it, or plays it again.

    `now` is the wall clock in seconds since 1970; `alive` tells whether a run's engine lives (default: the app does).
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
        painted, gave_way = 0.0 if anew else time.monotonic(), 0.0
        while self.is_followed and self.feed.advance():
            if isinstance(self.feed, ReplayFeed) and self.feed.stopped:  # it is judged however fast it is played
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

    def tick(self) -> None:
        """Take what is new and show it; nothing while the display is held, so that keys show figures of one time."""
        if not self.paused:
            self.look_at_engine()
            self.read_on()

    @property
    def is_followed(self) -> bool:
        """The journal is read on: not while the display is held, nor once somebody left and the widgets are gone."""
        return self.display and not self.paused

    def read_on(self) -> None:
        """Take what is new, unless that goes on already: many hosts, a seek, or a terminal that was asleep."""
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
        """Go on to the result of a run that was watched to its good end, unless somebody is still looking around."""
        state = self.feed.state
        if self.feed.replay or not state.ended or self.began_over is not False:
            return
        if self.ended_at is None:
            self.ended_at = self.wall()
            self.shell.run_ended(self.run_dir)
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

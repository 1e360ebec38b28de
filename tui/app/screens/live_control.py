"""Live: control the run (stop, abort, stop a host, note), with confirmation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.text_entry import NoteDialog
from tui.app.screens import live_text
from tui.app.services import remedies
from tui.metrics.units import plural
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.frame.step_screen import StepScreen
    from tui.app.screens.live_feed import LiveFeed, ReplayFeed
    from tui.model.plan import Plan

HOLDS_LOAD = ("running", "connecting")  # states in which a single host can be stopped
Ending = Literal["stop", "abort", "host"]
QUESTIONS: dict[str, tuple[str, str]] = {
    "stop": ("Stop the run now?", "Every host stops its load; results so far are kept."),
    "abort": (
        "Abort the run?",
        "Every host kills its load immediately; the result is marked aborted.",
    ),
}


class RunControl:
    """Asks for confirmation on a screen, and sends requests to the run's engine."""

    def __init__(self, screen: StepScreen, run_dir: Path, feed: LiveFeed | ReplayFeed) -> None:
        self.screen = screen
        self.run_dir = run_dir
        self.feed = feed

    def end(self, what: Ending, host: str | None) -> None:
        """Ask, then stop the run and keep its results, abort it, or stop one host's load."""
        if not self._can_end():
            return
        if what == "host":
            self._end_host(host)
        else:
            question, body = QUESTIONS[what]
            hosts = plural(len(self.feed.state.hosts), "host")
            self._ask(question, f"{hosts}. {body}", {"verb": what, "by": "app"})

    def _end_host(self, host: str | None) -> None:
        view = self.feed.state.hosts.get(host or "")
        if view is None or view.state not in HOLDS_LOAD:
            self.screen.notify(
                f"{host} is running no load" if host else "no hosts yet", markup=False
            )
            return
        body = (
            f"The other hosts continue. Results of {view.name} so far are kept; the run becomes"
            " partial."
        )
        request = {"verb": "stop-host", "host": view.name, "by": "app"}
        self._ask(f"Stop the load of {view.name} only?", body, request)

    def note(self) -> None:
        """Ask for a note, and save it."""

        def written(text: str | None) -> None:
            if text:
                self._send({"verb": "note", "text": text, "by": "app"})

        self.screen.app.push_screen(NoteDialog(self.run_dir.name), written)

    def mend(self, plan: Plan | None) -> None:
        """Apply the remedy for a refused or failed run; ask first."""
        if self.feed.replay:
            self.screen.notify("this is a replay: no remedy needed")
        else:
            remedies.mend(self.screen, remedies.of_state(self.feed.state), self.run_dir, plan)

    def _can_end(self) -> bool:
        """Return whether there is something to stop; say why if not."""
        over = live_text.is_over(self.feed)
        if self.feed.replay or over:
            self.screen.notify(
                "this is a replay: nothing to stop" if self.feed.replay else "this run has ended"
            )
        return not (self.feed.replay or over)

    def _ask(self, question: str, body: str, request: dict[str, str]) -> None:
        def answered(answer: str | None) -> None:
            if answer == "yes":
                self._send(request)

        dialog = Confirm(question, f"{self.run_dir.name}\n{body}", warns=True)
        self.screen.app.push_screen(dialog, answered)

    def _send(self, request: dict[str, str]) -> None:
        self.screen.run_worker(self._sent(request), group="control", exit_on_error=False)

    async def _sent(self, request: dict[str, str]) -> None:
        """Send a request to the engine, or add a note to the record of an ended run."""
        try:
            error = await asyncio.to_thread(live_text.deliver, self.run_dir, request)
        except BenchtuiError as problem:
            error = str(problem)
        if error:
            self.screen.notify(error, severity="error", markup=False)
        elif request["verb"] == "note":
            self.screen.notify("note saved")


LOOK_AT_ENGINE_S = 2.0


class EngineWatch:
    """Checks every 2 s whether the engine of the run is alive.

    `held`: whether the display is paused; `paint`: shows that the engine is gone.
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
        """Check off the event loop, if due."""
        feed = self.feed
        if feed.state.ended or feed.gone or feed.wall() - self._looked_at < LOOK_AT_ENGINE_S:
            return
        self._looked_at = feed.wall()
        self.screen.run_worker(
            self._ask, thread=True, exclusive=True, group="engine", exit_on_error=False
        )

    def _ask(self) -> None:
        if not self.lives():
            self.screen.app.call_from_thread(self._gone)

    def _gone(self) -> None:
        """Mark it as gone, unless the journal has its end."""
        if self.held():
            return  # checked again later
        known = len(self.feed.state.resumed)
        while self.feed.advance():
            pass
        taken_over = len(self.feed.state.resumed) > known  # checked next
        self.feed.gone = not self.feed.state.ended and not taken_over
        self.paint()

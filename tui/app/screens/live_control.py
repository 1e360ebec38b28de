"""Ask before a run is stopped, and send requests to its engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from tui.app.dialogs.confirm import Confirm
from tui.app.frame.step_screen import StepScreen
from tui.app.screens import live_text
from tui.app.screens.live_feed import LiveFeed, ReplayFeed
from tui.app.services import remedies
from tui.metrics.units import plural
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError

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
    """Asks for confirmation, and sends requests to the engine of a run."""

    def __init__(self, screen: StepScreen, run_dir: Path, feed: LiveFeed | ReplayFeed) -> None:
        self.screen = screen
        self.run_dir = run_dir
        self.feed = feed
        self.asked: Confirm | None = None  # the question that is shown

    def close_question(self) -> None:
        """Close the dialog that asks whether to stop, if the run has ended meanwhile."""
        if self.asked is not None and self.asked.is_current and not self._can_end():
            self.asked.dismiss(None)

    def end(self, what: Ending, host: str | None) -> None:
        """Ask, then stop the run and keep its results, abort it, or stop the load on one host."""
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
            self.screen.notify(f"{host} is running no load" if host else "no hosts yet")
            return
        body = (
            f"The other hosts continue. Results of {view.name} so far are kept; the run becomes"
            " partial."
        )
        request = {"verb": "stop-host", "host": view.name, "by": "app"}
        self._ask(f"Stop the load of {view.name} only?", body, request)

    def mend(self, plan: Plan | None) -> None:
        """Ask, then apply the remedy for a refused or failed run."""
        if self.feed.replay:
            self.screen.notify("this is a replay: no remedy needed")
        else:
            remedies.mend(self.screen, remedies.of_state(self.feed.state), self.run_dir, plan)

    def _can_end(self) -> bool:
        """Return whether there is something to stop; show why if not."""
        over = live_text.is_over(self.feed)
        if self.feed.replay or over:
            self.screen.notify(
                "this is a replay: nothing to stop" if self.feed.replay else "this run has ended"
            )
        return not (self.feed.replay or over)

    def _ask(self, question: str, body: str, request: dict[str, str]) -> None:
        def answered(answer: str | None) -> None:
            self.asked = None
            if answer == "yes" and self._can_end():
                self.screen.run_worker(self._send(request), group="control", exit_on_error=False)

        self.asked = Confirm(question, f"{self.run_dir.name}\n{body}", warns=True)
        self.screen.app.push_screen(self.asked, answered)

    async def _send(self, request: dict[str, str]) -> None:
        """Send a request to the engine; say why if it is refused."""
        from tui.engine.control import demand

        try:
            await asyncio.to_thread(demand, self.run_dir, request)
        except BenchtuiError as error:
            self.screen.notify(str(error), severity="error")

"""What is asked of a run from the Live screen: end it, end one host, remember a remark."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from textual import work

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.note import NoteDialog
from tui.app.frame.filtered import FilteredScreen
from tui.app.screens.live import text as live_text
from tui.app.screens.live.feed import LiveFeed, ReplayFeed
from tui.app.services import remedies
from tui.app.widgets.host_table import HostTable
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError

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
        self.ask_to_end("stop", "Stop the run now?", "Every host ends its load; what was measured is kept.")

    def action_abort(self) -> None:
        """Ask, then end at once."""
        self.ask_to_end("abort", "Abort the run?", "Every host kills its load at once; the result is marked aborted.")

    def action_stop_host(self) -> None:
        """Ask, then end the load of the host under the cursor, whose figures are kept."""
        if not self.can_end():
            return
        host = self.table.cursor_key
        view = self.feed.state.hosts.get(host or "")
        if view is None or view.state not in HOLDS_LOAD:
            self.notify(f"{host} has no load now" if host else "no host yet", markup=False)
            return
        body = f"{self.run_dir.name}\nThe others go on; what {view.name} measured is kept, and the run is partial."
        request = {"verb": "stop-host", "host": view.name, "by": "app"}
        question = Confirm(f"End the load of {view.name} alone?", body, warns=True)
        self.app.push_screen(question, partial(self.told_by_answer, request))

    def can_end(self) -> bool:
        """Whether something can be ended; says why not."""
        over = self.feed.state.ended or (isinstance(self.feed, LiveFeed) and self.feed.gone)
        if self.feed.replay or over:
            self.notify("this run is over" if not self.feed.replay else "a replay has nothing to stop")
        return not (self.feed.replay or over)

    def ask_to_end(self, verb: str, question: str, body: str) -> None:
        """Put the question, unless there is nothing to end."""
        if not self.can_end():
            return
        count = len(self.feed.state.hosts)
        body = f"{self.run_dir.name}\n{count} host{'s' if count != 1 else ''}. {body}"
        request = {"verb": verb, "by": "app"}
        self.app.push_screen(Confirm(question, body, warns=True), partial(self.told_by_answer, request))

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
        """Send a request through the run's door, or write a note to the record of a run that is over."""
        try:
            error = await asyncio.to_thread(live_text.deliver, self.run_dir, request)
        except BenchtuiError as problem:
            error = str(problem)
        if error:
            self.notify(error, severity="error", markup=False)
        elif request["verb"] == "note":
            self.notify("noted")

"""Judging a run while it is watched: its checks are made from what the screen has read."""

from __future__ import annotations

import asyncio
import importlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.findings import FindingsDialog
from tui.app.screens.live.feed import LiveFeed, ReplayFeed
from tui.app.screens.live.steering import SteeringScreen
from tui.app.screens.live.text import clock_zero_t
from tui.model.plan import Plan
from tui.results.findings.due import is_time

if TYPE_CHECKING:
    from tui.results.findings.live import LiveFindings

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
        self._judged: object = None  # the state that they are of: a replay that goes back begins another one

    @property
    def found(self) -> LiveFindings | None:
        """What was found of the run as it is shown; None before anything was looked at."""
        return self._findings if self._judged is self.feed.state else None

    async def load_checks(self) -> None:
        """Load what judges a run, off the event loop, once there is something to judge."""
        if self.plan is not None and is_time(self.feed.state, self.feed.state.clock.now):
            await asyncio.to_thread(importlib.import_module, "tui.results.findings.live")

    async def look(self) -> None:
        """Make the checks that can be made now, when it is time; those of a step are over when another one begins."""
        state = self.feed.state
        if self.plan is not None and self._judged is not state and is_time(state, state.clock.now):
            from tui.results.findings.live import LiveFindings

            self._findings, self._judged = LiveFindings(self.plan), state
        if self.found is not None and state.ended and not self.found.settled:
            from tui.results.store.load import kept_findings

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
        """A key that waits is painted first: reading, looking and painting are long turns of the loop."""
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
        from tui.results.text.findings import live_lines

        zero_t = clock_zero_t(self.feed.state, self.plan)
        self.app.push_screen(FindingsDialog("Findings so far", lambda width: live_lines(found, width, zero_t)))

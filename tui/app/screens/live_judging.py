"""Live: run checks without delaying keys."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tui.record.progress import can_be_judged

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.journal.state import RunState
    from tui.judge.live import LiveFindings
    from tui.model.plan import Plan

GIVE_WAY_S = 0.002  # a key needs several turns of the event loop until painted
LOOK_SLICE_S = 0.005  # of checks; the next part may be a check of all hosts, which takes 30 ms
LONGEST_KEY_S = 0.1  # endless keys do not delay reading
FRAME_S = 0.02  # Textual paints at most 60 times a second


async def let_keys_pass(shell: AppShell) -> None:
    """Let a waiting key be handled first: reading, checking and painting are long turns of the
    loop.
    """
    await asyncio.sleep(GIVE_WAY_S)
    most = time.monotonic() + LONGEST_KEY_S
    waited = False
    while shell.key_on_its_way and time.monotonic() < most:
        waited = True
        await asyncio.sleep(GIVE_WAY_S)
    if waited:
        await asyncio.sleep(FRAME_S)


async def in_slices(parts: Iterator[None], shell: AppShell, goes_on: Callable[[], bool]) -> None:
    """Run a long task part by part while it `goes_on`; keys go first."""
    gave_way = time.monotonic()
    for _ in parts:
        if time.monotonic() - gave_way >= LOOK_SLICE_S:
            await let_keys_pass(shell)
            if not goes_on():
                return
            gave_way = time.monotonic()


class Judging:
    """The findings of one run; for a new state (a replay went back) they start over."""

    def __init__(self, run_dir: Path, plan: Plan | None) -> None:
        self.run_dir = run_dir
        self.plan = plan
        self._findings: LiveFindings | None = None
        self._of: RunState | None = None

    def found(self, state: RunState) -> LiveFindings | None:
        """Return the findings of this state of the run; None before the first check."""
        return self._findings if self._of is state else None

    async def load(self, state: RunState) -> None:
        """Load the checks off the event loop, once there is something to check."""
        if self.plan is not None and can_be_judged(state, state.clock.now):
            await asyncio.to_thread(importlib.import_module, "tui.judge.live")

    async def look(self, state: RunState, shell: AppShell) -> None:
        """Run the checks that are due.

        Checks of a step end with it.
        """
        if (
            self.plan is not None
            and self._of is not state
            and can_be_judged(state, state.clock.now)
        ):
            from tui.judge.live import LiveFindings

            self._findings, self._of = LiveFindings(self.plan), state
        found = self.found(state)
        if found is not None and state.ended and not found.settled:
            from tui.library.load import kept_findings

            kept = await asyncio.to_thread(kept_findings, self.run_dir)
            if kept is not None and self._of is state:
                found.settle(kept, state.clock.now)
        found = self.found(state)
        if found is not None:
            slices = found.looking(state, state.clock.now)
            try:
                await in_slices(slices, shell, lambda: True)
            finally:
                for _ in slices:  # finish a look that was begun, even if the screen is left
                    pass

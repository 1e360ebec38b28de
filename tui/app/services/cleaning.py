"""Removing from hosts what a run created, from the list of runs and from a result: look, ask, remove, say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.app.dialogs.confirm import Answer, Confirm
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.engine.safety.clean import Cleaning, Created
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.connections import Connections

LINES_SHOWN = 10
SEEN = (Answer("seen", "o", "OK"),)  # what was removed stays on the screen until somebody has read it


async def ask_to_clean(screen: Screen[None], run_dir: Path, paths: Paths, agreed: Callable[[], object]) -> None:
    """Show what a run left on its hosts, and call `agreed` when it shall go."""
    from tui.engine.safety.clean import look
    from tui.results.store.cleaned import check_over

    try:
        await asyncio.to_thread(check_over, run_dir)
        plan, created = await asyncio.to_thread(left_by, run_dir)
        if not created:
            screen.notify("this run left nothing on its hosts")
            return
        screen.notify("looking at what it left on its hosts")
        found = await over_hosts(plan, paths, lambda connections: look(run_dir, created, connections))
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return
    body = text_of(found, done=False)
    if not any(each.goes for each in found):
        screen.notify(f"nothing can be removed\n{body}", severity="warning", markup=False)
        return

    def answered(answer: str | None) -> None:
        if answer == "yes":
            agreed()

    screen.app.push_screen(Confirm("Remove these from the hosts?", body, warns=True), answered)


async def clean_now(screen: Screen[None], run_dir: Path, paths: Paths) -> None:
    """Remove what the run left, keep in its record what is gone, and say so."""
    from tui.engine.safety.clean import clean
    from tui.results.store.cleaned import keep_removed

    def keep(cleaned: list[Cleaning]) -> None:
        keep_removed(run_dir, {each.host: (each.settled, each.bytes) for each in cleaned})

    try:
        plan, created = await asyncio.to_thread(left_by, run_dir)
        found = await over_hosts(plan, paths, lambda connections: clean(run_dir, created, connections, keep))
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return
    whole = not any(each.error or each.stays for each in found)
    title = "Removed from the hosts" if whole else "Not everything could be removed"
    screen.app.push_screen(Confirm(title, text_of(found, done=True), SEEN))


def left_by(run_dir: Path) -> tuple[Plan, list[Created]]:
    """Return a run's plan and what its record names. Raises BenchtuiError."""
    from tui.engine.safety.clean import created_of
    from tui.journal.plan_file import load_plan
    from tui.results.store.load import load_record

    plan = load_plan(run_dir)
    return plan, created_of(plan, load_record(run_dir))


async def over_hosts(
    plan: Plan, paths: Paths, work: Callable[[Connections], Awaitable[list[Cleaning]]]
) -> list[Cleaning]:
    """Do something over connections to the run's hosts."""
    from tui.engine.hosts.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts) as connections:
        return await work(connections)


def text_of(found: list[Cleaning], *, done: bool) -> str:
    """Return what goes or has gone, as much of it as a dialog holds."""
    lines = [line for each in found for line in each.lines(done=done)]
    rest = len(lines) - LINES_SHOWN
    more = [f"and {rest} lines more: benchtui clean shows them all"] if rest > 0 else []
    return "\n".join(lines[:LINES_SHOWN] + more)

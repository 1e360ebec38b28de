"""Runs that were cut off, by a dead engine or a reboot of this machine: saying so, and finishing them when asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.confirm import Answer, Confirm

if TYPE_CHECKING:
    from tui.engine.process.questions import Questions

ANSWERS = (Answer("later", "l", "Later"), Answer("recover", "y", "Recover now"))
SHOWN = 5
BEGIN_S = 15.0  # an engine takes a second or two to say who it is
LONGEST_S = 3600.0  # the rest of a run that is taken over alive
POLL_S = 0.2


def notice(count: int) -> str:
    """Return what is told when the app starts."""
    return f"{count} run was cut off: R finishes it" if count == 1 else f"{count} runs were cut off: R finishes them"


def question(runs: Sequence[Path]) -> Confirm:
    """Return the question whether to finish these runs; the answer is ``recover`` when they shall be."""
    names = [run_dir.name for run_dir in runs[:SHOWN]]
    names += [f"and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else []
    title = "1 run was cut off: recover now?" if len(runs) == 1 else f"{len(runs)} runs were cut off: recover now?"
    advice = (
        "What hosts still hold is collected and the record finished; "
        "a load that still runs, within its lease, is taken over."
    )
    return Confirm(title, "\n".join([*names, "", advice]), ANSWERS)


async def recover(runs: Sequence[Path], begun: Callable[[Path], object], asked: Callable[[Questions], object]) -> None:
    """Finish runs one after the other, as they may share hosts.

    `begun` hears of each engine that is up, `asked` of what it asks to log in.
    """
    from tui.engine.process.launch import spawn_asking
    from tui.journal.alive import is_running
    from tui.results.store.unfinished import is_unfinished

    for run_dir in runs:
        if await asyncio.to_thread(is_unfinished, run_dir):
            questions = await asyncio.to_thread(spawn_asking, run_dir, "recover")
            await until(lambda place=run_dir: is_running(place) or not is_unfinished(place), BEGIN_S)  # type: ignore[misc]
            begun(run_dir)
            asked(questions)
            await until(lambda place=run_dir: not is_running(place), LONGEST_S)  # type: ignore[misc]


async def until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Poll, off the event loop, until a condition holds or the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not await asyncio.to_thread(condition):
                await asyncio.sleep(POLL_S)

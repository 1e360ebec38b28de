"""Copying of a run or a comparison to the clipboard of whoever sits at the terminal, also behind SSH (OSC 52)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.app.dialogs.copying import CopyDialog
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.services.comparing import Shown
    from tui.results.copies.run import Copy

MOST_BYTES = 74_000  # of what many terminals take in one sequence, before base64


async def copy_of_run(screen: Screen[None], run_dir: Path) -> None:
    """Ask what, and copy it. For a worker: it waits for the answer."""
    try:
        copies = await asyncio.to_thread(_copies, run_dir)
    except BenchtuiError as error:
        screen.notify(str(error), severity="warning", markup=False)
        return
    await copy_one_of(screen, run_dir.name, copies)


async def copy_of_comparison(screen: Screen[None], shown: Shown) -> None:
    """Ask what of a comparison, and copy it. For a worker: it waits for the answer."""
    await copy_one_of(screen, "the comparison", await asyncio.to_thread(_of_comparison, shown))


async def copy_one_of(screen: Screen[None], whose: str, copies: list[Copy]) -> None:
    """Ask which of the texts, and copy it."""
    text = await screen.app.push_screen_wait(CopyDialog(whose, copies))
    if text is None:
        return
    screen.app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    more = f" and {lines - 1} lines more" if lines > 1 else ""
    late = "; some terminals do not take as much" if len(text.encode()) > MOST_BYTES else ""
    screen.notify(f"copied: {text.partition(chr(10))[0][:60]}{more}{late}", markup=False)


def _of_comparison(shown: Shown) -> list[Copy]:
    from tui.results.copies.comparison import copies_of_comparison

    return copies_of_comparison([each for each, _ in shown.found], shown.sides, shown.across)


def _copies(run_dir: Path) -> list[Copy]:
    """Return what can be copied. Raises UsageError: no record yet, or one that cannot be read."""
    from tui.results.copies.run import copies_of
    from tui.results.export.save import source_of

    return copies_of(source_of(run_dir).record, run_dir)

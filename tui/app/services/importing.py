"""Importing what was measured elsewhere, off the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.paths import from_home
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from textual.widget import Widget


async def import_kept(screen: Widget, text: str, runs: Path) -> list[str]:
    """Make saved runs of a path that somebody typed, and say so; return their names."""
    try:
        names = await asyncio.to_thread(_import, from_home(text), runs)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return []
    screen.notify(f"imported {len(names)} runs" if len(names) > 1 else f"imported as {names[0]}", markup=False)
    return names


def _import(path: Path, runs: Path) -> list[str]:
    from tui.results.imports.keep import records_of

    return [made.keep(runs).name for made in records_of([path])]

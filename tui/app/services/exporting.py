"""Exporting a run from a result and from the list of runs: ask, write, say where it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.screen import Screen

from tui.app.dialogs.export import ExportDialog
from tui.model.exporter import installed, load
from tui.model.problem import BenchtuiError, UsageError


async def export_run(screen: Screen[None], run_dir: Path) -> None:
    """Ask for format and place, and write. For a worker: it waits for the answer."""
    formats = await asyncio.to_thread(_formats)
    answer = await screen.app.push_screen_wait(ExportDialog(run_dir.name, formats, Path.cwd()))
    if answer is None:
        return
    try:
        written = await asyncio.to_thread(_write, run_dir, *answer)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return
    more = f" and {len(written) - 1} more there" if len(written) > 1 else ""
    screen.notify(f"written: {written[0]}{more}", markup=False)


def _formats() -> list[tuple[str, str]]:
    return [(name, _title(name)) for name in installed()]


def _title(name: str) -> str:
    try:
        return load(name).title
    except UsageError as error:
        return str(error)


def _write(run_dir: Path, name: str, where: str) -> list[Path]:
    from tui.results.export.save import export, source_of

    return export(source_of(run_dir), name, where)

"""Exporting a run from a result and from the list of runs: ask, write, say where it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.export import ExportDialog, Wanted
from tui.model.exporter import installed, load
from tui.model.problem import BenchtuiError, UsageError

if TYPE_CHECKING:
    from tui.app.frame.base import StepScreen


async def export_run(screen: StepScreen, run_dir: Path) -> None:
    """Ask for format and place, and write. For a worker: it waits for the answer."""
    formats, folder = await asyncio.to_thread(_formats), Path.cwd()

    def propose(name: str, redact: bool) -> str:
        stem = "redacted" if redact else run_dir.name
        return f"{folder / f'{stem}.{name}'}/"

    dialog = ExportDialog(f"Export {run_dir.name}", formats, propose, screen.shell.symbols)
    answer = await screen.app.push_screen_wait(dialog)
    if answer is None:
        return
    try:
        written, remark = await asyncio.to_thread(_write, run_dir, answer)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return
    more = f" and {len(written) - 1} more there" if len(written) > 1 else ""
    screen.notify(f"written: {written[0]}{more}", markup=False)
    if remark:
        screen.notify(remark, severity="warning", markup=False)


def _formats() -> list[tuple[str, str]]:
    return [(name, _title(name)) for name in installed()]


def _title(name: str) -> str:
    try:
        return load(name).title
    except UsageError as error:
        return str(error)


def _write(run_dir: Path, wanted: Wanted) -> tuple[list[Path], str]:
    """Write it, and return the files and what has to be said of them."""
    from tui.results.export.save import export, remark_of, source_of, without_names

    source = source_of(run_dir)
    if wanted.redact:
        source = without_names(source, wanted.format, wanted.words)
    return export(source, wanted.format, wanted.where), remark_of(source)

"""A report of runs, written by a process of its own: drawing charts would hold up the screens."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from textual.widget import Widget


async def report_runs(screen: Widget, run_dirs: Sequence[Path], environ: Mapping[str, str]) -> None:
    """Write the report of these runs to the folder where benchtui was started, and say where it is."""
    screen.notify("writing the report")
    try:
        path = await write_report(run_dirs, Path.cwd(), environ)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
    else:
        screen.notify(f"wrote {path}", markup=False)


async def write_report(run_dirs: Sequence[Path], folder: Path, environ: Mapping[str, str]) -> Path:
    """Write the HTML report of runs into a folder and return where it is. Raises BenchtuiError."""
    path = free_path(folder, run_dirs[0].name + (f"-and-{len(run_dirs) - 1}-more" if len(run_dirs) > 1 else ""))
    words = [sys.executable, "-m", "tui", "report", *map(str, run_dirs), "-o", str(path)]
    process = await asyncio.create_subprocess_exec(
        *words,
        env={**os.environ, **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        raise BenchtuiError(lines[-1].removeprefix("benchtui: ") if lines else "the report could not be written")
    return path


def free_path(folder: Path, name: str) -> Path:
    """Return a file name that is not taken: nothing is overwritten without a question."""
    names = (f"{name}{f'-{number}' if number > 1 else ''}.html" for number in range(1, 1000))
    return next(path for each in names if not (path := folder / each).exists())

"""A report of runs, written by a process of its own: drawing charts would hold up the screens."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.dialogs.export import ExportDialog, Wanted
from tui.model.paths import is_folder, is_there, to_write
from tui.model.problem import BenchtuiError, Problem, UsageError

if TYPE_CHECKING:
    from tui.app.frame.base import StepScreen

FORMATS = [
    ("html", "one page with charts, opens without a network"),
    ("md", "Markdown, for a ticket"),
]
Sides = Sequence[Sequence[Path]]


async def report_runs(screen: StepScreen, sides: Sides, environ: Mapping[str, str], across: Sequence[str] = ()) -> None:
    """Ask for format and place, write the report of these runs, and say where it is. For a worker: it waits."""
    folder, name = Path.cwd(), name_of(sides)

    def propose(shape: str, redact: bool) -> str:
        return str(free_path(folder, "report-redacted" if redact else name, shape))

    dialog = ExportDialog(f"Report of {name}", FORMATS, propose, screen.shell.symbols)
    wanted = await screen.app.push_screen_wait(dialog)
    if wanted is None:
        return
    screen.notify("writing the report")
    try:
        path = await write_report(sides, wanted, environ, across)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
    else:
        screen.notify(f"wrote {path}", markup=False)


async def write_report(sides: Sides, wanted: Wanted, environ: Mapping[str, str], across: Sequence[str] = ()) -> Path:
    """Write the report of runs, each side held against the first, and return where it is. Raises BenchtuiError."""
    path = to_write(wanted.where)
    if wanted.where.endswith("/") or is_folder(path):
        path = free_path(path, "report-redacted" if wanted.redact else name_of(sides), wanted.format)
    if is_there(path):
        raise UsageError(Problem("is there already: name another file", file=str(path)))
    words = [sys.executable, "-m", "tui", "report", *(",".join(map(str, side)) for side in sides)]
    words += [f"--output={path.absolute()}", f"--format={wanted.format}", *(f"--across={name}" for name in across)]
    words += ["--redact"] if wanted.redact else []
    process = await asyncio.create_subprocess_exec(
        *words,
        *(f"--hide={word}" for word in wanted.words),
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


def name_of(sides: Sides) -> str:
    """Return what a report of these runs is called: as the first of them, with how many more there are."""
    first, *others = [run_dir.name for side in sides for run_dir in side]
    return f"{first}-and-{len(others)}-more" if others else first


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """Return a file name that is not taken: nothing is overwritten without a question."""
    names = (f"{name}{f'-{number}' if number > 1 else ''}.{suffix}" for number in range(1, 1000))
    return next(path for each in names if not is_there(path := folder / each))

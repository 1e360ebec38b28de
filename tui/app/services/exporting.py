"""Export and copy runs, write reports, import output of load generators."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.app.dialogs.export import CopyDialog, ExportDialog, ExportFormat, ExportRequest
from tui.metrics.units import plural
from tui.model.exporter import installed, load
from tui.model.extras import are_packed
from tui.model.paths import from_home, is_folder, is_there, to_write
from tui.model.problem import BenchtuiError, Problem, UsageError

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui.app.frame.step_screen import StepScreen
    from tui.app.services.comparing import ShownComparison
    from tui.export.copies import Copy


async def export_run(screen: StepScreen, run_dir: Path) -> None:
    """Ask for format and path, and export a run.

    Waits for the answer, so call it from a worker.
    """
    formats, folder = await asyncio.to_thread(_formats), Path.cwd()

    def propose(name: str, redact: bool) -> str:
        stem = "redacted" if redact else run_dir.name
        return f"{folder / f'{stem}.{name}'}/"

    async def write(wanted: ExportRequest | None) -> None:
        if wanted is None:
            return
        written, caveat = await asyncio.to_thread(_write, run_dir, wanted)
        more = f" and {plural(len(written) - 1, 'more file')}" if len(written) > 1 else ""
        screen.notify(f"written: {written[0]}{more}")
        if caveat:
            screen.notify(caveat, severity="warning")

    dialog = ExportDialog(f"Export {run_dir.name}", formats, propose, screen.shell.symbols)
    await screen.app.push_screen_wait(dialog.accepting(write))


def _formats() -> list[ExportFormat]:
    return [_format(name) for name in installed()]


def _format(name: str) -> ExportFormat:
    try:
        found = load(name)
    except UsageError as error:
        return ExportFormat(name, "", "cannot be loaded", str(error))
    return ExportFormat(name, found.tools, found.title, found.details)


def _write(run_dir: Path, wanted: ExportRequest) -> tuple[list[Path], str]:
    """Write an export; return its files, and a note if the run has not ended."""
    from tui.export.save import caveat_of, export, source_of, without_names

    source = source_of(run_dir)
    if wanted.redact:
        source = without_names(source, wanted.format, wanted.words)
    return export(source, wanted.format, wanted.where), caveat_of(source)


FORMATS = [
    ExportFormat("html", "a browser", "one page with charts", "readable offline, in one file"),
    ExportFormat("md", "a ticket", "Markdown", "tables without charts"),
]
WRITING = "writing the report ... Esc cancels"
Sides = Sequence[Sequence[Path]]


async def report_runs(
    screen: StepScreen, sides: Sides, environ: Mapping[str, str], across: Sequence[str] = ()
) -> None:
    """Ask for format and path, write a report, and show its path.

    Waits for the answer, so call it from a worker.
    """
    folder, name = Path.cwd(), name_of(sides)

    def propose(shape: str, redact: bool) -> str:
        return str(free_path(folder, "report-redacted" if redact else name, shape))

    async def write(wanted: ExportRequest | None) -> None:
        if wanted is None:
            return
        path = await write_report(sides, wanted, environ, across)
        screen.notify(f"wrote {path}")

    dialog = ExportDialog(f"Report of {name}", FORMATS, propose, screen.shell.symbols)
    busy = "; the first report unpacks numpy and scipy" if are_packed() else ""
    await screen.app.push_screen_wait(dialog.accepting(write, f"{WRITING}{busy}"))


async def write_report(
    sides: Sides, wanted: ExportRequest, environ: Mapping[str, str], across: Sequence[str] = ()
) -> Path:
    """Write a report that compares each side with the first; return its path.

    Raises BenchtuiError.
    """
    path = to_write(wanted.where)
    if wanted.where.endswith("/") or is_folder(path):
        path = free_path(
            path, "report-redacted" if wanted.redact else name_of(sides), wanted.format
        )
    if is_there(path):
        raise UsageError(Problem("exists; choose another name", file=str(path)))
    words = [sys.executable, "-m", "tui", "report", *(",".join(map(str, side)) for side in sides)]
    words += [
        f"--output={path.absolute()}",
        f"--format={wanted.format}",
        *(f"--across={name}" for name in across),
    ]
    words += ["--redact"] if wanted.redact else []
    process = await asyncio.create_subprocess_exec(
        *words,
        *(f"--hide={word}" for word in wanted.words),
        env={**os.environ, **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:  # the dialog was closed meanwhile
        process.terminate()
        raise
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise BenchtuiError(
            lines[-1].removeprefix("benchtui: ") if lines else "cannot write the report"
        )
    return path


def name_of(sides: Sides) -> str:
    """Return the file name of a report: the first run's id, and the number of others."""
    first, *others = [run_dir.name for side in sides for run_dir in side]
    return f"{first}-and-{len(others)}-more" if others else first


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """Return a path where no file exists, so that nothing is overwritten."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    paths = (folder / f"{each}.{suffix}" for each in itertools.chain([name], numbered))
    return next(path for path in paths if not is_there(path))


MOST_BYTES = 74_000  # of what many terminals take in one sequence, before base64


async def copy_of_run(screen: Screen[None], run_dir: Path) -> None:
    """Ask which text of a run to copy, and copy it.

    Waits for the answer, so call it from a worker.
    """
    try:
        copies = await asyncio.to_thread(_copies, run_dir)
    except BenchtuiError as error:
        screen.notify(str(error), severity="warning", markup=False)
        return
    await copy_one_of(screen, run_dir.name, copies)


async def copy_of_comparison(screen: Screen[None], shown: ShownComparison) -> None:
    """Ask which text of a comparison to copy, and copy it.

    Waits for the answer, so call it from a worker.
    """
    await copy_one_of(screen, "the comparison", await asyncio.to_thread(_of_comparison, shown))


async def copy_one_of(screen: Screen[None], whose: str, copies: list[Copy]) -> None:
    """Ask which of the texts to copy, and copy it."""
    text = await screen.app.push_screen_wait(CopyDialog(whose, copies))
    if text is None:
        return
    screen.app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    more = f" and {plural(lines - 1, 'more line')}" if lines > 1 else ""
    late = "; some terminals accept less" if len(text.encode()) > MOST_BYTES else ""
    screen.notify(f"copied: {text.partition(chr(10))[0][:60]}{more}{late}", markup=False)


def _of_comparison(shown: ShownComparison) -> list[Copy]:
    from tui.export.copies import copies_of_comparison

    return copies_of_comparison([each for each, _ in shown.found], shown.sides, shown.across)


def _copies(run_dir: Path) -> list[Copy]:
    """Return the texts that can be copied from a run.

    Raises UsageError if the record cannot be read.
    """
    from tui.export.copies import copies_of
    from tui.export.save import source_of

    return copies_of(source_of(run_dir).record, run_dir)


async def import_kept(screen: Widget, text: str, runs: Path) -> list[str]:
    """Import runs from a path into the directory `runs`, report them, and return their IDs.

    Raises BenchtuiError.
    """
    names = await asyncio.to_thread(_import, from_home(text), runs)
    screen.notify(
        f"imported {len(names)} runs" if len(names) > 1 else f"imported as {names[0]}", markup=False
    )
    return names


def _import(path: Path, runs: Path) -> list[str]:
    from tui.library.imported import records_of

    return [made.keep(runs).name for made in records_of([path])]

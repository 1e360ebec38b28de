"""Write an export: complete files, atomically renamed into place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tui.library.load import load_record
from tui.model.exporter import Exporter, ExportFile, ExportSource, load
from tui.model.paths import to_write
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.text.run_texts import run_text


def source_of(run_dir: Path) -> ExportSource:
    """Return the run in a directory as a source for exporters.

    Raises BenchtuiError if its record cannot be read.
    """
    return ExportSource(load_record(run_dir), run_dir)


def caveat_of(source: ExportSource) -> str:
    """Return a note that the exported run has not ended; empty if it has."""
    run = source.record
    return (
        f"{run.run_id} is {run_text(run.reason)}; exporting what was measured so far"
        if run.state == "running"
        else ""
    )


def without_names(source: ExportSource, name: str, words: Sequence[str] = ()) -> ExportSource:
    """Return a run with the hosts, addresses, users and paths in its record replaced.

    The replacements are as in reports; `words` are more names to replace. Raises UsageError
    for a format that reads more than the record.
    """
    from tui.view.report.content import ReportedRun
    from tui.view.report.redact import redacted

    if load(name).reads_files:
        why = "its events contain names; choose another format"
        raise UsageError(f"{name} cannot be redacted: {why}")
    (found,) = redacted([ReportedRun(source.record, source.run_dir)], words)
    return ExportSource(found.record, source.run_dir)


def default_path(run_id: str, name: str) -> Path:
    """Return the default directory of an export."""
    return Path(f"{run_id}.{name}")


def export(source: ExportSource, name: str, where: str | None) -> list[Path]:
    """Write a run in a format; return the files written. Raises BenchtuiError.

    A single file is written to `where` itself, unless that is a directory or ends with a slash.
    Several files are written below `where`; None means a directory named after run and format.
    """
    files = list(load(name).files(source))
    target = to_write(where) if where else default_path(source.record.run_id, name)
    if where and len(files) == 1 and not target.is_dir() and not where.endswith("/"):
        return [_write(target, files[0])]
    if target.is_file():
        raise UsageError(
            Problem(
                f"{name} writes {len(files)} files for this run; name a directory", file=str(target)
            )
        )
    return [_write(target / file.path, file) for file in files]


def single_text_file(source: ExportSource, exporter: Exporter) -> ExportFile | None:
    """Return an export as a file in memory; None unless it is a single text file."""
    files = list(exporter.files(source))
    return files[0] if len(files) == 1 and not exporter.binary else None


def _write(path: Path, file: ExportFile) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_parts(temporary, file.parts)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise BenchtuiError(
            Problem(f"cannot be written: {error.strerror}", file=str(path))
        ) from error
    return path


def _write_parts(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as out:
        for part in parts:
            out.write(part)

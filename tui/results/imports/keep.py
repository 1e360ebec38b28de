"""Runs of kept files among the saved ones: a record each, with the files that it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import ArtefactRecord, RunRecord
from tui.model.rundir import RAW_DIR
from tui.results.imports.sets import kept_runs
from tui.results.imports.sources import read_source
from tui.results.record.imported import imported_record, save
from tui.workloads.base import KeptFile


@dataclass(frozen=True, slots=True)
class Made:
    """A record that was made of kept files, which are not saved yet. `texts` are by their path beside the record."""

    record: RunRecord
    texts: dict[str, bytes]

    def keep(self, runs: Path) -> Path:
        """Put it among the saved runs; return its directory. Raises BenchtuiError."""
        run_dir = runs / self.record.run_id
        try:
            for name, data in self.texts.items():
                path = run_dir / name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.write_bytes(data)
            save(run_dir, self.record)
        except OSError as error:
            raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(run_dir))) from error
        return run_dir


def records_of(paths: Sequence[Path], tool: str | None = None, note: str | None = None) -> list[Made]:
    """Return the records of files, directories and archives. Raises UsageError with what cannot be read."""
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(Problem("is named twice: each file is another host", file=str(twice)))
    made = []
    for run in kept_runs([read_source(path) for path in paths], tool):
        texts = _texts(run.files)
        artefacts = [
            ArtefactRecord(path=path, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
            for path, data in texts.items()
        ]
        made.append(Made(imported_record(run.measurements, artefacts, note, run.remarks), texts))
    return made


def _texts(files: Sequence[KeptFile]) -> dict[str, bytes]:
    """Return the files by their path beside the record: those of one name are told apart, none leaves the directory."""
    found: dict[str, bytes] = {}
    for file in files:
        path = PurePosixPath(
            RAW_DIR, *(part for part in PurePosixPath(file.name).parts if part not in ("/", "..", "."))
        )
        name, count = str(path), 1
        while name in found:
            count += 1
            name = str(path.with_name(f"{path.stem}#{count}{path.suffix}"))
        found[name] = file.text.encode()
    return found

"""Runs of kept files among the saved ones: a record each, with the files that it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tui.model.bounded import read_file
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import ArtefactRecord, ImportRecord, RunRecord
from tui.model.rundir import RAW_DIR
from tui.results.imports.sets import Naming, kept_runs
from tui.results.imports.sources import MOST_BYTES, Room, Source, read_source
from tui.results.store.imported import imported_record, save
from tui.results.store.sums import is_inside
from tui.workloads.base import KeptFile
from tui.workloads.budget import Budget, budget, within


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


def records_of(
    paths: Sequence[Path], tool: str | None = None, note: str | None = None, hosts: Sequence[str] = ()
) -> list[Made]:
    """Return the records of files, directories and archives; `hosts` are those of the files, in order.

    Raises UsageError with what cannot be read.
    """
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(Problem("is named twice: each file is another host", file=str(twice)))
    with within(Budget()):
        room = Room()
        return _records_of([read_source(path, room) for path in paths], tool, note, hosts)


def _records_of(sources: Sequence[Source], tool: str | None, note: str | None, hosts: Sequence[str]) -> list[Made]:
    made = []
    named = [source.files[0] for source in sources if not source.is_tree]
    _check_hosts(hosts, sources)
    for run in kept_runs(sources, tool, Naming(hosts)):
        texts = _texts(run.files)
        artefacts = [
            ArtefactRecord(path=path, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
            for path, data in texts.items()
        ]
        tree = not any(file is each for file in run.files for each in named)
        given = [hosts[at] for at, file in enumerate(named) if any(file is each for each in run.files)] if hosts else []
        how = ImportRecord(tool=tool, tree=tree, names=[file.name for file in run.files], hosts=given, dated=False)
        made.append(Made(imported_record(run.measurements, artefacts, note, run.remarks, how), texts))
    return made


def _check_hosts(hosts: Sequence[str], sources: Sequence[Source]) -> None:
    """Raise UsageError unless there is a host for each file, and nothing but files."""
    if not hosts:
        return
    if tree := next((source for source in sources if source.is_tree), None):
        raise UsageError(Problem("is a directory or an archive; --host names the hosts of files", file=str(tree.path)))
    if len(hosts) != len(sources):
        raise UsageError(
            f"--host is given {len(hosts)} times for {len(sources)} files; give it once for each, in order"
        )


def read_again(run_dir: Path, record: RunRecord) -> tuple[int, RunRecord]:
    """Return how many outputs the kept files of an imported run hold, and the record that is made of them.

    What was left out when it was imported was not kept; what was said of it is taken from the record. Raises
    UsageError when the files hold no run, or several; OSError.
    """
    how, artefacts = record.provenance.imported, record.provenance.artefacts
    if how is None or len(how.names) != len(artefacts):
        raise UsageError(f"{record.run_id}: its record does not say how its files were read")
    with within(Budget()):
        return _made_again(run_dir, record, how)


def _made_again(run_dir: Path, record: RunRecord, how: ImportRecord) -> tuple[int, RunRecord]:
    artefacts, read, left = record.provenance.artefacts, [], MOST_BYTES
    for name, file in zip(how.names, artefacts, strict=True):
        if not is_inside(file.path):
            raise UsageError(f"{record.run_id}: {file.path!r} is no path inside of a run")
        data = read_file(run_dir / file.path, left)
        left -= len(data)
        read.append(KeptFile(name, file.path, budget().text(data, file.path, "replace")))
    sources = [Source(run_dir, read, is_tree=True)] if how.tree else [Source(run_dir, [each], False) for each in read]
    runs = kept_runs(sources, how.tool, Naming(how.hosts, dateless=not how.dated))
    if len(runs) != 1:
        raise UsageError(f"{record.run_id}: its files hold {len(runs)} runs")
    remarks = [each.text for each in record.messages if each.severity == "warning"]
    outputs = sum(map(len, runs[0].measurements))
    return outputs, imported_record(runs[0].measurements, artefacts, None, remarks, how)


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

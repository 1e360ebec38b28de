"""Adding to a run that is over: to its journal first, then its record is derived again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tui.journal.reader import read_events
from tui.journal.writer import append_events
from tui.model.bounded import read_file
from tui.model.event import Event, Note
from tui.model.no_json import NO_JSON
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.results.store.build import write_record


class _Journal(Struct):
    events: int = 0


class _Provenance(Struct):
    journal: _Journal | None = None


class _Head(Struct):
    """The part of run.json that says how much of a journal it was derived from."""

    state: str = ""
    provenance: _Provenance = field(default_factory=_Provenance)


_heads = msgspec.json.Decoder(_Head)


def keep_note(run_dir: Path, text: str) -> None:
    """Add a remark to a run that is over. Raises BenchtuiError."""
    if not (run_dir / JOURNAL_FILE).exists() and _head(run_dir).state == "imported":
        from tui.results.store.imported import add_note
        from tui.results.store.load import load_record

        add_note(run_dir, load_record(run_dir), text)
    else:
        add_events(run_dir, [Note(t=0.0, text=text)])


def add_events(run_dir: Path, events: Sequence[Event]) -> None:
    """Append to the journal of a run that is over, and derive its record again.

    Raises BenchtuiError before anything is written when the journal has lost what the record was derived from: the
    record is all that is left of it.
    """
    try:
        _check_whole(run_dir)
        append_events(run_dir, events)
        write_record(run_dir)
    except OSError as error:
        place = str(error.filename or run_dir)
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=place)) from error


def _check_whole(run_dir: Path) -> None:
    kept = _head(run_dir).provenance.journal
    path = run_dir / JOURNAL_FILE
    if kept is None or not path.exists():
        return
    events = read_events(path, stamps=True)
    for _ in events:
        pass
    if events.events < kept.events:
        why = f"holds {events.events} events, {RECORD_FILE} was derived from {kept.events}: nothing is added to the run"
        raise BenchtuiError(Problem(why, file=str(path)))


def _head(run_dir: Path) -> _Head:
    """Return what the record says; nothing where there is none, or one that is to be derived again.

    Raises BenchtuiError for what stands there and is no file.
    """
    path = run_dir / RECORD_FILE
    try:
        return _heads.decode(read_file(path))
    except FileNotFoundError:
        return _Head()
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    except NO_JSON:
        return _Head()

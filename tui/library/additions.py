"""Additions to a finished run: notes, removed leftovers, results of counter-experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tui.journal.reader import read_events
from tui.journal.rundir import is_run_dir, is_running, load_plan
from tui.journal.writer import append_events
from tui.judge.proof import judged, question_about
from tui.library.build import write_record
from tui.library.load import load_record
from tui.model.bounded import NO_JSON, read_file
from tui.model.event import BottleneckProved, Event, FilesRemoved, NoteAdded
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.model.search import ProofQuestion


class _Journal(Struct):
    events: int = 0


class _ProvenanceJournal(Struct):
    journal: _Journal | None = None


class _DerivedHead(Struct):
    """Part of run.json that contains the number of events it was derived from."""

    state: str = ""
    provenance: _ProvenanceJournal = field(default_factory=_ProvenanceJournal)


_heads = msgspec.json.Decoder(_DerivedHead)


def keep_note(run_dir: Path, text: str) -> None:
    """Add a note to a finished run. Raises BenchtuiError."""
    if not (run_dir / JOURNAL_FILE).exists() and _head(run_dir).state == "imported":
        from tui.library.imported import add_note

        add_note(run_dir, load_record(run_dir), text)
    else:
        add_events(run_dir, [NoteAdded(t=0.0, text=text)])


def add_events(run_dir: Path, events: Sequence[Event]) -> None:
    """Append events to the journal of a finished run, and rebuild its record.

    Raises BenchtuiError, without writing, if the journal has lost events that the record was built
    from: the record is then the only copy.
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
        why = (
            f"has {events.events} events, but {RECORD_FILE} was derived from {kept.events}:"
            " the run was not changed"
        )
        raise BenchtuiError(Problem(why, file=str(path)))


def _head(run_dir: Path) -> _DerivedHead:
    """Return the head of the record; empty if there is no record or it is damaged.

    Raises BenchtuiError if it cannot be read.
    """
    path = run_dir / RECORD_FILE
    try:
        return _heads.decode(read_file(path))
    except FileNotFoundError:
        return _DerivedHead()
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    except NO_JSON:
        return _DerivedHead()


def keep_removed(run_dir: Path, removed: Mapping[str, tuple[Sequence[str], int]]) -> None:
    """Add removed files to journal and record; `removed`: paths and bytes by host.

    Raises BenchtuiError.
    """
    there = {host: gone for host, gone in removed.items() if gone[0]}
    if there:
        events = [
            FilesRemoved(t=0.0, host=host, paths=list(gone[0]), bytes=gone[1])
            for host, gone in there.items()
        ]
        add_events(run_dir, events)


def question_of(run_dir: Path, step: int | None = None) -> tuple[Plan, ProofQuestion]:
    """Return the plan of a finished run, and the counter-experiment for a step (default: the
    headline's).

    Raises UsageError if no experiment is possible, BenchtuiError for an unreadable plan or record.
    """
    if is_running(run_dir):
        raise UsageError(f"{run_dir.name} is still running; wait until it has finished")
    record = load_record(run_dir)
    if record.state in ("imported", "baseline"):
        raise UsageError(f"{run_dir.name} was imported: there is no plan to repeat")
    plan = load_plan(run_dir)
    return plan, replace(question_about(record, plan, step), run_id=run_dir.name)


def add_proof(run_dir: Path, record: RunRecord) -> None:
    """Add the result of a counter-experiment to the run that it tested.

    Does nothing for other runs, or if the tested run is no longer in the same directory. An
    incomplete experiment does not replace an earlier result. Raises BenchtuiError, OSError.
    """
    proves = load_plan(run_dir).proves
    about = run_dir.with_name(proves.run_id) if proves is not None else run_dir
    if proves is None or not is_run_dir(about):
        return
    if is_running(about):
        raise BenchtuiError("the tested run is still running")
    if not is_whole(record) and has_other_proof(about, proves.step, run_dir.name):
        return
    add_events(about, [BottleneckProved(t=0.0, result=judged(proves, record.steps, run_dir.name))])


def is_whole(record: RunRecord) -> bool:
    """Return whether both loads of a counter-experiment were measured completely."""
    return len(record.steps) > 1 and all(step.state == "done" for step in record.steps[:2])


def has_other_proof(about: Path, step: int, name: str) -> bool:
    """Return whether another counter-experiment already has a result for a step."""
    bottleneck = load_record(about).steps[step].bottleneck
    return (
        bottleneck is not None and bottleneck.proof is not None and bottleneck.proof.run_id != name
    )

"""Runs whose engine died, runs without a record, and removal of runs."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec import Struct, field, json

from tui.journal.reader import events_backwards
from tui.journal.rundir import is_run_dir, is_running, may_live_elsewhere
from tui.library.summary import summarize
from tui.metrics import units
from tui.model.bounded import NO_JSON, read_file
from tui.model.event import AFTERWORDS, RunEnded
from tui.model.plain import some
from tui.model.plain_data import PlainDecoder
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import JOURNAL_FILE, ORIGIN_FILE, PID_FILE, RECORD_FILE


class _Closed(Struct):
    ended: bool = False


class _ProvenanceClosed(Struct):
    journal: _Closed | None = None


class _ClosedHead(Struct):
    """Part of run.json that shows whether its journal had ended."""

    provenance: _ProvenanceClosed = field(default_factory=_ProvenanceClosed)


_heads = json.Decoder(_ClosedHead)


def is_unfinished(run_dir: Path) -> bool:
    """Return whether a run began and has neither an end event nor a living engine to write one.

    False for unpacked runs.
    """
    if is_running(run_dir) or not is_run_dir(run_dir) or (run_dir / ORIGIN_FILE).exists():
        return False
    try:
        last = next(
            (
                each
                for each in events_backwards(run_dir / JOURNAL_FILE)
                if not isinstance(each, AFTERWORDS)
            ),
            None,
        )
    except OSError:
        last = None
    if last is not None:
        return not isinstance(last, RunEnded)
    # its journal is empty, or gone
    return (run_dir / PID_FILE).is_file() and not _was_closed(run_dir)


def _was_closed(run_dir: Path) -> bool:
    try:
        found = _heads.decode(read_file(run_dir / RECORD_FILE)).provenance.journal
    except (OSError, *NO_JSON):
        return False
    return found is not None and found.ended


def unfinished_runs(runs: Path) -> list[Path]:
    """Return the directories of all unfinished runs, oldest first."""
    return sorted(path for path in runs.iterdir() if is_unfinished(path)) if runs.is_dir() else []


def lacks_record(run_dir: Path) -> bool:
    """Return whether a run's journal has ended but the run has no record."""
    return (
        is_run_dir(run_dir)
        and not (run_dir / RECORD_FILE).exists()
        and not is_running(run_dir)
        and not is_unfinished(run_dir)
    )


def write_missing(runs: Path) -> list[str]:
    """Write missing records without contacting hosts; return the ids of the runs.

    Unreadable runs are skipped.
    """
    from tui.library.build import write_record

    written = []
    for run_dir in sorted(filter(lacks_record, runs.iterdir())) if runs.is_dir() else []:
        try:
            write_record(run_dir)
        except (BenchtuiError, OSError):
            continue
        written.append(run_dir.name)
    return written


class _Left(Struct):
    paths: list[str] = field(default_factory=list)
    bytes: int = 0


class _HostLeftovers(Struct):
    name: str = ""
    files_left: _Left | None = None


class _Hosts(Struct):
    """Part of run.json that lists files left on hosts."""

    hosts: list[_HostLeftovers] = field(default_factory=list)


_hosts = PlainDecoder(_Hosts)


def check_over(run_dir: Path) -> None:
    """Raise UsageError if a run is still running."""
    summary = summarize(run_dir)
    if summary is not None and summary.state == "running":
        raise UsageError(
            f"{run_dir.name} is still running; stop it first: benchtui stop {run_dir.name}"
        )


def check_removable(run_dir: Path) -> None:
    """Raise UsageError if a run is running, or may be running on another machine."""
    check_over(run_dir)
    if is_unfinished(run_dir) and may_live_elsewhere(run_dir):
        why = "another machine wrote to it in the last minute, so it may be running there"
        raise UsageError(f"{run_dir.name}: {why}: stop it there first, or wait")


def still_on_hosts(run_dir: Path, recover: str = "", clean: str = "") -> str:
    """Return a warning about data on hosts that removing the run would make unreachable; empty if
    none.

    `recover` and `clean` replace the command lines in the text.
    """
    if is_unfinished(run_dir):
        return (
            f"{run_dir.name} was interrupted: its hosts may still have measurements; to collect"
            f" them: {recover or f'benchtui runs recover {run_dir.name}'}"
        )
    try:
        hosts = _hosts.decode(read_file(run_dir / RECORD_FILE)).hosts
    except (OSError, *NO_JSON):
        return ""
    held = {
        host.name: host.files_left
        for host in hosts
        if host.files_left is not None and host.files_left.paths
    }
    if not held:
        return ""
    count = sum(len(left.paths) for left in held.values())
    size = units.size(sum(left.bytes for left in held.values()))
    return (
        f"{some(held)} still {'holds' if len(held) == 1 else 'hold'} {units.plural(count, 'file')}"
        f" of {run_dir.name} ({size}); to remove them:"
        f" {clean or f'benchtui clean {run_dir.name}'}"
    )


def remove_run(run_dir: Path) -> None:
    """Remove a run's directory; it is renamed first, so that it leaves all lists at once. Raises
    BenchtuiError.
    """
    doomed = run_dir.with_name(f".removed-{run_dir.name}")
    try:
        run_dir.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise BenchtuiError(
            Problem(f"cannot be removed: {error.strerror}", file=str(run_dir))
        ) from error

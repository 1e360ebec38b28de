"""Removing runs from this machine, and what would be forgotten with them."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec import Struct, field

from tui.journal.alive import may_live_elsewhere
from tui.metrics import units
from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.plain import some
from tui.model.plain_data import PlainDecoder
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import RECORD_FILE
from tui.results.store.summary import summarize
from tui.results.store.unfinished import is_unfinished


class _Left(Struct):
    paths: list[str] = field(default_factory=list)
    bytes: int = 0


class _Host(Struct):
    name: str = ""
    files_left: _Left | None = None


class _Hosts(Struct):
    """The part of run.json that says what is still on the hosts."""

    hosts: list[_Host] = field(default_factory=list)


_hosts = PlainDecoder(_Hosts)


def check_removable(run_dir: Path) -> None:
    """Raise UsageError while a run goes on, or may go on elsewhere."""
    summary = summarize(run_dir)
    if summary is not None and summary.state == "running":
        raise UsageError(f"{run_dir.name} is running; end it first: benchtui stop {run_dir.name}")
    if is_unfinished(run_dir) and may_live_elsewhere(run_dir):
        why = "another machine wrote to it within the last minute, so it may go on there"
        raise UsageError(f"{run_dir.name}: {why}: end it there first, or wait")


def still_on_hosts(run_dir: Path, recover: str = "", clean: str = "") -> str:
    """Return what hosts hold of a run and nobody would know of any more, and what to do first; empty: nothing.

    `recover` and `clean` are what does it where that is not the command line.
    """
    if is_unfinished(run_dir):
        return (
            f"{run_dir.name} was cut off: its hosts may still hold what was measured, "
            f"which is collected by: {recover or f'benchtui runs recover {run_dir.name}'}"
        )
    try:
        hosts = _hosts.decode(read_file(run_dir / RECORD_FILE)).hosts
    except (OSError, *NO_JSON):
        return ""
    held = {host.name: host.files_left for host in hosts if host.files_left is not None and host.files_left.paths}
    if not held:
        return ""
    count = sum(len(left.paths) for left in held.values())
    size = units.size(sum(left.bytes for left in held.values()))
    return (
        f"{some(held)} still {'holds' if len(held) == 1 else 'hold'} {count} files of {run_dir.name} ({size}), "
        f"which are removed by: {clean or f'benchtui clean {run_dir.name}'}"
    )


def remove_run(run_dir: Path) -> None:
    """Remove a run's directory. Renamed first: it leaves every list at once, however long the rest takes.

    Raises BenchtuiError.
    """
    doomed = run_dir.with_name(f".removed-{run_dir.name}")
    try:
        run_dir.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be removed: {error.strerror}", file=str(run_dir))) from error

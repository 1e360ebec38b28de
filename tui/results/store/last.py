"""What `last` means: the newest run that measured something, or that is still running; `last:any` the newest of all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tui.journal.alive import is_running
from tui.journal.rundir import is_run_dir
from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.problem import UsageError
from tui.model.rundir import RECORD_FILE

LAST = re.compile(r"last(?P<any>:any)?(?:~(?P<back>\d{1,6}))?")
WORDS = ("last", "last:any")


class _Step(Struct):
    measured_s: float | None = None
    headline: float | None = None
    metadata: msgspec.Raw | None = None


class _Record(Struct):
    steps: list[_Step] = field(default_factory=list)


_decoder = msgspec.json.Decoder(_Record)


def last_run(runs_dir: Path, ids: Sequence[str], back: int, *, of_all: bool) -> Path:
    """Return the newest run of `ids` (newest first), or the one `back` before it. Raises UsageError.

    `of_all`: count runs that were refused, or stopped, before they measured anything.
    """
    every = (runs_dir / run_id for run_id in ids if is_run_dir(runs_dir / run_id))
    found = every if of_all else (run_dir for run_dir in every if may_have_measured(run_dir))
    if (run_dir := next(islice(found, back, None), None)) is not None:
        return run_dir
    if of_all or not any(is_run_dir(runs_dir / run_id) for run_id in ids):
        raise UsageError(f"{'so few' if back else 'no'} runs in {runs_dir}")
    none = f"no run in {runs_dir} has measured anything"
    raise UsageError(f"{'so few runs have measured anything' if back else none}; last:any is the newest of all")


def may_have_measured(run_dir: Path) -> bool:
    """Tell whether a run has figures; of one that is running, was cut off, or cannot be read, that is assumed."""
    if is_running(run_dir):
        return True
    try:
        steps = _decoder.decode(read_file(run_dir / RECORD_FILE)).steps
    except (OSError, *NO_JSON):
        return True
    return any(each.measured_s is not None or each.headline is not None or _holds(each.metadata) for each in steps)


def _holds(raw: msgspec.Raw | None) -> bool:
    return raw is not None and bytes(raw) != b"null"

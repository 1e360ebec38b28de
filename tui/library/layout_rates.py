"""How fast hosts wrote their test files in earlier runs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.model.bounded import MOST_LINE_BYTES, NO_JSON, open_plain
from tui.model.problem import BenchtuiError
from tui.model.rundir import JOURNAL_FILE

if TYPE_CHECKING:
    from tui.library.runs import RunStore
    from tui.model.event import PhaseEnded, PhaseStarted
    from tui.model.plan import Plan

RECENT = 50  # newest runs searched
LEAST_S = 10.0  # a shorter layout may have gone to a cache
MOST_BYTES = 1 << 28  # of a journal, up to the first measurement


class LayoutRate(Struct, frozen=True):
    """Rate at which all hosts together wrote test files, and when."""

    bytes_per_s: float
    utc: str  # start of the run


def last_layout_rate(store: RunStore, plan: Plan) -> LayoutRate | None:
    """Return the rate of the newest layout by the plan's hosts at its target; None if unknown.

    Only the newest runs are searched; layouts of less than 10 s are skipped.
    """
    hosts = {host.name for host in plan.hosts}
    try:
        runs = store.list(RECENT)
    except BenchtuiError:
        return None  # Runs says why
    for run in runs:
        if plan.target and run.target == plan.target and set(run.hosts) == hosts:
            written, took_s = layout_of(store.directory_of(run))
            if took_s >= LEAST_S:
                return LayoutRate(written / took_s, run.utc or "")
    return None


def layout_of(run_dir: Path) -> tuple[int, float]:
    """Return the bytes and seconds of a run's layout before its first measurement."""
    from tui.model.event import PhaseEnded, PhaseStarted

    written, took_s, begun = 0, 0.0, None
    for event in _phases(run_dir / JOURNAL_FILE):
        if event.phase == "measure":
            break
        if event.phase == "layout" and isinstance(event, PhaseStarted):
            begun = event
        elif isinstance(event, PhaseEnded) and event.phase == "layout" and begun and event.ok:
            written, took_s = written + (begun.total_bytes or 0), took_s + event.t - begun.t
            begun = None
    return written, took_s


def _phases(journal: Path) -> Iterator[PhaseStarted | PhaseEnded]:
    """Yield the beginnings and ends of phases; nothing more after an unreadable part."""
    from tui.model.event import PhaseEnded, PhaseStarted, decode  # its decoder takes time to make

    try:
        with io.BufferedReader(open_plain(journal)) as file:
            while file.tell() < MOST_BYTES and (line := file.readline(MOST_LINE_BYTES)):
                if b'"phase_' in line and isinstance(
                    event := decode(line), PhaseStarted | PhaseEnded
                ):
                    yield event
    except (OSError, *NO_JSON):
        return

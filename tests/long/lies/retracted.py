"""What Live told of a run and its result took back: the journal again, second by second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import inf
from pathlib import Path

from tui.journal.fold import fold
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.judge import live
from tui.judge.live import LiveFindings
from tui.library.build import build_record
from tui.model.rundir import JOURNAL_FILE

WEAKENS = ("warning", "error")
ONE_BY_ONE = threading.Lock()


def retracted(run_dir: Path) -> list[str]:
    """Return the checks that Live told as a warning or an error and that the result does not have,
    or has as less.

    Live looks whenever it may, however long a look takes on a busy machine.
    """
    final: dict[str, int] = {}
    for finding in build_record(run_dir).findings:
        if finding.severity in WEAKENS:
            weight = WEAKENS.index(finding.severity)
            final[finding.id] = max(weight, final.get(finding.id, weight))
    with ONE_BY_ONE:
        told = dict(_told(run_dir))
    return [name for name, weight in told.items() if final.get(name, -1) < weight]


def _told(run_dir: Path) -> Iterator[tuple[str, int]]:
    """Yield what Live tells of a run while it goes on, with its weight."""
    share, live.SHARE = live.SHARE, inf
    try:
        findings, state = LiveFindings(load_plan(run_dir)), RunState()
        for event in read_events(run_dir / JOURNAL_FILE):
            if int(event.t) > int(state.t):
                for each in findings.update(state, state.t):
                    if each.severity in WEAKENS:
                        yield each.finding.id, WEAKENS.index(each.severity)
            fold(state, event)
    finally:
        live.SHARE = share

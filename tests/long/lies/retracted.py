"""What Live told of a run and its result took back: the journal again, second by second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple

from tui.journal.fold import fold
from tui.journal.reader import read_events
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.judge import live
from tui.judge.live import LiveFindings
from tui.library.build import build_record
from tui.model.record import Finding
from tui.model.rundir import JOURNAL_FILE

WEAKENS = ("warning", "error")
ONE_BY_ONE = threading.Lock()


class Told(NamedTuple):
    """What a finding is about."""

    check: str
    host: str


def retracted(run_dir: Path) -> list[str]:
    """Return the checks that Live showed as a warning or an error of a host and that the result
    does not have of that host, or has with a lower severity.

    Live looks whenever it may, however long a look takes on a busy machine.
    """
    final: dict[Told, int] = {}
    for finding in build_record(run_dir).findings:
        for told, weight in _of_hosts(finding):
            final[told] = max(weight, final.get(told, weight))
    with ONE_BY_ONE:
        shown = dict(_shown(run_dir))
    missing = (told.check for told, weight in shown.items() if final.get(told, -1) < weight)
    return list(dict.fromkeys(missing))


def _shown(run_dir: Path) -> Iterator[tuple[Told, int]]:
    """Yield each finding that Live shows during a run, with the weight of its severity."""
    share, live.SHARE = live.SHARE, inf
    try:
        findings, state = LiveFindings(load_plan(run_dir)), RunState()
        for event in read_events(run_dir / JOURNAL_FILE):
            if int(event.t) > int(state.t):
                findings.update(state, state.t)
                for each in findings.now:
                    yield from _of_hosts(each.finding)
            fold(state, event)
    finally:
        live.SHARE = share


def _of_hosts(finding: Finding) -> Iterator[tuple[Told, int]]:
    """Yield a warning or an error once for each of its hosts, with its weight."""
    if finding.severity in WEAKENS:
        hosts = str(finding.scope.get("hosts") or finding.scope.get("host") or "").split()
        for host in hosts or [""]:
            yield Told(finding.id, host), WEAKENS.index(finding.severity)

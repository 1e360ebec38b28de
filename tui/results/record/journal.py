"""A journal folded for a record: read twice, for the clocks of hosts must be known before their samples are placed."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from msgspec import Struct, field

from tui.journal.clock import ClockStep
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.journal.survey import survey
from tui.journal.tails import CLUSTER_OPEN_S


class JournalData(Struct):
    """What a journal holds. `clock_steps`: hosts whose clock was set during the run."""

    state: RunState
    clock_steps: dict[str, ClockStep] = field(default_factory=dict)
    events: int = 0
    unread_bytes: int = 0


def read_journal(journal: Path, lease_s: float = 0.0) -> JournalData:
    """Read a journal, as far as it can be read. A journal that is not there is an empty one.

    `lease_s` is how long load goes on while nobody takes its samples: so far hosts may be behind each other.
    """
    if not journal.exists():
        return JournalData(RunState(for_record=True))
    known = survey(journal)
    open_s = max(CLUSTER_OPEN_S, ceil(1.5 * lease_s))
    state = RunState(known.offsets, known.distrusted, known.results, for_record=True, tails_open_s=open_s)
    reader = read_events(journal)
    state.apply_all(reader)
    steps = {host: clock.step for host, clock in state.clocks.items() if clock.step is not None}
    return JournalData(state, known.distrusted | steps, reader.events, reader.unread_bytes)

"""The proof that a fault fell into the phase it was for: from the journal alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.long.soak.kinds import Fault
from tui.model.event import AnyEvent, PhaseEnded, PhaseStarted, StopRequested, TaskEnded


@dataclass(frozen=True)
class Strike:
    """When a fault was done: from just before to just after it, on the journal's time line."""

    begun: float
    done: float


def proved(events: Sequence[AnyEvent], fault: Fault, strike: Strike) -> bool:
    """Whether the phase had begun when the fault was done, and ended, on the fault's host, only
    afterwards.
    """
    begins = [
        event.t
        for event in events
        if isinstance(event, PhaseStarted) and event.phase == fault.phase
    ]
    if not begins or strike.begun < begins[0]:
        return False
    struck = strike.begun
    if fault.kind.asks:
        struck = min(
            (event.t for event in events if isinstance(event, StopRequested)), default=math.inf
        )
    return struck <= end_of(events, fault)


def end_of(events: Sequence[AnyEvent], fault: Fault) -> float:
    """Return when a phase ended on a fault's host.

    Infinite when nothing says so, as the engine was killed.
    """
    ends = [
        event.t for event in events if isinstance(event, PhaseEnded) and event.phase == fault.phase
    ]
    if fault.measuring:
        ends += [
            e.t
            for e in events
            if isinstance(e, TaskEnded) and (e.host, e.phase) == (fault.host, fault.phase)
        ]
    return min(ends, default=math.inf)

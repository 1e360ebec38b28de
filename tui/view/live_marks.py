"""Events on the time axis of a running load: stalls, lost hosts, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui.journal.step import LEFT_BEHIND
from tui.text.line import ACCENT, BAD, WARN
from tui.text.plot import TimeMark
from tui.view.live_hosts import SILENT_MARK

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.judge.live import LiveFindings
    from tui.model.plan import JobLoad

STALL = "stall"  # the check
MOST_HOSTS = 16  # hosts searched for stalls; a shared stall shows in these too


class Marks:
    """The events of a run on its time axis.

    Stalls are searched for again only when the check for stalls reports new ones.
    """

    def __init__(self) -> None:
        self._of: object = None  # finding and host of `_stalled`
        self._stalled: Sequence[int] = ()

    def of(
        self, state: RunState, found: LiveFindings | None, host: str | None = None
    ) -> tuple[TimeMark, ...]:
        """Return the shown load's events, for all hosts or for one.

        If several fall into one second, the most severe is last.
        """
        lost = {name: t for name, t in state.current.dropped.items() if host in (None, name)}
        marks = [TimeMark(int(note.t), "◆", ACCENT, "note") for note in state.notes]
        marks += [
            TimeMark(second, "!", WARN, "low I/O") for second in self.stalls(state, found, host)
        ]
        quiet = [
            each
            for each in state.hosts.values()
            if host in (None, each.name) and each.stale_s(state.clock.now)
        ]
        marks += [
            TimeMark(int(each.last_sample_t), SILENT_MARK, WARN, "host silent")
            for each in quiet
            if each.last_sample_t
        ]
        return (
            *marks,
            *(
                TimeMark(int(t), "✗", BAD, f"host {_end_of(state, name)}")
                for name, t in lost.items()
            ),
        )

    def stalls(
        self, state: RunState, found: LiveFindings | None, host: str | None
    ) -> Sequence[int]:
        """Return the second of the run in which each stall began, for all hosts or for one.

        Only hosts of the current finding are searched; empty if there is no finding.
        """
        now = found.now if found is not None else ()
        stall = next(
            (each for each in now if each.finding.id == STALL and each.step in (None, state.step)),
            None,
        )
        if found is None or stall is None:
            return ()
        jobs = found.plan.steps[stall.step].jobs if stall.step is not None else []
        key = (stall.finding, host)
        if self._of is None or self._of != key:
            names = [name for name in stall.hosts if host in (None, name)][:MOST_HOSTS]
            self._of, self._stalled = (
                key,
                sorted({second for name in names for second in stalls_of(state, name, jobs)}),
            )
        return self._stalled


def _end_of(state: RunState, host: str) -> str:
    """Return how a host left the load: lost if it became unreachable, else failed."""
    view = state.hosts.get(host)
    step = state.steps.get(state.beside.step_of(host, state.step) or 0)
    ended = step.ended.get(("measure", host)) if step is not None else None
    left_behind = ended is not None and ended.reason in LEFT_BEHIND
    return "lost" if left_behind or (view is not None and view.state == "lost") else "failed"


def stalls_of(state: RunState, host: str, jobs: Sequence[JobLoad]) -> list[int]:
    """Return the second of the run in which each stall of a host began.

    `jobs`: jobs in the current step.
    """
    from tui.judge.chance import chance_of
    from tui.judge.hosts import stalled_seconds

    view = state.hosts.get(host)
    span = view.total.span if view is not None else None
    if view is None or span is None:
        return []
    columns: Mapping[str, Sequence[float | None]] = {
        name: view.total.values(name, *span) for name in ("iops", "bandwidth")
    }
    still = stalled_seconds(
        [columns["iops"]], [columns["bandwidth"]], tail=True, chance=chance_of(jobs)
    )
    return [span[0] + second for second in still if second - 1 not in still]

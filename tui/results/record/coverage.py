"""How many hosts measured when, for the record."""

from __future__ import annotations

from collections.abc import Mapping

from tui.journal.loss import ASKED_TO_END, ended_badly, loss_text
from tui.journal.state import RunState
from tui.model.event import HostResult
from tui.model.plan import Step
from tui.model.step_record import CoverageRecord
from tui.results.record.timing import HostSpan

EARLY_S = 1.0  # samples come once a second: a loss nearer to the end than that is none
TOGETHER_S = 2.0  # losses within this are one
LOST_PHASES = ("barrier", "measure")


def coverage(
    step: Step, state: RunState, spans: Mapping[str, HostSpan], results: Mapping[str, HostResult]
) -> list[CoverageRecord]:
    """Return how many of a step's hosts measured when, without gaps; empty when nothing was measured.

    A host that came to its own end is never missing, however early that was.
    """
    if not spans:
        return []
    suspects = [task.host for task in step.tasks if _dropped(step, state, task.host, results.get(task.host))]
    start_t, end_t = min(span.start_t for span in spans.values()), max(span.end_t for span in spans.values())
    if suspects and state.stop_mode is None:
        end_t = max(end_t, min(start_t + (step.runtime_s or 0.0), state.t))
    until = {host: spans[host].end_t if host in spans else start_t for host in suspects}
    lost = {host: t for host, t in until.items() if t < end_t - EARLY_S}
    return _slices(start_t, end_t, lost, len(step.tasks))


def _dropped(step: Step, state: RunState, host: str, result: HostResult | None) -> bool:
    """Tell whether anything says that a host did not measure to the end."""
    if result is not None and result.final and not result.errors:
        return False
    ended = state.at_step(step.index).ended.get(("measure", host))
    if ended is not None and ended_badly(ended):
        return True
    if result is not None:
        return bool(result.errors) or ended is None or ended.reason not in ASKED_TO_END
    view = state.hosts.get(host)
    if view is not None and view.state in ("lost", "failed"):
        return True
    problems = (each for each in state.at_step(step.index).problems if each.host == host)
    return any(each.phase in LOST_PHASES and (each.fatal or each.code == "host-lost") for each in problems)


def _slices(start_t: float, end_t: float, lost: Mapping[str, float], total: int) -> list[CoverageRecord]:
    """Return the spans between the losses; of hosts lost at about the same time all are missing from the first on."""
    found: list[CoverageRecord] = []
    missing: list[str] = []
    begin_t, first_t = start_t, None
    for host, t in sorted(lost.items(), key=lambda each: each[1]):
        if first_t is None or t - first_t > TOGETHER_S:
            if t > begin_t:
                found.append(_slice(begin_t, t, missing, total))
            begin_t = first_t = t
        missing.append(host)
    return [*found, _slice(begin_t, end_t, missing, total)]


def _slice(start_t: float, end_t: float, missing: list[str], total: int) -> CoverageRecord:
    return CoverageRecord(
        start_s=round(start_t, 3),
        end_s=round(end_t, 3),
        hosts=total - len(missing),
        of=total,
        missing=list(missing),
    )


def coverage_text(covered: list[CoverageRecord]) -> str:
    """Return the losses of a step for people, oldest first; empty without any."""
    return "; ".join(
        loss_text(part.hosts, part.of, part.start_s - covered[0].start_s, part.missing)
        for part in covered
        if part.missing
    )

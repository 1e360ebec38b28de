"""What the Live screen says of findings and of what limits the run, in a line or two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.results.text.judged import found_text, plural
from tui.text.line import BRIGHT, GOOD, LABEL, TEXT, VALUE, Line, Run, clip, spread, width_of_runs

if TYPE_CHECKING:
    from tui.journal.state import RunState
    from tui.model.plan import Plan
    from tui.results.findings.live import LiveFindings

ROLES = {"error": "bad", "warning": "warn", "info": LABEL}
SIGNS = {"error": "✗", "warning": "!", "info": "·"}


def strip(found: LiveFindings | None, state: RunState, plan: Plan | None, width: int) -> list[Line]:
    """Return what limits the load while there is one, and the worst finding with how many there are."""
    limited = limiter_runs(found, state, plan)
    if found is None or not (found.now or found.was):
        count = len(found.made) if found is not None else 0
        checked: list[Run] = [("✓ ", GOOD), (f"nothing found, {plural(count, 'check')}", LABEL)] if count else []
        return [_line(limited, checked, width)] if limited else []
    lines = [_line(limited, [], width)] if limited else []
    return [*lines, _line(_worst(found), _counts(found), width)]


def limiter_runs(found: LiveFindings | None, state: RunState, plan: Plan | None) -> list[Run]:
    """Return what limits the step of now; nothing where there is no load to limit."""
    if state.phase != "measure" or state.ended or not state.current.is_of("measure", state.step):
        return []
    if not state.cluster:  # no I/O is counted: not yet, or it is a metadata benchmark
        return []
    label: Run = ("limited by  ", LABEL)
    if found is not None and found.limiter is not None:
        what, colon, evidence = found.limiter.text.partition(":")
        return [label, (what, VALUE), (colon + evidence, TEXT)]
    looked = any(host.end_t for host in state.at_step(state.step or 0).telemetry.values())
    why = "not known yet" if looked else "unknown: there is no telemetry"
    return [label, (why if plan is not None else "unknown: there is no plan", LABEL)]


def _worst(found: LiveFindings) -> list[Run]:
    if not found.now:
        each = found.was[0]
        return [("was  ", LABEL), (f"{each.finding.id}  {each.finding.message}", LABEL)]
    each = found.now[0]
    role = ROLES[each.severity]
    return [(f"{SIGNS[each.severity]} {each.finding.id}  ", role), (each.finding.message, BRIGHT)]


def _counts(found: LiveFindings) -> list[Run]:
    runs: list[Run] = []
    if len(found.now) > 1:
        runs.append((found_text([each.severity for each in found.now]), TEXT))
    if found.was:
        runs.append((f"{', ' if runs else ''}{len(found.was)} was", LABEL))
    return [*runs, ("  " if runs else "", TEXT), ("f", "accent"), (" all", LABEL)]


def _line(left: list[Run], right: list[Run], width: int) -> Line:
    """Return a line whose left side is cut, and whose right side is not."""
    room = width - width_of_runs(right) - (2 if right else 0)
    return Line.of(*spread(clip(left, room), right, width))


def marks(found: LiveFindings | None) -> Mapping[str, Run]:
    """Return the checks that found something of a host now, with the role of the worst."""
    by_host = found.by_host() if found is not None else {}
    ids = {host: dict.fromkeys(each.finding.id for each in findings) for host, findings in by_host.items()}
    return {host: (" ".join(ids[host]), ROLES[findings[0].severity]) for host, findings in by_host.items()}

"""A search that ended before it knew, and may cost more: its plan with further points."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tui.engine.process.launch import load_plan
from tui.engine.recovery.history import read_history
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.quantities import short_duration
from tui.model.rundir import JOURNAL_FILE
from tui.model.search_spec import MOST_POINTS
from tui.sizing.search import next_offer, why_over


def plan_of_more(run_dir: Path, points: int | None, within_s: float | None) -> Plan:
    """Return the plan of a run whose search may measure so many points in all, or spend so many seconds.

    Raises UsageError when it would measure none, BenchtuiError when its files cannot be read.
    """
    history = read_history(run_dir / JOURNAL_FILE)
    plan = with_more(load_plan(run_dir), points, within_s)
    measured = [each for each in history.seen.search.points if each.verdict != "void"]
    if plan.search is not None and next_offer(plan.search, measured) is None:
        raise UsageError(f"run {run_dir.name} would measure no further point: {why_over(plan.search, measured)}")
    return plan


def with_more(plan: Plan, points: int | None, within_s: float | None) -> Plan:
    """Return a plan whose search may cost more than it did, with a step for each further point. Raises UsageError."""
    search = plan.search
    if search is None:
        raise UsageError("--points and --within are of searches: this run searched for nothing")
    if points is not None and not search.points <= points <= MOST_POINTS:
        raise UsageError(f"--points {points}: allowed are {search.points}, as before, to {MOST_POINTS} in all")
    if within_s is not None and within_s < (search.within_s or 0.0):
        raise UsageError(f"--within: {short_duration(search.within_s or 0.0)} in all were allowed before: less is none")
    more = replace(search, points=points or search.points, within_s=within_s or search.within_s)
    last, first = plan.slots[-1], len(plan.slots) + 1
    names = [f"{plan.profile.tag} point {number}" for number in range(first, first + more.points - search.points)]
    further = [replace(last, index=last.index + at, name=name, cell=name) for at, name in enumerate(names, start=1)]
    return replace(plan, search=more, steps=[*plan.steps, *further])

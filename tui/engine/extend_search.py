"""Extend a search that ended undecided: its plan with more points."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tui.capacity.next_point import next_offer, unbounded, why_over
from tui.engine.inputs.user_files import save
from tui.engine.session.history import read_history
from tui.journal.rundir import load_plan, plan_bytes
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.profile_parts import MOST_POINTS
from tui.model.quantities import short_duration
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE
from tui.model.search import Search, SearchPoint
from tui.text.search_texts import search_text


class Spent(Struct, frozen=True):
    """A run's search, with its plan and the points measured so far, without void ones."""

    name: str
    plan: Plan
    search: Search
    points: list[SearchPoint]

    def more(self, points: int | None, within_s: float | None) -> Plan:
        """Return the plan with this total budget of points or seconds, and a step for each
        additional point.

        Raises UsageError if the budget is below the current one, or adds no point.
        """
        search = with_more(self.search, points, within_s)
        if next_offer(search, self.points) is None:
            why = search_text(why_over(search, self.points))
            raise UsageError(f"run {self.name} has nothing to extend: {why}")
        last, first, tag = self.plan.slots[-1], len(self.plan.slots) + 1, self.plan.profile.tag
        names = [
            f"{tag} point {number}"
            for number in range(first, first + search.points - self.search.points)
        ]
        further = [
            replace(last, index=last.index + at, name=name, cell=name)
            for at, name in enumerate(names, start=1)
        ]
        return replace(self.plan, search=search, steps=[*self.plan.steps, *further])


def spent_search(run_dir: Path) -> Spent | None:
    """Return the search of a run; None if the run is not a search.

    Raises BenchtuiError if the run cannot be read.
    """
    history = read_history(run_dir / JOURNAL_FILE)
    plan = load_plan(run_dir)
    if plan.search is None:
        return None
    measured = [each for each in history.seen.search.points if each.verdict != "void"]
    return Spent(run_dir.name, plan, plan.search, measured)


def wants_more(run_dir: Path) -> Spent | None:
    """Return a run's search if it would measure more points with a larger budget.

    None if the search is finished, or the run is not a search.
    """
    spent = spent_search(run_dir)
    return (
        spent
        if spent and next_offer(unbounded(spent.search, spent.points), spent.points) is not None
        else None
    )


def plan_of_more(run_dir: Path, points: int | None, within_s: float | None) -> Plan:
    """Return a run's plan with this total search budget in points or seconds.

    Raises UsageError if the run is not a search, or the budget is below the current one or adds no
    point; BenchtuiError if the run's files cannot be read.
    """
    spent = spent_search(run_dir)
    if spent is None:
        raise UsageError("--points and --within require a search: this run is not one")
    return spent.more(points, within_s)


def give_more(run_dir: Path, points: int | None, within_s: float | None) -> None:
    """Raise the budget of a finished run's search to this total, in the plan on disk.

    Raises the errors of `plan_of_more`, and UsageError if the plan cannot be written.
    """
    save(run_dir / PLAN_FILE, plan_bytes(plan_of_more(run_dir, points, within_s)).decode())


def with_more(search: Search, points: int | None, within_s: float | None) -> Search:
    """Return the search with a larger total budget; None leaves a limit unchanged.

    Raises UsageError if a limit is below the current one.
    """
    if points is not None and not search.points <= points <= MOST_POINTS:
        raise UsageError(
            f"--points {points}: expected {search.points} (as before) to {MOST_POINTS} in total"
        )
    if within_s is not None and within_s < (search.within_s or 0.0):
        raise UsageError(
            f"--within {short_duration(within_s)}: expected"
            f" {short_duration(search.within_s or 0.0)} (as before) or more"
        )
    return replace(search, points=points or search.points, within_s=within_s or search.within_s)

"""Work of a dead engine, read from its journal in order to resume the run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.journal.fold import fold, fold_all
from tui.journal.reader import JournalEvent, read_events
from tui.journal.state import RunState
from tui.journal.step import StepState
from tui.model.event import HostResult, TaskStarted
from tui.model.plan import Plan, Step
from tui.model.problem import BenchtuiError


class History(Struct):
    """Past of a run: a view of the state folded from its journal."""

    seen: RunState = field(default_factory=RunState)
    going_on: bool = False  # run missing steps, whatever was requested before

    def take(self, event: JournalEvent) -> None:
        """Apply the next event of the journal."""
        fold(self.seen, event)

    @property
    def ended(self) -> bool:
        """Whether the run was closed and not resumed since."""
        return self.seen.end is not None

    @property
    def running(self) -> list[int]:
        """Indexes of running steps; several if they are concurrent."""
        return (
            []
            if self.ended
            else [step.index for step in self.seen.steps.values() if step.state == "running"]
        )

    @property
    def zero_ms(self) -> float | None:
        """Wall-clock time of t = 0 in milliseconds since 1970; None if the journal does not contain
        it.
        """
        created = self.seen.created
        return None if created is None else created.timestamp() * 1000

    @property
    def measured(self) -> frozenset[int]:
        """Indexes of the steps in which at least one I/O or operation completed."""
        return frozenset(step.index for step in self.seen.steps.values() if step.measured)

    def at(self, step: int) -> StepState:
        """Return the state of a step, folded from the journal."""
        return self.seen.at_step(step)

    @property
    def results(self) -> dict[tuple[int, str], HostResult]:
        """Results by (step, host)."""
        return {
            (step.index, host): each
            for step in self.seen.steps.values()
            for host, each in step.results.items()
        }

    def unfinished(self, plan: Plan) -> dict[int, list[TaskStarted]]:
        """Return, by step, the commands without an end or result in the journal.

        Only for the newest such step and its concurrent steps.
        """
        by_step = {
            step.index: step.open_loads for step in self.seen.steps.values() if step.open_loads
        }
        beside = (
            {step.index for step in steps_beside(plan, max(by_step))} if by_step else set[int]()
        )
        return {index: loads for index, loads in by_step.items() if index in beside}

    def uncollected(self, plan: Plan) -> dict[int, list[TaskStarted]]:
        """Return, by step, the loads whose output is still on hosts that were unreachable.

        Excludes MPI, whose output cannot be collected later.
        """
        steps = [step for step in plan.steps if workloads.of(step).executor == "per-host"]
        found = {
            step.index: self.at(step.index).uncollected
            for step in steps
            if step.index in self.seen.steps
        }
        return {index: tasks for index, tasks in found.items() if tasks}

    @property
    def begun(self) -> set[int]:
        """Indexes of steps that began, however they ended, or were skipped."""
        return {
            step.index
            for step in self.seen.steps.values()
            if step.state != "missing" or step.commands
        }

    @property
    def skipped(self) -> set[int]:
        """Indexes of steps that were skipped because they were not needed."""
        return {step.index for step in self.seen.steps.values() if step.state == "skipped"}

    def missing(self, plan: Plan, *, failed: bool) -> list[Step]:
        """Return steps without a complete measurement; with `failed` also steps with errors.

        Includes their warm-ups and the fills of their objects. Concurrent steps, and the two loads
        of a counter-experiment, are repeated together.
        """
        wanted = (
            self.skipped & {step.index for step in plan.slots}
            if self._searches_on(plan)
            else set[int]()
        )
        lacking = [
            step
            for step in plan.steps
            if step.index in wanted or self._is_missing(self.at(step.index), failed)
        ]
        if lacking and plan.proves is not None:
            return list(plan.steps)
        lacking = [each for step in lacking for each in steps_beside(plan, step.index)]
        before = (*warmups_of(plan, lacking), *fills_of_objects(plan, lacking))
        return sorted({step.index: step for step in (*before, *lacking)}.values(), key=by_index)

    def _searches_on(self, plan: Plan) -> bool:
        """Return whether a search will continue after its failed points are repeated."""
        if plan.search is None or not self.skipped:
            return False
        from tui.capacity.next_point import next_offer

        return (
            next_offer(
                plan.search, [each for each in self.seen.search.points if each.verdict != "void"]
            )
            is not None
        )

    def _is_missing(self, step: StepState, failed: bool) -> bool:
        point = self.seen.search.decided.get(step.index)
        if step.state == "skipped" or (point is not None and point.cut and point.verdict != "void"):
            return False
        if point is not None and point.verdict == "void":
            return True
        return step.end is None or step.end.cut or (failed and not step.end.ok)

    def make_again(self, steps: Iterable[Step]) -> list[Step]:
        """Forget earlier attempts of these steps, and return the steps as new attempts."""
        again = [replace(step, attempt=self._attempts(step.index) + 1) for step in steps]
        for step in again:
            self.seen.forget(step.index)
        self.seen.forget_problems()
        return again

    def _attempts(self, step: int) -> int:
        return self.at(step).attempt if step in self.begun - self.skipped else 0

    @property
    def problems(self) -> int:
        """Number of host problems so far, not counting repeated steps."""
        of_steps = sum(len(step.problems) for step in self.seen.steps.values())
        return len(self.seen.run_problems) + of_steps


def steps_beside(plan: Plan, index: int) -> list[Step]:
    """Return a step and its concurrent steps, in plan order."""
    number = plan.steps[index].together
    return (
        [step for step in plan.steps if step.together == number] if number else [plan.steps[index]]
    )


def by_index(step: Step) -> int:
    """Return the step's position in the plan, as a sort key."""
    return step.index


def warmups_of(plan: Plan, steps: Iterable[Step]) -> list[Step]:
    """Return the warm-ups of these steps' points, which must run again too."""
    cells = {step.cell for step in steps}
    return [step for step in plan.steps if step.warmup and step.cell in cells]


def fills_of_objects(plan: Plan, steps: Iterable[Step]) -> list[Step]:
    """Return, for each of these steps, the last fill that puts its objects; they may have been
    deleted since.
    """
    found: dict[int, Step] = {}
    for step in steps:
        keys = {each.key for task in step.tasks for each in task.objects if each.does != ("put",)}
        puts = (
            fill
            for fill in reversed(plan.steps[: step.index])
            if fill.is_fill and keys & {each.key for task in fill.tasks for each in task.objects}
        )
        if fill := next(puts, None):
            found[fill.index] = fill
    return list(found.values())


def read_history(journal: Path) -> History:
    """Read the history from a journal.

    Skips damaged lines; a missing file gives an empty history. Raises BenchtuiError.
    """
    try:
        return History(fold_all(RunState(), read_events(journal, stamps=True)))
    except FileNotFoundError:
        return History()
    except OSError as error:
        raise BenchtuiError(f"{journal}: cannot be read: {error.strerror}") from error

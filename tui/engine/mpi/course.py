"""One MPI program over all hosts of a step, as a course that a measurement can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.engine.mpi.measure import measure_mpi, preflight_mpi
from tui.engine.mpi.recover import adopt_program
from tui.engine.running.context import RunContext
from tui.engine.running.course import Adopted
from tui.model.event import StepEnded, TaskStarted
from tui.model.plan import MpiLaunch, Step

if TYPE_CHECKING:
    from tui.engine.recovery.history import History


async def look_ahead(ctx: RunContext) -> None:
    """Look at the hosts of every program of the plan, and launch a tiny one. Raises RunRefused (exit 3)."""
    await preflight_mpi(ctx)


async def measure(ctx: RunContext, step: Step) -> None:
    """Run one program over all hosts of a step and take its result."""
    await measure_mpi(ctx, step, launch_of(step))


async def adopt(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> Adopted:  # noqa: ARG001
    """Follow a program whose engine died to its end."""
    problems = ctx.journal.problems
    alive, outcome = await adopt_program(ctx, step, launch_of(step), tasks)
    whole, cut = outcome.reason == "exit" and outcome.exit_code == 0, ctx.stop_mode is not None
    ok = whole and problems == ctx.journal.problems and not cut
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or not whole))
    return Adopted(alive, whole)


def launch_of(step: Step) -> MpiLaunch:
    """Return what a step launches."""
    assert step.mpi is not None
    return step.mpi

"""One MPI program over all hosts of a step, as a course that a measurement can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import workloads
from tui.engine.mpi.look import look_at_hosts, try_out
from tui.engine.mpi.measure import measure_program
from tui.engine.mpi.recover import adopt_program
from tui.engine.preflight.cluster import key_of
from tui.engine.session.context import RunContext
from tui.engine.session.course import Adopted
from tui.model.event import StepEnded, TaskStarted
from tui.model.plan import Step

if TYPE_CHECKING:
    from tui.engine.session.history import History


def launches(ctx: RunContext) -> dict[str, Step]:
    """Return the first step of each launch of the plan that differs from the others."""
    steps = [step for step in ctx.plan.steps if workloads.of(step).course == "mpi"]
    return {key_of(step): step for step in reversed(steps)}


async def look(ctx: RunContext) -> None:
    """Look at the hosts of every program of the plan; what is wrong becomes their problem."""
    for key, step in launches(ctx).items():
        ctx.ahead[key] = await look_at_hosts(ctx, step)


async def try_ahead(ctx: RunContext) -> None:
    """Launch a tiny one of every program of the plan. Raises RunRefused (exit 3)."""
    for key, step in launches(ctx).items():
        await try_out(ctx, step, ctx.ahead[key])


async def measure(ctx: RunContext, step: Step) -> None:
    """Run one program over all hosts of a step and take its result."""
    await measure_program(ctx, step)


async def adopt(ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> Adopted:  # noqa: ARG001
    """Follow a program whose engine died to its end."""
    problems = ctx.journal.problems
    alive, outcome = await adopt_program(ctx, step, tasks)
    whole, cut = outcome.reason == "exit" and outcome.exit_code == 0, ctx.stop_mode is not None
    ok = whole and problems == ctx.journal.problems and not cut
    ctx.journal.append(StepEnded(t=0.0, step=step.index, ok=ok, cut=cut or not whole))
    return Adopted(alive, whole)

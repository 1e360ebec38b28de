"""Interface of an executor: check, try, measure, adopt.

What executors share: run one load on many hosts until it ends, is stopped, or overruns its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.engine.session.context import RunContext, StopMode, as_host_error, ended_allocations
from tui.engine.session.task import Outcome, TaskRun
from tui.journal.clock import ASKED_TO_END
from tui.model.event import HostStateName
from tui.model.operands import Clause, clause
from tui.model.plan import OVERTIME_S
from tui.model.problem import nearest
from tui.remote.fan_out import INTERNAL_ERROR, host_error
from tui.remote.stream import FLOODED

if TYPE_CHECKING:
    from tui.engine.session.context import Window
    from tui.engine.session.history import History
    from tui.model.event import TaskStarted
    from tui.model.plan import Step


# codes of problems, by the reason that a host gives
ENDS = {
    "lease": "lease-expired",
    "supervisor-died": "supervisor-died",
    "host-rebooted": "host-rebooted",
    "spool-full": "spool-full",
    "runner-died": "runner-died",
    "directory-removed": "agent-directory-removed",
    "flooded": "agent-flooded",
    "unknown": "end-unknown",
}


def end_of(reason: str) -> tuple[str, Clause]:
    """Return the problem code and message for a load that its host ended for this reason."""
    if reason in ENDS:
        return ENDS[reason], clause(ENDS[reason])
    return f"agent-{reason}", clause("stopped-by-host", quote=reason)


def early_end(reason: str) -> Clause | str:
    """Return why a load ended early; empty if it ended normally."""
    if reason in ASKED_TO_END:
        return clause("stopped-on-request")
    if reason == "exit":
        return ""
    return clause(ENDS[reason]) if reason in ENDS else clause("ended-by-host", quote=reason)


def loss_of(reason: str) -> Clause:
    """Return the message for a connection that was lost before the output was collected."""
    known = reason in ENDS and reason != "unknown"
    return clause("not-restored", why=clause(ENDS[reason] if known else "ended-somehow"))


class AdoptedStep(Struct, frozen=True):
    """Outcome of a step that was running when its engine died.

    `alive`: its load was still running. `whole`: every host completed the step, before or after the
    engine died.
    """

    alive: bool
    whole: bool


class Executor(Protocol):
    """Checks, starts, follows and ends the load of a step; implemented as a module with these
    functions.
    """

    async def check_hosts(self, ctx: RunContext) -> None:
        """Check hosts for the additional needs of this executor's steps.

        Reports all problems at once.
        """

    async def try_ahead(self, ctx: RunContext) -> None:
        """Run the executor's trials before anything is measured.

        Raises RunRefused (exit 3).
        """

    async def measure(self, ctx: RunContext, step: Step, window: Window) -> None:
        """Start the load on all hosts at once, follow it to the end and collect results.

        Waits twice in `window` for concurrent steps: when its hosts are armed, and before it
        releases them. Raises RunRefused, RunStopped.
        """

    async def adopt(
        self, ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
    ) -> AdoptedStep:
        """Follow a load left running by a dead engine to its end.

        `tasks` are the step's commands by host.
        """


DELIVERY_S = 8.0
RETRY_S = 0.5
FROZEN_S = 15.0
STOP_PATIENCE_S = 11.0  # after a stop: by then the agent has gone through INT, TERM and KILL
ABORT_PATIENCE_S = 9.0
LAST_PATIENCE_S = 3.0  # for an abort after a stop that had no effect


async def run_load(
    ctx: RunContext, runs: Sequence[TaskRun], state: HostStateName, expected_s: float | None
) -> dict[str, Outcome]:
    """Follow started commands to their end and return each host's outcome.

    Ends them on a stop request, when a lost host ends the run, or 60 s after `expected_s`.
    """
    ctx.active |= {run.session.name: run for run in runs}
    followers = {run.session.name: asyncio.create_task(_follow(run, state)) for run in runs}
    watcher = asyncio.create_task(_watch(ctx, runs, set(followers.values()), expected_s))
    try:
        await asyncio.wait(followers.values()) if followers else None
        return {name: follower.result() for name, follower in followers.items()}
    finally:
        for run in runs:
            ctx.active.pop(run.session.name, None)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


async def _follow(run: TaskRun, state: HostStateName) -> Outcome:
    try:
        try:
            return await run.follow(state)
        except Exception as fault:
            return await _give_up(run, fault)
    except asyncio.CancelledError:
        run.session.enter("lost", clause("stop-unconfirmed"))
        told = clause("stop-unconfirmed")
        run.session.problem(run.phase, "stop-unconfirmed", told, fatal=False)
        return Outcome(None, "unconfirmed", collected=False)


async def _give_up(run: TaskRun, fault: Exception) -> Outcome:
    """End a host's load whose output can no longer be recorded, and return its outcome."""
    error = as_host_error(run.session, fault)
    run.session.problem(run.phase, error.code, error.told)
    try:
        async with asyncio.timeout(DELIVERY_S):
            await run.stop(abort=True)
    except Exception as untold:
        why = host_error(run.session.name, untold).told
        run.session.say("warning", clause("load-not-stopped", quote=why))
    return run.lost(error.code if error.code == FLOODED else INTERNAL_ERROR)


async def _watch(
    ctx: RunContext,
    runs: Sequence[TaskRun],
    followers: set[asyncio.Task[Outcome]],
    expected_s: float | None,
) -> None:
    """End the load on request, or OVERTIME_S after its planned end; escalate from stop to abort."""
    overtime = None if expected_s is None else expected_s + OVERTIME_S
    try:
        async with asyncio.timeout(overtime):
            await _reason_to_end(ctx, followers, beside=any(run.step.together for run in runs))
    except TimeoutError:
        for run in runs:
            _name_late(run)
        ctx.say("warning", clause("stopping-late-load", late_s=OVERTIME_S))
    heard: list[TaskRun] = []
    if ctx.stop_mode != "abort":
        heard = await end_runs(runs, "stop", followers, STOP_PATIENCE_S, ctx.abort_event)
    if ctx.stop_mode == "abort":  # at once, or during the stop
        await end_runs(runs, "abort", followers, ABORT_PATIENCE_S)
    elif heard:
        await end_runs(heard, "abort", followers, LAST_PATIENCE_S)
    for follower in followers:
        follower.cancel()


async def end_runs(
    runs: Sequence[TaskRun],
    mode: StopMode,
    followers: set[asyncio.Task[Outcome]],
    patience_s: float,
    overtaken: asyncio.Event | None = None,
) -> list[TaskRun]:
    """Tell hosts to end their load, and wait up to `patience_s`, or until `overtaken` is set.

    Returns the commands that accepted the request but are still running.
    """
    telling = {asyncio.create_task(_stop_one(run, mode)): run for run in runs}
    waiting: set[asyncio.Task[object]] = {asyncio.create_task(asyncio.wait(followers))}
    if overtaken is not None:
        waiting.add(asyncio.create_task(overtaken.wait()))
    await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
    for waiter in waiting:
        waiter.cancel()
    heard = [run for task, run in telling.items() if task.done() and not run.ended]
    for task in telling:
        task.cancel()
    await asyncio.gather(*telling, return_exceptions=True)
    return heard


def _name_late(run: TaskRun) -> None:
    """Report that a host is still busy long after its planned end."""
    if run.session.failed or run.ended:
        return
    if (silent_s := run.output.silent_s) > FROZEN_S:
        told = clause("load-frozen", late_s=OVERTIME_S, silent_s=silent_s)
        run.session.problem(run.phase, "load-frozen", told, fatal=False)
    else:
        told = clause("overtime", late_s=OVERTIME_S)
        run.session.problem(run.phase, "overtime", told, fatal=False)


async def _reason_to_end(
    ctx: RunContext, followers: set[asyncio.Task[Outcome]], *, beside: bool
) -> None:
    """Wait for a stop request, or for a host loss that ends the run.

    `beside`: other steps run at the same time and are stopped too.
    """
    asked = asyncio.create_task(ctx.stop_event.wait())
    waiting: set[asyncio.Task[Outcome]] = set(followers)
    try:
        while not asked.done():
            done, _ = await asyncio.wait({asked, *waiting}, return_when=asyncio.FIRST_COMPLETED)
            ended = {task for task in waiting if task in done}
            waiting -= ended
            if any(_broke(task) for task in ended):
                return  # the journal cannot be written: the load is useless
            lost = any(not task.cancelled() and not task.result().collected for task in ended)
            if lost and ctx.plan.on_host_loss == "stop":
                what = ended_allocations(ctx.sessions) or clause("host-lost")
                ctx.given_up = clause("stops-at-loss", why=what)
                ctx.say("warning", ctx.given_up)
                if beside:
                    ctx.request_stop("stop", reason=ctx.given_up)
                return
            if not waiting:
                await asked
    finally:
        asked.cancel()


def _broke(follower: asyncio.Task[Outcome]) -> bool:
    return not follower.cancelled() and follower.exception() is not None


def stop_host(ctx: RunContext, name: str) -> Clause | None:
    """End the load of one host and keep its measurements; other hosts continue.

    Returns why this is not possible, or None on success.
    """
    run = ctx.active.get(name)
    if run is None or run.ended:
        known = [host.name for host in ctx.plan.hosts]
        return clause("no-load-on", host=name, meant=nearest(name, known))
    if run.phase == "layout":
        return clause("still-writing", host=name)
    run.session.say("warning", clause("host-stopped-on-request"))
    ctx.tasks.add(task := asyncio.create_task(_stop_one(run, "stop")))
    task.add_done_callback(ctx.tasks.discard)
    run.stopped_alone = True
    return None


def end_early(ctx: RunContext) -> None:
    """End the load of all hosts and keep their measurements; the run continues."""
    for run in ctx.active.values():
        if not run.ended:
            run.output.ended_by_us = True
            ctx.tasks.add(task := asyncio.create_task(_stop_one(run, "stop")))
            task.add_done_callback(ctx.tasks.discard)


@asynccontextmanager
async def in_background(observers: Iterable[Coroutine[None, None, None]]) -> AsyncIterator[None]:
    """Run observers of a load while the with block runs, and cancel them when it exits.

    Errors of observers are ignored.
    """
    tasks = [asyncio.create_task(each) for each in observers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stop_one(run: TaskRun, mode: StopMode) -> None:
    """Tell one host to end its load; an unreachable host is told once it is back."""
    warned = False
    while not run.ended:
        try:
            async with asyncio.timeout(DELIVERY_S):
                await run.stop(abort=mode == "abort")
            return
        except Exception as error:
            late = isinstance(error, TimeoutError)
            why = (
                clause("no-answer", limit_s=DELIVERY_S)
                if late
                else host_error(run.session.name, error).told
            )
            if not warned:
                told = clause("stop-not-delivered", mode=mode, quote=why)
                run.session.say("warning", told)
            warned = True
        await asyncio.sleep(RETRY_S)

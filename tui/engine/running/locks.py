"""One run at a time on a host: all hosts of a run are taken together, or none of them while it waits for some."""

from __future__ import annotations

import asyncio
import random
from functools import partial

from tui.engine.preflight.rules import in_use_by
from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import LOCK, TRY_LOCK, UNLOCK, on_hosts, refuse_failed
from tui.engine.session.session import HostSession
from tui.journal.identity import owner
from tui.metrics import units
from tui.remote.agent import Holder

LOOK_AGAIN_S = (2.0, 5.0)  # at random between these: runs that wait for each other's hosts do not stay in step


async def take_locks(ctx: RunContext) -> bool:
    """Take every host for this run, or go on holding it; wait for those in use as long as the plan says.

    Returns whether it had to wait. Raises RunRefused when another run holds a host in the end.
    """
    loop = asyncio.get_running_loop()
    begun, told, sessions = loop.time(), set[str](), ctx.alive
    while in_use := await _in_use(ctx):
        if loop.time() - begun >= ctx.plan.wait_s:
            _refuse(ctx, in_use)
            break
        await on_hosts(ctx, UNLOCK, (each for each in ctx.alive if each.name not in in_use), _unlock, lambda *_: None)
        _tell(ctx, in_use, told)
        await ctx.unless_stopped(asyncio.sleep(random.uniform(*LOOK_AGAIN_S)))
    refuse_failed(LOCK, sessions)
    return bool(told)


async def _in_use(ctx: RunContext) -> dict[str, Holder]:
    """Try to take all hosts and return who holds the others."""
    answers = await on_hosts(ctx, TRY_LOCK, ctx.alive, partial(_lock, ctx))
    held = {name: holder for name, holder in answers.items() if holder is not None}
    if ctx.plan.take_locks:
        for name, holder in held.items():
            session_of(ctx, name).say("warning", f"{_words(holder)}; running beside it, as asked")
        return {}
    return held


async def _lock(ctx: RunContext, session: HostSession) -> Holder | None:
    return await session.ask(lambda agent: agent.lock(ctx.plan.lease_s, owner(), force=ctx.plan.take_locks))


async def _unlock(session: HostSession) -> None:
    await session.ask(lambda agent: agent.unlock())


def _refuse(ctx: RunContext, in_use: dict[str, Holder]) -> None:
    waited = f"; waited {units.duration(ctx.plan.wait_s)}" if ctx.plan.wait_s else ""
    for name, holder in in_use.items():
        session_of(ctx, name).problem("preflight", "host-locked", f"{_words(holder)}{waited}")


def _tell(ctx: RunContext, in_use: dict[str, Holder], told: set[str]) -> None:
    """Show for whom the run waits; each of them is said once."""
    for name, holder in in_use.items():
        session = session_of(ctx, name)
        session.enter("checking", f"waiting: {_words(holder)}")
        if f"{name} {holder.run}" not in told:
            told.add(f"{name} {holder.run}")
            session.say("info", f"{_words(holder)}; waiting for it")


def _words(holder: Holder) -> str:
    return f"{in_use_by(holder)} (for {holder.left_s}s more, unless that run renews it)"


def session_of(ctx: RunContext, name: str) -> HostSession:
    """Return a host of the run by its name."""
    return next(session for session in ctx.sessions if session.name == name)

"""The engine process: identity, signals, control socket, orderly end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.engine.control import ControlServer, EngineAsker, Request, take_link
from tui.engine.executors.executor import stop_host
from tui.engine.launch import EngineMode
from tui.engine.preflight.logout import forwarded_agent
from tui.engine.run.run import execute, open_run
from tui.engine.session.context import RunContext
from tui.engine.session.host_session import secrets_of
from tui.journal.rundir import load_plan, sole_engine
from tui.model.event import Message, NoteAdded, RunEnded
from tui.model.operands import Told, clause
from tui.model.paths import Paths
from tui.model.plan import Plan
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE, SUMMARY_FILE
from tui.model.signals import on_signal
from tui.remote.fan_out import connections_of

if TYPE_CHECKING:
    from tui.engine.session.history import History
    from tui.remote.connections import Connections


def run_engine(run_dir: Path, mode: EngineMode = "start", *, ask: bool = False) -> RunEnded:
    """Execute or resume the plan of a run directory in this process; return the closing event.

    `ask`: standard input is a socket to a process that asks the operator for passwords.
    """
    asker = EngineAsker(take_link()) if ask else None
    plan = load_plan(run_dir)
    with sole_engine(run_dir):
        history = None if mode == "start" else _history(run_dir)
        if history is not None and (mode != "recover" or history.ended):
            history.going_on = mode != "recover"
            # derived again from the journal at the end
            for name in (RECORD_FILE, SUMMARY_FILE):
                (run_dir / name).unlink(missing_ok=True)
        return asyncio.run(_serve(run_dir, plan, history, mode, asker))


def _history(run_dir: Path) -> History:
    from tui.engine.session.history import read_history

    return read_history(run_dir / JOURNAL_FILE)


async def _serve(
    run_dir: Path, plan: Plan, history: History | None, mode: EngineMode, asker: EngineAsker | None
) -> RunEnded:
    async with connections_of(
        plan, Paths.from_environ(os.environ).known_hosts, asker
    ) as connections:
        ctx = open_run(run_dir, plan, connections, history)
        ctx.journal.on_failure = partial(end_in_order, ctx)
        connections.warn = partial(warn, ctx)
        ctx.on_connected = partial(logged_in, ctx, connections, asker)
        if asker is not None:
            ctx.on_stop = asker.give_up
        for number in (signal.SIGTERM, signal.SIGINT):
            on_signal(number, ctx.request_stop, "stop", number.name)
        async with ControlServer(run_dir, lambda request: answer(ctx, request)):
            secrets = await secrets_of(plan, os.environ, asker)
            for session in ctx.sessions:
                session.secrets = secrets
            return await _guarded(ctx, _work(ctx, history, mode))


def end_in_order(ctx: RunContext, reason: str) -> None:
    """Stop the load because its data can no longer be saved.

    The hosts keep their spools for a recovery.
    """
    print(f"benchtui: {reason}", file=sys.stderr, flush=True)  # to engine.log
    ctx.request_stop("stop", "the engine", clause("cannot-write", quote=reason))


def warn(ctx: RunContext, host: str | None, told: Told) -> None:
    """Journal a warning about a login, attributed to the host if it belongs to the run."""
    session = next((session for session in ctx.sessions if session.name == host), None)
    if session is None:
        ctx.say("warning", told)
    else:
        session.say("warning", told)


def logged_in(ctx: RunContext, connections: Connections, asker: EngineAsker | None) -> None:
    """Close the channel for questions: every host is connected or refused.

    Journals a warning if keys came from a forwarded agent, which a later login would miss.
    """
    connections.stop_asking()
    if asker is not None:
        asker.close()
    if told := forwarded_agent(connections.by_agent, os.environ):
        ctx.say("warning", told)


def _work(
    ctx: RunContext, history: History | None, mode: EngineMode
) -> Coroutine[None, None, RunEnded]:
    """Return the work of this engine: execute, collect, finish or resume the run."""
    if history is None:
        return execute(ctx)
    from tui.engine.recover import execute_missing, execute_rest

    if mode == "recover" and history.ended:
        from tui.engine.recover import execute_collection

        return execute_collection(ctx, history)
    if mode == "recover":
        return execute_rest(ctx, history)
    return execute_missing(ctx, history, failed=mode == "resume-failed")


async def _guarded(ctx: RunContext, work: Coroutine[None, None, RunEnded]) -> RunEnded:
    """Turn an internal error into a journalled failure of the run, so that the engine never dies
    silently.
    """
    try:
        return await work
    except Exception as error:
        traceback.print_exc()  # to engine.log
        log, kind = str(ctx.run_dir / "engine.log"), type(error).__name__
        why = clause("internal-error", error=kind, quote=str(error), log=log)
        ctx.journal.append(Message(t=0.0, severity="error", text=why))
        end = RunEnded(t=0.0, state=ctx.state_unless_complete, exit_code=4, reason=why)
        return ctx.journal.append(end)
    finally:
        ctx.journal.close()


def answer(ctx: RunContext, request: Request) -> Request:
    """Carry out a control request and return the answer."""
    verb = request.get("verb")
    if verb == "ping":
        return {"ok": True}
    if verb in ("stop", "abort"):
        ctx.request_stop("abort" if verb == "abort" else "stop", str(request.get("by", "")))
        return {"ok": True}
    if verb == "stop-host" and isinstance(request.get("host"), str):
        problem = stop_host(ctx, request["host"])
        return {"ok": problem is None, "error": problem}
    if verb == "note" and isinstance(request.get("text"), str):
        ctx.journal.append(NoteAdded(t=0.0, text=request["text"]))
        return {"ok": True}
    return {"ok": False, "error": f"unknown request {verb!r}"}

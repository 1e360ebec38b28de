"""Starting an engine from the command line: what to know before, and what its hosts ask before they let us in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.asking import has_terminal, person
from tui.cli.shared.common import paths, say
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.sharing import sharing_note

if TYPE_CHECKING:
    from tui.engine.process.launch import EngineMode
    from tui.engine.process.questions import Questions

QUIET_S = 2.0


def start(plan: Plan) -> Path:
    """Start a run, log in to its hosts, and return its directory."""
    from tui.engine.process.launch import launch, launch_asking

    if note := sharing_note(plan):
        say(f"benchtui: {note}")
    warn(plan.hosts)
    if not has_terminal():
        check_secrets(plan)
        return launch(plan, paths().runs)
    launched = launch_asking(plan, paths().runs)
    answer_all(launched.run_dir, launched.questions)
    return launched.run_dir


def leave_out_missing(plan: Plan) -> Plan:
    """Look at the hosts, and return the plan without the steps that they lack a load generator for."""
    import asyncio

    from tui.cli.shared.asking import terminal_asker
    from tui.engine.hosts.fan_out import connections_of
    from tui.engine.preflight.lacking import Lacking, has_several_tools, look_for_lacking, without

    async def look() -> Lacking:
        async with connections_of(plan, paths().known_hosts, terminal_asker()) as connections:
            return await look_for_lacking(plan, connections)

    return without(plan, asyncio.run(look())) if has_several_tools(plan) else plan


def check_secrets(plan: Plan) -> None:
    """Refuse a run whose secrets nobody can be asked for. Raises UsageError."""
    if missing := [name for name in plan.secrets if not os.environ.get(name)]:
        told = ", ".join(missing)
        raise UsageError(f"no value for the secret {told}: set it in the environment; there is no terminal to ask on")


def restart(run_dir: Path, mode: EngineMode) -> None:
    """Start another engine for a run, and log in to its hosts again."""
    from tui.engine.process.launch import await_resumed, journal_end, spawn_asking, spawn_engine
    from tui.journal.plan_file import load_plan

    warn(load_plan(run_dir).hosts)
    end = journal_end(run_dir)
    if has_terminal():
        answer_all(run_dir, spawn_asking(run_dir, mode))
    else:
        spawn_engine(run_dir, mode)
    await_resumed(run_dir, end)


def warn(hosts: Sequence[HostAddress]) -> None:
    """Say what a logout would take away from a run on these hosts."""
    from tui.engine.safety.logout import agent_may_go, logout_warning

    if text := logout_warning(os.environ):
        say(f"benchtui: {text}")
    if agent_may_go(os.environ) and (text := _agent_warning(hosts)):
        say(f"benchtui: {text}")


def _agent_warning(hosts: Sequence[HostAddress]) -> str | None:
    import asyncio

    from tui.engine.safety.logout import agent_warning
    from tui.remote.connections import Connections

    async def look() -> str | None:
        async with Connections(known_hosts=[paths().known_hosts]) as connections:
            return await agent_warning(hosts, connections, os.environ)

    return asyncio.run(look())


def answer_all(run_dir: Path, questions: Questions) -> None:
    """Answer what the engine asks until all hosts are logged in. Ctrl+C stops the run."""
    import asyncio

    from tui.engine.process.control import NotRunning, request

    try:
        asyncio.run(_answer_all(questions))
    except KeyboardInterrupt:
        with suppress(NotRunning):
            request(run_dir, {"verb": "stop", "by": "Ctrl+C"})
    finally:
        questions.close()


async def _answer_all(questions: Questions) -> None:
    import asyncio

    silence = asyncio.get_running_loop().call_later(QUIET_S, say, "connecting to all hosts ...")
    try:
        while (question := await asyncio.to_thread(questions.next)) is not None:
            silence.cancel()
            questions.answer(await person()(question))
    finally:
        silence.cancel()
        questions.close()

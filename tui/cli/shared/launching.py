"""Start a run from the command line: passwords, consent to overwrite, the engine."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import termios
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.common import ask as agrees
from tui.cli.shared.common import paths, say
from tui.model.address import HostAddress
from tui.model.extras import UNPACKING, are_packed
from tui.model.plan import Plan
from tui.model.problem import PreflightError, Problem, UsageError
from tui.model.shared_files import sharing_note

if TYPE_CHECKING:
    from tui.engine.control import Questions
    from tui.engine.launch import EngineMode
    from tui.engine.preflight.preview import Preview
    from tui.remote.vault import Asker, Question

TERMINAL = "/dev/tty"
MOST_BYTES = 1 << 30  # that each host writes for a job without a profile before benchtui asks
LONGEST = 4096  # length of a typed line: the terminal's limit


def terminal_asker() -> Asker | None:
    """Return an asker for questions to the user; None without a terminal (cron)."""
    return person() if has_terminal() else None


@functools.cache
def person() -> Asker:
    """Return an asker for the terminal.

    It remembers answers, so that a command asks each question once.
    """
    from tui.remote.vault import Remembering

    return Remembering(ask)


def has_terminal() -> bool:
    """Return whether stdin or stderr is a terminal that this process can ask on."""
    if not (sys.stdin.isatty() or sys.stderr.isatty()):
        return False
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


async def ask(question: Question) -> Sequence[str] | None:
    """Ask a question on the terminal; return None if the user ends the input (Ctrl+D)."""
    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    try:
        note = f" ({question.note})" if question.note else ""
        os.write(terminal, f"benchtui: {question.subject}{note}\n".encode())
        answers = []
        for prompt, visible in question.prompts:
            answer = await read_line(terminal, prompt, visible=visible)
            if answer is None:
                return None
            answers.append(answer)
        return answers
    finally:
        os.close(terminal)


async def read_line(terminal: int, prompt: str, *, visible: bool) -> str | None:
    """Read one line, without echo unless `visible`.

    The terminal is restored even if the read is cancelled.
    """
    with echo(terminal, on=visible):
        os.write(terminal, f"{prompt.rstrip(': ')}: ".encode())
        async with readable(terminal) as ready:
            await ready.wait()
        line = os.read(terminal, LONGEST)
        if not visible:
            os.write(terminal, b"\n")
    return line.decode(errors="replace").rstrip("\r\n") if line else None


@contextlib.contextmanager
def echo(terminal: int, *, on: bool) -> Iterator[None]:
    """Turn echo on or off, and drop input typed ahead."""
    before = termios.tcgetattr(terminal)
    during = termios.tcgetattr(terminal)
    during[3] = during[3] | termios.ECHO if on else during[3] & ~termios.ECHO
    try:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, during)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


@contextlib.asynccontextmanager
async def readable(terminal: int) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when a line can be read.

    Uses no thread, which would survive Ctrl+C.
    """
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        yield ready
    finally:
        loop.remove_reader(terminal)


def agreed(plan: Plan, names: Sequence[str], *, sure: bool) -> Plan:
    """Return the plan with the targets that the user agreed to overwrite.

    On a terminal the user types the names of devices, unless `sure`. Files are left to the engine's
    checks. Raises UsageError for a name that is not a target of the run, PreflightError (3) without
    consent.
    """
    from msgspec.structs import replace

    from tui.engine.preflight.destroy import unnamed_devices
    from tui.engine.preflight.preview import check_names

    plan = replace(plan, destroy=tuple(dict.fromkeys(names)))
    check_names(plan)
    if unnamed := unnamed_devices(plan):
        if not sure and sys.stdin.isatty() and sys.stderr.isatty():
            return replace(plan, destroy=(*plan.destroy, *ask_for_names(preview_targets(plan))))
        text = "{0} will be overwritten; to confirm: --destroy {0}"
        raise PreflightError([Problem(text.format(name)) for name in unnamed])
    return plan


def check_size(plan: Plan, *, sure: bool) -> None:
    """Ask before each host of a job without a profile writes more than 1 GiB, unless `sure`.

    Raises PreflightError without consent, or without a terminal to ask on.
    """
    from tui.metrics import units
    from tui.view.plan import most_written

    size = most_written(plan)
    if sure or (size is not None and size <= MOST_BYTES):
        return
    text = f"writes {'any number of bytes' if size is None else f'up to {units.size(size)}'}"
    text += " on each host" if len(plan.hosts) > 1 else f" on {plan.hosts[0].name}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise PreflightError(f"the job {text}; to confirm: --yes; to see the plan: --dry-run")
    if not agrees(f"the job {text}; start it?"):
        raise PreflightError("not confirmed; nothing was started")


def preview_targets(plan: Plan) -> Preview:
    """Log in to all hosts of a plan, and return what is on its targets."""
    from tui.engine.preflight.made_files import MADE_FILES, MadeFiles
    from tui.engine.preflight.preview import preview
    from tui.remote.fan_out import connections_of

    async def run() -> Preview:
        async with connections_of(plan, paths().known_hosts, terminal_asker()) as connections:
            return await preview(plan, connections, MadeFiles(paths().data / MADE_FILES))

    return asyncio.run(run())


def ask_for_names(found: Preview) -> tuple[str, ...]:
    """Show the targets, and ask the user to type the name of each.

    Raises PreflightError if a name is wrong or missing.
    """
    from tui.text.objects import changed_texts

    say("\n".join([*found.lines, *changed_texts(found.objects)]))
    if found.problems:
        raise PreflightError(found.problems)
    for name in found.names:
        print(f"type {name} to overwrite it: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() != name:
            raise PreflightError(f"{name} was not typed; nothing was started")
    return found.names


QUIET_S = 2.0


def start(plan: Plan) -> Path:
    """Start a run and log in to its hosts; return its directory."""
    from tui.engine.launch import launch, launch_asking

    if note := sharing_note(plan):
        say(f"benchtui: {note}")
    if plan.search is not None and are_packed():
        say(f"benchtui: {UNPACKING}")
    warn(plan.hosts)
    if not has_terminal():
        check_secrets(plan)
        return launch(plan, paths().runs)
    launched = launch_asking(plan, paths().runs)
    answer_all(launched.run_dir, launched.questions)
    return launched.run_dir


def leave_out_missing(plan: Plan) -> Plan:
    """Return the plan without the steps whose load generator is not installed on the hosts.

    Logs in to the hosts to check.
    """
    from tui.engine.preflight.host_check import (
        MissingTools,
        find_missing_tools,
        has_several_tools,
        without,
    )
    from tui.remote.fan_out import connections_of

    async def missing() -> MissingTools:
        async with connections_of(plan, paths().known_hosts, terminal_asker()) as connections:
            return await find_missing_tools(plan, connections)

    return without(plan, asyncio.run(missing())) if has_several_tools(plan) else plan


def check_secrets(plan: Plan) -> None:
    """Raise UsageError for secrets without a value; used if there is no terminal to ask on."""
    if missing := [name for name in plan.secrets if not os.environ.get(name)]:
        names = ", ".join(missing)
        raise UsageError(
            f"no value for the secret {names}: set it in the environment, or start benchtui on a"
            " terminal"
        )


def restart(run_dir: Path, mode: EngineMode) -> None:
    """Start a new engine for an existing run, and log in to its hosts again."""
    from tui.engine.launch import await_resumed, journal_end, spawn_asking, spawn_engine
    from tui.journal.rundir import load_plan

    warn(load_plan(run_dir).hosts)
    end = journal_end(run_dir)
    if has_terminal():
        answer_all(run_dir, spawn_asking(run_dir, mode))
    else:
        spawn_engine(run_dir, mode)
    await_resumed(run_dir, end)


def warn(hosts: Sequence[HostAddress]) -> None:
    """Warn if logging out would end a run on these hosts, or the SSH agent it needs."""
    from tui.engine.preflight.logout import agent_may_go, logout_warning

    if text := logout_warning(os.environ):
        say(f"benchtui: {text}")
    if agent_may_go(os.environ) and (text := _agent_warning(hosts)):
        say(f"benchtui: {text}")


def _agent_warning(hosts: Sequence[HostAddress]) -> str | None:
    from tui.engine.preflight.logout import agent_warning
    from tui.remote.connections import Connections

    async def warning() -> str | None:
        async with Connections(known_hosts=[paths().known_hosts]) as connections:
            return await agent_warning(hosts, connections, os.environ)

    return asyncio.run(warning())


def answer_all(run_dir: Path, questions: Questions) -> None:
    """Answer the engine's questions until it is logged in to all hosts.

    Ctrl+C stops the run.
    """
    from tui.engine.control import NotRunning, request

    try:
        asyncio.run(_answer_all(questions))
    except KeyboardInterrupt:
        with suppress(NotRunning):
            request(run_dir, {"verb": "stop", "by": "Ctrl+C"})
    finally:
        questions.close()


async def _answer_all(questions: Questions) -> None:
    silence = asyncio.get_running_loop().call_later(QUIET_S, say, "connecting to all hosts ...")
    try:
        while (question := await asyncio.to_thread(questions.next)) is not None:
            silence.cancel()
            questions.answer(await person()(question))
    finally:
        silence.cancel()
        questions.close()

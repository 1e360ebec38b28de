"""Doing one thing on all hosts of a run: in which phase, what refuses the run, and what a fault on one host is.

Whatever goes wrong on a host, foreseen or not, becomes that host's problem; the others go on.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct

from tui.engine.hosts.fan_out import OUR_FAULT, host_error
from tui.engine.session.context import RunContext, RunRefused, RunStopped
from tui.engine.session.session import HostSession
from tui.model.event import PhaseName
from tui.model.plugin import PLUGIN_FAILED
from tui.remote.transport import HostError

T = TypeVar("T")
EXIT_COMPLETE, EXIT_PREFLIGHT, EXIT_PARTIAL, EXIT_NEVER_MET, EXIT_UNFINISHED = 0, 3, 4, 5, 6


class HostsAway(RunRefused):
    """Ends a search whose hosts are lost and do not come back: fewer hosts sustain something else."""

    def __init__(self, hosts: Sequence[str]) -> None:
        why = "what all hosts sustain cannot be told by the others; runs resume, or u on Runs, goes on once it is back"
        super().__init__("partial", EXIT_PARTIAL, f"{', '.join(hosts)} lost: {why}")


class Duty(Struct, frozen=True):
    """What all hosts do. `refusal`, before their names, refuses the run when some fail; empty: the others go on."""

    phase: PhaseName
    exit_code: int = EXIT_PARTIAL
    refusal: str = ""
    droppable: bool = True  # may be dropped in the middle when somebody asks to stop


CONNECT = Duty("connect", EXIT_PREFLIGHT, "no connection to")
REACH = Duty("connect", droppable=False)  # of an engine that goes on with a run: nothing is dropped
LOOK = Duty("preflight", EXIT_PREFLIGHT)  # all problems of all hosts are told at once, then it is judged
JUDGE = Duty("preflight", EXIT_PREFLIGHT, "preflight refused:")
TRY_LOCK = Duty("preflight")
UNLOCK = Duty("preflight", droppable=False)
LOCK = Duty("preflight", EXIT_PREFLIGHT, "in use by another run:")
DEVICES = Duty("preflight", EXIT_PREFLIGHT, "devices are not as they were on")
TARGETS = Duty("preflight", EXIT_PREFLIGHT, "targets are not as they were on")
DIRECTORIES = Duty("preflight", EXIT_PARTIAL, "directories could not be made on")
EXPECTED_FILES = Duty("preflight", EXIT_PARTIAL, "files are not as the step needs them on")
MISSING_FILES = Duty("layout", EXIT_PARTIAL, "layout could not be checked on")
LAYOUT_START = Duty("layout")  # those that began are followed to their end
LAYOUT = Duty("layout", EXIT_PARTIAL, "layout failed on")
WRITTEN = Duty("layout")
DROP_CACHES = Duty("layout")
BRING_BACK = Duty("connect")
ARM = Duty("barrier", EXIT_PARTIAL, "not ready to start:")
DISARM = Duty("barrier", droppable=False)
GO = Duty("barrier", droppable=False)
FREE_SPOOL = Duty("collect", droppable=False)
CLEAN_UP = Duty("cleanup", droppable=False)
LEAVE = Duty("cleanup", droppable=False)


async def on_hosts(
    ctx: RunContext,
    duty: Duty,
    sessions: Iterable[HostSession],
    work: Callable[[HostSession], Awaitable[T]],
    failed: Callable[[HostSession, HostError], object] | None = None,
) -> dict[str, T]:
    """Have hosts do something at the same time and return the answers by name, without those that failed.

    `failed` takes what went wrong on a host; without it that is a problem, with which the host drops out. Raises
    RunRefused when the duty says so, and RunStopped.
    """
    sessions = list(sessions)
    answers: dict[str, T] = {}

    async def one(session: HostSession) -> None:
        with faults_of(session, duty.phase, failed):
            answers[session.name] = await work(session)

    at_once = _all_at_once([one(session) for session in sessions])
    await (ctx.unless_stopped(at_once) if duty.droppable else at_once)
    refuse_failed(duty, sessions)
    return {session.name: answers[session.name] for session in sessions if session.name in answers}


def refuse_failed(duty: Duty, sessions: Iterable[HostSession]) -> None:
    """Raise RunRefused when a host failed and the duty needs them all."""
    names = ", ".join(session.name for session in sessions if session.failed)
    if duty.refusal and names:
        raise RunRefused("failed", duty.exit_code, f"{duty.refusal} {names}")


@contextmanager
def faults_of(
    session: HostSession, phase: PhaseName, failed: Callable[[HostSession, HostError], object] | None = None
) -> Iterator[None]:
    """Make whatever goes wrong within a problem of this host. A fault of ours has its traceback in engine.log."""
    try:
        yield
    except (RunRefused, RunStopped):
        raise
    except Exception as fault:
        if failed is None:
            failed = _fail_in(phase)
        failed(session, told(session, fault))


def told(session: HostSession, fault: Exception) -> HostError:
    """Return a fault as the host's error; the traceback of one of ours, or of a plug-in, goes to engine.log."""
    error = host_error(session.name, fault)
    if error.code in (OUR_FAULT, PLUGIN_FAILED):
        traceback.print_exception(fault)
        return HostError(error.code, error.host, f"{error.message}; details in engine.log")
    return error


def _fail_in(phase: PhaseName) -> Callable[[HostSession, HostError], object]:
    return lambda session, error: session.problem(phase, error.code, error.message)


async def _all_at_once(work: list[Awaitable[None]]) -> None:
    """Wait for all; what is nobody's problem, such as a journal that cannot be written, ends the others too."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

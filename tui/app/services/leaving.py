"""Leave the app by key or signal: detach from a running run, or stop it."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path

from tui.app.frame.shell import AppShell
from tui.app.terminal.driver import hung_up
from tui.model.problem import BenchtuiError
from tui.model.signals import on_signal

HANGUP_CHECK_S = 1.0


async def leave(shell: AppShell) -> None:
    """Leave; ask first when the run shown is still running."""
    run_dir = shell.live_run
    if run_dir is None or not await asyncio.to_thread(shell.run_is_alive, run_dir):
        shell.exit()
        return
    from tui.app.dialogs.confirm import leave_question

    shell.push_screen(leave_question(run_dir.name), partial(_answered, shell, run_dir))


def _answered(shell: AppShell, run_dir: Path, answer: str | None) -> None:
    if answer == "detach":
        shell.farewell = _still_running(run_dir)
        shell.exit()
    elif answer == "stop":
        shell.run_worker(_stop_and_leave(shell, run_dir), group="stop")


async def _stop_and_leave(shell: AppShell, run_dir: Path) -> None:
    """Ask the engine to stop and keep the results, then leave."""
    from tui.engine.control import request

    shell.farewell = (
        f"run {run_dir.name} is stopping; see it with: benchtui runs show {run_dir.name}"
    )
    try:
        await asyncio.to_thread(request, run_dir, {"verb": "stop", "by": "app"})
    except BenchtuiError as error:
        shell.farewell = f"run {run_dir.name} was not stopped: {error}"
    shell.exit()


def take_signals(shell: AppShell) -> None:
    """Leave cleanly on SIGTERM, SIGHUP and a lost terminal, with the screen restored."""

    def leave_if_hung_up() -> None:  # the terminal may be gone without a signal
        if hung_up():
            leave_on_signal(shell, signal.SIGHUP)

    for number in (signal.SIGTERM, signal.SIGHUP):
        on_signal(number, leave_on_signal, shell, number)
    shell.set_interval(HANGUP_CHECK_S, leave_if_hung_up)


def leave_on_signal(shell: AppShell, number: signal.Signals) -> None:
    """Leave immediately: runs continue, and only the terminal must be restored."""
    if shell.live_run is not None and shell.run_is_alive(shell.live_run):
        shell.farewell = _still_running(shell.live_run)
    shell.exit(return_code=128 + number)


def _still_running(run_dir: Path) -> str:
    return f"run {run_dir.name} is still running; to watch it: benchtui attach {run_dir.name}"

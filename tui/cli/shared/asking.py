"""Asking a person on the terminal for passwords, passphrases and codes: what is typed is neither shown nor kept."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import termios
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.remote.vault import Asker, Question

TERMINAL = "/dev/tty"
LONGEST = 4096  # of a line that is typed: the terminal's own limit


def terminal_asker() -> Asker | None:
    """Return who can be asked: the person at the terminal; None when there is no terminal, as under cron."""
    return person() if has_terminal() else None


@functools.cache
def person() -> Asker:
    """Return who sits there, asked for each thing once by one command."""
    from tui.remote.vault import Remembering

    return Remembering(ask)


def has_terminal() -> bool:
    """Whether somebody sits there: this process has a terminal, and stdin or stderr is one."""
    if not (sys.stdin.isatty() or sys.stderr.isatty()):
        return False
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


async def ask(question: Question) -> Sequence[str] | None:
    """Ask on the terminal; None when the person ends the input (Ctrl+D)."""
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
    """Read one line, without an echo unless `visible`; the terminal is put back even when this is cancelled."""
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
    """Show what is typed or not; what was typed before is dropped."""
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
    """Yield an event that is set once a line can be read: no thread that would outlive a Ctrl+C."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        yield ready
    finally:
        loop.remove_reader(terminal)

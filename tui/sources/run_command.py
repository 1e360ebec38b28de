"""Run the commands of sources, with limits on time and output.

Once a command has ended, processes left in its process group are killed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from tui.model.bounded import shown_size
from tui.model.plain import printable
from tui.model.problem import UsageError
from tui.sources.base import MOST_OUTPUT, SourceContext

MOST_STDERR = 64 << 10
MOST_QUOTED = 200
PIECE = 1 << 16


class CommandOutput(NamedTuple):
    """What a command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int

    @property
    def last_words(self) -> str:
        """The last line of stderr, shortened, without control characters; empty if there is
        none.
        """
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return printable(lines[-1][:MOST_QUOTED]) if lines else ""


def program(name: str, context: SourceContext) -> str | None:
    """Return the path of a program; None if it is not installed."""
    return shutil.which(name, path=context.environ.get("PATH", os.defpath))


def output_of(argv: Sequence[str], context: SourceContext) -> CommandOutput:
    """Run a command to its end; return what it printed and its exit code.

    Raises UsageError if it cannot be started, takes too long, or prints too much.
    """
    command = printable(shlex.join(argv))[:MOST_QUOTED]
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=context.directory,
            env=dict(context.environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{command}: cannot start: {why}") from error
    try:
        out, err = _read(process, command, context.time_limit_s)
        return CommandOutput(
            out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), process.wait(5)
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{command}: closed its output but did not exit within 5 s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # processes it left in its session
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def output_or_error(argv: Sequence[str], context: SourceContext) -> str:
    """Run a command and return its stdout.

    Raises UsageError with the command's message if it fails.
    """
    done = output_of(argv, context)
    if done.code != 0:
        why = done.last_words or "no error message"
        command = printable(shlex.join(argv))[:MOST_QUOTED]
        raise UsageError(f"{command}: exit code {done.code}: {why}")
    return done.stdout


def _read(process: subprocess.Popen[bytes], command: str, limit_s: float) -> tuple[bytes, bytes]:
    assert process.stdout is not None and process.stderr is not None
    out, err = bytearray(), bytearray()
    ends = time.monotonic() + limit_s
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, out)
        ready.register(process.stderr, selectors.EVENT_READ, err)
        while ready.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise UsageError(f"{command}: not finished after {limit_s:g} s")
            for key, _ in ready.select(left):
                piece = os.read(key.fd, PIECE)
                if not piece:
                    ready.unregister(key.fileobj)
                key.data.extend(piece)
            del err[:-MOST_STDERR]
            if len(out) > MOST_OUTPUT:
                raise UsageError(f"{command}: printed more than {shown_size(MOST_OUTPUT)}")
    return bytes(out), bytes(err)

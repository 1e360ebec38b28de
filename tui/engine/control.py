"""Sockets of a running engine: one for control (stop, abort, note), one for its questions to the
launcher.

One JSON object per line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tui.journal.rundir import is_running
from tui.model.bounded import NO_JSON
from tui.model.problem import BenchtuiError, UsageError
from tui.model.rundir import SOCKET_FILE
from tui.remote.vault import Question

TIMEOUT_S = 10.0
POLL_S = 0.02
Request = dict[str, Any]
Handler = Callable[[Request], Request]
LONGEST_LINE = 1 << 20
_questions = msgspec.json.Decoder(Question)


class NotRunning(BenchtuiError):  # noqa: N818  (it names a state, not a failure)
    """Raised when no engine answers at the run's control socket."""


def request(run_dir: Path, message: Request) -> Request:
    """Send one request to the engine of a run and return its answer.

    Waits for an engine that is starting. Raises NotRunning.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return _ask(run_dir, message)
        except (OSError, ValueError) as error:
            # a socket is bound just before it listens
            is_starting = isinstance(
                error, (FileNotFoundError, ConnectionRefusedError)
            ) and is_running(run_dir)
            if not is_starting or time.monotonic() > deadline:
                raise NotRunning(f"run {run_dir.name} is not running") from error
            time.sleep(POLL_S)


def demand(run_dir: Path, message: Request) -> None:
    """Send one request to the engine of a run. Raises NotRunning, UsageError if it is refused."""
    answer = request(run_dir, message)
    if not answer.get("ok"):
        from tui.text.run_texts import run_text

        raise UsageError(run_text(answer.get("error") or "the engine refused the request"))


def _ask(run_dir: Path, message: Request) -> Request:
    directory = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT_S)
            # through /proc: socket paths are limited to 107 bytes, run directories are not
            client.connect(f"/proc/self/fd/{directory}/{SOCKET_FILE}")
            client.sendall(json.dumps(message).encode() + b"\n")
            with client.makefile("rb") as answers:
                answer: Request = json.loads(answers.readline() or b"{}")
                return answer
    finally:
        os.close(directory)


class ControlServer:
    """Server side of the control socket, in the engine process."""

    def __init__(self, run_dir: Path, handler: Handler) -> None:
        self.run_dir = run_dir
        self.handler = handler
        self._server: asyncio.AbstractServer | None = None

    async def __aenter__(self) -> ControlServer:
        directory = os.open(self.run_dir, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(FileNotFoundError):
                (self.run_dir / SOCKET_FILE).unlink()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"/proc/self/fd/{directory}/{SOCKET_FILE}")
            (self.run_dir / SOCKET_FILE).chmod(0o600)
            self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=65536)
        finally:
            os.close(directory)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        with suppress(FileNotFoundError):
            (self.run_dir / SOCKET_FILE).unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(10):
                line = await reader.readline()
            writer.write(json.dumps(self._answer(line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    def _answer(self, line: bytes) -> Request:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return {"ok": False, "error": "not a JSON object"}
        if not isinstance(message, dict):
            return {"ok": False, "error": "not a JSON object"}
        return self.handler(message)


class Questions:
    """Launcher's side of the socket with the engine's questions. Its calls block; use it in a
    thread.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._lines = link.makefile("rb")

    def next(self) -> Question | None:
        """Wait for the next question.

        Returns None when no more will come: all hosts are logged in, or the engine has ended.
        """
        try:
            line = self._lines.readline(LONGEST_LINE)
            return _questions.decode(line) if line.endswith(b"\n") else None
        except (OSError, *NO_JSON):
            return None

    def answer(self, answers: Sequence[str] | None) -> None:
        """Answer the last question; None declines it."""
        with contextlib.suppress(OSError):
            self._link.sendall(msgspec.json.encode(answers) + b"\n")

    def close(self) -> None:
        """Stop answering questions, and wake a thread that waits in `next`."""
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()


class EngineAsker:
    """Engine's side of the socket with its questions to the launcher."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._given_up = asyncio.Event()

    async def __call__(self, question: Question) -> Sequence[str] | None:
        """Ask the launcher and return its answers.

        Returns None if the launcher does not answer or is gone, or if the answer is no longer
        needed.
        """
        asking = asyncio.ensure_future(self._ask(question))
        giving_up = asyncio.ensure_future(self._given_up.wait())
        try:
            await asyncio.wait({asking, giving_up}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()
            giving_up.cancel()
            await asyncio.gather(asking, giving_up, return_exceptions=True)

    def give_up(self) -> None:
        """Stop waiting for answers, now and in later calls."""
        self._given_up.set()

    async def _ask(self, question: Question) -> Sequence[str] | None:
        try:
            if self._reader is None or self._writer is None:
                self._reader, self._writer = await asyncio.open_unix_connection(
                    sock=self._link, limit=LONGEST_LINE
                )
            self._writer.write(msgspec.json.encode(question) + b"\n")
            await self._writer.drain()
            return msgspec.json.decode(await self._reader.readline(), type=list[str] | None)
        except (OSError, *NO_JSON):
            return None

    def close(self) -> None:
        """Tell the launcher that there are no more questions."""
        if self._writer is not None:
            self._writer.close()
        self._link.close()


def take_link() -> socket.socket:
    """Return the socket on standard input and hide it from child processes.

    The socket carries secrets, so this process also disables its core files.
    """
    link = socket.socket(fileno=os.dup(0))  # dup: closed on exec
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return link

"""Questions from the engine process to the process that launched it, and the answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Sequence

import msgspec

from tui.model.bounded import NO_JSON
from tui.remote.vault import Question

LONGEST_LINE = 1 << 20
_questions = msgspec.json.Decoder(Question)


class Questions:
    """The launcher's end: blocking, for use in a thread."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._lines = link.makefile("rb")

    def next(self) -> Question | None:
        """Wait for the next question.

        None if there are no more: all hosts are logged in, or the engine has ended.
        """
        try:
            line = self._lines.readline(LONGEST_LINE)
            return _questions.decode(line) if line.endswith(b"\n") else None
        except (OSError, *NO_JSON):
            return None

    def answer(self, answers: Sequence[str] | None) -> None:
        """Answer the last question; None if the user declines."""
        with contextlib.suppress(OSError):
            self._link.sendall(msgspec.json.encode(answers) + b"\n")

    def close(self) -> None:
        """Stop asking; wakes a thread that waits in `next`."""
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()


class EngineAsker:
    """The engine's end."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._given_up = asyncio.Event()

    async def __call__(self, question: Question) -> Sequence[str] | None:
        """Ask the launcher.

        None if it does not answer, is gone, or the answer is no longer needed.
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
        """Wait for no answer from here on."""
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
    """Return the socket on standard input, closed for child processes from here on.

    Its data is secret, so this process also disables core files.
    """
    link = socket.socket(fileno=os.dup(0))  # dup: closed on exec
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return link

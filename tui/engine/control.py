"""The control socket of a running engine: stop, abort, note; one JSON object per line."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui.journal.rundir import lives
from tui.model.problem import BenchtuiError
from tui.model.rundir import SOCKET_FILE

TIMEOUT_S = 10.0
POLL_S = 0.02
Request = dict[str, Any]
Handler = Callable[[Request], Request]


class NotRunning(BenchtuiError):  # noqa: N818  (it names a state, not a failure)
    """No engine answers at the run's control socket."""


def request(run_dir: Path, message: Request) -> Request:
    """Send one request to the engine of a run and return its answer; wait for an engine that is
    starting.

    Raises NotRunning.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return _ask(run_dir, message)
        except (OSError, ValueError) as error:
            # a socket is bound just before it listens
            starting = isinstance(error, (FileNotFoundError, ConnectionRefusedError)) and lives(
                run_dir
            )
            if not starting or time.monotonic() > deadline:
                raise NotRunning(f"run {run_dir.name} is not running") from error
            time.sleep(POLL_S)


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
    """The engine's end of the socket."""

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

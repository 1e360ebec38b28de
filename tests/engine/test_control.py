"""The control socket of a run."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tui.engine.control import ControlServer, NotRunning, Request, demand, request
from tui.engine.main import answer
from tui.journal.rundir import announce
from tui.model.address import HostAddress
from tui.model.operands import is_clause
from tui.model.problem import UsageError
from tui.model.rundir import SOCKET_FILE


async def test_request_reaches_the_engine_and_its_answer_comes_back(tmp_path: Path) -> None:
    seen: list[Request] = []

    def handler(message: Request) -> Request:
        seen.append(message)
        return {"ok": True}

    async with ControlServer(tmp_path, handler):
        answer = await asyncio.to_thread(request, tmp_path, {"verb": "stop"})
    assert answer == {"ok": True}
    assert seen == [{"verb": "stop"}]


async def test_socket_works_below_a_path_longer_than_a_socket_address(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    async with ControlServer(deep, lambda _: {"ok": True}):
        assert await asyncio.to_thread(request, deep, {"verb": "ping"}) == {"ok": True}


async def test_socket_is_private_and_goes_with_the_engine(tmp_path: Path) -> None:
    async with ControlServer(tmp_path, lambda _: {"ok": True}):
        assert (tmp_path / SOCKET_FILE).stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / SOCKET_FILE).exists()


async def test_engine_that_is_just_starting_is_waited_for(tmp_path: Path) -> None:
    announce(tmp_path, os.getpid())
    asked = asyncio.create_task(asyncio.to_thread(request, tmp_path, {"verb": "stop"}))
    await asyncio.sleep(0.1)  # the question is there before the socket is
    async with ControlServer(tmp_path, lambda _: {"ok": True}):
        assert await asked == {"ok": True}


async def test_engine_whose_socket_does_not_listen_yet_is_waited_for(tmp_path: Path) -> None:
    announce(tmp_path, os.getpid())
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / SOCKET_FILE))
        asked = asyncio.create_task(asyncio.to_thread(request, tmp_path, {"verb": "stop"}))
        await asyncio.sleep(0.1)  # it was refused by now
        async with ControlServer(tmp_path, lambda _: {"ok": True}):
            assert await asked == {"ok": True}


def test_run_that_is_over_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match=r"run .* is not running"):
        request(tmp_path, {"verb": "ping"})


NONSENSE = {
    "no-json": b"no json\n",
    "list": b"[1]\n",
    "empty": b"\n",
    "deep": b"[" * 60_000 + b"\n",
}


@pytest.mark.parametrize("line", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_is_answered_not_obeyed(tmp_path: Path, line: bytes) -> None:
    async with ControlServer(tmp_path, lambda _: {"ok": True}):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_FILE))
        writer.write(line)
        assert b'"ok": false' in await reader.readline()
        writer.close()


async def test_the_engine_answers_a_refused_request_with_a_code(tmp_path: Path) -> None:
    ctx: Any = SimpleNamespace(active={}, plan=SimpleNamespace(hosts=[HostAddress("weka-01")]))
    asked = {"verb": "stop-host", "host": "weka-1"}
    refused = answer(ctx, asked)["error"]
    assert is_clause(refused) and refused["operands"] == {"host": "weka-1", "meant": ["weka-01"]}
    async with ControlServer(tmp_path, lambda message: answer(ctx, message)):
        with pytest.raises(UsageError, match=r"host weka-1 .did you mean 'weka-01'"):
            await asyncio.to_thread(demand, tmp_path, asked)

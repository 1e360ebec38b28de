"""Signals that come to a loop that is flooded."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from tests.patience import PATIENCE_S
from tui.model.signals import on_signal

MANY = 5000  # calls from other threads: more than the loop's own socket holds


@pytest.fixture
def usr1() -> Iterator[signal.Signals]:
    before = signal.getsignal(signal.SIGUSR1)
    yield signal.SIGUSR1
    signal.signal(signal.SIGUSR1, before)


async def test_a_signal_comes_although_other_threads_have_called_the_loop_many_times(
    usr1: signal.Signals,
) -> None:
    came = asyncio.Event()
    on_signal(usr1, came.set)
    loop = asyncio.get_running_loop()
    for _ in range(MANY):
        loop.call_soon_threadsafe(int)
    os.kill(os.getpid(), usr1)
    async with asyncio.timeout(PATIENCE_S):
        await came.wait()

"""Waiting for what must come: a loaded machine is slow, only a defect keeps it away for ever.

A look that costs much is made seldom, else the tests load what they wait for.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

PATIENCE_S = 300.0
SHORTEST_S, LONGEST_S = 0.05, 0.5
SHARE = 10  # of the time that a look takes


def pause_s(took_s: float) -> float:
    """How long to wait after a look that took so long."""
    return min(LONGEST_S, max(SHORTEST_S, SHARE * took_s))


def wait_until(
    condition: Callable[[], object], what: str | Callable[[], str], timeout_s: float = PATIENCE_S
) -> None:
    """Wait for a condition; fail by name when it does not come."""
    deadline = time.monotonic() + timeout_s
    while True:
        began = time.monotonic()
        if condition():
            return
        if began > deadline:
            raise AssertionError(
                f"not seen in {timeout_s:g}s: {what() if callable(what) else what}"
            )
        time.sleep(pause_s(time.monotonic() - began))


async def seen(
    condition: Callable[[], object | Awaitable[object]],
    what: str | Callable[[], str],
    timeout_s: float = PATIENCE_S,
) -> None:
    """The same while other tasks go on.

    The condition may be one that takes time, of which CPU alone costs others.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        began, cpu_s = time.monotonic(), time.thread_time()
        found = condition()
        if (await found) if inspect.isawaitable(found) else found:
            return
        if began > deadline:
            raise AssertionError(
                f"not seen in {timeout_s:g}s: {what() if callable(what) else what}"
            )
        await asyncio.sleep(pause_s(time.thread_time() - cpu_s))

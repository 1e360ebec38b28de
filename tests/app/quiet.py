"""Wait until an app has done all there is to do, told by its event loop.

Textual's own wait takes an app for idle once its process used next to no CPU for 20 ms: three to
five such waits a key, and on a busy machine a process that gets no CPU looks idle.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

# part of the current work: screens paint 60 times a second, and skip turns when they are late
SOON_S = 1 / 25
LONGEST_S = 1.0  # something may always be due: an animation
THREADS_S = 0.1  # a thread may wait for what the test does next


async def quiet(*_: object) -> None:
    """Return once no task can go on, no thread works for one, and nothing is due soon."""
    loop: Any = asyncio.get_running_loop()
    begin = time.monotonic()
    await asyncio.sleep(0)
    while (passed_s := time.monotonic() - begin) < LONGEST_S:
        if loop._ready:
            await asyncio.sleep(0)
        elif (due_s := due_in(loop)) < SOON_S:
            await asyncio.sleep(max(due_s, 0))
        elif passed_s < THREADS_S and has_work(loop._default_executor):
            await asyncio.sleep(SOON_S / 20)
        else:
            return


def due_in(loop: Any) -> float:
    """Return the seconds until the next timer of a loop."""
    due: list[float] = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
    now: float = loop.time()
    return min(due, default=math.inf) - now


def has_work(executor: Any) -> bool:
    """Return whether threads of a pool work, or have something to do."""
    return executor is not None and bool(executor._idle_semaphore._value < len(executor._threads))

"""Put on PYTHONPATH of an engine: keeps how late its event loop is, a line a second, in the file
LOOP_LAG names.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Coroutine
from typing import Any

EVERY_S = 0.02


async def watch(path: str) -> None:
    """Sleep for ever.

    Note by how much each sleep was too long, the wall clock and this process's CPU and memory.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    with open(path, "a", buffering=1) as file:  # noqa: PTH123
        while True:
            lags, end = [], time.monotonic() + 1
            while time.monotonic() < end:
                begun = time.monotonic()
                await asyncio.sleep(EVERY_S)
                lags.append(max(0.0, time.monotonic() - begun - EVERY_S))
            with open("/proc/self/statm") as statm:  # noqa: PTH123
                memory = int(statm.read().split()[1]) * page
            late = " ".join(f"{lag:.5f}" for lag in lags)
            file.write(f"{time.time():.3f} {time.process_time():.3f} {memory} {late}\n")


def watched(run: Any) -> Any:
    """Return asyncio.run that watches its loop."""

    def with_watch(main: Coroutine[Any, Any, Any], **options: Any) -> Any:
        async def both() -> Any:
            task = asyncio.create_task(watch(os.environ["LOOP_LAG"]))
            try:
                return await main
            finally:
                task.cancel()

        return run(both(), **options)

    return with_watch


if "LOOP_LAG" in os.environ and "engine" in sys.orig_argv:
    asyncio.run = watched(asyncio.run)

"""Signals that come to the event loop, however busy it is."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable


def on_signal(number: signal.Signals, call: Callable[..., object], *args: object) -> None:
    """Call something in the running loop each time a signal comes; only in the main thread.

    `loop.add_signal_handler` learns of a signal by a byte in a socket. That is lost while the
    socket is full, as it is when threads have called the loop some hundred times and it has not
    come round: with many keys, a paste.
    """
    loop = asyncio.get_running_loop()

    def come(*_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it is over anyway
            loop.call_soon_threadsafe(call, *args)

    signal.signal(number, come)

"""Deliver signals to the event loop even when it is busy."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable


def on_signal(number: signal.Signals, call: Callable[..., object], *args: object) -> None:
    """Call a function in the running loop for each signal. Main thread only.

    `loop.add_signal_handler` is notified by a byte in a socket. The byte is lost while the socket
    is full, which happens after a few hundred calls from threads while the loop is busy: with many
    keys, or a paste.
    """
    loop = asyncio.get_running_loop()

    def come(*_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so the program is ending
            loop.call_soon_threadsafe(call, *args)

    signal.signal(number, come)

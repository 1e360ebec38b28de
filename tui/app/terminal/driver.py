"""Textual's terminal driver, made to survive a terminal that goes away."""

from __future__ import annotations

import contextlib
import io
import select
import sys

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from tui.app.terminal.repaint import Colours


class LenientFile(io.TextIOBase):
    """A terminal to write to. What it refuses is dropped: after a hangup every write fails with EIO.

    Textual's output thread dies of such an error, its queue fills up, and the app waits for ever when it leaves.
    """

    def __init__(self, file: io.TextIOBase) -> None:
        self._terminal = file

    def write(self, text: str) -> int:
        """Write, or drop."""
        with contextlib.suppress(OSError, ValueError):
            self._terminal.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or drop."""
        with contextlib.suppress(OSError, ValueError):
            self._terminal.flush()

    def fileno(self) -> int:
        """The terminal's."""
        return self._terminal.fileno()

    def isatty(self) -> bool:
        """It is one."""
        return True


class TerminalDriver(LinuxDriver):
    """Draws on stderr as Textual's own driver does."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | Size | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = LenientFile(sys.__stderr__)  # type: ignore[assignment, arg-type]
        self._colours = Colours()

    def write(self, data: str) -> None:
        """Send to the terminal what it does not show yet."""
        super().write(self._colours.lean(data))

    def _sigcont_application(self, *_: object) -> None:
        """Come back from Ctrl-Z alone: a hangup sends SIGCONT as well, and what it started again nobody would end."""
        if self._must_signal_resume:
            super()._sigcont_application()


def hung_up() -> bool:
    """Return whether the terminal behind standard input is gone.

    A process without a controlling terminal gets no SIGHUP, and Textual's input thread would read the end for ever.
    """
    waiting = select.poll()
    try:
        waiting.register(sys.__stdin__ or 0, 0)  # asks for nothing: POLLHUP and POLLERR are told anyway
        return any(state & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, state in waiting.poll(0))
    except (OSError, ValueError):
        return True

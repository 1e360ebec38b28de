"""The terminal driver: write frames, repaint, detect a hangup, log a crash."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import re
import select
import sys
import traceback
from functools import lru_cache
from pathlib import Path

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region, Size
from textual.strip import Strip

import tui


def crash_text(error: BaseException) -> str:
    """Return version and traceback of an error, without values of variables."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return f"benchtui {tui.__version__}\n{''.join(lines)}"


def write_crash_log(folder: Path, error: BaseException) -> Path | None:
    """Write the traceback of an error to a new file in `folder`; return its path.

    None if writing fails.
    """
    now = datetime.datetime.now(datetime.UTC)
    path = folder / f"crash-{now:%Y%m%dT%H%M%S%f}Z.log"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(crash_text(error))
    except OSError:
        return None
    return path


SGR = re.compile("\x1b\\[([0-9;]*)m")
MOVE = re.compile("\x1b\\[[0-9]+;[0-9]+H")
COLOUR = r"(?:2;[0-9]+;[0-9]+;[0-9]+|5;[0-9]+)"
PART = re.compile(
    rf"(?:(?P<front>38;{COLOUR}|3[0-79]|9[0-7])|(?P<back>48;{COLOUR}|4[0-79]|10[0-7])|(?P<look>[1-9][0-9]*))(?:;|$)"
)


class TightUpdate(ChopsUpdate):
    """A repaint of changed columns only."""

    def render_segments(self, console: Console) -> str:
        """Return the escape sequences of the repaint."""
        sent: list[str] = []
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                first, last = max(x, x1), min(end, x2)
                if strip is not None and first < last:
                    sent += (
                        Control.move_to(first, y).segment.text,
                        strip.crop(first - x, last - x).render(console),
                    )
        return "".join(sent)


class TightCompositor(Compositor):
    """Repaints only changed columns, and asks only widgets with changes for lines."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: tuple[Region, ...] = ()  # by a partial update

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return the repaint; None if nothing changed."""
        self._changed = tuple(self._dirty_regions)
        try:
            found = super().render_partial_update()
        finally:
            self._changed = ()
        return None if found is None else TightUpdate(found.chops, found.spans, found.chop_ends)

    def _get_renders(self, crop: Region | None = None) -> list[tuple[Region, Region, list[Strip]]]:
        """Return the regions and lines of widgets.

        A partial update needs only changed widgets and those that overlap them.
        """
        whole = self.visible_widgets
        if self._changed:
            self._visible_widgets = {
                widget: (region, clip)
                for widget, (region, clip) in whole.items()
                if any(each.overlaps(region) and each.overlaps(clip) for each in self._changed)
            }
        try:
            return list(super()._get_renders(crop))
        finally:
            self._visible_widgets = whole


class Colours:
    """Removes redundant SGR sequences from what is written to a terminal.

    The state is kept between writes.
    """

    def __init__(self) -> None:
        self._set = ""  # parameters of SGR; empty: none

    def lean(self, text: str) -> str:
        """Return a text with the same effect in fewer bytes."""
        first, *parts = SGR.split(text)
        if not parts:
            return text
        sent, wanted = [first], self._set
        for look, piece in zip(parts[::2], parts[1::2], strict=True):
            wanted = "" if look in ("", "0") else f"{wanted};{look}" if wanted else look
            if piece and wanted != self._set and not MOVE.fullmatch(piece):
                sent.append(change(self._set, wanted))
                self._set = wanted
            sent.append(piece)
        if wanted != self._set:
            sent.append(change(self._set, wanted))
            self._set = wanted
        return "".join(sent)


@lru_cache(4096)
def change(old: str, new: str) -> str:
    """Return the shortest SGR sequence that leads from one look to another."""
    if not new:
        return "\x1b[0m"
    before, after = parts_of(old), parts_of(new)
    if (
        not old
        or before is None
        or after is None
        or before["look"] not in ("", after["look"])
        or _loses(before, after)
    ):
        return f"\x1b[0;{new}m" if old else f"\x1b[{new}m"
    more = ";".join(part for name, part in after.items() if part != before[name])
    return f"\x1b[{more}m" if more else ""


def _loses(before: dict[str, str], after: dict[str, str]) -> bool:
    """Return whether a colour is reset to the default."""
    return any(before[name] and not after[name] for name in ("front", "back"))


def parts_of(look: str) -> dict[str, str] | None:
    """Return the SGR parameters of a look: attributes, foreground, background.

    None if not recognized.
    """
    found = {"look": "", "front": "", "back": ""}
    at = 0
    while at < len(look):
        part = PART.match(look, at)
        name = part.lastgroup if part is not None else None
        if part is None or name is None or (found[name] and name != "look"):
            return None
        found[name] += (";" if found[name] else "") + part[name]
        at = part.end()
    return found


# how long the threads that read keys and write frames wait while the app computes; Python's default
# is 5 ms, and several such waits lie between a key and its frame
SWITCH_S = 0.001


class LenientFile(io.TextIOBase):
    """A terminal that ignores failed writes: after a hangup every write fails with EIO.

    The error would end Textual's output thread, and the app would hang at exit.
    """

    def __init__(self, file: io.TextIOBase) -> None:
        self._terminal = file

    def write(self, text: str) -> int:
        """Write a text; ignore failures."""
        with contextlib.suppress(OSError, ValueError):
            self._terminal.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush; ignore failures."""
        with contextlib.suppress(OSError, ValueError):
            self._terminal.flush()

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._terminal.fileno()

    def isatty(self) -> bool:
        """Return True."""
        return True


class TerminalDriver(LinuxDriver):
    """Textual's driver, which draws on stderr; survives a hangup, omits redundant sequences."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | Size | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = LenientFile(sys.__stderr__)  # type: ignore[assignment, arg-type]
        self._colours = Colours()

    def start_application_mode(self) -> None:
        """Take the terminal over, and hand keys from the input thread to the app quickly."""
        sys.setswitchinterval(SWITCH_S)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def write(self, data: str) -> None:
        """Write to the terminal without redundant sequences."""
        super().write(self._colours.lean(data))

    def _sigcont_application(self, *_: object) -> None:
        """Resume only after Ctrl-Z, because a hangup sends SIGCONT as well."""
        if self._must_signal_resume:
            super()._sigcont_application()


def hung_up() -> bool:
    """Return whether the terminal behind standard input is gone.

    A process without a controlling terminal gets no SIGHUP, and Textual's input thread would loop
    at end of file.
    """
    waiting = select.poll()
    try:
        # POLLHUP and POLLERR are always reported
        waiting.register(sys.__stdin__ or 0, 0)
        return any(
            state & (select.POLLHUP | select.POLLERR | select.POLLNVAL)
            for _, state in waiting.poll(0)
        )
    except (OSError, ValueError):
        return True

"""Standard output and error of the command: open, in any encoding, and free of what controls a terminal."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from typing import Any

WIDEST = 400  # columns that a chart takes: COLUMNS may say anything, and each column costs memory
CONTROLS = re.compile(
    r"\r\x1b\[K|\x1b\[[0-9;]*m"  # ours: the line of progress and colours
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
SAFE = bytes((*b"\t\n", *range(32, 127)))


class PlainOutput:
    """A stream of text in which a space stands for what would control a terminal.

    What is read from files is printable already; this is for what no reader saw, such as a path or a typed word.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, with its colours."""
        if not is_plain(text):
            text = CONTROLS.sub(lambda found: " " if len(found[0]) == 1 else found[0], text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """Be the stream in all else."""
        return getattr(self._stream, name)


def is_plain(text: str) -> bool:
    """Tell whether a text has nothing to filter; quick, for documents of many MB."""
    if text.isascii():
        return not text.encode().translate(None, SAFE)
    return text.replace("\n", "").replace("\t", "").isprintable()


def guard() -> None:
    """Print through `PlainOutput` from now on. What the text has no letter for becomes `?`: no file name ends a verb.

    The screens are drawn on `sys.__stderr__`, which passes everything.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            if stream.errors == "strict" or not is_utf8(stream):
                stream.reconfigure(errors="replace")
            setattr(sys, name, PlainOutput(stream))


def is_utf8(stream: io.TextIOWrapper) -> bool:
    """Tell whether every letter can be printed: another locale may keep bytes of names, and refuse letters."""
    return codecs.lookup(stream.encoding).name == "utf-8"


def wants_colour() -> bool:
    """Tell whether standard output is a terminal that has colours and whose user wants them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def columns() -> int:
    """Return how wide the terminal is, 80 where there is none."""
    import shutil

    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST)


def text_width() -> int | None:
    """Return the columns that text on standard output may take: of a terminal 80 or more, of a pipe any number."""
    return max(80, columns()) if sys.stdout.isatty() else None

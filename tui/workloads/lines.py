"""Lines of text that a remote tool printed, made safe to show."""

from __future__ import annotations

from collections.abc import Iterator

from tui.model.plain import printable
from tui.workloads.budget import budget

LONGEST = 1 << 16


def clean(line: bytes, longest: int = 4096) -> str:
    """Return a line as printable text: no control characters, so that it cannot drive a terminal."""
    return printable(line[:longest].decode("utf-8", "replace")).rstrip()


class Lines:
    """Cuts bytes in any pieces into clean, non-empty lines. Of a line that does not end, the beginning is kept."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that these bytes complete; blanks at their begin are kept."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:LONGEST]
        return [text for line in lines if (text := clean(line, LONGEST))]

    def close(self) -> list[str]:
        """Return the last line, if its newline is missing."""
        return self.feed(b"\n") if self._rest else []


BLOCK = 1 << 20  # characters


def numbered(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a kept text with their numbers, from 1, a block of them at a time.

    Raises UsageError when the reader has taken more memory or time than its budget allows.
    """
    limits, start, number = budget(), 0, 0
    while start < len(text):
        end = text.find("\n", min(start + BLOCK, len(text))) + 1 or len(text)
        limits.check(file, 8 * (end - start))
        for line in text[start:end].splitlines():
            number += 1
            yield number, line
        start = end

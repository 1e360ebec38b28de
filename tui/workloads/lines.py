"""Lines of text that a remote tool printed, made safe to show."""

from __future__ import annotations

from tui.model.plain import printable

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

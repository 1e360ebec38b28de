"""Lines of text that a remote tool printed, made safe to show."""

from __future__ import annotations

MAX_LINE = 4096


def clean(line: bytes) -> str:
    """Return a line as printable text: no control characters, so that it cannot drive a terminal."""
    text = line[:MAX_LINE].decode("utf-8", "replace").strip()
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text).strip()


class LineSplitter:
    """Cuts bytes in any pieces into clean, non-empty lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        return [text for line in lines if (text := clean(line))]

    def close(self) -> list[str]:
        """Return the last line, if its newline is missing."""
        return self.feed(b"\n") if self._rest else []

"""Objects and noise in fio's status stream.

fio prints pretty-printed objects one after another. Each begins with a line that is exactly ``{`` and ends with a
line that is exactly ``}``; every line between is indented. Anything outside is noise: messages on stdout.
"""

from __future__ import annotations

from tui.workloads.lines import LONGEST, clean

OPEN = b"{\n"
CLOSE = b"\n}\n"
MAX_OBJECT_BYTES = 64 << 20

Piece = bytes | str


def find_line(text: bytes | bytearray, sign: bytes, start: int = 0) -> int:
    """Return where the newline before a line of one character is, -1 without one; its own newline must be there.

    Of braces there are few: looking for them takes a tenth of the time that looking for newlines takes.
    """
    line = b"\n" + sign + b"\n"
    at = text.find(sign, start + 1)
    while at >= 0 and text[at - 1 : at + 2] != line:
        at = text.find(sign, at + 1)
    return max(at - 1, -1)


class Framer:
    """Cuts bytes in any pieces into complete objects (bytes) and noise lines (str), in their order.

    `broken` counts objects that were given up: begun again before their end, or endless. `cut` tells after `close`
    that the stream ended inside an object.
    """

    def __init__(self) -> None:
        self.broken = 0
        self.cut = False
        self._buffer = bytearray()
        self._inside = False
        self._scanned = 0

    def feed(self, data: bytes) -> list[Piece]:
        """Return what these bytes complete."""
        self._buffer += data
        pieces: list[Piece] = []
        while self._step(pieces):
            pass
        return pieces

    def close(self) -> list[Piece]:
        """Return what is complete at the end of the stream though its last newline is missing."""
        pieces = self.feed(b"\n") if self._buffer and not self._buffer.endswith(b"\n") else []
        self.cut, self._inside = self.cut or self._inside, False
        self._buffer.clear()
        self._scanned = 0
        return pieces

    def _step(self, pieces: list[Piece]) -> bool:
        """Take one object or line off the buffer; False when more bytes are needed."""
        return self._take_object(pieces) if self._inside else self._take_line(pieces)

    def _take_line(self, pieces: list[Piece]) -> bool:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            return self._cut_line(pieces) if len(self._buffer) > LONGEST else False
        self._scanned = 0
        if end == 1 and self._buffer.startswith(OPEN):
            self._inside = True
            return True
        if line := clean(bytes(self._buffer[:end])).strip():
            pieces.append(line)
        del self._buffer[: end + 1]
        return True

    def _cut_line(self, pieces: list[Piece]) -> bool:
        """Give what there is of a line that does not end: memory is not for as much as a broken tool prints."""
        pieces.append(clean(bytes(self._buffer)).strip())
        self._buffer.clear()
        self._scanned = 0
        return False

    def _take_object(self, pieces: list[Piece]) -> bool:
        end = find_line(self._buffer, b"}", self._scanned)
        if end < 0:
            self._scanned = max(len(self._buffer) - len(CLOSE) + 1, 0)
            return self._give_up() if len(self._buffer) > MAX_OBJECT_BYTES else False
        text = bytes(self._buffer[: end + 2])
        del self._buffer[: end + len(CLOSE)]
        self._inside, self._scanned = False, 0
        pieces.append(self._from_last_opening(text))
        return True

    def _from_last_opening(self, text: bytes) -> bytes:
        """Drop an object that another one began in: bytes were lost between them."""
        begin, again = 0, find_line(text, b"{")
        while again >= 0:
            begin, again = again + 1, find_line(text, b"{", again + 1)
        self.broken += begin > 0
        return text[begin:]

    def _give_up(self) -> bool:
        self.broken += 1
        self._buffer.clear()
        self._inside, self._scanned = False, 0
        return False

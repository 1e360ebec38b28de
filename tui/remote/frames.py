"""Frames of many channels as text lines; read by both ends of a trunk.

The source of this module is sent to nodes, so it needs Python 3.6 and the standard library only. A
line is ``~NAME NUMBER CHANNEL KIND+ENCODING+MORE TEXT``. Slurm passes on whole lines of up to 1,024
bytes; longer lines are broken and interleaved with those of other nodes.
"""

import base64
import zlib

TEXT_BYTES = 900  # of base64 in a line
PIECE_BYTES = 32768  # most bytes in a frame
WINDOW_BYTES = 262144  # sent on a channel, and not yet read
GRANT_BYTES = 65536  # read before the sender may send as much again
SMALL_BYTES = 64  # not worth compressing
MOST_LINES = 64  # of a frame: base64 of PIECE_BYTES takes 49


class GarbledError(Exception):
    """Raised for a line that is missing, damaged, or larger than any valid one."""


class Framer:
    """Encodes frames of one sender as lines with consecutive numbers."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.number = 0

    def lines(self, channel: int, kind: bytes, data: bytes = b"") -> bytes:
        """Return a frame of up to PIECE_BYTES as lines. `kind` is one letter."""
        packed = zlib.compress(data, 1) if len(data) > SMALL_BYTES else data
        encoding = b"z" if len(packed) < len(data) else b"r"
        text = base64.b64encode(packed if encoding == b"z" else data)
        found = []
        for at in range(0, max(len(text), 1), TEXT_BYTES):
            self.number += 1
            more = b"+" if at + TEXT_BYTES < len(text) else b"."
            head = (self.name, self.number, channel, kind + encoding + more)
            found.append(b"~%s %d %d %s %s\n" % (*head, text[at : at + TEXT_BYTES]))
        return b"".join(found)


class Joiner:
    """Decodes the lines of one sender."""

    def __init__(self) -> None:
        self.number = 0
        self.texts = []  # type: list[bytes]
        self.head = b""

    def frame(self, rest: bytes) -> "tuple[int, bytes, bytes] | None":
        """Return (channel, kind, data) of the frame that a line completes; None if it completes
        none.

        `rest`: the line without NAME and newline. Raises GarbledError.
        """
        try:
            number, channel, form, text = rest.split(b" ")
            self.number += 1
            head = channel + form[:2]
            if int(number) != self.number or len(form) != 3 or head != (self.head or head):
                raise GarbledError("a line is missing")
            self.texts.append(text)
            if form[2:] == b"+" and len(self.texts) < MOST_LINES:
                self.head = head
                return None
            data = base64.b64decode(b"".join(self.texts), validate=True)
            self.texts, self.head = [], b""
            return int(channel), form[:1], unpacked(data) if form[1:2] == b"z" else data
        except (ValueError, zlib.error) as error:
            raise GarbledError(f"a line is damaged: {error}") from error


def unpacked(data: bytes) -> bytes:
    """Decompress one frame. Raises GarbledError if it is incomplete or too large."""
    machine = zlib.decompressobj()
    found = machine.decompress(data, PIECE_BYTES + 1)
    if not machine.eof or len(found) > PIECE_BYTES:
        raise GarbledError("a frame is incomplete or too large")
    return found

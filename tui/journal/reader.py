"""Reading a journal: whole, or while it grows. An incomplete last line is never an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import msgspec

from tui.model.event import AnyEvent, decode

CHUNK_BYTES = 1 << 20
KNOWN_TYPES = frozenset(kind.__struct_config__.tag for kind in get_args(AnyEvent))


class _Kind(msgspec.Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind)


class Damaged(ValueError):  # noqa: N818  (it names a state of a line)
    """A complete line that is no event."""


def parse_line(line: bytes) -> AnyEvent | None:
    """Return the event of a complete line; None for an event of a kind that this version does not know.

    Raises Damaged for anything else.
    """
    try:
        return decode(line)
    except msgspec.DecodeError as error:
        if _is_newer_kind(line):
            return None
        raise Damaged(str(error)) from error


def _is_newer_kind(line: bytes) -> bool:
    try:
        return _kind.decode(line).type not in KNOWN_TYPES
    except msgspec.DecodeError:
        return False


class EventReader(Iterator[AnyEvent]):
    """The events of a journal file, in order.

    Ends at the last complete line, or before a damaged one. When it has ended, `unread_bytes` is what was left
    unread, `damaged` tells whether a damaged line is why, `events` counts what was returned.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = 0
        self.read_bytes = 0
        self.unread_bytes = 0
        self.damaged = False
        self._source = self._read()

    def __next__(self) -> AnyEvent:
        event = next(self._source)
        self.events += 1
        return event

    def _read(self) -> Iterator[AnyEvent]:
        with self.path.open("rb", buffering=CHUNK_BYTES) as file:
            yield from self._events_of(file)
            self.unread_bytes = file.seek(0, 2) - self.read_bytes

    def _events_of(self, lines: Iterable[bytes]) -> Iterator[AnyEvent]:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            try:
                event = parse_line(line)
            except Damaged:
                self.damaged = True
                return
            self.read_bytes += len(line)
            if event is not None:
                yield event


def read_events(path: Path) -> EventReader:
    """Return the events of a journal file, to be iterated once. Raises OSError when it cannot be read."""
    return EventReader(path)


class JournalTail:
    """Follows a journal that another process appends to. The file need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = False
        self._offset = 0
        self._partial = b""

    def poll(self, max_bytes: int | None = None) -> list[AnyEvent]:
        """Return the events that were completed since the last poll, oldest first.

        `max_bytes` bounds how much is read at once; poll again for the rest. After a damaged line nothing follows.
        """
        data = b"" if self.damaged else self._fresh_bytes(max_bytes)
        if not data:
            return []
        *lines, self._partial = (self._partial + data).split(b"\n")
        return self._events(lines)

    def _fresh_bytes(self, max_bytes: int | None) -> bytes:
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self._offset)
                data = file.read() if max_bytes is None else file.read(max_bytes)
        except FileNotFoundError:
            return b""
        self._offset += len(data)
        return data

    def _events(self, lines: list[bytes]) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        for line in lines:
            try:
                event = parse_line(line)
            except Damaged:
                self.damaged = True
                break
            if event is not None:
                events.append(event)
        return events

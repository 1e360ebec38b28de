"""Read a journal: completely, while it grows, or backwards.

Damaged lines are counted and skipped. An incomplete last line is not read yet. Events of kinds
unknown to this version are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args

import msgspec

from tui.model.bounded import MOST_LINE_BYTES, NO_JSON, open_plain
from tui.model.dense import is_sound
from tui.model.event import (
    AnyEvent,
    Buckets,
    Count,
    HostResult,
    PhaseName,
    RunTime,
    Sample,
    Stamp,
    decode,
    encode,
)
from tui.model.plain_data import PlainDecoder

CHUNK_BYTES = 1 << 20
KNOWN_TYPES = frozenset(kind.__struct_config__.tag for kind in get_args(AnyEvent))


class Amount(msgspec.Struct):
    """Amounts of one direction of a sample, without its histogram."""

    bytes: Count
    lat_sum_ns: Count = 0
    lat_max_ns: Count = 0


class SampleStamp(msgspec.Struct, tag_field="type", tag="sample"):
    """Host, time and amounts of a sample; decoding skips the rest, which is several times
    faster.
    """

    t: RunTime
    host: str
    step: int
    phase: PhaseName
    host_time_ms: Stamp
    dirs: dict[str, Amount]
    ramp: bool = False


class Unreadable(msgspec.Struct, frozen=True):
    """A line that cannot be read; `t` is the time of the previous event."""

    t: float
    bytes: int


JournalEvent = AnyEvent | SampleStamp | Unreadable


class _Kind(msgspec.Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind)
_STAMPED: Any = Union[tuple(SampleStamp if kind is Sample else kind for kind in get_args(AnyEvent))]  # noqa: UP007
_stamps: PlainDecoder[AnyEvent | SampleStamp] = PlainDecoder(_STAMPED)


class Damaged(ValueError):  # noqa: N818  (it names a state of a line)
    """Raised for a complete line that is not an event."""


def parse_line(line: bytes, *, stamps: bool = False) -> AnyEvent | SampleStamp | None:
    """Parse a complete line; None for a kind of event unknown to this version.

    `stamps`: decode only the times of samples. Raises Damaged if the line is not an event.
    """
    try:
        event = _stamps.decode(line) if stamps else decode(line)
        if not _is_sound(event):
            raise Damaged("impossible figures")
    except NO_JSON as error:
        if _is_newer_kind(line):
            return None
        raise Damaged(str(error)) from error
    return event


def _is_sound(event: AnyEvent | SampleStamp) -> bool:
    """Return whether the numbers in an event are plausible; a damaged line may still be valid JSON.

    The decoder has checked the limits of single numbers. Raises OverflowError for a number that is
    out of range.
    """
    if isinstance(event, Sample):
        parts = [*event.dirs.values()]
        if event.jobs:
            parts += [part for dirs in event.jobs.values() for part in dirs.values() if part]
        return False not in [is_sound(part.lat) for part in parts]
    if isinstance(event, SampleStamp):
        return True
    encode(event)  # refuses numbers that no journal can hold
    return not isinstance(event, HostResult) or all(map(is_sound, _buckets_of(event)))


def _buckets_of(result: HostResult) -> Iterator[Buckets]:
    parts = [
        *result.dirs.values(),
        *(part for dirs in result.jobs.values() for part in dirs.values()),
    ]
    for part in parts:
        yield from (
            kind.buckets
            for kind in (part.slat, part.clat, part.lat)
            if kind is not None and kind.buckets
        )


def _is_newer_kind(line: bytes) -> bool:
    try:
        return _kind.decode(line).type not in KNOWN_TYPES
    except NO_JSON:
        return False


class JournalTail:
    """Follows a journal that another process writes, from an offset. The file need not exist yet.

    `damaged` counts unreadable lines.
    """

    def __init__(
        self, path: Path, start: int = 0, *, stamps: bool = False, wanted: bytes = b""
    ) -> None:
        self.path = path
        self._wanted = wanted  # lines without these bytes are skipped
        self.events = self.damaged = 0
        self.more = False  # the last poll did not come to the end
        self._damaged_bytes = 0
        self._stamps = stamps
        self.offset = start
        # the incomplete line, in chunks; None: too long
        self._begun: list[bytes] | None = []
        self._begun_bytes = 0
        self._t = 0.0

    @property
    def unread_bytes(self) -> int:
        """Bytes in damaged lines and in an incomplete last line."""
        return self._damaged_bytes + self._begun_bytes

    def poll(self, max_bytes: int = CHUNK_BYTES) -> list[JournalEvent]:
        """Return the events completed since the last poll, oldest first.

        `max_bytes` limits one read; if `more` is then set, poll again. Raises OSError if the file
        cannot be read.
        """
        *lines, begun = self._fresh_bytes(max_bytes).split(b"\n")
        found: list[JournalEvent | None] = []
        if lines and self._begun is None:
            found.append(self._damage(self._begun_bytes + len(lines.pop(0)) + 1))
        elif lines:
            lines[0] = b"".join((*(self._begun or ()), lines[0]))
        if found or lines:
            self._begun, self._begun_bytes = [], 0
        self._begin(begun)
        found += [self._parse(line) for line in lines if self._wanted in line]
        return [event for event in found if event is not None]

    def _begin(self, piece: bytes) -> None:
        """Keep the start of an incomplete line; one that is too long counts as damaged."""
        self._begun_bytes += len(piece)
        if self._begun is not None and piece:
            self._begun.append(piece)
        if self._begun_bytes > MOST_LINE_BYTES:
            self._begun = None

    def __iter__(self) -> Iterator[JournalEvent]:
        """Yield the events written since the last call."""
        self.more = True
        while self.more:
            yield from self.poll()

    def _fresh_bytes(self, max_bytes: int) -> bytes:
        try:
            with open_plain(self.path) as file:
                file.seek(self.offset)
                data = file.read(max_bytes)
        except FileNotFoundError:
            self.more = False
            return b""
        self.offset += len(data)
        self.more = len(data) == max_bytes
        return data

    def _parse(self, line: bytes) -> JournalEvent | None:
        try:
            event = parse_line(line, stamps=self._stamps)
        except Damaged:
            return self._damage(len(line) + 1)
        if event is not None:
            self.events += 1
            self._t = event.t
        return event

    def _damage(self, size: int) -> Unreadable:
        self.damaged += 1
        self._damaged_bytes += size
        return Unreadable(self._t, size)


def read_events(path: Path, *, stamps: bool = False) -> JournalTail:
    """Return the events of a journal file, which can be iterated once.

    Raises OSError if the file cannot be read.
    """
    path.stat()
    return JournalTail(path, stamps=stamps)


def events_backwards(path: Path) -> Iterator[AnyEvent]:
    """Yield the readable events, newest first.

    Raises OSError if the file cannot be read.
    """
    for line in _lines_backwards(path):
        try:
            event = parse_line(line)
        except Damaged:
            continue
        if event is not None and not isinstance(event, SampleStamp):
            yield event


def complete_bytes(path: Path) -> int:
    """Return the size of a journal in bytes, up to the end of its last complete line. Raises
    OSError.
    """
    with open_plain(path) as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - CHUNK_BYTES)
            file.seek(start)
            place = file.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return 0


def _lines_backwards(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file, last first; skips lines that are too long.

    Ignores text after the last newline.
    """
    with open_plain(path) as file:
        start = complete_bytes(path)
        # passing: what begins in front of `start` is the rest of a line that is too long
        rest, passing = b"", False
        while start > 0:
            end, start = start, max(0, start - CHUNK_BYTES)
            file.seek(start)
            first, *lines = (file.read(end - start) + rest).split(b"\n")
            if lines and passing:
                lines.pop()
                passing = False
            yield from (line for line in reversed(lines) if line)
            passing = passing or len(first) > MOST_LINE_BYTES
            rest = b"" if passing else first
        if rest and not passing:
            yield rest

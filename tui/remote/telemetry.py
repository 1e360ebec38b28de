"""Telemetry of a host: the command that prints it, and a parser of its lines
(tui/remote/sh/telemetry.sh).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

from msgspec import Struct

from tui.remote.scripts import functions

LONGEST_LINE = 1 << 16
RUN = '. ./agent.sh; . ./telemetry.sh; bt_telemetry "$@"'
STAMP = re.compile(r"(\d{1,12})(?:\.(\d{1,9}))?")


@functools.cache
def scripts() -> dict[str, str]:
    """Return the files that telemetry needs in the agent's directory, by name."""
    awk = resources.files("tui.remote").joinpath("awk", "telemetry.awk").read_text(encoding="utf-8")
    return {"telemetry.sh": functions("overlay", "telemetry"), "telemetry.awk": awk}


def telemetry_files(groups: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the telemetry task.

    `groups`: process patterns (extended regular expressions) by name, each written to a file; on a
    command line, a pattern would match the searching process itself.
    """
    return {
        **scripts(),
        **{f"group.{place}": pattern for place, pattern in enumerate(groups.values(), 1)},
    }


def telemetry_command(
    loads: Sequence[str], groups: Sequence[str], targets: Sequence[str]
) -> list[str]:
    """Return the command of the telemetry task.

    `loads`: tasks of this run whose processes are the load. `groups`: names of the process patterns
    of `telemetry_files`, in the same order. `targets`: paths whose devices, or NFS mount, to
    monitor; if empty, the busiest disks.
    """
    return ["sh", "-c", RUN, "benchtui-telemetry", " ".join(loads), " ".join(groups), *targets]


class Stamp(Struct, frozen=True):
    """The host's time of day, in ms since the epoch, at this uptime in s."""

    epoch_ms: float
    uptime_s: float


class Device(Struct, frozen=True):
    """A block device of the target.

    `place`: `top` if it is mounted or used directly, `below` if it is underneath another device.
    """

    name: str
    place: str


class MissingTelemetry(Struct, frozen=True):
    """A value that the host cannot provide, and the reason."""

    name: str
    reason: str


class Columns(Struct, frozen=True):
    """Names of the columns in the lines that follow."""

    names: tuple[str, ...]


class Values(Struct, frozen=True):
    """One value per column, None if unknown, for the `interval_s` seconds before this uptime."""

    uptime_s: float
    interval_s: float
    values: tuple[float | None, ...]


TelemetryLine = Stamp | Device | MissingTelemetry | Columns | Values


class TelemetryLines:
    """Parses telemetry output in chunks of any size.

    `damaged` counts unreadable lines.
    """

    def __init__(self) -> None:
        self.damaged = 0
        self._partial = b""
        self._columns = 0

    def feed(self, data: bytes) -> Iterator[TelemetryLine]:
        """Yield the lines completed by these bytes, parsed."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LONGEST_LINE:
            self._partial = b""
            self.damaged += 1
        for raw in lines:
            found = parse_line(raw.decode("utf-8", "replace"))
            if found is None or (isinstance(found, Values) and len(found.values) != self._columns):
                self.damaged += 1
                continue
            if isinstance(found, Columns):
                self._columns = len(found.names)
            yield found


def parse_line(line: str) -> TelemetryLine | None:
    """Parse a line; None if it is empty or invalid."""
    kind, _, rest = line.partition(" ")
    words = rest.split(" ") if rest else []
    match kind, words:
        case "t", [epoch, uptime]:
            return _stamp(epoch, uptime)
        case "d", [name, ("top" | "below") as place] if name:
            return Device(name, place)
        case "u", [name, *reason] if name:
            return MissingTelemetry(name, " ".join(reason))
        case "c", names if names and all(names) and len(set(names)) == len(names):
            return Columns(tuple(names))
        case "v", [uptime, interval, *values]:
            return _values(uptime, interval, values)
    return None


def _stamp(epoch: str, uptime: str) -> Stamp | None:
    """Parse a time stamp; None if invalid.

    A `date` without support for fractions prints letters in it.
    """
    match, up = STAMP.match(epoch), _number(uptime)
    if match is None or up is None:
        return None
    return Stamp(int(match[1]) * 1000 + int((match[2] or "0").ljust(9, "0")) / 1e6, up)


def _values(uptime: str, interval: str, words: Sequence[str]) -> Values | None:
    up, seconds = _number(uptime), _number(interval)
    values = [None if word == "-" else _number(word) for word in words]
    sound = all(value is not None or word == "-" for value, word in zip(values, words, strict=True))
    return Values(up, seconds, tuple(values)) if up is not None and seconds and sound else None


def _number(word: str) -> float | None:
    """Return a finite, non-negative number, as printed by awk; None for anything else."""
    if not word.isascii() or not word[:1].isdigit() or "_" in word:
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

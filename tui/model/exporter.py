"""Export formats by name: each entry point of the group `benchtui.exporters` is an `Exporter`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.model.tool import EntryPoint, installed_in, load_from

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tui.model.event import Event
    from tui.model.record import RunRecord

GROUP = "benchtui.exporters"


@dataclass(frozen=True, slots=True)
class ExportSource:
    """Source of an export: the record of a run, and its directory."""

    record: RunRecord
    run_dir: Path


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of an export: its path relative to the export's directory, with '/', and its content
    in chunks.
    """

    path: str
    parts: Iterable[bytes]


@dataclass(frozen=True, slots=True)
class ExportSecond:
    """One second of one direction of a live run, as known so far.

    `host` None means all hosts together.
    """

    run_id: str
    profile: str
    step: str
    t_s: float  # its start, in seconds from the start of the run
    utc: datetime | None
    host: str | None
    direction: str
    iops: float | None
    bw_bytes_per_s: float | None
    lat_mean_ns: float | None
    lat_p99_ns: int | None


@dataclass(frozen=True, slots=True)
class Exporter:
    """An export format.

    `title`: the contents, in up to 22 characters; `tools`: the programs that read them, in up to
    26; `details`: further information, on one line. `files` raises UsageError, with a text of one
    line, for a run that it cannot represent. `binary`: not printable on a terminal. `needs`: the
    extra of benchtui that installs its library. `stream` returns the lines for a second, an event
    or the record of a run; None if the format cannot follow a live run. `reads_files`: the format
    also reads the run's directory, where names are not redacted.
    """

    title: str
    files: Callable[[ExportSource], Iterable[ExportFile]]
    tools: str = ""
    details: str = ""
    binary: bool = False
    needs: str = ""
    stream: Callable[[ExportSecond | Event | RunRecord], str] | None = None
    reads_files: bool = False

    @property
    def line(self) -> str:
        """The whole description in one line."""
        install = f" [pip install 'benchtui[{self.needs}]']" if self.needs else ""
        return (
            self.title
            + (f": {self.details}" if self.details else "")
            + (f" ({self.tools})" if self.tools else "")
            + install
        )


LINES_A_PART = 1000


def text_parts(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines as UTF-8 in chunks, so that a large export is never completely in memory."""
    kept: list[str] = []
    for line in lines:
        kept.append(line)
        if len(kept) >= LINES_A_PART:
            yield "".join(kept).encode()
            kept = []
    if kept:
        yield "".join(kept).encode()


def file_name(text: str) -> str:
    """Return a text made safe for use in a file name: unsafe characters become ``-``."""
    return re.sub(r"[^\w.=+@-]+", "-", text).strip("-.") or "unnamed"


def installed() -> dict[str, EntryPoint]:
    """Return the entry points of all formats by name, without importing them."""
    return installed_in(GROUP)


def load(name: str) -> Exporter:
    """Return a format.

    Raises UsageError if the name is unknown or the import fails.
    """
    found: Exporter = load_from(GROUP, name, "format", (f"unknown format '{name}'", "formats"))
    return found

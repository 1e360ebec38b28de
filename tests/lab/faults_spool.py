"""What the hosts really spooled: the files of every task, held open from the moment the journal
names them.

The lab's hosts share this machine's file system, so a file that is open here can be read to its
last byte after the engine has removed it from the host.
"""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tui.model.event import AnyEvent, TaskStarted, decode

POLL_S = 0.03
Key = tuple[int, str, str]  # step, phase, host


@dataclass(frozen=True)
class Spooled:
    """One task: what the host wrote to its spool, and what the engine has of it."""

    step: int
    phase: str
    host: str
    out: bytes
    err: bytes
    collected_out: bytes
    collected_err: bytes

    @property
    def whole(self) -> bool:
        return self.out == self.collected_out and self.err == self.collected_err

    @property
    def honest(self) -> bool:
        """Whether what was collected is the beginning of what was spooled: nothing doubled, nothing
        made up.
        """
        return self.out.startswith(self.collected_out) and self.err.startswith(self.collected_err)

    @property
    def cut(self) -> bool:
        """Whether the host has cut off the end of what it spooled, after some of that was
        collected.
        """
        pairs = ((self.out, self.collected_out), (self.err, self.collected_err))
        return all(ours.startswith(theirs) or theirs.startswith(ours) for theirs, ours in pairs)

    def __str__(self) -> str:
        out = f"out {len(self.collected_out)} of {len(self.out)}"
        err = f"err {len(self.collected_err)} of {len(self.err)}"
        return f"{self.host} {self.step}.{self.phase}, {out}, {err}"


class SpoolWatch:
    """Follows a journal and opens the spool of each task.

    `root_of` maps a host to the root it sees.
    """

    def __init__(self, run_dir: Path, root_of: Callable[[str], Path] = lambda _: Path("/")) -> None:
        self.run_dir = run_dir
        self._root_of = root_of
        self._files: dict[Key, tuple[BinaryIO, BinaryIO]] = {}
        self._offset = 0
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name=f"spool-{run_dir.name}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        for pair in self._files.values():
            for file in pair:
                file.close()
        self._files.clear()

    def tasks(self) -> list[Spooled]:
        """Every task whose spool could be opened, as its files are now."""
        return [self._spooled(key, *files) for key, files in sorted(self._files.items())]

    def of(self, host: str, phase: str = "measure") -> Spooled:
        return next(each for each in self.tasks() if (each.host, each.phase) == (host, phase))

    def _spooled(self, key: Key, out: BinaryIO, err: BinaryIO) -> Spooled:
        raw = self.run_dir / "raw" / ".".join(map(str, key))
        collected = [unzipped(raw.with_name(f"{raw.name}.{kind}.gz")) for kind in ("out", "err")]
        return Spooled(*key, whole(out), whole(err), *collected)

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            self._look()

    def _look(self) -> None:
        events, self._offset = read_journal(self.run_dir / "journal.jsonl", self._offset)
        for event in events:
            if isinstance(event, TaskStarted):
                key = (event.step, event.phase, event.host)
                folder = self._root_of(event.host) / event.remote_dir.lstrip("/")
                with suppress(OSError):
                    self._files.setdefault(
                        key, ((folder / "out").open("rb"), (folder / "err").open("rb"))
                    )


def whole(file: BinaryIO) -> bytes:
    """Return all bytes of an open file."""
    file.seek(0)
    return file.read()


def read_journal(path: Path, offset: int = 0) -> tuple[list[AnyEvent], int]:
    """Return the whole events from a byte offset on, and the offset behind them."""
    if not path.exists():
        return [], offset
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read()
    end = data.rfind(b"\n") + 1
    events = []
    for line in data[:end].splitlines():
        with suppress(msgspec.DecodeError):
            events.append(decode(line))
    return events, offset + end


def unzipped(path: Path) -> bytes:
    """Return what a gzip file holds, as far as it can be read: its writer may have been killed."""
    if not path.exists():
        return b""
    with suppress(EOFError, OSError):
        return gzip.decompress(path.read_bytes())
    inflate = zlib.decompressobj(wbits=31)
    with suppress(zlib.error):
        return inflate.decompress(path.read_bytes())
    return b""


def last_object(output: bytes) -> dict[str, Any] | None:
    """Return the last whole JSON object that fio printed; written here without the product's own
    reader.

    What others print between its lines spoils an object: then the one before it counts.
    """
    text = "\n" + output.decode(errors="replace")
    start = len(text)
    while (start := text.rfind("\n{\n", 0, start)) >= 0:
        with suppress(json.JSONDecodeError):
            found, end = json.JSONDecoder().raw_decode(text, start + 1)
            if isinstance(found, dict) and text[end : end + 1] == "\n":
                return found
    return None


def ios_of(printed: dict[str, Any]) -> int:
    """Return the I/Os of all directions that an object of fio counts."""
    return sum(
        int(job[direction]["total_ios"])
        for job in printed["jobs"]
        for direction in ("read", "write")
    )

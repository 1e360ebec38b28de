"""fio's status stream: find its JSON objects and decode them (fio 3.18 and later)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta, Struct, field

from tui.model.bounded import MOST_NUMBER, MOST_STAMP_MS, NO_JSON
from tui.model.plain_data import PrintedPercentile
from tui.workloads.fio.engine_kinds import NO_IO_ENGINES
from tui.workloads.reading import LONGEST, clean

OPEN = b"{\n"
CLOSE = b"\n}\n"
ALL_CLIENTS = "All clients"  # job name of a client's sum over its servers
MAX_OBJECT_BYTES = 64 << 20

Piece = bytes | str


def find_line(text: bytes | bytearray, sign: bytes, start: int = 0) -> int:
    """Return the position of the newline before a complete line that consists of `sign`; -1 if
    there is none.

    Searching for braces, which are rare, takes a tenth of the time of splitting into lines.
    """
    line = b"\n" + sign + b"\n"
    at = text.find(sign, start + 1)
    while at >= 0 and text[at - 1 : at + 2] != line:
        at = text.find(sign, at + 1)
    return max(at - 1, -1)


class JsonSplitter:
    """Splits a byte stream into complete JSON objects (bytes) and other lines (str), in order.

    `broken` counts dropped objects: restarted before their end, or too long. `close` sets `cut` if
    the stream ended within an object.
    """

    def __init__(self) -> None:
        self.broken = 0
        self.cut = False
        self._buffer = bytearray()
        self._inside = False
        self._scanned = 0

    def feed(self, data: bytes) -> list[Piece]:
        """Return the objects and lines completed by these bytes."""
        self._buffer += data
        pieces: list[Piece] = []
        while self._step(pieces):
            pass
        return pieces

    def close(self) -> list[Piece]:
        """Return the last line or object, if only its newline is missing."""
        pieces = self.feed(b"\n") if self._buffer and not self._buffer.endswith(b"\n") else []
        self.cut, self._inside = self.cut or self._inside, False
        self._buffer.clear()
        self._scanned = 0
        return pieces

    def _step(self, pieces: list[Piece]) -> bool:
        """Extract one object or line from the buffer; return False if more bytes are needed."""
        return self._extract_object(pieces) if self._inside else self._extract_line(pieces)

    def _extract_line(self, pieces: list[Piece]) -> bool:
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
        """Emit the start of an endless line, to limit memory. Returns False: more must follow."""
        pieces.append(clean(bytes(self._buffer)).strip())
        self._buffer.clear()
        self._scanned = 0
        return False

    def _extract_object(self, pieces: list[Piece]) -> bool:
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
        """Drop the start of an object in which another one begins, because bytes in between were
        lost.
        """
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


LatencyKind = Literal["slat", "clat", "lat"]
ENGINE = "ioengine"
VERIFY = ("rw", "readwrite", "verify", "verify_backlog")  # options of jobs that read to verify
VERSION = re.compile(r"fio-(\d+)\.(\d+)")
LIBAIO = ("libaio", "linuxaio")
# before, libaio synced while the worker waited, and did not set the time of submission: it is that
# of the last I/O in the same slot, or zero, so that the sync lasts since boot (td_io_queue)
LIBAIO_TIMES_SYNCS = (3, 41)
ONLY_WRITES = ("write", "randwrite", "trimwrite", "randtrimwrite")
Count = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
# fio counts in 64 bits: the minimum of no values is its largest number
Amount = Annotated[float, Meta(ge=0, le=2.0**64)]
Stamp = Annotated[int, Meta(ge=0, le=MOST_STAMP_MS)]
ErrorNumber = Annotated[int, Meta(ge=0, le=2**31 - 1)]

# printf gives these for 0/0 and x/0; they are not JSON.
NOT_A_NUMBER = re.compile(rb"(:\s*)-?(?:nan|inf)\b", re.IGNORECASE)


class SnapshotError(ValueError):
    """Raised for an object that is not a status object of fio."""


class StatusLatency(Struct):
    """One ``slat_ns``, ``clat_ns`` or ``lat_ns`` object.

    `bins`: counts by middle of the bucket in ns.
    """

    min: Amount = 0
    max: Amount = 0
    mean: Amount = 0.0
    stddev: Amount = 0.0
    n: Count = field(name="N", default=0)
    percentile: dict[PrintedPercentile, Amount] | None = None
    bins: dict[Count, Count] | None = None


class StatusDirection(Struct):
    """One ``read``, ``write``, ``trim`` or ``mixed`` object.

    `runtime` is in ms, the longest of a group's members.
    """

    io_bytes: Count = 0
    total_ios: Count = 0
    runtime: Count = 0
    iops: Amount = 0.0
    bw_bytes: Amount = 0.0
    short_ios: Count = 0
    drop_ios: Count = 0
    slat: StatusLatency | None = field(name="slat_ns", default=None)
    clat: StatusLatency | None = field(name="clat_ns", default=None)
    lat: StatusLatency | None = field(name="lat_ns", default=None)

    def latency(self, kind: LatencyKind) -> StatusLatency | None:
        """Return the latency of this kind; None if fio did not print it."""
        return self.slat if kind == "slat" else self.clat if kind == "clat" else self.lat


class Syncs(Struct):
    """The ``sync`` object: fsync and fdatasync.

    `lat` counts both; fio's own `total_ios` leaves fdatasync out.
    """

    lat: StatusLatency | None = field(name="lat_ns", default=None)

    def direction(self, runtime_ms: int) -> StatusDirection | None:
        """Return syncs as a direction with the runtime of the I/O; None if there were no syncs."""
        count = self.lat.n if self.lat is not None else 0
        rate = count * 1000 / runtime_ms if runtime_ms else 0.0
        return (
            StatusDirection(total_ios=count, runtime=runtime_ms, iops=rate, lat=self.lat)
            if count
            else None
        )


class UntimedSyncs(Syncs):
    """Syncs that fio counts, with a latency that is not theirs."""

    def direction(self, runtime_ms: int) -> StatusDirection | None:
        """Return syncs as a direction without latency; None if there were no syncs."""
        found = super().direction(runtime_ms)
        return None if found is None else msgspec.structs.replace(found, lat=None)


class StatusJob(Struct):
    """One entry of ``jobs``; a whole group with group_reporting.

    `job_start` is epoch ms, 0 or absent before the start. `total_err` counts failed I/Os of a job
    with continue_on_error; otherwise it is absent.
    """

    jobname: str = ""
    groupid: int = 0
    error: ErrorNumber = 0
    total_err: Count | None = None
    job_start: Stamp = 0
    job_runtime: Count = 0
    usr_cpu: Amount = 0.0
    sys_cpu: Amount = 0.0
    options: dict[str, str] = field(name="job options", default_factory=dict)
    read: StatusDirection | None = None
    write: StatusDirection | None = None
    trim: StatusDirection | None = None
    mixed: StatusDirection | None = None
    sync: Syncs | None = None

    def directions(self) -> dict[str, StatusDirection]:
        """Return the reported directions, including syncs; `mixed` only if there is no read, write
        or trim. Jobs that only compute have none, whatever fio counts.
        """
        if self.options.get("ioengine") in NO_IO_ENGINES:
            return {}
        split = {
            name: part
            for name in ("read", "write", "trim")
            if (part := getattr(self, name)) is not None
        }
        found = split if split or self.mixed is None else {"mixed": self.mixed}
        if (read := _over_whole_time(self)) is not None:
            found["read"] = read
        runtime_ms = max((part.runtime for part in found.values()), default=0)
        syncs = self.sync.direction(runtime_ms) if self.sync is not None else None
        return found if syncs is None else {**found, "sync": syncs}

    @property
    def verifies_after(self) -> bool:
        """Whether its reads only verify, after the writes: fio counts them and their time
        separately.
        """
        rw = self.options.get("rw", self.options.get("readwrite", ""))
        return (
            rw.partition(":")[0] in ONLY_WRITES
            and self.options.get("verify", "0") not in ("0", "none")
            and self.options.get("verify_backlog", "0") == "0"
        )


def _over_whole_time(job: StatusJob) -> StatusDirection | None:
    """Return the reads of a writer that verifies between its writes, over the time of both; None
    for other jobs.

    fio up to 3.33 counts such reads without the time of the writes in between, and prints IOPS over
    the millisecond that is left (backend.c, update_runtime); later versions do so while they run.
    """
    read, write = job.read, job.write
    if read is None or write is None or job.options.get("verify_backlog", "0") == "0":
        return None
    if read.runtime >= write.runtime or not read.total_ios:
        return None
    runtime_ms = read.runtime + write.runtime
    return msgspec.structs.replace(
        read,
        runtime=runtime_ms,
        iops=read.total_ios * 1000 / runtime_ms,
        bw_bytes=read.io_bytes * 1000 / runtime_ms,
    )


class Snapshot(Struct):
    """Cumulative state of one fio process at `timestamp_ms` on the host's clock."""

    timestamp_ms: Stamp
    version: str = field(name="fio version", default="")
    jobs: Sequence[StatusJob] = field(default_factory=list)
    shared: dict[str, Any] | list[Any] = field(name="global options", default_factory=dict)

    def with_shared(self, shared: Mapping[str, Any] | None = None) -> Snapshot:
        """Add global options of verification to each job, and mark syncs that are not timed; return
        the same snapshot.

        `shared`: the global options; None for those of the snapshot.
        """
        known = shared if shared is not None else self.shared
        if not isinstance(known, Mapping):
            known = {}
        if verify := {n: str(known[n]) for n in VERIFY if n in known}:
            for job in self.jobs:
                job.options = verify | job.options
        if number_of(self.version) < LIBAIO_TIMES_SYNCS:
            for job in self.jobs:
                engine = job.options.get(ENGINE, known.get(ENGINE))
                if job.sync is not None and engine in LIBAIO:
                    job.sync = UntimedSyncs(job.sync.lat)
        return self


def number_of(version: str) -> tuple[int, int]:
    """Return the major and minor number of a version; zeros if it has none."""
    match = VERSION.match(version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


class _Brief(StatusLatency):
    """A latency decoded without percentiles and bins, by mapping them to keys that never occur."""

    percentile: dict[PrintedPercentile, Amount] | None = field(name="", default=None)
    bins: dict[Count, Count] | None = field(name=" ", default=None)


def _brief(kept: LatencyKind) -> type[Snapshot]:
    """Return a snapshot type that decodes bins of one latency kind only."""
    others = [name for name in get_args(LatencyKind) if name != kept]
    fields = [(name, _Brief | None, field(name=f"{name}_ns", default=None)) for name in others]
    part = msgspec.defstruct("BriefDirection", fields, bases=(StatusDirection,))
    parts = [(name, part | None, None) for name in ("read", "write", "trim", "mixed")]
    job = msgspec.defstruct("BriefJob", parts, bases=(StatusJob,))
    jobs: tuple[str, Any, Any] = ("jobs", list[job], field(default_factory=list))  # type: ignore[valid-type]
    snapshot: Any = msgspec.defstruct("BriefSnapshot", [jobs], bases=(Snapshot,))
    return cast(type[Snapshot], snapshot)


_decoder = msgspec.json.Decoder(Snapshot)
_lenient = msgspec.json.Decoder(Snapshot, strict=False)
_briefs = {kind: msgspec.json.Decoder(_brief(kind)) for kind in get_args(LatencyKind)}


def decode(text: bytes, brief: LatencyKind | None = None) -> Snapshot:
    """Return the snapshot in a complete JSON object. Raises SnapshotError.

    `brief`: decode bins of this latency kind only, in half the time.
    """
    try:
        return (_briefs[brief] if brief else _decoder).decode(text).with_shared()
    except NO_JSON:
        pass
    try:
        return _lenient.decode(NOT_A_NUMBER.sub(rb"\g<1>0", text)).with_shared()
    except NO_JSON as error:
        raise SnapshotError(str(error)) from None

"""One object of fio's status stream, decoded: only the fields that are needed, every version from 3.18 on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta, Struct, field

from tui.model.bounded import MOST_NUMBER, MOST_STAMP_MS
from tui.model.no_json import NO_JSON
from tui.model.percentile import PrintedPercentile

LatencyKind = Literal["slat", "clat", "lat"]
Count = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
Amount = Annotated[float, Meta(ge=0, le=2.0**64)]  # fio counts in 64 bits: the least of nothing is its largest number
Stamp = Annotated[int, Meta(ge=0, le=MOST_STAMP_MS)]
ErrorNumber = Annotated[int, Meta(ge=0, le=2**31 - 1)]

# printf gives these for 0/0 and x/0; they are no JSON.
NOT_A_NUMBER = re.compile(rb"(:\s*)-?(?:nan|inf)\b", re.IGNORECASE)


class SnapshotError(ValueError):
    """An object that is not a status object of fio."""


class Latency(Struct):
    """One ``slat_ns``, ``clat_ns`` or ``lat_ns`` object. `bins` are counts by bucket middle in ns."""

    min: Amount = 0
    max: Amount = 0
    mean: Amount = 0.0
    stddev: Amount = 0.0
    n: Count = field(name="N", default=0)
    percentile: dict[PrintedPercentile, Amount] | None = None
    bins: dict[Count, Count] | None = None


class Direction(Struct):
    """One ``read``, ``write``, ``trim`` or ``mixed`` object. `runtime` is milliseconds, the longest of the members."""

    io_bytes: Count = 0
    total_ios: Count = 0
    runtime: Count = 0
    iops: Amount = 0.0
    bw_bytes: Amount = 0.0
    short_ios: Count = 0
    drop_ios: Count = 0
    slat: Latency | None = field(name="slat_ns", default=None)
    clat: Latency | None = field(name="clat_ns", default=None)
    lat: Latency | None = field(name="lat_ns", default=None)

    def latency(self, kind: LatencyKind) -> Latency | None:
        """Return one kind of latency."""
        return self.slat if kind == "slat" else self.clat if kind == "clat" else self.lat


class Syncs(Struct):
    """The ``sync`` object: fsync, fdatasync. `lat` counts them all, fio's own `total_ios` leaves fdatasync out."""

    lat: Latency | None = field(name="lat_ns", default=None)

    def direction(self, runtime_ms: int) -> Direction | None:
        """Return it as a direction that ran as long as the I/O beside it; None when nothing was synced."""
        count = self.lat.n if self.lat is not None else 0
        rate = count * 1000 / runtime_ms if runtime_ms else 0.0
        return Direction(total_ios=count, runtime=runtime_ms, iops=rate, lat=self.lat) if count else None


class Job(Struct):
    """One entry of ``jobs``: a group, with group_reporting. `job_start` is epoch ms, 0 or absent before it starts.

    `total_err` are I/Os that failed, where a job goes on all the same (continue_on_error); else it is absent.
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
    read: Direction | None = None
    write: Direction | None = None
    trim: Direction | None = None
    mixed: Direction | None = None
    sync: Syncs | None = None

    def directions(self) -> dict[str, Direction]:
        """Return the directions that are reported once: `mixed` only when read and write are not there as well."""
        split = {name: part for name in ("read", "write", "trim") if (part := getattr(self, name)) is not None}
        found = split if split or self.mixed is None else {"mixed": self.mixed}
        runtime_ms = max((part.runtime for part in found.values()), default=0)
        syncs = self.sync.direction(runtime_ms) if self.sync is not None else None
        return found if syncs is None else {**found, "sync": syncs}


class Snapshot(Struct):
    """The cumulative state of one fio process at `timestamp_ms`, on the host's clock."""

    timestamp_ms: Stamp
    version: str = field(name="fio version", default="")
    jobs: Sequence[Job] = field(default_factory=list)


class _Brief(Latency):
    """A latency whose percentiles and bins are passed over: no object has keys of these names."""

    percentile: dict[PrintedPercentile, Amount] | None = field(name="", default=None)
    bins: dict[Count, Count] | None = field(name=" ", default=None)


def _brief(kept: LatencyKind) -> type[Snapshot]:
    """Return a snapshot that takes the bins of one kind alone."""
    others = [name for name in get_args(LatencyKind) if name != kept]
    fields = [(name, _Brief | None, field(name=f"{name}_ns", default=None)) for name in others]
    part = msgspec.defstruct("BriefDirection", fields, bases=(Direction,))
    parts = [(name, part | None, None) for name in ("read", "write", "trim", "mixed")]
    job = msgspec.defstruct("BriefJob", parts, bases=(Job,))
    jobs: tuple[str, Any, Any] = ("jobs", list[job], field(default_factory=list))  # type: ignore[valid-type]
    snapshot: Any = msgspec.defstruct("BriefSnapshot", [jobs], bases=(Snapshot,))
    return cast(type[Snapshot], snapshot)


_decoder = msgspec.json.Decoder(Snapshot)
_lenient = msgspec.json.Decoder(Snapshot, strict=False)
_briefs = {kind: msgspec.json.Decoder(_brief(kind)) for kind in get_args(LatencyKind)}


def decode(text: bytes, brief: LatencyKind | None = None) -> Snapshot:
    """Return the snapshot of one complete object. Raises SnapshotError.

    `brief`: the bins of this kind of latency alone are needed, which takes half the time.
    """
    try:
        return (_briefs[brief] if brief else _decoder).decode(text)
    except NO_JSON:
        pass
    try:
        return _lenient.decode(NOT_A_NUMBER.sub(rb"\g<1>0", text))
    except NO_JSON as error:
        raise SnapshotError(str(error)) from None

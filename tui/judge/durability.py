"""Checks of durability: whether writes were flushed, and whether the flushes reached a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
    writers_of,
)
from tui.judge.machines import file_systems
from tui.judge.observed import client_of, clients, record_of
from tui.metrics import units
from tui.model.criteria import DURABLE
from tui.model.host_tables import BlockLayer, Mount, rows
from tui.model.operands import Operands, unique

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tui.model.figure_record import DirectionRecord
    from tui.model.host_record import HostRecord
    from tui.model.step_record import HostTelemetryRecord, Scalar


def durable_as_attested(evidence: RunEvidence) -> str:
    """Return the attested condition under which writes survive a power cut; empty if none."""
    return next(
        (each.id for each in evidence.plan.attested if each.id in DURABLE and each.answer == "yes"),
        "",
    )


@step_check(
    "no-flush",
    "Writes that may not be durable",
    rule=(
        "a note if writes are never flushed during the measurement, or not after every write,"
        " unless caches are attested to survive a power cut"
    ),
    advice=("Use fsync, fdatasync or sync, or attest that caches are off or survive a power cut."),
    source="fsync, fdatasync, sync, end_fsync",
    when="files",
)
def durability(at: StepEvidence) -> Iterator[CheckResult]:
    """Writes that end in a volatile cache are fast, and lost in a power cut."""
    loose = [job for job in writers_of(at) if not job.durable]
    if loose and not durable_as_attested(at.run):
        flushed = next((job.flushed for job in loose if job.flushed), "")
        code = "at-end" if flushed else "never"
        operands: Operands = {"flushed": flushed} if flushed else {}
        if len(loose) < len(writers_of(at)):
            code, operands = f"{code}-of-jobs", operands | {"jobs": unique(j.name for j in loose)}
        yield CheckResult("info", code, "none", "fsync", operands=operands)
    rarest = max((job for job in writers_of(at) if job.synced_every > 1),
                 key=lambda job: job.synced_every, default=None)  # fmt: skip
    if not loose and rarest is not None and not durable_as_attested(at.run):
        lost = rarest.synced_every - 1
        operands = {"option": rarest.durable, "unsynced": lost}
        yield CheckResult("info", "between-syncs", lost, 0, operands=operands)


NO_BARRIER = ("nobarrier", "barrier=0", "fsync_mode=nobarrier")  # ext4 and XFS before 4.19; f2fs
FLUSH_NS = 3000  # a command to a PCI Express device takes longer
# fewest syncs to judge; share of them that must reach a device: one flush may serve all workers
LEAST_SYNCS, FLUSHED = 100, 0.1
FLUSHING = ("ext2", "ext3", "ext4", "xfs")  # file systems that flush the device for each sync


@of_hosts_in_step(lambda at, host: _why_unjudged(at, host))
@step_check(
    "flush-no-op",
    "Flushes reach the device",
    rule=(
        "if writes are flushed: no mount option of the target disables flushes; the median flush"
        f" takes at least {FLUSH_NS / 1000:g} µs (except after direct I/O to devices without a"
        " volatile cache); on ext2, ext3, ext4, XFS and block devices with the write cache on, the"
        f" devices' flushes are at least {units.share(FLUSHED)} of the load's syncs divided by its"
        " workers (one flush may serve all workers)"
    ),
    advice=(
        "Mount without nobarrier; check for libeatmydata (LD_PRELOAD), for a virtual disk"
        " with cache=unsafe, and for a wrapper that changes the job."
    ),
    source=(
        "mount options, sync latency, flushes in /proc/diskstats (since Linux 5.5); clients"
        " cannot see how a hypervisor, a controller or an NFS server (async) handles a flush"
    ),
    when="files",
)
def flush_no_op(at: StepEvidence) -> Iterator[CheckResult]:
    """A flush that never reaches a volatile cache costs nothing, and a power cut loses the data.

    A device whose cache survives a power cut needs none, and hosts then send none.
    """
    if not any(job.durable or job.flushed for job in writers_of(at)):
        raise UnknownError(Moot.SYNCS)
    without = {
        host.name: option
        for host in at.run.hosts
        for mount in rows(host.facts, Mount)
        for option in mount.options
        if option in NO_BARRIER
    }
    if without:
        scope: dict[str, Scalar] = {"hosts": " ".join(without)}
        operands: Operands = {"options": list(without.items())}
        yield CheckResult("warning", "no-barrier", len(without), 0, scope, operands)
    yield from _not_flushed(at)
    direct = all(job.direct for job in writers_of(at))  # else there is data to write
    took = {
        host: _median_sync(dirs)
        for host, dirs in at.record.results.per_host.items()
        if not (direct and _needs_no_flush(record_of(at.run, host)))
    }
    quick = {
        host: median_ns
        for host, median_ns in took.items()
        if median_ns is not None and median_ns < FLUSH_NS
    }
    if quick:
        host = min(quick, key=lambda name: quick[name])
        scope = {"hosts": " ".join(quick), "direction": "sync"}
        operands = {"host": host, "median_ns": quick[host]}
        yield CheckResult("warning", "quick", quick[host], FLUSH_NS, scope, operands)


def _why_unjudged(at: StepEvidence, record: HostRecord) -> str:
    """Return why it is unknown whether a host's flushes reached its devices, as a code; empty if it
    is known, or none was needed.
    """
    if all(job.direct for job in writers_of(at)) and _needs_no_flush(record):
        return ""
    dirs, seen = at.record.results.per_host.get(record.name, {}), client_of(at, record.name)
    if _must_flush(record) and (seen is None or _flushes(at, seen) is None):
        return "flush-counts"
    return (
        ""
        if _median_sync(dirs) is not None or (_must_flush(record) and "sync" in dirs)
        else "sync-latency"
    )


def _must_flush(record: HostRecord) -> bool:
    """Return whether each sync of a host must flush a device: one with a volatile cache, below a
    file system that flushes it.
    """
    layers = rows(record.facts, BlockLayer)
    return all(name in FLUSHING for name in file_systems(record)) and any(
        layer.write_cache == "write back" for layer in layers if not layer.below
    )


def _needs_no_flush(record: HostRecord | None) -> bool:
    """Return whether all devices of the target are known, and none has a volatile cache: the kernel
    completes their flushes itself.
    """
    layers = rows(record.facts, BlockLayer) if record is not None else []
    disks = [layer for layer in layers if not layer.below]
    return bool(disks) and all(layer.write_cache == "write through" for layer in disks)


def _not_flushed(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield hosts whose devices completed far fewer flushes than the load issued syncs."""
    jobs = [job for job in at.step.jobs if job.stores]
    if any(job.objects or job.durable.startswith("sync_file_range") for job in jobs):
        return  # tells the device nothing
    workers = max(sum(job.workers for job in jobs), 1)
    low: dict[str, tuple[float, float]] = {}
    for host in clients(at):
        synced = at.record.results.per_host.get(host.host, {}).get("sync")
        flushes = _flushes(at, host)
        if synced is None or synced.iops is None or flushes is None:
            continue
        if synced.ios >= LEAST_SYNCS and flushes < FLUSHED * synced.iops / workers:
            low[host.host] = synced.iops, flushes
    if low:
        worst = max(low, key=lambda name: low[name][0])
        syncs, flushes = low[worst]
        scope: dict[str, Scalar] = {"hosts": " ".join(low)}
        operands: Operands = {"host": worst, "syncs_per_s": syncs, "flushes_per_s": flushes}
        yield CheckResult("warning", "lost", round(flushes / syncs, 4), FLUSHED, scope, operands)


def _flushes(at: StepEvidence, host: HostTelemetryRecord) -> float | None:
    """Return the highest flush rate of the devices below the target, in flushes per second; None if
    flushes are not counted, or a sync may need none.
    """
    record = record_of(at.run, host.host)
    if record is None or not _must_flush(record):
        return None
    layers = rows(record.facts, BlockLayer)
    counted = [host.mean_of(f"dev.{layer.name}.flushes") for layer in layers]
    known = [each for each in counted if each is not None]
    return max(known) if known else None


def _median_sync(dirs: Mapping[str, DirectionRecord]) -> int | None:
    latency = dirs["sync"].lat if "sync" in dirs else None
    return (
        latency.percentiles_ns.get("50") if latency is not None and latency.percentiles_ns else None
    )


DURABILITY_CHECKS = (durability, flush_no_op)

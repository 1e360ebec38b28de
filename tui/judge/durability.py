"""Checks of durability: were writes flushed, and did the flushes reach a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.journal.clock import names_of
from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    StepEvidence,
    UnknownError,
    step_check,
    writers_of,
)
from tui.metrics import units
from tui.model.host_tables import Mount, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tui.model.figure_record import DirectionRecord

# conditions about writes in a power cut
DURABLE = ("cache-off", "cache-protected")


def durable_by_word(evidence: RunEvidence) -> str:
    """Return the attested condition under which writes survive a power cut; empty if none."""
    return next(
        (each.id for each in evidence.plan.attested if each.id in DURABLE and each.answer == "yes"),
        "",
    )


@step_check(
    "no-flush",
    "Writes that may not be durable",
    rule=(
        "a note if writes are never flushed during the measurement, and nobody attested that"
        " caches survive a power cut"
    ),
    advice=("Use fsync, fdatasync or sync, or attest that caches are off or survive a power cut."),
    source="fsync, fdatasync, sync, end_fsync",
    when="files",
)
def durability(at: StepEvidence) -> Iterator[CheckResult]:
    """Writes that end in a volatile cache are fast, and lost in a power cut."""
    loose = [job for job in writers_of(at) if not job.durable]
    if loose and not durable_by_word(at.run):
        flushed = next((job.flushed for job in loose if job.flushed), "")
        message = "no fsync inside the measured time"
        if flushed:
            message = (
                f"no fsync during the load, only {flushed} at the end: the rate includes"
                " it, the latencies do not"
            )
        yield CheckResult("info", message, "none", "fsync")


NO_BARRIER = ("nobarrier", "barrier=0", "fsync_mode=nobarrier")  # ext4 and XFS before 4.19; f2fs
FLUSH_NS = 3000  # a command to a PCI Express device takes longer


@step_check(
    "flush-no-op",
    "Flushes reach the device",
    rule=(
        "if writes are flushed, no mount below the target disables flushes, and the median"
        f" flush takes at least {FLUSH_NS / 1000:g} µs"
    ),
    advice=(
        "Mount without nobarrier; check for libeatmydata (LD_PRELOAD) and for a virtual disk"
        " with cache=unsafe."
    ),
    source=(
        "mount options and sync latency; clients cannot see how a hypervisor, a controller or"
        " an NFS server (async) handles a flush"
    ),
    when="files",
)
def flush_no_op(at: StepEvidence) -> Iterator[CheckResult]:
    """A flush that never reaches a device costs nothing, and a power cut loses the data anyway."""
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
        named = names_of([f"{host} ({option})" for host, option in without.items()])
        message = f"flushes do not reach the device: mounted without barriers on {named}"
        yield CheckResult("warning", message, len(without), 0, {"hosts": " ".join(without)})
    took = {host: _median_sync(dirs) for host, dirs in at.record.results.per_host.items()}
    quick = {
        host: median_ns
        for host, median_ns in took.items()
        if median_ns is not None and median_ns < FLUSH_NS
    }
    if quick:
        host = min(quick, key=lambda name: quick[name])
        message = f"median flush {units.latency(quick[host])} on {host}: too fast for any device"
        yield CheckResult(
            "warning",
            message,
            quick[host],
            FLUSH_NS,
            {"hosts": " ".join(quick), "direction": "sync"},
        )


def _median_sync(dirs: Mapping[str, DirectionRecord]) -> int | None:
    latency = dirs["sync"].lat if "sync" in dirs else None
    return (
        latency.percentiles_ns.get("50") if latency is not None and latency.percentiles_ns else None
    )


DURABILITY_CHECKS = (durability, flush_no_op)

"""Compare a job's CPU time with the work that it did on a CPU."""

from __future__ import annotations

from collections.abc import Iterator

from tui.workloads.fio.printed import Entry, Found, PrintedDirection, has

CALLING = ("sync", "psync", "vsync", "pvsync", "pvsync2")  # the worker itself makes every call
CALL_S = 50e-9  # no processor makes a system call that moves data in less
COPIED_PER_S = 100e9  # bytes: no core copies faster
RUSAGE_S = 0.002  # user and system time, each in whole milliseconds
LEAST_S = 0.2  # in calls
UNSEEN = 0.3  # of a job's calls: interrupts, and a hypervisor that runs others


def cpu_of(entry: Entry) -> Iterator[Found]:
    """Yield a CPU time too short for a job's I/Os.

    Buffered I/O copies every byte on a CPU. And a worker in a call is either on a CPU or was taken
    off it, which is a context switch each time, and lasts no longer than its longest call.
    """
    job, options = entry.job, entry.options
    parts = [part for name, part in job.dirs.items() if name != "trim"]
    if (
        not parts
        or job.failed
        or job.usr_cpu is None
        or has(options, ("io_submit_mode", "verify_async"))
    ):
        return
    spent_s = (job.usr_cpu + job.sys_cpu) / 100 * job.job_runtime / 1000 + RUSAGE_S
    libaio = options.engine == "libaio"
    if options.engine not in CALLING and not libaio:
        return
    buffered = not options.flag("direct") and options.flag("buffered", default=True)
    if buffered:
        ios, moved = sum(part.total_ios for part in parts), sum(part.io_bytes for part in parts)
        least = moved / COPIED_PER_S + (0 if libaio else ios * CALL_S)
        if spent_s < least:
            yield "cpu", spent_s, least
            return
    yield from _off_cpu(entry, parts, spent_s, libaio=libaio)


def _off_cpu(
    entry: Entry, parts: list[PrintedDirection], spent_s: float, *, libaio: bool
) -> Iterator[Found]:
    """Yield calls that took longer than CPU time and context switches allow."""
    calls = [part.slat if libaio else part.whole for part in parts]
    syncs = entry.job.sync.lat if entry.job.sync is not None else None
    known = [call for call in (*calls, syncs) if call is not None and call.n]
    if len(known) < len(parts) or not entry.alone:
        return
    called_s = sum(call.n * call.mean for call in known) / 1e9
    if called_s * 1000 > entry.job.job_runtime:
        return  # with disable_lat, submissions are timed from no start
    longest_s = max(call.max for call in known) / 1e9
    if called_s > LEAST_S and called_s * (1 - UNSEEN) > spent_s + entry.job.ctx * longest_s:
        yield "off-cpu", called_s, spent_s

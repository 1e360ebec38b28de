"""Whether the hosts of a step ran all the time, and at the same time: a total over them adds up what each one did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median, quantiles

from tui.journal.loss import names_of
from tui.metrics.registry import direction
from tui.model.plan import Plan, Step
from tui.model.record import Finding, HostRecord
from tui.model.sharing import common_paths, sharing_text
from tui.model.step_record import SeriesRecord, StepRecord

STALL_SHARE = 0.25  # of the host's own median second
STALL_OF_GOOD = 0.08  # of its good seconds, the upper quarter: a host may stand still for most of a run
STALL_S = 3  # seconds in a row
SHORTEST_S = 8  # of fewer seconds the median says little


def shared_files(plan: Plan, hosts: Sequence[HostRecord]) -> list[Finding]:
    """Return that hosts used one and the same file of a shared file system."""
    groups = dict.fromkeys(str(host.facts["shares_files_with"]) for host in hosts if "shares_files_with" in host.facts)
    return [finding for group in groups for finding in _shared_by(plan, group.split())]


def _shared_by(plan: Plan, names: Sequence[str]) -> list[Finding]:
    paths = [path for path, users in common_paths(plan).items() if set(names) <= set(users)]
    if not paths:
        return []
    return [
        Finding(
            id="shared-files",
            severity="warning",
            scope={"hosts": " ".join(names)},
            measured=float(len(paths)),
            threshold=0.0,
            message=sharing_text(plan, paths, names, "a shared file system"),
        )
    ]


def never_together(record: StepRecord) -> list[Finding]:
    """Return that there was no moment at which all hosts measured."""
    timing = record.timing
    if timing is None or len(timing.hosts) < 2 or timing.window is not None:
        return []
    return [
        Finding(
            id="never-together",
            severity="error",
            scope={"step": record.index, "hosts": " ".join(timing.hosts)},
            measured=0.0,
            threshold=0.0,
            message="the hosts never measured at the same time: the total adds up loads that did not run together",
        )
    ]


def stalls(step: Step, record: StepRecord) -> list[Finding]:
    """Return hosts that all but stood still for seconds: frozen, or their storage did not answer.

    The last seconds of a load that is bound by size are left out: its jobs end one after the other.
    """
    found = {host: stalled_of(record.series, host, tail=step.runtime_s is not None) for host in _hosts(record.series)}
    stood = {host: seconds for host, seconds in found.items() if seconds}
    if not stood or record.series is None:
        return []
    longest = sorted(stood, key=lambda host: -len(stood[host]))
    said = [f"{host} for {len(stood[host])} s from {stood[host][0]} s on" for host in longest]
    whole = len(record.series.columns[0].iops)
    message = f"all but stood still: {names_of(said)}, of {whole} s; frozen, or their storage did not answer"
    return [
        Finding(
            id="stall",
            severity="warning",
            scope={"step": record.index, "hosts": " ".join(longest)},
            measured=float(len(stood[longest[0]])),
            threshold=float(STALL_S),
            message=message,
        )
    ]


def stalled_of(series: SeriesRecord | None, host: str, *, tail: bool) -> list[int]:
    """Return the seconds, from the begin of the series, in which a host did less than a quarter of its usual I/O.

    Both by operations and by bytes: a job that goes on to larger blocks does fewer, and does not stand still. `tail`:
    whether the last seconds count.
    """
    if series is None:
        return []
    columns = [column for column in series.columns if column.host == host and direction(column.direction).in_total]
    by_ios = _low([column.iops for column in columns])
    by_bytes = _low([column.bw_bytes_per_s for column in columns])
    low = [both for both in range(len(by_ios)) if by_ios[both] and by_bytes[both]]
    rows = [[second for _, second in row] for _, row in groupby(enumerate(low), lambda each: each[1] - each[0])]
    known = [second for column in columns for second, value in enumerate(column.iops) if value is not None]
    kept = [row for row in rows if len(row) >= STALL_S and (tail or row[-1] < max(known))]
    return [second for row in kept for second in row]


def _hosts(series: SeriesRecord | None) -> list[str]:
    columns = series.columns if series is not None else []
    return list(dict.fromkeys(column.host for column in columns if column.host is not None))


def _low(columns: Sequence[Sequence[float | None]]) -> list[bool]:
    """Return for each second whether the sum of columns is far below its usual value; an unknown second is not."""
    rows = [[value for value in row if value is not None] for row in zip(*columns, strict=True)]
    sums = [sum(row) if row else None for row in rows]
    known = [value for value in sums if value is not None]
    if len(known) < SHORTEST_S:
        return [False] * len(sums)
    limit = max(STALL_SHARE * median(known), STALL_OF_GOOD * quantiles(known, n=4)[2])
    return [value is not None and value < limit for value in sums]

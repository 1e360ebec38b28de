"""Results in the form that older versions of benchtui derived from the same output."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tui.model.event import DirectionResult, HostResult

# fields of directions, and their values where older versions did not have them
ADDED: dict[str, Any] = {"shortest_s": 0.0, "apart": False}
# times are in ms; rates, times that time, are the counts
BETWEEN_S, SAME_RATE = 0.002, 0.01


def as_before(result: HostResult, told: HostResult) -> HostResult:
    """Return a result without fields of directions that the journal's version did not have."""
    parts = [part for dirs in (told.dirs, *told.jobs.values()) for part in dirs.values()]
    plain = {
        name: value
        for name, value in ADDED.items()
        if not any(getattr(part, name) for part in parts)
    }

    def plain_dirs(dirs: dict[str, DirectionResult]) -> dict[str, DirectionResult]:
        return {name: replace(part, **plain) for name, part in dirs.items()}

    def before(again: dict[str, DirectionResult], then: dict[str, DirectionResult]) -> Any:
        return _reads_between(plain_dirs(again), then)

    jobs = {job: before(dirs, told.jobs.get(job, {})) for job, dirs in result.jobs.items()}
    return replace(result, dirs=before(result.dirs, told.dirs), jobs=jobs)


def _reads_between(
    again: dict[str, DirectionResult], told: dict[str, DirectionResult]
) -> dict[str, DirectionResult]:
    """Return results in which reads that verify between writes have the time of older versions.

    Versions before 2026-11-28 excluded the time of the writes.
    """
    if not {"read", "write"} <= again.keys() & told.keys():
        return again
    now, then, writes_s = again["read"], told["read"], again["write"].runtime_s
    without = abs(now.runtime_s - writes_s - then.runtime_s) <= BETWEEN_S
    # the rates are those of that time, as fio prints them
    ios, moved = then.iops * then.runtime_s, then.bw_bytes_per_s * then.runtime_s
    fits = abs(ios - now.ios) <= 1 + SAME_RATE * now.ios
    fits = fits and abs(moved - now.bytes) <= 1 + SAME_RATE * now.bytes
    if not (without and fits):
        return again
    read = replace(
        now, runtime_s=then.runtime_s, iops=then.iops, bw_bytes_per_s=then.bw_bytes_per_s
    )
    return {**again, "read": read}

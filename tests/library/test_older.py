"""Results that older versions took from the same output otherwise."""

from __future__ import annotations

from msgspec.structs import replace

from tui.library.raw_output import as_before
from tui.model.event import DirectionResult, HostResult

# reads that verify between writes, over the time of both; before, over the millisecond that is left
WRITE = DirectionResult(ios=1000, bytes=4096000, runtime_s=4.0, iops=250.0, bw_bytes_per_s=1.024e6)
READ = DirectionResult(ios=990, bytes=4055040, runtime_s=4.001, iops=247.4, bw_bytes_per_s=1.01e6)
OLD = replace(READ, runtime_s=0.001, iops=990_000.0, bw_bytes_per_s=4.05504e9)


def result(read: DirectionResult) -> HostResult:
    return HostResult(host="h1", step=0, t=0.0, dirs={"read": read, "write": WRITE})


def test_reads_between_writes_are_taken_as_before() -> None:
    assert as_before(result(READ), result(OLD)) == result(OLD)


def test_changed_reads_are_not() -> None:
    for change in ({"ios": 1980}, {"iops": 495_000.0}, {"runtime_s": 1.0}):
        told = result(replace(OLD, **change))
        assert as_before(result(READ), told) != told

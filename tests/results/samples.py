"""Events for tests of projections: samples with figures that can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui.metrics.buckets import value_to_index
from tui.model.event import AnyEvent, Buckets, DirectionSample, HostState, PhaseStarted, RunStarted, Sample, encode

DATA = Path(__file__).parents[1] / "data" / "journals"
CASES = ("mix", "ramp", "lost")


def histogram(latencies_ns: Sequence[int]) -> Buckets:
    """Return the buckets of these latencies."""
    counts: dict[int, int] = {}
    for value in latencies_ns:
        counts[value_to_index(value)] = counts.get(value_to_index(value), 0) + 1
    return Buckets(idx=sorted(counts), n=[counts[index] for index in sorted(counts)])


def direction(latencies_ns: Sequence[int], block: int = 4096, max_ns: int | None = None) -> DirectionSample:
    """Return one direction in which every I/O took one of these latencies."""
    count = len(latencies_ns)
    top = max_ns if max_ns is not None else max(latencies_ns, default=0)
    return DirectionSample(count, count * block, sum(latencies_ns), top, histogram(latencies_ns))


def sample(
    t: float,
    host: str,
    latencies_ns: Sequence[int],
    *,
    clock_s: float = 0.0,
    late_s: float = 0.0,
    interval_s: float = 1.0,
    step: int = 0,
    phase: str = "measure",
    name: str = "read",
    ramp: bool = False,
    restart: bool = False,
) -> Sample:
    """Return a sample that arrives at `t`, stamped `late_s` earlier by a clock that is `clock_s` ahead."""
    return Sample(
        t=t,
        host=host,
        step=step,
        phase="layout" if phase == "layout" else "measure",
        host_time_ms=round((t - late_s + clock_s) * 1000),
        interval_s=interval_s,
        dirs={name: direction(latencies_ns)},
        ramp=ramp,
        restart=restart,
    )


def started(*hosts: str) -> list[AnyEvent]:
    """Return the events that lead to a measurement which begins at t=0."""
    return [
        RunStarted(
            t=0.0, run_id="r", utc="2026-11-20T10:00:00Z", benchtui_version="0", profile="test/p", hosts=list(hosts)
        ),
        PhaseStarted(t=0.0, phase="measure", step=0, expected_s=60.0),
        *(HostState(t=0.0, host=host, state="running") for host in hosts),
    ]


def write(path: Path, events: Sequence[AnyEvent]) -> Path:
    """Write a journal and return its path."""
    path.write_bytes(b"".join(map(encode, events)))
    return path

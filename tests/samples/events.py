"""Events for tests of projections: samples with figures that can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tui.journal.measurement import Measurement
from tui.journal.reader import JournalEvent
from tui.journal.state import RunState
from tui.metrics.buckets import value_to_index
from tui.model.address import HostAddress
from tui.model.event import (
    AnyEvent,
    Buckets,
    DirectionResult,
    DirectionSample,
    Event,
    HostClock,
    HostResult,
    HostState,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Sample,
    TaskEnded,
    encode,
)
from tui.model.plan import Headline, HostTask, Plan, ProfileRef, Step
from tui.model.record import Finding, RunRecord

DATA = Path(__file__).parents[1] / "data" / "journals"
CASES = ("mix", "ramp", "lost")
BASELINE = """\
baselines: mine
title: Our old array
source: {document: Acceptance report, date: "2024-05-01"}
tool: {name: fio, version: "3.28"}
setups:
  raid: {hardware: 24 SSD, protection: RAID-6, network: 2 x 32G FC}
workloads:
  - profile: weka/read-iops
    params: {size: 4G}
    hosts: 2
    results:
      - {read: {iops: 120k, clat: {p99: 1.5 ms}}}
"""


def histogram(latencies_ns: Sequence[int]) -> Buckets:
    """Return the buckets of these latencies."""
    counts: dict[int, int] = {}
    for value in latencies_ns:
        counts[value_to_index(value)] = counts.get(value_to_index(value), 0) + 1
    return Buckets(idx=sorted(counts), n=[counts[index] for index in sorted(counts)])


def direction(
    latencies_ns: Sequence[int], block: int = 4096, max_ns: int | None = None
) -> DirectionSample:
    """Return one direction in which every I/O took one of these latencies."""
    count = len(latencies_ns)
    top = max_ns if max_ns is not None else max(latencies_ns, default=0)
    return DirectionSample(count, count * block, sum(latencies_ns), top, histogram(latencies_ns))


def weakening(record: RunRecord) -> list[Finding]:
    """Return findings that weaken a run; notes, such as that it was made once, do not."""
    return [finding for finding in record.findings if finding.severity != "info"]


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
    """Return a sample that arrives at `t`, stamped `late_s` earlier by a clock that is `clock_s`
    ahead.
    """
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
            t=0.0,
            run_id="r",
            utc="2026-11-20T10:00:00Z",
            benchtui_version="0",
            profile="test/p",
            hosts=list(hosts),
        ),
        PhaseStarted(t=0.0, phase="measure", step=0, expected_s=60.0),
        *(HostState(t=0.0, host=host, state="running") for host in hosts),
    ]


def write(path: Path, events: Sequence[AnyEvent]) -> Path:
    """Write a journal and return its path."""
    path.write_bytes(b"".join(map(encode, events)))
    return path


def compared(host: str, clock_s: float, uncertainty_s: float = 0.002, t: float = 0.0) -> HostClock:
    """Return the comparison of a clock that is `clock_s` ahead, as the samples above have it."""
    return HostClock(
        t=t,
        host=host,
        offset_s=clock_s,
        uncertainty_s=uncertainty_s,
        rtt_s=2 * uncertainty_s,
        run_zero_ms=0.0,
    )


def result(
    host: str,
    start_t: float,
    end_t: float,
    iops: float = 100.0,
    *,
    clock_s: float = 0.0,
    says_start: bool = True,
    printed_late_s: float = 0.0,
    final: bool = True,
    errors: Sequence[int] = (),
) -> HostResult:
    """Return the result of a host that read from `start_t` to `end_t`.

    Without `says_start` as fio < 3.36 prints it.
    """
    runtime_s = end_t - start_t
    ios = round(iops * runtime_s)
    read = DirectionResult(ios, ios * 4096, round(runtime_s, 3), iops, iops * 4096)
    return HostResult(
        t=end_t + printed_late_s + 0.1,
        host=host,
        step=0,
        dirs={"read": read},
        final=final,
        errors=list(errors),
        start_ms=round((start_t + clock_s) * 1000) if says_start else None,
        end_ms=round((end_t + clock_s + (0.0 if says_start else printed_late_s)) * 1000),
    )


def load(
    host: str,
    start_t: float,
    end_t: float,
    iops: float = 100.0,
    *,
    clock_s: float = 0.0,
    delay_s: float = 0.01,
) -> list[AnyEvent]:
    """Return the samples of a host under steady load, one a second and one at the end."""
    events: list[AnyEvent] = []
    t0 = start_t
    while t0 < end_t - 1e-6:
        t1 = min(t0 + 1.0, end_t)
        latencies = [100_000] * round(iops * (t1 - t0))
        one = sample(
            t1 + delay_s, host, latencies, clock_s=clock_s, late_s=delay_s, interval_s=t1 - t0
        )
        events.append(one)
        t0 = t1
    return events


def ended(
    host: str, t: float, reason: str = "exit", exit_code: int | None = 0, *, collected: bool = True
) -> TaskEnded:
    """Return the end of a host's measurement."""
    return TaskEnded(
        t=t,
        host=host,
        step=0,
        phase="measure",
        exit_code=exit_code,
        reason=reason,
        stdout_bytes=1,
        stderr_bytes=0,
        collected=collected,
    )


def run_of(
    directory: Path,
    hosts: Sequence[str],
    events: Sequence[AnyEvent],
    runtime_s: float | None = None,
) -> Path:
    """Write a run directory: a plan of one step that reads on these hosts, and these events in the
    order of time.
    """
    tasks = [HostTask(host=host, randseed=1, job_file="", argv=["fio"]) for host in hosts]
    step = Step(index=0, name="read", tool="fio", params={}, tasks=tasks, runtime_s=runtime_s)
    profile = ProfileRef(tag="test/p", version=1, title="", text="", sha256="")
    addresses = [HostAddress(name=host) for host in hosts]
    plan = Plan(
        profile=profile, params={}, hosts=addresses, steps=[step], headline=Headline("iops", "read")
    )
    directory.mkdir(exist_ok=True)
    (directory / "plan.json").write_bytes(msgspec.json.encode(plan))
    write(
        directory / "journal.jsonl", sorted([*started(*hosts), *events], key=lambda event: event.t)
    )
    return directory


def measured_in(state: RunState) -> Measurement:
    """Return what was measured in the first step."""
    found = state.steps[0].measurement
    assert found is not None
    return found


def encoded(events: Sequence[JournalEvent]) -> bytes:
    """Return the journal of these events."""
    return b"".join(encode(event) for event in events if isinstance(event, Event))


def closed(t: float, state: str = "complete") -> RunEnded:
    """Return the end of a run."""
    return RunEnded(t=t, state="complete" if state == "complete" else "partial", exit_code=0)

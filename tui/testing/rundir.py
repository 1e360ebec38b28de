"""A run directory as the engine leaves it, made of recorded output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import tui
from tui.journal.raw import RawFile
from tui.model.event import (
    AnyEvent,
    HostProblem,
    HostState,
    MetadataIteration,
    MetadataPhase,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    TaskEnded,
    TaskStarted,
    encode,
)
from tui.model.plan import Plan, Step
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, new_run_id
from tui.model.utc import format_utc
from tui.testing.streams import Output, Read

GO_S, DELAY_S = 1.0, 0.02  # when the load is released, and what a sample takes to arrive


def write_run(home: Path, plan: Plan, outputs: Mapping[str, Output], found: Mapping[str, Read]) -> list[AnyEvent]:
    """Write plan, raw output and journal of a run below a directory that is empty; return the journal's events."""
    now = datetime.now(UTC)
    run_dir = home / new_run_id(plan.profile.tag, now)
    (run_dir / "raw").mkdir(parents=True)
    (run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
    events = [*_begin(plan, run_dir.name, now), *_measured(plan.steps[0], outputs, found)]
    end = max(event.t for event in events)
    events += [*_results(plan.steps[0], found, end), *_kept(run_dir, outputs, end)]
    events.append(RunEnded(t=end, state="complete", exit_code=0))
    (run_dir / JOURNAL_FILE).write_bytes(b"".join(map(encode, events)))
    return events


def _begin(plan: Plan, run_id: str, now: datetime) -> Iterator[AnyEvent]:
    hosts = [host.name for host in plan.hosts]
    yield RunStarted(
        t=0.0,
        run_id=run_id,
        utc=format_utc(now),
        benchtui_version=tui.__version__,
        profile=plan.profile.tag,
        hosts=hosts,
    )
    yield StepStarted(t=0.1, step=0)
    yield from _phase("barrier", 0.1, [HostState(t=0.2, host=host, state="armed") for host in hosts])


def _phase(name: PhaseName, t: float, within: list[AnyEvent], expected_s: float | None = None) -> Iterator[AnyEvent]:
    yield PhaseStarted(t=t, phase=name, step=0, expected_s=expected_s)
    yield from within
    yield PhaseEnded(t=max([t, *(event.t for event in within)]), phase=name, step=0)


def _measured(step: Step, outputs: Mapping[str, Output], found: Mapping[str, Read]) -> Iterator[AnyEvent]:
    within: list[AnyEvent] = []
    for task in step.tasks:
        if task.host not in outputs:
            continue
        items = list(_items(found[task.host]))
        end = max([GO_S, *(item.t for item in items)])
        output = outputs[task.host]
        head: list[AnyEvent] = [
            TaskStarted(t=GO_S, host=task.host, step=0, phase="measure", argv=task.argv, job_file=task.job_file,
                        remote_dir="/tmp/replayed"),
            HostState(t=GO_S, host=task.host, state="running"),
        ]  # fmt: skip
        ended = TaskEnded(t=end, host=task.host, step=0, phase="measure", exit_code=output.exit_code, reason="exit",
                          stdout_bytes=len(output.out), stderr_bytes=len(output.err))  # fmt: skip
        within += [*head, *items, ended]
    yield from _phase("measure", GO_S, sorted(within, key=lambda event: event.t), step.expected_s)


def _items(read: Read) -> Iterator[AnyEvent]:
    """Yield samples and phases as they arrive; samples come in time with the host's clock."""
    begin_ms, t = None, GO_S
    for item in read.items:
        if isinstance(item, Sample):
            if begin_ms is None:
                begin_ms = item.host_time_ms - item.interval_s * 1000
            t = max(t, GO_S + (item.host_time_ms - begin_ms) / 1000 + DELAY_S)
        if isinstance(item, Sample | MetadataPhase | MetadataIteration):
            yield msgspec.structs.replace(item, t=round(t, 4))


def _results(step: Step, found: Mapping[str, Read], t: float) -> Iterator[AnyEvent]:
    within: list[AnyEvent] = []
    for host in step.hosts:
        read = found.get(host, Read())
        within += [msgspec.structs.replace(each, t=t) for each in (read.figures, read.result) if each is not None]
        within += [HostProblem(t=t, host=host, phase="measure", code=code, message=message, fatal=False)
                   for code, message in read.problems]  # fmt: skip
        within.append(HostState(t=t, host=host, state="done"))
    yield from _phase("collect", t, within)
    yield StepEnded(t=t, step=0)


def _kept(run_dir: Path, outputs: Mapping[str, Output], t: float) -> Iterator[AnyEvent]:
    for host, output in outputs.items():
        for kind, data in (("out", output.out), ("err", output.err)):
            file = RawFile(run_dir, f"0.measure.{host}.{kind}", host)
            file.write(data)
            yield msgspec.structs.replace(file.close(), t=t)

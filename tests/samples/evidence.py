"""What a run of one step left, made by hand: figures small enough to be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tui.journal.state import RunState
from tui.judge.catalogue import BY_ID
from tui.judge.check import RunEvidence
from tui.model.address import HostAddress
from tui.model.figure_record import AggregateRecord, LatencyRecord, SeriesColumns, SeriesRecord
from tui.model.host_record import HostRecord
from tui.model.plan import HostTask, JobLoad, Plan, ProfileRef, Step
from tui.model.record import Finding
from tui.model.step_record import StepRecord
from tui.record.timeline import JournalData

WRITER = JobLoad("w", ("write",), workers=4, held=4, direct=True, bound_s=60.0)


def latency(mean_ns: float, n: int = 1_000_000) -> LatencyRecord:
    return LatencyRecord(n=n, mean_ns=mean_ns)


def direction(iops: float, mean_ns: float, n: int = 1_000_000, **more: Any) -> AggregateRecord:
    whole = latency(mean_ns, n)
    return AggregateRecord(
        hosts=["h1"], ios=n, bytes=n * 4096, iops=iops, lat=whole, runtime_s=60.0, **more
    )


def evidence(
    per_host: Mapping[str, Mapping[str, AggregateRecord]] | None = None,
    *,
    jobs: Sequence[JobLoad] | None = None,
    facts: Mapping[str, Any] | None = None,
    task: Mapping[str, object] | None = None,
    plan: Mapping[str, object] | None = None,
    **record: Any,
) -> RunEvidence:
    """Return what a run of one step left; every host has the same facts and task."""
    hosts = per_host or {"h1": {"write": direction(1000.0, 4_000_000.0)}}
    given = [WRITER] if jobs is None else list(jobs)
    tasks = [HostTask(name, 1, "", [], **(task or {})) for name in hosts]  # type: ignore[arg-type]
    held = sum(job.held for job in given) * len(hosts)
    step = Step(0, "s", "fio", {}, tasks, 60.0, in_flight=held, jobs=given)
    whole = Plan(
        ProfileRef("p", 1, "", "", ""),
        {},
        [HostAddress(name) for name in hosts],
        [step],
        **(plan or {}),  # type: ignore[arg-type]
    )
    fields: dict[str, Any] = {
        "index": 0,
        "name": "s",
        "state": "done",
        "runtime_s": 60.0,
        "measured_s": 60.0,
    }
    seen = StepRecord(**(fields | record))
    seen.results.per_host = {name: dict(dirs) for name, dirs in hosts.items()}
    seen.results.aggregate = dict(next(iter(hosts.values())))
    records = [HostRecord(name=name, facts=dict(facts or {})) for name in hosts]
    return RunEvidence(whole, records, [seen], JournalData(RunState(for_record=True)))


def beside(one: RunEvidence, other: RunEvidence) -> RunEvidence:
    """Return two runs of one step and one host as one run whose steps ran at the same time.

    The other's host is w1.
    """
    (task,) = other.plan.steps[0].tasks
    steps = [
        replace(one.plan.steps[0], together=1, role="readers"),
        replace(
            other.plan.steps[0],
            index=1,
            together=1,
            role="writers",
            tasks=[replace(task, host="w1")],
        ),
    ]
    record = other.steps[0].model_copy(deep=True, update={"index": 1})
    record.results.per_host = {"w1": record.results.per_host[task.host]}
    record.telemetry = [
        each.model_copy(update={"host": "w1"}) if each.host == task.host else each
        for each in record.telemetry
    ]
    hosts = [*one.hosts, *(host.model_copy(update={"name": "w1"}) for host in other.hosts)]
    plan = replace(one.plan, steps=steps, hosts=[*one.plan.hosts, HostAddress("w1")])
    return replace(one, plan=plan, hosts=hosts, steps=[one.steps[0], record])


def found(name: str, at: RunEvidence) -> list[Finding]:
    return BY_ID[name].examine(at)


def said(name: str, at: RunEvidence) -> list[tuple[str, object]]:
    return [(finding.severity, finding.measured) for finding in found(name, at)]


def series(iops: Sequence[float | None], host: str | None = None) -> SeriesRecord:
    return SeriesRecord(
        start_s=0.0, columns=[SeriesColumns(host=host, direction="write", iops=list(iops))]
    )

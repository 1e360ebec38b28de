"""Published results in the form of evidence that the checks of runs can judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tui.analysis.published import same
from tui.journal.progress import MetadataView
from tui.journal.state import RunState
from tui.judge.check import RunEvidence
from tui.model.baseline import Baseline, Directed, OperationRates
from tui.model.event import MetadataResult, OperationResult
from tui.model.figure_record import AggregateRecord, DirectionRecord, LatencyRecord, ResultsRecord
from tui.model.host_record import HostRecord
from tui.model.hostfacts import Fact
from tui.model.plain_data import percentile_name
from tui.model.plan import HostTask, Plan, Step
from tui.model.printed import Quantity, rounding_of
from tui.model.quantities import parse_stamp
from tui.model.step_record import HostTelemetryRecord, StepRecord, TaskRecord, TelemetryColumn
from tui.record.headline import metadata_record, step_value
from tui.record.step import measured_s
from tui.record.timeline import HostSpan, JournalData, timing_record

LINK = "link"  # name of the link between client and storage
STAMP_ERROR_S = 1.0  # time stamps are whole seconds
KINDS = ("slat", "clat", "lat")


def clients_of(baseline: Baseline, parts: Sequence[Baseline]) -> list[str]:
    """Return the names of the clients of a published result.

    A single name stands for all clients if their number is unknown.
    """
    named = [each.host for each in parts if each.host is not None]
    if named or baseline.hosts is None:
        return named or ["clients"]
    return (
        ["client"]
        if baseline.hosts == 1
        else [f"client-{number}" for number in range(1, baseline.hosts + 1)]
    )


def evidence_of(baseline: Baseline, parts: Sequence[Baseline], plan: Plan) -> RunEvidence:
    """Return a published result as evidence.

    `parts`: the source's figures for single clients, if any. `plan`: the plan of the result's
    profile with the published parameters; its first step at the point is evaluated.
    """
    hosts = [host.name for host in plan.hosts]
    known = [step for step in plan.steps if _is_at(baseline, step)]
    blank = Step(
        0,
        baseline.profile,
        baseline.tool.name,
        {},
        [HostTask(host, 0, "", []) for host in hosts],
        None,
    )
    step = msgspec.structs.replace(known[0] if known else blank, index=0)
    if "runtime" not in baseline.params:
        step.runtime_s = None
    plan = msgspec.structs.replace(plan, steps=[step])
    seen = JournalData(RunState(for_record=True))
    if baseline.result.operations is not None and step.mpi is not None:
        seen.state.at_step(0).metadata = MetadataView(
            0, result=_operations(baseline, step, baseline.result.operations)
        )
    record = _record(baseline, parts or [baseline], plan, seen)
    facts = _facts(baseline)
    records = [HostRecord(name=host, facts=dict(facts)) for host in hosts]
    return RunEvidence(
        plan,
        records,
        [record],
        seen,
        rounding=max(map(_rounding, parts or [baseline])),
        foreign=True,
    )


def _is_at(baseline: Baseline, step: Step) -> bool:
    values = {**step.params, **step.point}
    return step.repetition == 1 and all(
        same(values.get(name), value) for name, value in baseline.at.items()
    )


def _record(
    baseline: Baseline, parts: Sequence[Baseline], plan: Plan, seen: JournalData
) -> StepRecord:
    step = plan.steps[0]
    hosts = [host.name for host in plan.hosts]
    by_host = (
        {each.host or hosts[0]: _directions(each, step) for each in parts}
        if _each_known(baseline, parts)
        else {}
    )
    whole = _directions(baseline, step)
    aggregate = {name: AggregateRecord(**dict(found), hosts=hosts) for name, found in whole.items()}
    metadata = metadata_record(seen.state.at_step(0).metadata, step)
    printed = baseline.kind == "sample"
    return StepRecord(
        index=0,
        name=step.name,
        tool=step.tool,
        params=dict(step.params),
        state="done",
        in_flight=step.in_flight,
        runtime_s=step.runtime_s,
        measured_s=measured_s(aggregate) or step.runtime_s,
        headline=(
            step_value(plan.headline_of(step), aggregate, plan.latency_kind_of(step), metadata)
            if printed
            else None
        ),
        results=ResultsRecord(aggregate=aggregate, per_host=by_host),
        metadata=metadata,
        tasks={each.host or hosts[0]: _task(each) for each in parts} if printed else {},
        timing=timing_record(dict(_spans(parts, hosts))),
        telemetry=list(_telemetry(baseline, hosts, aggregate, step.runtime_s)),
    )


def _each_known(baseline: Baseline, parts: Sequence[Baseline]) -> bool:
    """Return whether each client's result is known: for a single client, or if the source lists
    each.
    """
    return baseline.hosts == 1 or any(each.host is not None for each in parts)


# -- figures


def _directions(baseline: Baseline, step: Step) -> dict[str, DirectionRecord]:
    result = baseline.result
    if baseline.computed:
        return _summed(baseline)
    found = {"read": result.read, "write": result.write, "mixed": result.mixed}
    return {name: _direction(part, step) for name, part in found.items() if part is not None}


def _summed(baseline: Baseline) -> dict[str, DirectionRecord]:
    """Return the rates summed over clients; other figures cannot be summed."""
    rates: dict[str, dict[str, float | None]] = {}
    for figure in baseline.figures:
        rates.setdefault(figure.of, {})[figure.metric] = figure.quantity.value
    return {
        name: DirectionRecord(
            ios=0, bytes=0, iops=each.get("iops"), bw_bytes_per_s=each.get("bandwidth")
        )
        for name, each in rates.items()
        if {"iops", "bandwidth"} & each.keys()
    }


def _direction(part: Directed, step: Step) -> DirectionRecord:
    sizes = {job.block_bytes for job in step.jobs}
    block = sizes.pop() if len(sizes) == 1 else None
    iops, bandwidth, seconds = _value(part.iops), _value(part.bandwidth), _value(part.runtime)
    if part.ios and seconds:
        iops = part.ios / seconds  # exact, unlike the printed rate
    record = DirectionRecord(
        ios=part.ios or 0,
        bytes=int(_value(part.moved) or 0),
        runtime_s=seconds,
        iops=iops if iops is not None or not block or bandwidth is None else bandwidth / block,
        bw_bytes_per_s=(
            bandwidth if bandwidth is not None or not block or iops is None else iops * block
        ),
    )
    for kind in KINDS:
        setattr(record, kind, _latency(getattr(part, kind), part.ios))
    record.lat = record.lat or _latency(part.latency, part.ios)
    return record


def _latency(found: Mapping[str, Quantity], count: int | None) -> LatencyRecord | None:
    if not found:
        return None
    values = {name: each.value for name, each in found.items() if each.value is not None}
    whole = {
        name: round(values[name])
        for name in values
        if name in ("min", "max") or name.startswith("p")
    }
    return LatencyRecord(
        n=count or 0,
        min_ns=whole.get("min"),
        max_ns=whole.get("max"),
        mean_ns=values.get("mean"),
        stddev_ns=values.get("stddev"),
        percentiles_ns={
            key: value
            for name, value in whole.items()
            if (key := percentile_name(name.removeprefix("p"))) is not None
        },
    )


def _value(quantity: Quantity | None) -> float | None:
    return quantity.value if quantity is not None else None


def _rounding(baseline: Baseline) -> float:
    """Return the relative error of rate x mean latency due to the rounding of printed figures."""
    found = [0.0]
    for part in (baseline.result.read, baseline.result.write, baseline.result.mixed):
        if part is not None:
            rate = None if part.ios and part.runtime else part.iops or part.bandwidth
            mean = next(
                (kind["mean"] for kind in (part.lat, part.clat, part.latency) if "mean" in kind),
                None,
            )
            found.append(sum(rounding_of(each) for each in (rate, mean) if each is not None))
    return max(found)


def _operations(baseline: Baseline, step: Step, rates: OperationRates) -> MetadataResult:
    ranks, clients = baseline.ranks, baseline.hosts or 0
    launch = step.mpi
    per_client = launch.ranks_per_host if launch is not None else 0
    operations = {}
    for name, found in rates:
        values = {
            statistic: each.value for statistic, each in found.items() if each.value is not None
        }
        if values:
            operations[name.replace("_", "-")] = OperationResult(
                max=values.get("max"), min=values.get("min"), mean=values.get("mean")
            )
    return MetadataResult(
        t=0.0,
        step=0,
        tool=baseline.tool.name,
        version=baseline.tool.version or "",
        tasks=per_client * clients,
        nodes=clients,
        items=launch.items if launch is not None else 0,
        iterations=launch.iterations if launch is not None else 0,
        operations=operations,
        shift=ranks.shift if ranks is not None and clients else -1,
        ranks_per_node=per_client,
        dealt=ranks is not None and ranks.placement == "round-robin",
    )


# -- execution


def _task(baseline: Baseline) -> TaskRecord:
    number = re.match(r"\d+", baseline.error or "")
    tool = baseline.tool.name
    return TaskRecord(
        errors=[int(number[0])] if number else [],
        usr_cpu=_value(baseline.result.cpu.get(f"{tool}_usr")),
        sys_cpu=_value(baseline.result.cpu.get(f"{tool}_sys")),
    )


def _spans(parts: Sequence[Baseline], hosts: Sequence[str]) -> Iterator[tuple[str, HostSpan]]:
    """Yield each client's measured span: its end time, and its runtime before that."""
    for each in parts:
        ended = parse_stamp(each.date or "")
        found = (each.result.read, each.result.write, each.result.mixed)
        seconds = [
            part.runtime.high for part in found if part is not None and part.runtime is not None
        ]
        if ended is not None and seconds:
            span = HostSpan(ended - max(seconds), ended, STAMP_ERROR_S, STAMP_ERROR_S, None, "tool")
            yield each.host or hosts[0], span


def _facts(baseline: Baseline) -> dict[str, Fact]:
    client = baseline.facts.each_client
    if client is None:
        return {}
    facts: dict[str, Fact] = {}
    if client.memory is not None and client.memory.value is not None:
        facts["mem_bytes"] = int(client.memory.value)
    if client.filesystem is not None:
        facts["target_fstype"] = client.filesystem
    if client.link is not None and client.link.value is not None:
        facts["nics"] = [
            {"name": LINK, "kind": "physical", "speed_mbit": round(client.link.value * 8 / 1e6)}
        ]
    return facts


def _telemetry(
    baseline: Baseline,
    hosts: Sequence[str],
    aggregate: Mapping[str, DirectionRecord],
    runtime_s: float | None,
) -> Iterator[HostTelemetryRecord]:
    """Yield telemetry of the clients from the source's statements.

    It covers CPU of the load generator, and bytes over a link of known speed.
    """
    columns = []
    if (busy := _value(baseline.result.cpu.get(f"{baseline.tool.name}_client"))) is not None:
        columns.append(
            TelemetryColumn(name="gen.thread", unit="core_percent", mean=busy, constant=busy)
        )
    if "nics" in _facts(baseline):
        for name, way in (("read", "rx"), ("write", "tx")):
            moved = aggregate[name].bw_bytes_per_s if name in aggregate else None
            if moved is not None:
                mean = moved / len(hosts)
                column = TelemetryColumn(
                    name=f"nic.{LINK}.{way}", unit="bytes_per_s", mean=mean, constant=mean
                )
                columns.append(column)
    if columns:
        for host in hosts:
            yield HostTelemetryRecord(host=host, start_s=0.0, end_s=runtime_s, columns=columns)

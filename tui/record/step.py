"""One step in the record: phases, commands, results, errors, telemetry."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from tui.journal.state import RunState
from tui.journal.step import PhaseSpan, StepState, StepStateName
from tui.journal.telemetry import HostTelemetry
from tui.metrics.telemetry import metric_of
from tui.model.event import HostResult
from tui.model.figure_record import AggregateRecord
from tui.model.plan import HostTask, Plan, Step
from tui.model.step_record import (
    CacheDropRecord,
    HostTelemetryRecord,
    PhaseRecord,
    ProviderRecord,
    StepError,
    StepRecord,
    TaskRecord,
    TelemetryColumn,
)
from tui.record.figures import StepFigures, series_record
from tui.record.headline import metadata_record, step_value
from tui.record.timeline import HostSpan, coverage, host_spans, timing_record

Window = tuple[float, float]


def telemetry_records(
    seen: StepState, spans: Mapping[str, HostSpan], clients: Sequence[str]
) -> list[HostTelemetryRecord]:
    """Return the telemetry of each host: clients in plan order, then storage nodes by name."""
    return [_host(each, window) for each, window in windows_of(seen, spans, clients)]


def windows_of(
    seen: StepState, spans: Mapping[str, HostSpan], clients: Sequence[str]
) -> list[tuple[HostTelemetry, Window | None]]:
    """Return each host's telemetry with the window in which it measured, in the record's order.

    Storage nodes and MPI programs have the window of all hosts; None if none measured.
    """
    everywhere = _everywhere(seen, spans)
    place = {host: index for index, host in enumerate(clients)}
    hosts = sorted(
        seen.telemetry.values(), key=lambda each: (place.get(each.host, len(place)), each.host)
    )
    return [(each, _window(spans.get(each.host)) or everywhere) for each in hosts]


def _window(span: HostSpan | None) -> Window | None:
    return (span.start_t, span.end_t) if span is not None else None


def _everywhere(seen: StepState, spans: Mapping[str, HostSpan]) -> Window | None:
    """Return the time from the first host's start to the last one's end; without spans, the time of
    the last finished measure phase; None without either.
    """
    if spans:
        return min(span.start_t for span in spans.values()), max(
            span.end_t for span in spans.values()
        )
    phases = [phase for phase in seen.phases if phase.name == "measure" and phase.end_t is not None]
    return (phases[-1].start_t, phases[-1].end_t or phases[-1].start_t) if phases else None


def _host(host: HostTelemetry, window: Window | None) -> HostTelemetryRecord:
    start_s, end_s = window or (None, None)
    return HostTelemetryRecord(
        host=host.host,
        role=host.role,
        start_s=_short(start_s),
        end_s=_short(end_s),
        t_s=[round(t, 2) for t in host.end_t],
        interval_s=[round(seconds, 2) for seconds in host.interval_s],
        quiet=sum(host.quiet),
        columns=[_column(host, name, window) for name in host.columns],
        devices=dict(host.devices),
        unknown=dict(host.unknown),
    )


def _column(host: HostTelemetry, name: str, window: Window | None) -> TelemetryColumn:
    metric = metric_of(name)
    inside = (
        list(host.weighted(name, *window)) if window is not None and metric.unit != "id" else []
    )
    seconds = sum(weight for _, weight in inside)
    total = sum(value for value, _ in inside) if metric.unit == "count" else None
    mean = sum(value * weight for value, weight in inside) / seconds if seconds else None
    column = TelemetryColumn(
        name=name,
        unit=metric.unit,
        mean=_short(mean if total is None or mean is None else total),
        max=_short(max((value for value, _ in inside), default=None)),
    )
    values = [_short(value) for value in host.values(name)]
    if _is_constant(values):
        column.constant = values[0]
    else:
        column.values = values
    return column


def _is_constant(values: Sequence[float | None]) -> bool:
    return bool(values) and values[0] is not None and all(value == values[0] for value in values)


def _short(value: float | None) -> float | None:
    """Round to six significant digits, and from 1e6 on to integers, which halves the file size.

    None stays None.
    """
    return None if value is None else float(f"{value:.6g}") if abs(value) < 1e6 else round(value)


def build_step(plan: Plan, step: Step, state: RunState) -> StepRecord:
    """Build the record of a step from the events so far."""
    seen = state.at_step(step.index)
    measurement, results = seen.measurement, seen.results
    spans = host_spans(state, step.index, results)
    figures = StepFigures(results, measurement, spans, plan.latency_kind_of(step)).record()
    covered = coverage(step, state, spans, results)
    metadata = metadata_record(seen.metadata, step)
    return StepRecord(
        index=step.index,
        name=step.name,
        tool=step.tool,
        provider=_provider(step),
        params=dict(step.params),
        requests=step.requests,
        repetition=step.repetition,
        in_flight=step.in_flight,
        phases=[phase_record(state, span, _command(seen, span)) for span in seen.phases],
        profile=step.profile or None,
        role=step.role or None,
        beside=list(step.beside),
        together=step.together or None,
        cell=step.cell or None,
        point=dict(step.point),
        warmup=step.warmup,
        state=step_state(state, seen),
        attempt=seen.attempt,
        cache_drops=[CacheDropRecord(**asdict(each)) for each in seen.cache_drops],
        latency_kind=step.latency_kind,
        runtime_s=step.runtime_s,
        measured_s=measured_s(figures.aggregate),
        headline=step_value(
            plan.headline_of(step), figures.aggregate, plan.latency_kind_of(step), metadata
        ),
        results=figures,
        metadata=metadata,
        tasks={
            task.host: task_record(seen, task, spans.get(task.host), results.get(task.host))
            for task in step.tasks
        },
        timing=timing_record(spans),
        coverage=covered,
        series=series_record(measurement) if measurement is not None else None,
        telemetry=telemetry_records(seen, spans, step.hosts),
        errors=_errors(seen, step, results),
        added_options=dict(step.added_options),
    )


def _provider(step: Step) -> ProviderRecord | None:
    """Return the provider of the load generator; None if it is part of benchtui, or unknown because
    the run is older.
    """
    return None if step.provider is None else ProviderRecord(**asdict(step.provider))


def measured_s(aggregate: Mapping[str, AggregateRecord]) -> float | None:
    """Return the longest time that a host measured, in seconds; None if none did."""
    return max(
        (result.runtime_s for result in aggregate.values() if result.runtime_s is not None),
        default=None,
    )


def step_state(state: RunState, seen: StepState) -> StepStateName:
    """Return the state of a step; never running once the run has ended."""
    if seen.state == "missing" and seen.results:
        return "done"  # journals without begin and end of steps
    return "cut" if seen.state == "running" and state.end is not None else seen.state


def phase_record(state: RunState, span: PhaseSpan, command: str | None = None) -> PhaseRecord:
    """Return the record of a phase."""
    return PhaseRecord(
        name=span.name,
        command=command,
        start_utc=state.utc_of(span.start_t),
        end_utc=state.utc_of(span.end_t),
        start_s=rounded(span.start_t),
        end_s=rounded(span.end_t),
        ok=span.ok,
    )


def _command(seen: StepState, span: PhaseSpan) -> str | None:
    first = next((task for task in seen.commands if task.phase == span.name), None)
    return shlex.join(first.argv) if first is not None else None


def task_record(
    seen: StepState, task: HostTask, span: HostSpan | None, result: HostResult | None
) -> TaskRecord:
    """Return the record of one host's command."""
    record = outcome_record(span, result)
    record.randseed = task.randseed
    if (ended := seen.ended.get(("measure", task.host))) is not None:
        record.exit_code, record.ended = ended.exit_code, ended.reason
    return record


def outcome_record(span: HostSpan | None, result: HostResult | None) -> TaskRecord:
    """Return the record of a command: when its host measured, and status and CPU use from the
    result.
    """
    record = TaskRecord()
    if span is not None:
        record.start_s, record.end_s = rounded(span.start_t), rounded(span.end_t)
    if result is not None:
        record.final, record.errors = result.final, list(result.errors)
        record.tool_version = result.tool_version or None
        record.usr_cpu, record.sys_cpu = result.usr_cpu, result.sys_cpu
    return record


def rounded(value: float | None) -> float | None:
    """Round seconds to milliseconds; None stays None."""
    return None if value is None else round(value, 3)


def _errors(seen: StepState, step: Step, results: dict[str, HostResult]) -> list[StepError]:
    errors = [StepError(**asdict(each)) for each in seen.problems]
    explained = {error.host for error in errors if error.phase == "measure"}
    return errors + [
        StepError(
            host=host, phase="measure", code="tool-error", message=_error_text(step.tool, number)
        )
        for host, result in results.items()
        if host not in explained
        for number in result.errors
    ]


def _error_text(tool: str, number: int) -> str:
    name = errno.errorcode.get(number)
    return f"{tool} reported error {number}" + (f" ({name}: {os.strerror(number)})" if name else "")

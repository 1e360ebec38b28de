"""One step for the record: phases, commands, results, errors, values over time."""

from __future__ import annotations

import errno
import os
import shlex
from typing import Literal

from tui.model.event import HostResult
from tui.model.plan import HostTask, Plan, Step
from tui.model.record import CacheDropRecord, PhaseRecord, StepError, StepRecord, TaskRecord
from tui.results.record.columns import series_record
from tui.results.record.coverage import coverage, coverage_text
from tui.results.record.figures import StepFigures
from tui.results.record.gather import Gathered, PhaseSpan
from tui.results.record.metadata import metadata_record
from tui.results.record.timing import HostSpan, host_spans, timing_record
from tui.results.text.headline import step_value

StepState = Literal["done", "failed", "cut", "skipped", "running", "missing"]


def build_step(plan: Plan, step: Step, seen: Gathered) -> StepRecord:
    """Return the record of a step, as much of it as was seen."""
    measurement = seen.state.measured.get(step.index)
    results = {host: result for (index, host), result in seen.state.results.items() if index == step.index}
    spans = host_spans(seen.state, step.index, results)
    figures = StepFigures(results, measurement, spans, plan.latency_kind_of(step)).record()
    covered = coverage(step, seen, spans, results)
    p99 = {(host, direction): bins for (index, host, direction), bins in seen.p99.items() if index == step.index}
    metadata = metadata_record(seen.state.metadata.get(step.index), step)
    return StepRecord(
        index=step.index,
        name=step.name,
        tool=step.tool,
        params=dict(step.params),
        repetition=step.repetition,
        in_flight=step.in_flight,
        phases=[phase_record(seen, span, _command(seen, span)) for span in seen.phases if span.step == step.index],
        profile=step.profile or None,
        cell=step.cell or None,
        point=dict(step.point),
        warmup=step.warmup,
        state=step_state(seen, step),
        attempt=seen.state.steps[step.index].attempt if step.index in seen.state.steps else 1,
        cache_drops=[
            CacheDropRecord(host=each.host, ok=each.ok, method=each.method, detail=each.detail)
            for each in seen.cache_drops
            if each.step == step.index
        ],
        latency_kind=step.latency_kind,
        headline=step_value(plan.headline_of(step), figures.aggregate, plan.latency_kind_of(step), metadata),
        results=figures,
        metadata=metadata,
        tasks={task.host: _task(seen, step, task, spans.get(task.host), results.get(task.host)) for task in step.tasks},
        timing=timing_record(spans),
        coverage=covered,
        coverage_text=coverage_text(covered),
        series=series_record(measurement, p99) if measurement is not None else None,
        errors=_errors(seen, step, results),
    )


def step_state(seen: Gathered, step: Step) -> StepState:
    """Return how a step stands; one of a run that is over cannot be running."""
    view = seen.state.steps.get(step.index)
    if view is not None:
        return "cut" if view.state == "running" and seen.ended is not None else view.state
    return "done" if any(index == step.index for index, _ in seen.state.results) else "missing"


def phase_record(seen: Gathered, span: PhaseSpan, command: str | None = None) -> PhaseRecord:
    """Return a phase with its times."""
    return PhaseRecord(
        name=span.name,
        command=command,
        start_utc=seen.utc(span.start_t),
        end_utc=seen.utc(span.end_t),
        start_s=rounded(span.start_t),
        end_s=rounded(span.end_t),
        ok=span.ok,
    )


def _command(seen: Gathered, span: PhaseSpan) -> str | None:
    first = next((t for t in seen.started_tasks if t.step == span.step and t.phase == span.name), None)
    return shlex.join(first.argv) if first is not None else None


def _task(seen: Gathered, step: Step, task: HostTask, span: HostSpan | None, result: HostResult | None) -> TaskRecord:
    ended = seen.ended_tasks.get((step.index, "measure", task.host))
    record = TaskRecord(randseed=task.randseed)
    if span is not None:
        record.start_s, record.end_s = rounded(span.start_t), rounded(span.end_t)
    if ended is not None:
        record.exit_code, record.ended = ended.exit_code, ended.reason
    if result is not None:
        record.final, record.errors = result.final, list(result.errors)
        record.tool_version = result.tool_version or None
        record.usr_cpu, record.sys_cpu = result.usr_cpu, result.sys_cpu
    return record


def rounded(value: float | None) -> float | None:
    """Return a time to the millisecond."""
    return None if value is None else round(value, 3)


def _errors(seen: Gathered, step: Step, results: dict[str, HostResult]) -> list[StepError]:
    errors = [
        StepError(host=each.host, phase=each.phase, code=each.code, message=each.message, fatal=each.fatal)
        for each, index in seen.problems
        if index == step.index
    ]
    explained = {error.host for error in errors if error.phase == "measure"}
    return errors + [
        StepError(host=host, phase="measure", code="tool-error", message=_error_text(step.tool, number))
        for host, result in results.items()
        if host not in explained
        for number in result.errors
    ]


def _error_text(tool: str, number: int) -> str:
    name = errno.errorcode.get(number)
    return f"{tool} reported error {number}" + (f" ({name}: {os.strerror(number)})" if name else "")

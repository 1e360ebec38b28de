"""The points of a search for its record, from what was decided and what was measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tui.journal.search import SearchState
from tui.journal.step import StepState
from tui.metrics.figures import Result, enough_behind, latency_of, over_hosts
from tui.model.plan import Plan
from tui.model.search import Measured, Point
from tui.model.search_record import IntervalRecord, LimitFigureRecord, SearchPointRecord
from tui.model.step_record import StepRecord

Results = Mapping[int, Mapping[str, Result]]  # by step and direction, over all hosts


def results_of_record(steps: list[StepRecord]) -> Results:
    """Return what the steps of a record measured."""
    return {step.index: step.results.aggregate for step in steps}


def results_of_steps(steps: Mapping[int, StepState]) -> Results:
    """Return what the steps of a journal measured so far."""
    return {index: over_hosts([each.dirs for each in step.results.values()]) for index, step in steps.items()}


def point_records(
    plan: Plan, seen: SearchState, results: Results, limiters: Mapping[int, str]
) -> list[SearchPointRecord]:
    """Return every point that was decided, oldest first."""
    kinds = {step.index: step.latency_kind or plan.latency_kind for step in plan.steps}
    return [
        point_record(point, results.get(point.step, {}), kinds.get(point.step, plan.latency_kind), limiters)
        for point in seen.points
    ]


def point_record(point: Point, dirs: Mapping[str, Result], kind: str, limiters: Mapping[int, str]) -> SearchPointRecord:
    """Return one point, with the percentiles that enough I/Os are behind."""
    offer = point.offer
    return SearchPointRecord(
        step=point.step,
        role=offer.role,
        why=offer.why,
        offered_iops=offer.rate_iops,
        knobs=dict(offer.knobs),
        seconds=point.seconds,
        iops=point.iops,
        bw_bytes_per_s=point.bw_bytes_per_s,
        hosts=point.hosts,
        lost=list(point.lost),
        cut=point.cut,
        figures=[_figure(each) for each in point.measured],
        verdict=point.verdict,
        reason=point.why,
        percentiles_ns={name: _percentiles(result, name, kind) for name, result in dirs.items()},
        intended_ns=dict(point.intended),
        intended_reason=point.intended_why,
        limiter=limiters.get(point.step, ""),
    )


def _figure(measured: Measured) -> LimitFigureRecord:
    figure = IntervalRecord(value=measured.value, low=measured.low, high=measured.high)
    return LimitFigureRecord(
        limit=measured.limit, direction=measured.direction, figure=figure, verdict=measured.verdict
    )


def _percentiles(result: Result, direction: str, kind: str) -> dict[str, int]:
    latency = latency_of(result, direction, kind)
    if latency is None:
        return {}
    known = latency.percentiles_ns.items()
    return {name: value for name, value in known if enough_behind(latency.n, float(name))}

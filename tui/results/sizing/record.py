"""What a search found, for run.json and for whoever shows it while it goes on. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.journal.search import SearchState
from tui.journal.state import RunState
from tui.metrics.registry import MIXED
from tui.model.plan import Headline, Plan
from tui.model.record import HeadlineRecord
from tui.model.search import HOSTS, Knob, Limit, Point, Search
from tui.model.search_record import (
    AnswerRecord,
    IntervalRecord,
    KneeRecord,
    LimitRecord,
    ScalingPointRecord,
    ScalingRecord,
    SearchPointRecord,
    SearchRecord,
)
from tui.model.step_record import StepRecord
from tui.results.sizing.curve import main_trace, rate_of, rate_unit
from tui.results.sizing.points import Results, point_records, results_of_record, results_of_steps
from tui.results.sizing.words import answer_text, headline_text, measured_scales, short_text
from tui.sizing.answer import answer, maximum_of
from tui.sizing.budget import spent_s
from tui.sizing.curve import LEAST_POINTS, knee
from tui.sizing.estimate import Estimate
from tui.sizing.lacking import lacking_text, points_planned
from tui.sizing.scaling import scales_of, scaling
from tui.sizing.search import why_over

DIGITS = 9  # behind the point: a term of the scaling law that is 0 but for rounding is 0


def search_record(plan: Plan, run: RunState, steps: list[StepRecord]) -> SearchRecord | None:
    """Return what the search of a run found; None: it was none."""
    if plan.search is None:
        return None
    known = ((step.index, step.limiter) for step in steps if step.limiter is not None)
    limiters = {index: limiter.text for index, limiter in known if limiter.kind != "rate"}  # it is what was asked for
    record = points_alone(plan, plan.search, run.search, results_of_record(steps), limiters)
    return conclude(record, plan.search, run.search.points)


def search_so_far(plan: Plan, search: Search, run: RunState) -> SearchRecord:
    """Return the points of a search that goes on, without what follows from them."""
    return points_alone(plan, search, run.search, results_of_steps(run.steps), {})


def points_alone(
    plan: Plan, search: Search, seen: SearchState, results: Results, limiters: Mapping[int, str]
) -> SearchRecord:
    """Return what was asked for and what was measured."""
    return SearchRecord(
        kind=search.kind,
        objective=search.objective,
        limits=[_limit(each) for each in search.limits],
        over=[_knob(each) for each in search.over],
        most_points=max(points_planned(search), len(seen.points)),
        within_s=search.within_s,
        spent_s=round(spent_s(seen.points), 3),
        maximum_iops=_maximum(search, seen.points),
        job_shares=next((dict(each.offer.shares) for each in seen.points if each.offer.shares), {}),
        points=point_records(plan, seen, results, limiters),
    )


def conclude(record: SearchRecord, search: Search, points: Sequence[Point]) -> SearchRecord:
    """Put into a record what follows from its points: answer, scaling law, knee. Takes tens of ms, at first more."""
    if points and search.kind == "capacity":
        record.answer = _answer(search, points, record)
    if points and search.kind != "capacity" and (text := lacking_text(search, points)):
        record.not_tried = [f"{text}: {why_over(search, points)}"]
    if points and search.kind == "scaling":
        record.scaling = _scaling(points)
    if search.kind != "scaling":
        record.knee = _knee(record)
    return record


def _limit(limit: Limit) -> LimitRecord:
    return LimitRecord(
        text=limit.text,
        metric=limit.metric,
        direction=limit.direction,
        percentile=limit.percentile,
        most=limit.most,
    )


def _knob(knob: Knob) -> str:
    """Return a knob with its values: ``numjobs 1, 2, 4``."""
    return f"{knob.name} {', '.join(map(str, knob.values))}".strip()


def _interval(found: Estimate) -> IntervalRecord:
    ends = (None if each is None else round(each, DIGITS) for each in (found.value, found.low, found.high))
    return IntervalRecord(**dict(zip(("value", "low", "high"), ends, strict=True)))


def _interval_or_none(found: Estimate | None) -> IntervalRecord | None:
    return None if found is None else _interval(found)


def _maximum(search: Search, points: Sequence[Point]) -> IntervalRecord | None:
    """Return what was done at full load; None: not measured, or with different numbers of hosts."""
    found = maximum_of(points) if search.kind != "scaling" else Estimate()
    return _interval(found) if found.value is not None else None


def _answer(search: Search, points: Sequence[Point], record: SearchRecord) -> AnswerRecord:
    found = answer(search, points)
    there = next((point for point in record.points if point.step == found.step), None)
    made = AnswerRecord(
        state=found.state,
        capacity=_interval(found.capacity),
        unit=found.unit,
        knobs=dict(found.knobs),
        step=found.step,
        binding=found.binding,
        limiter=_limiter(record, there),
        headroom=dict(found.headroom),
        not_tried=list(found.not_tried),
        doubts=list(found.doubts),
    )
    if there is not None and there.offered_iops is None and found.state != "found":
        made.capacity.high = None  # the load generator ended there, not the system
    made.text = answer_text(made, record.limits)
    return made


def _limiter(record: SearchRecord, there: SearchPointRecord | None) -> str:
    """Return what limits the system at the answer's point, or at full load where that point tells nothing of it."""
    if there is None or there.limiter:
        return there.limiter if there is not None else ""
    full = (each.limiter for each in record.points if each.offered_iops is None and each.knobs == there.knobs)
    return next((f"at full load {text}" for text in full if text), "")


def _knee(record: SearchRecord) -> KneeRecord | None:
    """Return the knee of the curve that is judged, or of p99; None: there is no curve."""
    trace = main_trace(record)
    if trace is None:
        return None
    points = [each for each in trace.points if each.point.offered_iops is not None]
    if len({each.point.offered_iops for each in points}) < LEAST_POINTS:
        return None
    found = knee([each.point.iops for each in points], [each.latency_ns for each in points])
    return KneeRecord(
        iops=_interval(found.rate), latency_ns=found.latency_ns, percentile=trace.name, remark=found.remark
    )


def _scaling(points: Sequence[Point]) -> ScalingRecord:
    found = scaling(scales_of(points))
    return ScalingRecord(
        points=[
            ScalingPointRecord(
                hosts=each.hosts, iops=_interval(each.rate), efficiency=each.efficiency, extrapolated=each.extrapolated
            )
            for each in found.points
        ],
        rate=_interval_or_none(found.rate),
        contention=_interval_or_none(found.contention),
        coherence=_interval_or_none(found.coherence),
        best_hosts=_interval_or_none(found.best_hosts),
        remark=found.remark,
    )


def search_headline(search: SearchRecord, headline: Headline | None) -> HeadlineRecord:
    """Return the headline of a run that searched: what it found, with its interval, in place of any single point."""
    unit = rate_unit(search)
    step, value = None, None
    if search.answer is not None:
        step = search.answer.step
        value = search.answer.capacity.value if step is not None else None
    elif search.maximum_iops is not None:
        best = max(search.points, key=lambda point: rate_of(search, point))
        step, value = best.step, rate_of(search, best)
    elif search.scaling is not None and (measured := measured_scales(search.scaling)):
        most = max(measured)
        value = measured[most].iops.value
        with_most = [each for each in search.points if each.verdict != "void" and each.knobs.get(HOSTS) == most]
        step = with_most[-1].step if with_most else None
    return HeadlineRecord(
        metric="bandwidth" if unit == "bytes_per_s" else "iops",
        direction=headline.direction if headline is not None else MIXED,
        value=value,
        unit="bytes_per_s" if unit == "bytes_per_s" else "iops",
        step=step,
        text=headline_text(search),
        short=short_text(search),
    )

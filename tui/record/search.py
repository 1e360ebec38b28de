"""A search in the record: points, answer, state while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from tui.capacity.answer import answer, maximum_of
from tui.capacity.budget import cost_s, points_planned, spent_s
from tui.capacity.curves import LEAST_POINTS, knee, scales_of, scaling
from tui.capacity.interval import Estimate
from tui.capacity.next_point import points_left
from tui.capacity.points import INTENDED
from tui.journal.progress import SearchState
from tui.journal.state import RunState
from tui.journal.step import StepState
from tui.metrics.figures import Result, enough_behind, latency_of, over_hosts
from tui.metrics.registry import MIXED
from tui.model.criteria import default
from tui.model.figure_record import CodedText, coded
from tui.model.operands import clause
from tui.model.plan import Headline, Plan
from tui.model.record import HeadlineRecord
from tui.model.search import (
    HOSTS,
    Knob,
    MeasuredLimit,
    Offer,
    Search,
    SearchPoint,
    caveats_of,
)
from tui.model.search_record import (
    AnswerRecord,
    ConfidenceInterval,
    KneeRecord,
    LimitFigureRecord,
    LimitRecord,
    ScalingPointRecord,
    ScalingRecord,
    SearchPointRecord,
    SearchRecord,
)
from tui.model.step_record import StepRecord
from tui.record.search_figures import PointNow, main_trace, point_now, rate_of, rate_unit
from tui.text.search import measured_scales

RATE_REACHED = default("offered-rate.reached")
Bottlenecks = Mapping[int, CodedText | str]  # by step
Results = Mapping[int, Mapping[str, Result]]  # by step and direction, over all hosts


def results_of_record(steps: list[StepRecord]) -> Results:
    """Return the results by step index, from a record."""
    return {step.index: step.results.aggregate for step in steps}


def results_of_steps(steps: Mapping[int, StepState]) -> Results:
    """Return the results by step index so far, from a journal."""
    return {
        index: over_hosts([each.dirs for each in step.results.values()])
        for index, step in steps.items()
    }


def point_records(
    plan: Plan, seen: SearchState, results: Results, bottlenecks: Bottlenecks
) -> list[SearchPointRecord]:
    """Return all points that have a verdict, oldest first."""
    kinds = {step.index: step.latency_kind or plan.latency_kind for step in plan.steps}
    return [
        point_record(
            point,
            results.get(point.step, {}),
            kinds.get(point.step, plan.latency_kind),
            bottlenecks,
        )
        for point in seen.points
    ]


def point_record(
    point: SearchPoint,
    dirs: Mapping[str, Result],
    kind: str,
    bottlenecks: Bottlenecks,
) -> SearchPointRecord:
    """Return the record of one point, with the percentiles that have enough samples."""
    offer = point.offer
    return SearchPointRecord(
        step=point.step,
        role=offer.role,
        why=coded(offer.why),
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
        reason=coded(point.why),
        percentiles_ns={name: _percentiles(result, name, kind) for name, result in dirs.items()},
        bucket_width={
            name: latency.bucket_width
            for name, result in dirs.items()
            if (latency := latency_of(result, name, kind)) and latency.bucket_width is not None
        },
        intended_ns=dict(point.intended),
        # journals of versions before 2026-11-29 have texts
        intended_reason=CodedText(code=why) if (why := point.intended_why) in INTENDED else why,
        bottleneck=bottlenecks.get(point.step, ""),
    )


def _figure(measured: MeasuredLimit) -> LimitFigureRecord:
    found = asdict(measured)
    return LimitFigureRecord(**found, figure=ConfidenceInterval(**found))


def _percentiles(result: Result, direction: str, kind: str) -> dict[str, int]:
    latency = latency_of(result, direction, kind)
    if latency is None:
        return {}
    known = latency.percentiles_ns.items()
    return {name: value for name, value in known if enough_behind(latency.n, float(name))}


DIGITS = 9  # decimals; rounding noise in the scaling law becomes 0


def search_record(plan: Plan, run: RunState, steps: list[StepRecord]) -> SearchRecord | None:
    """Return the result of a run's search; None if the run is not a search."""
    if plan.search is None:
        return None
    known = ((step.index, step.bottleneck) for step in steps if step.bottleneck is not None)
    # a rate was requested
    bottlenecks = {index: found.text for index, found in known if found.kind != "rate"}
    record = points_alone(plan, plan.search, run.search, results_of_record(steps), bottlenecks)
    return conclude(record, plan.search, run.search.points)


def search_so_far(plan: Plan, search: Search, run: RunState) -> SearchRecord:
    """Return the points of a running search, without conclusions."""
    return points_alone(plan, search, run.search, results_of_steps(run.steps), {})


def points_alone(
    plan: Plan,
    search: Search,
    seen: SearchState,
    results: Results,
    bottlenecks: Bottlenecks,
) -> SearchRecord:
    """Return the search's parameters and measured points."""
    return SearchRecord(
        kind=search.kind,
        objective=search.objective,
        limits=[LimitRecord(**asdict(each)) for each in search.limits],
        over=[_knob(each) for each in search.over],
        most_points=max(points_planned(search), len(seen.points)),
        within_s=search.within_s,
        spent_s=round(spent_s(seen.points), 3),
        maximum_iops=_maximum(search, seen.points),
        job_shares=next((dict(each.offer.shares) for each in seen.points if each.offer.shares), {}),
        points=point_records(plan, seen, results, bottlenecks),
    )


def conclude(record: SearchRecord, search: Search, points: Sequence[SearchPoint]) -> SearchRecord:
    """Set answer, scaling law, knee and what was not tried in a record, and return the record.

    Takes tens of ms, the first call longer.
    """
    if points and search.kind == "capacity":
        record.answer = _answer(search, points, record)
    if points and search.kind != "capacity":
        record.not_tried = [*map(coded, points_left(search, points))]
    if points and search.kind == "scaling":
        record.scaling = _scaling(points)
    if search.kind != "scaling":
        record.knee = _knee(record)
    return record


def _knob(knob: Knob) -> str:
    """Return a knob with its values: ``numjobs 1, 2, 4``."""
    return f"{knob.name} {', '.join(map(str, knob.values))}".strip()


def _interval(found: Estimate) -> ConfidenceInterval:
    ends = (
        None if each is None else round(each, DIGITS)
        for each in (found.value, found.low, found.high)
    )
    return ConfidenceInterval(**dict(zip(("value", "low", "high"), ends, strict=True)))


def _interval_or_none(found: Estimate | None) -> ConfidenceInterval | None:
    return None if found is None else _interval(found)


def _maximum(search: Search, points: Sequence[SearchPoint]) -> ConfidenceInterval | None:
    """Return the result at full load; None if not measured, or in a search over the number of
    hosts.
    """
    found = maximum_of(points) if search.kind != "scaling" else Estimate()
    return _interval(found) if found.value is not None else None


def _answer(search: Search, points: Sequence[SearchPoint], record: SearchRecord) -> AnswerRecord:
    found = answer(search, points)
    there = next((point for point in record.points if point.step == found.step), None)
    made = AnswerRecord(
        **(asdict(found) | {"capacity": _interval(found.capacity)}),
        bottleneck=_bottleneck(record, there),
        caveats=caveats_of(
            found.state, found.step, found.held_s, contradicted=bool(found.contradictions)
        ),
    )
    if there is not None and there.offered_iops is None and found.state != "found":
        made.capacity.high = None  # the load generator was the limit here, not the system
    return made


def _bottleneck(record: SearchRecord, there: SearchPointRecord | None) -> CodedText | str:
    """Return the bottleneck at the answer's point, or at full load if that point has none."""
    if there is None or there.bottleneck:
        return there.bottleneck if there is not None else ""
    full = (
        each.bottleneck
        for each in record.points
        if each.offered_iops is None and each.knobs == there.knobs
    )
    return next((_at_full_load(each) for each in full if each), "")


def _at_full_load(found: CodedText | str) -> CodedText | str:
    text = found if isinstance(found, str) else found.model_dump()
    return CodedText(code="at-full-load", operands={"bottleneck": text})


def _knee(record: SearchRecord) -> KneeRecord | None:
    """Return the knee of the limit's curve, or else of the p99 curve; None without a curve."""
    trace = main_trace(record)
    if trace is None:
        return None
    points = [each for each in trace.points if each.point.offered_iops is not None]
    if len({each.point.offered_iops for each in points}) < LEAST_POINTS:
        return None
    found = knee([each.point.iops for each in points], [each.latency_ns for each in points])
    caveat = found.caveat
    highest = max(each.point.iops for each in points) / RATE_REACHED
    missed = [
        offered
        for each in points
        if each.point.verdict == "breaks"
        and (offered := each.point.offered_iops or 0.0) > highest
    ]
    # where fewer I/Os are sent than are due, those that are sent stay fast
    if found.rate.value is None and missed:
        caveat = clause("low-but-not-achieved", offered_iops=min(missed))
    return KneeRecord(
        iops=_interval(found.rate),
        latency_ns=found.latency_ns,
        percentile=trace.name,
        caveat=coded(caveat),
    )


def _scaling(points: Sequence[SearchPoint]) -> ScalingRecord:
    found = scaling(scales_of(points))
    return ScalingRecord(
        points=[
            ScalingPointRecord(
                hosts=each.hosts,
                iops=_interval(each.rate),
                efficiency=each.efficiency,
                extrapolated=each.extrapolated,
            )
            for each in found.points
        ],
        rate=_interval_or_none(found.rate),
        contention=_interval_or_none(found.contention),
        coherence=_interval_or_none(found.coherence),
        best_hosts=_interval_or_none(found.best_hosts),
        caveat=coded(found.caveat),
    )


def search_headline(search: SearchRecord, headline: Headline | None) -> HeadlineRecord:
    """Return the headline of a search: its capacity, the best rate of a curve, or the rate of a
    scaling run with the most hosts; without a figure if not measured.
    """
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
        with_most = [
            each
            for each in search.points
            if each.verdict != "void" and each.knobs.get(HOSTS) == most
        ]
        step = with_most[-1].step if with_most else None
    return HeadlineRecord(
        metric="bandwidth" if unit == "bytes_per_s" else "iops",
        direction=headline.direction if headline is not None else MIXED,
        value=value,
        unit="bytes_per_s" if unit == "bytes_per_s" else "iops",
        step=step,
    )


@dataclass(frozen=True, slots=True)
class SearchView:
    """State of a search as shown on Live.

    `elapsed_s` is the measured time of `offer`, negative during its ramp; `left_s` is an upper
    limit. `behind`: conclusions do not include the newest points yet.
    """

    record: SearchRecord
    offer: Offer | None = None
    elapsed_s: float = 0.0
    left_s: float | None = None
    ended: bool = False
    behind: bool = False
    now: PointNow | None = None  # results of `offer` so far

    @property
    def fraction(self) -> float:
        """Share of the budget already used, in points or in time, whichever is larger."""
        record = self.record
        by_points = len(record.points) / record.most_points if record.most_points else 0.0
        by_time = record.spent_s / record.within_s if record.within_s else 0.0
        return 1.0 if self.ended else min(1.0, max(by_points, by_time))


class LiveSearch:
    """Caches the conclusions of a search: each point is processed once, outside the drawing
    thread.
    """

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan
        self.record: SearchRecord | None = None
        self._points: tuple[SearchPoint, ...] = ()
        self._concluded: tuple[SearchPoint, ...] = ()  # the points behind answer and knee

    @property
    def searches(self) -> bool:
        """Whether the run is a search."""
        return self.plan is not None and self.plan.search is not None

    def read_points(self, state: RunState) -> bool:
        """Read new points with verdicts into `record`; return whether `conclude` has work to do."""
        points = state.search.points
        if (
            self.plan is None
            or self.plan.search is None
            or (points == self._points and self.record is not None)
        ):
            return False
        before, self._points = self.record, points
        self.record = search_so_far(self.plan, self.plan.search, state)
        if before is not None:
            self.record.answer, self.record.knee, self.record.scaling = (
                before.answer,
                before.knee,
                before.scaling,
            )
        return bool(points)

    def conclude(self) -> None:
        """Update the conclusions; may run in another thread."""
        record, points = self.record, self._points
        if record is not None and self.plan is not None and self.plan.search is not None:
            made = conclude(record.model_copy(), self.plan.search, points)
            if record is self.record:
                self.record, self._concluded = made, points

    def view(self, state: RunState, now_t: float) -> SearchView:
        """Return the state to show."""
        record = self.record or SearchRecord(kind="capacity", most_points=0)
        opened = None if state.ended else state.search.open
        offer = opened.offer if opened is not None else None
        measuring = opened is not None and state.phase == "measure" and state.step == opened.step
        # times of events have microseconds; a clock that cuts seconds off needs no error below them
        elapsed = max(0.0, round(now_t - state.phase_started_t, 6)) if measuring else 0.0
        behind = self._concluded != self._points
        left_s = self._left_s(record, offer, elapsed)
        of_it = elapsed - offer.lead_s if offer is not None and measuring else 0.0
        measured = (
            state.at_step(opened.step).measurement if opened is not None and measuring else None
        )
        now = point_now(record, measured) if measured is not None else None
        return SearchView(record, offer, of_it, left_s, state.ended, behind, now)

    def _left_s(self, record: SearchRecord, offer: Offer | None, elapsed_s: float) -> float | None:
        """Return the upper limit of the remaining seconds of load and pauses; None if unknown."""
        by_time = (
            record.within_s - record.spent_s - elapsed_s if record.within_s is not None else None
        )
        now = [cost_s(offer, offer.seconds)] if offer is not None else []
        a_point = max(
            [cost_s(point.offer, point.seconds) for point in self._points] + now, default=0.0
        )
        by_points = (
            (record.most_points - len(record.points)) * a_point - elapsed_s if a_point else None
        )
        known = [left for left in (by_time, by_points) if left is not None]
        return max(0.0, min(known)) if known else None

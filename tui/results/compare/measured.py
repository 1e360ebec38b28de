"""What runs measured, in the points that they share: every figure of every repetition. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from tui.metrics import figures
from tui.metrics.histogram import Histogram
from tui.metrics.registry import BOTH, MIXED, direction, in_order
from tui.model.plan import Headline
from tui.model.record import RunRecord
from tui.model.step_record import SeriesColumns, StepRecord
from tui.results.record.cells import by_point, value_texts
from tui.results.record.headline import step_value

PERCENTILES = (50.0, 99.0, 99.9)
LEFT_OUT = ("skipped", "missing", "running")
PointKey = tuple[str, tuple[tuple[str, str], ...]]


class Attempt(Struct, frozen=True):
    """One repetition of a point."""

    record: RunRecord
    step: StepRecord

    @property
    def latency_kind(self) -> str:
        """Which latency its figures are of."""
        return self.record.latency_kind_of(self.step)

    def value(self, figure: Headline) -> float | None:
        """Return a figure; None when it was not measured, `units.Few` when too few I/Os are behind it."""
        return step_value(figure, self.step.results.aggregate, self.latency_kind, self.step.metadata)

    def latency(self, figure: Headline) -> figures.Latency | None:
        """Return the latency that a figure is of."""
        result = self.step.results.aggregate.get(self.found_in(figure))
        return None if result is None else figures.latency_of(result, self.found_in(figure), self.latency_kind)

    def found_in(self, figure: Headline) -> str:
        """Return the direction that has a figure: reads and writes together may be told as `both`, or be one alone."""
        return figures.found_in(figure, self.step.results.aggregate)

    def series(self, figure: Headline) -> SeriesColumns | None:
        """Return what all hosts together did second by second."""
        found = self.step.series.columns if self.step.series is not None else []
        wanted = self.found_in(figure)
        return next((each for each in found if each.host is None and each.direction == wanted), None)

    def iterations(self, figure: Headline) -> list[float]:
        """Return the iterations of a metadata operation."""
        operations = self.step.metadata.operations if self.step.metadata is not None else {}
        return list(operations[figure.direction].iterations) if figure.direction in operations else []


class Point(Struct, frozen=True):
    """One point of a sweep, one profile of a suite, or all there is: its repetitions, and what it is about."""

    key: PointKey
    name: str
    headline: Headline | None
    attempts: tuple[Attempt, ...]

    @property
    def figures(self) -> list[Headline]:
        """Every figure that was measured, the one that it is about first."""
        found = [each for attempt in self.attempts for each in _figures(attempt)]
        first = [self.headline] if self.headline is not None else []
        return list(dict.fromkeys([*first, *found]))

    def merged(self, name: str) -> Histogram:
        """Return the latencies of a direction, all repetitions together; empty where no histogram is known."""
        found = Histogram()
        for attempt in self.attempts:
            latency = attempt.latency(Headline("latency", name))
            if latency is not None and latency.buckets is not None:
                found.merge(Histogram.from_buckets(latency.buckets))
        return found


def points_of(records: Sequence[RunRecord]) -> dict[PointKey, Point]:
    """Return the points of runs that are repetitions of each other, in the order of the first that has them."""
    found: dict[PointKey, Point] = {}
    for record in records:
        for cell, steps in by_point(record.steps).items():
            attempts = tuple(Attempt(record, step) for step in steps if was_measured(step))
            if not attempts:
                continue
            key = _key(steps[0])
            before = found[key].attempts if key in found else ()
            found[key] = Point(key, _name(cell, steps[0]), headline_of(record, steps[0]), (*before, *attempts))
    return found


def was_measured(step: StepRecord) -> bool:
    """Tell whether a step has figures of its own."""
    return step.state not in LEFT_OUT and (bool(step.results.aggregate) or step.metadata is not None)


def _key(step: StepRecord) -> PointKey:
    return step.profile or "", tuple(sorted((name, str(value)) for name, value in step.point.items()))


def _name(cell: str, step: StepRecord) -> str:
    values = " ".join(f"{name}={text}" for name, text in value_texts(cell, step.point).items())
    return " ".join(part for part in (step.profile or "", values) if part)


def headline_of(record: RunRecord, step: StepRecord) -> Headline | None:
    """Return what a step is about: of a suite what its member is about."""
    cells = record.matrix.cells if record.matrix is not None else []
    own = next((cell.headline for cell in cells if step.index in cell.steps), None)
    found = own or record.headline
    return None if found is None else Headline(found.metric, found.direction, found.percentile)


def _figures(attempt: Attempt) -> Iterator[Headline]:
    if attempt.step.metadata is not None:
        yield from (Headline("ops", name) for name in attempt.step.metadata.operations)
        return
    operations = (headline := headline_of(attempt.record, attempt.step)) is not None and headline.metric == "ops"
    for name in in_order(attempt.step.results.aggregate):
        if name != MIXED:
            yield from _of_direction(name, operations=operations)


def _of_direction(name: str, *, operations: bool) -> Iterable[Headline]:
    if not operations and name != BOTH:  # its I/Os are those of reads and writes
        yield Headline("iops", name)
        if direction(name).moves_data:
            yield Headline("bandwidth", name)
    yield Headline("latency", name)
    yield from (Headline("latency", name, percentile) for percentile in PERCENTILES)

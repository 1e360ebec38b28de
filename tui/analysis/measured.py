"""Results of runs at shared points, and a profile's run-to-run noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import exp, sqrt
from pathlib import Path
from statistics import fmean, median, stdev

import msgspec
from msgspec import Struct, field

from tui.analysis.stats import t_reach
from tui.analysis.verdicts import THRESHOLD
from tui.journal.rundir import write_atomic
from tui.metrics import figures
from tui.metrics.buckets import CURVE_PERCENTILES, label
from tui.metrics.histogram import Histogram
from tui.metrics.registry import BOTH, MIXED, direction, in_order, metric_of_operation
from tui.metrics.repeat import HEADLINE_ALPHA, OTHERS_ALPHA
from tui.metrics.units import Few
from tui.model.bounded import NO_JSON, read_file
from tui.model.figure_record import SeriesColumns
from tui.model.plain_data import PlainDecoder
from tui.model.plan import Headline
from tui.model.problem import BenchtuiError, NotComparableError, Problem
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.record.cells import by_point, value_texts
from tui.record.headline import iteration_values, step_value
from tui.text.search import limits_text

LEFT_OUT = ("skipped", "missing", "running")
PointKey = tuple[str, tuple[tuple[str, str], ...]]


class PointRepetition(Struct, frozen=True):
    """One repetition of a point."""

    record: RunRecord
    step: StepRecord

    @property
    def latency_kind(self) -> str:
        """The latency kind of the figures, such as clat."""
        return self.record.latency_kind_of(self.step)

    def value(self, figure: Headline) -> float | None:
        """Return a figure; None if it was not measured.

        `units.Few` if too few samples are beyond a percentile.
        """
        return step_value(
            figure, self.step.results.aggregate, self.latency_kind, self.step.metadata
        )

    def latency(self, figure: Headline) -> figures.Latency | None:
        """Return the latency statistics that contain a figure; None if not measured."""
        result = self.step.results.aggregate.get(self.found_in(figure))
        return (
            None
            if result is None
            else figures.latency_of(result, self.found_in(figure), self.latency_kind)
        )

    def found_in(self, figure: Headline) -> str:
        """Return the direction in the record that has a figure.

        Reads plus writes may be recorded as `both`, or as a single direction.
        """
        return figures.found_in(figure, self.step.results.aggregate)

    def series(self, figure: Headline) -> SeriesColumns | None:
        """Return the per-second values of all hosts together, in the figure's direction; None if
        unknown.
        """
        found = self.step.series.columns if self.step.series is not None else []
        wanted = self.found_in(figure)
        return next(
            (each for each in found if each.host is None and each.direction == wanted), None
        )

    def iterations(self, figure: Headline) -> list[float]:
        """Return the figure in each iteration of an MPI program's operation."""
        operations = self.step.metadata.operations if self.step.metadata is not None else {}
        return iteration_values(operations.get(figure.direction), figure.metric)


class ComparedPoint(Struct, frozen=True):
    """A point of a sweep, a profile of a suite, or the whole run; its repetitions and headline."""

    name: str
    headline: Headline | None
    attempts: tuple[PointRepetition, ...]

    @property
    def figures(self) -> list[Headline]:
        """All measured figures, the headline first."""
        found = [each for attempt in self.attempts for each in _figures(attempt)]
        first = [self.headline] if self.headline is not None else []
        return list(dict.fromkeys([*first, *found]))

    def by_run(self, figure: Headline) -> list[list[float]]:
        """Return a figure's repetitions for each run that measured it.

        Runs are the unit of comparison: repetitions within one run share its layout, mounts and
        minutes, and differ by less than separate runs.
        """
        runs = groupby(self.attempts, lambda attempt: id(attempt.record))
        values = [[each.value(figure) for each in run] for _, run in runs]
        return [known for run in values if (known := [each for each in run if each is not None])]

    def merged(self, name: str) -> Histogram:
        """Return a direction's latencies, merged over all repetitions.

        Empty without histograms.
        """
        found = Histogram()
        for attempt in self.attempts:
            latency = attempt.latency(Headline("latency", name))
            if latency is not None and latency.buckets is not None:
                found.merge(Histogram.from_buckets(latency.buckets))
        return found


def points_of(records: Sequence[RunRecord]) -> dict[PointKey, ComparedPoint]:
    """Return the points of runs that repeat each other, by key, in order of first appearance."""
    found: dict[PointKey, ComparedPoint] = {}
    for record in records:
        for cell, steps in by_point(record.steps).items():
            attempts = tuple(PointRepetition(record, step) for step in steps if was_measured(step))
            if not attempts:
                continue
            key = _key(steps[0])
            before = found[key].attempts if key in found else ()
            found[key] = ComparedPoint(
                _name(cell, steps[0]), headline_of(record, steps[0]), (*before, *attempts)
            )
    return found


def was_measured(step: StepRecord) -> bool:
    """Return whether a step has figures of its own."""
    return step.state not in LEFT_OUT and (
        bool(step.results.aggregate) or step.metadata is not None
    )


def _key(step: StepRecord) -> PointKey:
    return step.part, tuple(sorted((name, str(value)) for name, value in step.point.items()))


def _name(cell: str, step: StepRecord) -> str:
    values = " ".join(f"{name}={text}" for name, text in value_texts(cell, step.point).items())
    return " ".join(part for part in (step.part, values) if part)


def headline_of(record: RunRecord, step: StepRecord) -> Headline | None:
    """Return a step's headline; in a suite, that of the step's profile. None if there is none."""
    cells = record.matrix.cells if record.matrix is not None else []
    own = next((cell.headline for cell in cells if step.index in cell.steps), None)
    found = own or record.headline
    return None if found is None else Headline(found.metric, found.direction, found.percentile)


def _figures(attempt: PointRepetition) -> Iterator[Headline]:
    if attempt.step.metadata is not None:
        yield from (Headline("score", name) for name in attempt.step.metadata.scores)
        for name, each in attempt.step.metadata.operations.items():
            yield Headline(metric_of_operation(each.bytes_per_op).name, name)
        return
    operations = (
        headline := headline_of(attempt.record, attempt.step)
    ) is not None and headline.metric == "ops"
    for name in in_order(attempt.step.results.aggregate):
        if name != MIXED:
            yield from _of_direction(name, operations=operations)


def _of_direction(name: str, *, operations: bool) -> Iterable[Headline]:
    if not operations and name != BOTH:  # its I/Os are already in read and write
        yield Headline("iops", name)
        if direction(name).moves_data:
            yield Headline("bandwidth", name)
    yield Headline("latency", name)
    yield from (Headline("latency", name, percentile) for percentile in CURVE_PERCENTILES)


NOISE_SCHEMA = "benchtui.noise/1"
FAR = 99.0  # of a logarithm: no change is that large
Key = tuple[str, int | None, str | None, tuple[str, ...], str]


class Floor(Struct, frozen=True):
    """The noise of a figure over `n` identical runs.

    `cov`: standard deviation relative to the mean.
    """

    n: int
    cov: float

    def detectable(self, level: float) -> float:
        """Return the smallest change between two single runs that is significant at `level`, as a
        share.

        Applies to an increase or a decrease; never less than THRESHOLD.
        """
        reach = t_reach(self.n - 1, level / 2) * sqrt(2) * self.cov
        return max(THRESHOLD, exp(min(reach, FAR)) - 1)


class Configuration(Struct):
    """What was measured repeatedly: profile, target, hosts, parameters.

    `figures`: the noise floor of each figure by name.
    """

    profile: str
    version: int | None
    target: str | None
    hosts: list[str]
    params: str
    runs: list[str] = field(default_factory=list)
    figures: dict[str, Floor] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """Key that equal configurations share."""
        return self.profile, self.version, self.target, tuple(self.hosts), self.params


class _NoiseFile(Struct):
    schema: str = NOISE_SCHEMA
    configurations: list[Configuration] = field(default_factory=list)


_files = PlainDecoder(_NoiseFile)


def name_of(point: ComparedPoint, figure: Headline) -> str:
    """Return the name of a figure of a point: ``bs=4k read.p99``."""
    return f"{point.name} {figure_name(figure)}".strip()


def figure_name(figure: Headline) -> str:
    """Return the short name of a figure, as in thresholds.

    ``read.iops``, ``write.p99.9``, ``read.mean``
    """
    if figure.metric == "latency":
        at = "mean" if figure.percentile is None else f"p{label(figure.percentile)}"
        return f"{figure.direction}.{at}"
    return figure.direction if figure.metric == "ops" else f"{figure.direction}.{figure.metric}"


def configuration(record: RunRecord) -> Configuration:
    """Return the configuration of a run, with no noise floors yet.

    An import has no profile: the options that its output has count as parameters.
    """
    params = [(name, str(value)) for name, value in sorted(record.profile.params.items())]
    points = [step.cell or step.name for step in record.steps if not step.warmup]
    if record.search is not None:  # the search chose its points
        points = [record.search.kind, record.search.objective, limits_text(record.search.limits)]
    options = [sorted(step.options.items()) for step in record.steps if step.options]
    parts = [params, list(dict.fromkeys(points)), *([options] if options else [])]
    text = msgspec.json.encode(parts).decode()
    hosts = sorted(host.name for host in record.hosts)
    return Configuration(record.profile.tag, record.profile.version, record.target, hosts, text)


def measure(records: Sequence[RunRecord]) -> Configuration:
    """Return the noise floors from two or more equal runs; a run with repetitions counts with its
    median.
    """
    found = configuration(records[0])
    found.runs = [record.run_id for record in records]
    for point in points_of(records).values():
        for figure in point.figures:
            runs = point.by_run(figure)
            measured = [value for run in runs for value in run]
            if len(runs) > 1 and all(measured) and not any(map(is_few, measured)):
                found.figures[name_of(point, figure)] = floor_of(list(map(median, runs)))
    return found


def floor_of(values: Sequence[float]) -> Floor:
    """Return the noise floor from two or more positive values of a figure."""
    return Floor(len(values), stdev(values) / fmean(values))


def is_few(value: float) -> bool:
    """Return whether a figure is a percentile with too few samples beyond it."""
    return isinstance(value, Few)


def levels(records: Sequence[RunRecord], figures: Iterable[str]) -> dict[str, float]:
    """Return the strictest significance level at which `compare` tests each of these figures.

    It applies if no other figure differs. Headlines and all other figures are one family each.
    """
    points = points_of(records).values()
    heads = {name_of(each, each.headline) for each in points if each.headline is not None}
    names = list(figures)
    first = heads.intersection(names)
    others = max(len(names) - len(first), 1)
    return {
        name: HEADLINE_ALPHA / len(first) if name in first else OTHERS_ALPHA / others
        for name in names
    }


class NoiseFloors:
    """The saved noise floors of all configurations, kept in one file."""

    def __init__(
        self, path: Path, configurations: Mapping[Key, Configuration] | None = None
    ) -> None:
        self.path = path
        self._known = dict(configurations or {})

    @classmethod
    def read(cls, path: Path) -> NoiseFloors:
        """Read the file; no floors if it does not exist.

        Raises BenchtuiError if it cannot be read.
        """
        try:
            data = _files.decode(read_file(path))
        except FileNotFoundError:
            return cls(path)
        except (OSError, *NO_JSON) as error:
            raise NotComparableError(Problem(f"cannot be read: {error}", file=str(path))) from error
        return cls(path, {each.key: each for each in data.configurations})

    def keep(self, found: Configuration) -> None:
        """Save a configuration's floors, replacing older ones. Raises BenchtuiError."""
        self._known[found.key] = found
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = msgspec.json.format(
                msgspec.json.encode(_NoiseFile(configurations=list(self._known.values())))
            )
            write_atomic(self.path, text + b"\n")
        except OSError as error:
            raise BenchtuiError(
                Problem(f"cannot be written: {error.strerror}", file=str(self.path))
            ) from error

    def floor(self, record: RunRecord, name: str) -> Floor | None:
        """Return the noise floor of a figure in a run's configuration.

        None if never measured, or if the file is older than 2026-11-30 and counts repetitions as
        runs.
        """
        known = self._known.get(configuration(record).key)
        found = known.figures.get(name) if known is not None else None
        return found if known is not None and found and found.n <= len(known.runs) else None

    def renamed(self, records: Iterable[tuple[RunRecord, RunRecord]]) -> NoiseFloors:
        """Return the floors of each pair's first record, for the configuration of its second
        record.

        The second one has other names, as in a redacted report.
        """
        pairs = [(self._known.get(configuration(record).key), other) for record, other in records]
        known = {configuration(other).key: found for found, other in pairs if found is not None}
        return NoiseFloors(self.path, known)

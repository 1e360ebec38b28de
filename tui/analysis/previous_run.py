"""Reference curves behind a live run: a previous run with the same load, or published results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui.journal.rundir import load_plan
from tui.library.runs import RunStore
from tui.model.bounded import NO_JSON, read_file
from tui.model.plain_data import PlainDecoder
from tui.model.plan import Plan, Step
from tui.model.problem import BenchtuiError
from tui.model.rundir import RECORD_FILE

if TYPE_CHECKING:
    from tui.model.baseline import Baseline, PublishedFigure

MOST = 25  # runs of the profile to inspect, newest first
LENGTH = ("runtime",)  # a parameter that only sets the duration
Values = Sequence[float | None]


class Behind(Struct, frozen=True):
    """Reference curves for a live run. `word` is their short label, `source` their origin.

    `curves`: by step; then by host ("" for all together) and direction; then by metric (iops,
    bandwidth, latency, p99; in SI units, ns): one value per second of the load, or a single one for
    all of it. `rates`: by step, operations per second.
    """

    word: str
    source: str
    curves: dict[int, dict[tuple[str, str], dict[str, Values]]] = field(default_factory=dict)
    rates: dict[int, dict[str, float]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (any(self.curves.values()) or any(self.rates.values()))

    def values(self, step: int | None, host: str, direction: str, metric: str) -> Values:
        """Return the values of one reference curve; empty if there are none."""
        found = (
            self.curves.get(-1 if step is None else step, {})
            .get((host, direction), {})
            .get(metric, ())
        )
        return found if any(value is not None for value in found) else ()


# -- the previous run


class _Column(Struct):
    host: str | None = None
    direction: str = ""
    iops: list[float | None] = field(default_factory=list)
    bw_bytes_per_s: list[float | None] = field(default_factory=list)
    lat_mean_ns: list[float | None] = field(default_factory=list)
    p99_ns: list[float | None] = field(default_factory=list)

    def metrics(self, step_s: float) -> dict[str, Values]:
        """Return the curves of the metrics that are known, one value per second."""
        own = {
            "iops": self.iops,
            "bandwidth": self.bw_bytes_per_s,
            "latency": self.lat_mean_ns,
            "p99": self.p99_ns,
        }
        times = max(1, round(step_s))
        return {
            name: [value for value in values for _ in range(times)] for name, values in own.items()
        }


class _Series(Struct):
    step_s: float = 1.0
    columns: list[_Column] = field(default_factory=list)


class _Operation(Struct):
    mean: float | None = None


class _MetadataRates(Struct):
    operations: dict[str, _Operation] = field(default_factory=dict)


class _StepSeries(Struct):
    index: int
    series: _Series | None = None
    metadata: _MetadataRates | None = None


class _RecordSeries(Struct):
    steps: list[_StepSeries] = field(default_factory=list)


_records = PlainDecoder(_RecordSeries)


def run_before(plan: Plan, run_id: str, store: RunStore) -> Behind | None:
    """Return reference curves of the newest earlier run that is not invalid and shares steps with
    this one.

    Such steps have the same load on as many hosts; durations may differ. None if the last `MOST`
    complete runs of the profile contain none. Raises UsageError if runs cannot be listed.
    """
    runs = (
        run
        for run in store.everything().runs
        if run.run_id < run_id and run.profile == plan.profile.tag and run.state == "complete"
    )
    for run in islice(runs, MOST):
        if run.verdict == "invalid":
            continue
        source = f"previous run, {run.run_id}" + (f" ({run.headline})" if run.headline else "")
        found = _of_run(plan, store.directory_of(run), source)
        if found is not None and not found.empty:
            return found
    return None


def _of_run(plan: Plan, run_dir: Path, source: str) -> Behind | None:
    """Return a run's results in the steps that it shares with a plan; None if it shares none."""
    with suppress(OSError, BenchtuiError, *NO_JSON):
        other = load_plan(run_dir)
        pairs = {} if other.proves is not None else dict(_pairs(plan, other))
        if pairs:
            steps = {
                step.index: step for step in _records.decode(read_file(run_dir / RECORD_FILE)).steps
            }
            both = {index: steps[theirs] for index, theirs in pairs.items() if theirs in steps}
            curves = {index: _curves(step) for index, step in both.items()}
            return Behind(
                "before", source, curves, {index: _rates(step) for index, step in both.items()}
            )
    return None


def _pairs(plan: Plan, other: Plan) -> Iterator[tuple[int, int]]:
    """Yield the indices of steps in two plans that have the same load on as many hosts."""
    free = {step.index: step for step in other.steps}
    for step in plan.steps:
        theirs = next((index for index, each in free.items() if is_same_load(step, each)), None)
        if theirs is not None:
            del free[theirs]
            yield step.index, theirs


def is_same_load(ours: Step, theirs: Step) -> bool:
    """Return whether two steps have the same load on as many hosts; durations may differ."""
    return _load(ours) == _load(theirs)


def _load(step: Step) -> tuple[object, ...]:
    params = {name: value for name, value in step.params.items() if name not in LENGTH}
    point = {name: value for name, value in step.point.items() if name not in LENGTH}
    return step.name, step.tool, len(step.tasks), step.directions, step.warmup, params, point


def _curves(step: _StepSeries) -> dict[tuple[str, str], dict[str, Values]]:
    if step.series is None:
        return {}
    return {
        (each.host or "", each.direction): each.metrics(step.series.step_s)
        for each in step.series.columns
    }


def _rates(step: _StepSeries) -> dict[str, float]:
    operations = step.metadata.operations if step.metadata is not None else {}
    return {name: each.mean for name, each in operations.items() if each.mean is not None}


# -- published results


def published(plan: Plan, user_dir: Path) -> Behind | None:
    """Return published results for the loads of a plan; None if there are none.

    Results for the same number of clients are preferred.
    """
    from tui.analysis.published import find_baselines

    known = find_baselines(
        user_dir, {tag for step in plan.steps for tag in _tags(plan, step)}
    ).baselines
    curves: dict[int, dict[tuple[str, str], dict[str, Values]]] = {}
    rates: dict[int, dict[str, float]] = {}
    titles: dict[str, None] = {}
    for step in plan.steps:
        fit = [each for each in known if _is_about(each, step, _tags(plan, step))]
        for each in sorted(fit, key=lambda each: each.hosts != len(step.tasks))[:1]:
            curves[step.index] = _levels(each, plan.latency_kind_of(step))
            rates[step.index] = _published_rates(each)
            titles[_title(each)] = None
    behind = Behind("published", "; ".join(titles), curves, rates)
    return None if behind.empty else behind


def _tags(plan: Plan, step: Step) -> list[str]:
    return [step.profile] if step.profile else [plan.profile.tag, *plan.profile.extends]


def _is_about(baseline: Baseline, step: Step, tags: Sequence[str]) -> bool:
    """Return whether a published result is for exactly the load of a step.

    Figures of another load would mislead.
    """
    from tui.analysis.published import is_at, is_of, same

    if (
        baseline.host is not None
        or baseline.validity != "ok"
        or not (is_of(baseline, tags) and is_at(baseline, step))
    ):
        return False
    params = {name: value for name, value in baseline.params.items() if name not in LENGTH}
    return all(
        same(step.params[name], theirs) for name, theirs in params.items() if name in step.params
    )


def _title(baseline: Baseline) -> str:
    of = f", {baseline.hosts} client{'' if baseline.hosts == 1 else 's'}" if baseline.hosts else ""
    return f"published results, {baseline.title}{of}"


def _levels(baseline: Baseline, kind: str) -> dict[tuple[str, str], dict[str, Values]]:
    levels: dict[tuple[str, str], dict[str, Values]] = {}
    for figure in baseline.figures:
        if (metric := _metric_of(figure, kind)) is not None:
            levels.setdefault(("", figure.of), {})[metric] = (_value(figure),)
    return levels


def _metric_of(figure: PublishedFigure, kind: str) -> str | None:
    """Return the metric of a published figure that is drawn as a curve; None for others."""
    if figure.metric in ("iops", "bandwidth"):
        return figure.metric if figure.statistic in ("", "mean") else None
    shown = (
        {"mean": "latency", "p99": "p99"}
        if figure.metric == "latency" and figure.kind in ("", kind)
        else {}
    )
    return shown.get(figure.statistic)


def _published_rates(baseline: Baseline) -> dict[str, float]:
    return {
        each.of: _value(each)
        for each in baseline.figures
        if each.metric == "ops" and each.statistic == "mean"
    }


def _value(figure: PublishedFigure) -> float:
    """Return a published figure; for a range its lower end, the least that is claimed."""
    return figure.quantity.low

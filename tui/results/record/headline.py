"""The one figure that a profile is about, of a step and of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from tui.metrics import figures, units
from tui.metrics.registry import METRICS, headline_text
from tui.model.plan import Headline
from tui.model.record import HeadlineRecord
from tui.model.step_record import AggregateRecord, MetadataRecord, StepRecord
from tui.results.record.length import is_short
from tui.results.record.metadata import operation_value

if TYPE_CHECKING:
    pass


def step_value(
    headline: Headline | None,
    aggregate: Mapping[str, AggregateRecord],
    latency_kind: str,
    metadata: MetadataRecord | None = None,
) -> float | None:
    """Return the headline figure of a step; None when it was not measured."""
    if headline is None:
        return None
    if metadata is not None:
        return operation_value(metadata, headline.direction)
    return figures.value_of(headline, aggregate, latency_kind)


def run_headline(
    headline: Headline | None, steps: Sequence[StepRecord], kind: str = "clat", wrong: Collection[int] = ()
) -> HeadlineRecord | None:
    """Return the headline of a run: the median of repetitions, the best of the points of a sweep. None for a suite.

    `kind` is the run's latency kind. Points with a step in `wrong`, and those that are too short, are the best only
    when there is no other.
    """
    if headline is None:
        return None
    record = blank(headline)
    groups = [group for group in repetitions(steps) if group]
    unfit = {*wrong, *(step.index for step in steps if is_short(step))}
    fit = [group for group in groups if not unfit & {index for _, index in group}]
    points = [middle(group) for group in fit or groups]
    if points:
        value, index = METRICS[headline.metric].best(points)
        put_figure(record, headline, value, steps[index], kind)
    return record


def put_figure(record: HeadlineRecord, headline: Headline, value: float, step: StepRecord, kind: str) -> None:
    """Put a figure into a headline, with how many samples a percentile has behind it."""
    record.value, record.step = float(value), step.index
    record.behind = figures.headline_behind(headline, step.results.aggregate, step.latency_kind or kind)
    few = record.behind is not None and record.behind < units.TAIL_SAMPLES
    record.text = headline_text(headline, units.Few(value) if few else value)


def blank(headline: Headline) -> HeadlineRecord:
    """Return a headline without a figure yet."""
    return HeadlineRecord.model_validate(
        {
            "metric": headline.metric,
            "direction": headline.direction,
            "percentile": headline.percentile,
            "unit": METRICS[headline.metric].unit,
        }
    )


def repetitions(steps: Sequence[StepRecord]) -> list[list[tuple[float, int]]]:
    """Return (figure, step index) of the steps that have one, together when they repeat the same measurement."""
    repeated = any(step.repetition > 1 for step in steps)
    groups: dict[object, list[tuple[float, int]]] = {}
    for step in steps:
        if step.warmup:
            continue
        key = step.cell or (tuple(sorted((k, str(v)) for k, v in step.params.items())) if repeated else step.index)
        group = groups.setdefault(key, [])
        if step.headline is not None:
            group.append((step.headline, step.index))
    return list(groups.values())


def middle(group: list[tuple[float, int]]) -> tuple[float, int]:
    """Return the median figure and the step that is nearest to it."""
    value = median(figure for figure, _ in group)
    return value, min(group, key=lambda each: abs(each[0] - value))[1]

"""The one figure that a profile is about, of a step and of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tui.metrics import figures
from tui.metrics.registry import METRICS, headline_text
from tui.model.plan import Headline
from tui.model.record import HeadlineRecord
from tui.model.step_record import AggregateRecord, MetadataRecord, StepRecord
from tui.results.record.metadata import operation_value


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


def run_headline(headline: Headline | None, steps: Sequence[StepRecord]) -> HeadlineRecord | None:
    """Return the headline of a run: the median of repetitions, the best of the points of a sweep. None for a suite."""
    if headline is None:
        return None
    record = blank(headline)
    points = [middle(group) for group in repetitions(steps) if group]
    if points:
        record.value, record.step = METRICS[headline.metric].best(points)
        record.text = headline_text(headline, record.value)
    return record


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

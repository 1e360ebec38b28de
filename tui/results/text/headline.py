"""The one figure that a profile is about."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.histogram import Histogram
from tui.model.event import Buckets
from tui.model.plan import Headline
from tui.model.record import AggregateRecord, HeadlineRecord, LatencyRecord, MetadataRecord, StepRecord
from tui.results.record.metadata import operation_value

UNITS = {"iops": "iops", "bandwidth": "bytes_per_s", "latency": "ns", "ops": "ops_per_s"}
OPERATIONS = {"create": "creates", "stat": "stats", "read": "reads", "remove": "removals"}


def step_value(
    headline: Headline | None,
    aggregate: dict[str, AggregateRecord],
    latency_kind: str,
    metadata: MetadataRecord | None = None,
) -> float | None:
    """Return the headline figure of a step; None when it was not measured."""
    if headline is None:
        return None
    if metadata is not None:
        return operation_value(metadata, headline.direction)
    if headline.metric == "ops":  # fio's engines for metadata count their operations as reads
        return aggregate["read"].iops if "read" in aggregate else None
    result = aggregate.get(headline.direction)
    if result is None and headline.direction == "mixed" and len(aggregate) == 1:
        result = next(iter(aggregate.values()))
    if result is None:
        return None
    if headline.metric == "iops":
        return result.iops
    if headline.metric == "bandwidth":
        return result.bw_bytes_per_s
    latency = result.lat if latency_kind == "lat" else result.clat
    return _latency_value(latency, headline.percentile) if latency is not None else None


def _latency_value(latency: LatencyRecord, percentile: float | None) -> float | None:
    if percentile is None:
        return latency.mean_ns
    known = latency.percentiles_ns.get(label(percentile))
    if known is None and latency.histogram is not None:
        buckets = Buckets(idx=latency.histogram.idx, n=latency.histogram.n)
        return Histogram.from_buckets(buckets).percentile(percentile)
    return known


def run_headline(headline: Headline | None, steps: Sequence[StepRecord]) -> HeadlineRecord | None:
    """Return the headline of a run: the median of repetitions, the best of the points of a sweep. None for a suite."""
    if headline is None:
        return None
    record = blank(headline)
    points = [middle(group) for group in repetitions(steps) if group]
    if points:
        best = min if headline.metric == "latency" else max
        record.value, record.step = best(points)
        record.text = headline_text(record)
    return record


def blank(headline: Headline) -> HeadlineRecord:
    """Return a headline without a figure yet."""
    return HeadlineRecord.model_validate(
        {
            "metric": headline.metric,
            "direction": headline.direction,
            "percentile": headline.percentile,
            "unit": UNITS[headline.metric],
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


def headline_text(record: HeadlineRecord) -> str:
    """Return the headline for people: "read 390k IOPS", "write p99.5 432 µs"."""
    if record.metric == "iops":
        return f"{record.direction} {units.iops(record.value)} IOPS"
    if record.metric == "bandwidth":
        return f"{record.direction} {units.bandwidth(record.value)}"
    if record.metric == "ops":
        return f"{OPERATIONS.get(record.direction, record.direction)} {units.iops(record.value)} ops/s"
    kind = f"p{label(record.percentile)}" if record.percentile is not None else "mean"
    return f"{record.direction} {kind} {units.latency(record.value)}"

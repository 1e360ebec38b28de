"""Decide whether a run measured anything; engine, journal and record use the same rules."""

from __future__ import annotations

from collections.abc import Collection

from tui.journal.reader import SampleStamp
from tui.metrics.figures import has_completed
from tui.model.event import (
    ONE_RANK,
    HostResult,
    MetadataIteration,
    MetadataResult,
    Sample,
)
from tui.model.plan import Plan

FigureEvent = Sample | SampleStamp | HostResult | MetadataIteration | MetadataResult


def has_figures(event: FigureEvent) -> bool:
    """Return whether an event reports a completed I/O or operation of a measurement."""
    if isinstance(event, Sample | SampleStamp):
        return (
            event.phase == "measure"
            and not event.ramp
            and any(
                part.bytes or part.lat_sum_ns or part.lat_max_ns for part in event.dirs.values()
            )
        )
    if isinstance(event, HostResult):
        return any(map(has_completed, event.dirs.values()))
    if isinstance(event, MetadataIteration):
        return event.operation not in ONE_RANK
    return any(
        each.iterations or each.mean is not None
        for name, each in event.operations.items()
        if name not in ONE_RANK
    )


def any_measured(plan: Plan, measured: Collection[int]) -> bool:
    """Return whether any step other than a warm-up is among the `measured` step indexes."""
    return any(step.index in measured for step in plan.steps if not step.warmup)

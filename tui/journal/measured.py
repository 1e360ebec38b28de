"""Whether a run measured anything: the one answer for its engine, its journal and its record."""

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
    """Return whether an event has a completed I/O or operation of a measurement in it."""
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
    """Return whether a step that counts is one of the measured steps: not a warm-up."""
    return any(step.index in measured for step in plan.steps if not step.warmup)

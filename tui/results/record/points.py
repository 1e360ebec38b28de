"""The steps of a run as a matrix: one cell a point, its repetitions together, its figure their median. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.repeat import relative_ci
from tui.model.plan import Plan
from tui.model.record import CellRecord, HeadlineRecord, MatrixRecord
from tui.model.step_record import StepRecord
from tui.results.record.cells import by_point, worst
from tui.results.record.headline import blank, middle, put_figure


def matrix_record(plan: Plan, steps: Sequence[StepRecord]) -> MatrixRecord | None:
    """Return the matrix of a run; None when it has one step alone, or when its steps are points of a search."""
    if len(steps) < 2 or plan.search is not None:
        return None
    return MatrixRecord(
        axes=list(plan.axes),
        cells=[_cell(plan, key, group) for key, group in by_point(steps).items()],
        until_relative=plan.until.width if plan.until is not None else None,
    )


def _cell(plan: Plan, key: str, group: Sequence[StepRecord]) -> CellRecord:
    first = group[0]
    made = [step for step in group if step.state != "skipped"]
    values = [step.headline for step in made]
    return CellRecord(
        key=key,
        profile=first.profile,
        point=dict(first.point),
        steps=[step.index for step in made],
        state=worst(step.state for step in made),
        headline=_headline(plan, made),
        values=values,
        ci_relative=relative_ci([value for value in values if value is not None]),
    )


def _headline(plan: Plan, made: Sequence[StepRecord]) -> HeadlineRecord | None:
    """Return the figure of a cell; None when it has none of its own."""
    headline = plan.headline_of(plan.steps[made[0].index])
    if headline is None:
        return None
    record = blank(headline)
    figures = [(step.headline, step.index) for step in made if step.headline is not None]
    if figures:
        value, index = middle(figures)
        step = next(step for step in made if step.index == index)
        put_figure(record, headline, value, step, plan.latency_kind)
    return record

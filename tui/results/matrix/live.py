"""The matrix of a run that goes on: its cells from the events, each finished step's figure computed once."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui.metrics.buckets import label
from tui.metrics.figures import found_in, over_hosts, value_of
from tui.model.plan import Plan, Step
from tui.results.matrix.plan_sums import is_matrix
from tui.results.matrix.progress import MatrixProgress, live_state, matrix_progress
from tui.results.record.cells import Attempt, Cell, by_point, cell_of

if TYPE_CHECKING:
    from tui.journal.state import RunState


class LiveMatrix:
    """Follows one run. `plan` None, or of one measurement: there is no matrix."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan if plan is not None and is_matrix(plan) else None
        self._known: dict[tuple[int, int], float | None] = {}  # by step and attempt

    def cells(self, state: RunState) -> list[Cell]:
        """Return the cells as they stand; the one at work shows the rate of now until it has a figure of its own."""
        plan = self.plan
        if plan is None:
            return []
        at = plan.steps[state.step] if state.step is not None and state.step < len(plan.steps) else None
        cells = []
        for key, steps in by_point(plan.steps).items():
            attempts = [
                Attempt(step.index, live_state(state, step), self._headline_value(plan, state, step)) for step in steps
            ]
            working = at is not None and at.cell_key == key and not state.ended
            running = working and at is not None and live_state(state, at) in ("running", "missing")
            cell = cell_of(key, steps[0].profile or plan.profile.tag, steps[0].point, plan.headline_of(steps[0]),
                           attempts, "running" if running else None)  # fmt: skip
            if running and at is not None and cell.value is None and state.phase == "measure":
                cell = replace(cell, value=rate_now(plan, state, at))
            cells.append(cell)
        return cells

    def progress(self, state: RunState) -> MatrixProgress | None:
        """Return how far all steps are."""
        return matrix_progress(self.plan, state, state.clock.now)

    def _headline_value(self, plan: Plan, state: RunState, step: Step) -> float | None:
        """Return the figure of a step that is over."""
        view = state.steps.get(step.index)
        if view is None or view.ended_t is None:
            return None
        key = (step.index, view.attempt)
        if key not in self._known:
            self._known[key] = headline_value(plan, state, step)
        return self._known[key]


def headline_value(plan: Plan, state: RunState, step: Step) -> float | None:
    """Return the figure that a finished step is about."""
    headline = plan.headline_of(step)
    if headline is None:
        return None
    if state.at_step(step.index).metadata is not None:
        return operation_rate(state, step.index, headline.direction)
    results = [result for host in step.hosts if (result := state.at_step(step.index).results.get(host)) is not None]
    return value_of(headline, over_hosts([result.dirs for result in results]), plan.latency_kind_of(step))


def operation_rate(state: RunState, index: int, operation: str) -> float | None:
    """Return the mean rate of an operation of a metadata benchmark: as the tool printed it, else of its iterations."""
    view = state.at_step(index).metadata
    operations = (view.result.operations if view.result is not None else view.operations) if view is not None else {}
    found = operations.get(operation)
    if found is None:
        return None
    return found.mean if found.mean is not None else (fmean(found.iterations) if found.iterations else None)


def rate_now(plan: Plan, state: RunState, step: Step) -> float | None:
    """Return the figure that a step is about, over its last interval."""
    headline = plan.headline_of(step)
    if headline is None or not state.current.is_of("measure", step.index):
        return None
    views = state.cluster
    view = views.get(found_in(headline, views)) or state.total
    if headline.metric == "latency" and headline.percentile is not None:
        return view.interval_percentiles.get(label(headline.percentile))
    return view.now(headline.metric)

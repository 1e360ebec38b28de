"""The matrix of a run that goes on: its cells from the events, each finished step's figure computed once."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from tui.metrics.figures import FIO_OPERATION, over_hosts, value_of
from tui.model.plan import Plan, Step
from tui.results.matrix.cells import Cell, live_cells, with_value
from tui.results.matrix.progress import MatrixProgress, matrix_progress
from tui.results.text.plan_sums import is_matrix

if TYPE_CHECKING:
    from tui.journal.state import RunState


class LiveMatrix:
    """Follows one run. `plan` None, or of one measurement: there is no matrix."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan if plan is not None and is_matrix(plan) else None
        self._known: dict[tuple[int, int], float | None] = {}  # by step and attempt

    def cells(self, state: RunState) -> list[Cell]:
        """Return the cells as they stand; the one at work shows the rate of now until it has a figure of its own."""
        if self.plan is None:
            return []
        cells = live_cells(self.plan, state, lambda index: self._figure(state, index))
        return [self._with_rate(state, cell) if cell.state == "running" else cell for cell in cells]

    def progress(self, state: RunState) -> MatrixProgress | None:
        """Return how far all steps are."""
        return matrix_progress(self.plan, state, state.clock.now)

    def _figure(self, state: RunState, index: int) -> float | None:
        view = state.steps.get(index)
        key = (index, view.attempt if view is not None else 1)
        if key not in self._known:
            if view is None or view.ended_t is None:
                return None
            self._known[key] = self._compute(state, index)
        return self._known[key]

    def _compute(self, state: RunState, index: int) -> float | None:
        step = self.plan.steps[index] if self.plan is not None else None
        headline = self.plan.headline_of(step) if self.plan is not None and step is not None else None
        if self.plan is None or step is None or headline is None:
            return None
        if step.mpi is not None:
            return operation_rate(state, index, headline.direction)
        results = [result for host in step.hosts if (result := state.at_step(index).results.get(host)) is not None]
        found = over_hosts([result.dirs for result in results])
        return value_of(headline, found, self.plan.latency_kind_of(step))

    def _with_rate(self, state: RunState, cell: Cell) -> Cell:
        step = self._at_work(state)
        value = rate_now(self.plan, state, step) if self.plan is not None and step is not None else None
        return cell if cell.value is not None or value is None else with_value(cell, value)

    def _at_work(self, state: RunState) -> Step | None:
        if self.plan is None or state.step is None or state.step >= len(self.plan.steps) or state.phase != "measure":
            return None
        return self.plan.steps[state.step]


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
    view = views.get(FIO_OPERATION if headline.metric == "ops" else headline.direction) or state.total
    if headline.metric in ("iops", "ops"):
        return view.iops
    if headline.metric == "bandwidth":
        return view.bw_bytes_per_s
    if headline.percentile is None:
        return view.lat_mean_ns
    return view.interval_percentiles.get(f"{headline.percentile:g}")

"""How far a run of many steps has come, and how long the rest takes. Pure."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.model.plan import Plan, Step

if TYPE_CHECKING:
    from tui.journal.state import RunState

OVERHEAD_S = 3.0  # around the load of a step, until one is over: connecting, barrier, collecting
OVER = ("done", "failed", "cut", "skipped")


class MatrixProgress(Struct, frozen=True):
    """`number` is the step at work, from 1 (0: none yet); `over` steps and `cells_over` points are behind us.

    `remaining_s` is None when nothing bounds a step to come; `at_most` says that optional repetitions are among them.
    """

    number: int
    steps: int
    name: str
    over: int
    cells_over: int
    cells: int
    fraction: float
    remaining_s: float | None
    at_most: bool = False

    @property
    def place(self) -> str:
        """``step 7/36``."""
        return f"step {self.number}/{self.steps}"


def live_state(state: RunState, step: Step) -> str:
    """Return how a step stands now; one that is not begun is missing, and nothing runs once the run is over."""
    view = state.steps.get(step.index)
    if view is None:
        return "missing"
    return "cut" if view.state == "running" and state.ended else view.state


def matrix_progress(plan: Plan | None, state: RunState, now_t: float) -> MatrixProgress | None:
    """Return how far a run is; None for a run of one step."""
    if plan is None or len(plan.steps) < 2:
        return None
    is_over = [live_state(state, step) in OVER for step in plan.steps]
    over = [step for step, done in zip(plan.steps, is_over, strict=True) if done]
    still = [step for step, done in zip(plan.steps, is_over, strict=True) if not done]
    current = next((step for step in still if step.index == state.step), None)
    left = [step for step in still if step is not current]
    inside = max(0.0, now_t - _began(state, current)) if current is not None else 0.0
    rest = _rest(state, over, left, current, inside)
    at = current or (over[-1] if over else None)
    cells = {step.cell_key for step in plan.steps if not step.warmup}
    return MatrixProgress(
        number=at.index + 1 if at is not None else 0,
        steps=len(plan.steps),
        name=step_name(at) if at is not None else "",
        over=len(over),
        cells_over=len(cells - {step.cell_key for step in still}),
        cells=len(cells),
        fraction=_fraction(len(over) / len(plan.steps), inside + sum(_spent(state, step) for step in over), rest),
        remaining_s=rest,
        at_most=any(step.optional for step in left),
    )


def _fraction(of_steps: float, spent_s: float, rest_s: float | None) -> float:
    """Return how much is done: of the time where that is bounded, else of the steps."""
    if rest_s is None or spent_s + rest_s <= 0:
        return of_steps
    return min(1.0, spent_s / (spent_s + rest_s))


def step_name(step: Step) -> str:
    """Return a step's name with what is special about it: ``ceph/randread bs=4k #2``, ``... warm-up``."""
    again = f" #{step.repetition}" if step.repetition > 1 else ""
    return f"{step.name}{' ' + kind_text(step) if step.warmup else again}"


def kind_text(step: Step) -> str:
    """Return what a step is that does not count: ``warm-up``, ``fill``, ``round 4``."""
    if step.precondition is None:
        return "warm-up"
    return "fill" if step.is_fill else f"round {step.precondition.number}"


def _began(state: RunState, step: Step) -> float:
    """Return when a step, or the pause before it, began."""
    view = state.steps.get(step.index)
    return view.started_t if view is not None else state.phase_started_t


def _spent(state: RunState, step: Step) -> float:
    view = state.steps.get(step.index)
    return max(0.0, view.ended_t - view.started_t) if view is not None and view.ended_t is not None else 0.0


def _rest(state: RunState, over: list[Step], left: list[Step], current: Step | None, inside: float) -> float | None:
    """Return the seconds that are left: as planned, with the time around the load as it was so far."""
    measured = [step for step in over if state.steps[step.index].state == "done"]
    around = [_spent(state, step) - step.expected_s for step in measured if step.expected_s is not None]
    overhead = max(0.0, fmean(around)) if around else OVERHEAD_S
    typical = fmean([_spent(state, step) for step in measured]) if measured else None

    def span(step: Step) -> float | None:
        return typical if step.expected_s is None else step.expected_s + overhead

    spans = [span(step) for step in left]
    now = span(current) if current is not None else 0.0
    if now is None or any(each is None for each in spans):
        return None
    return sum(each or 0.0 for each in spans) + sum(step.pause_s for step in left) + max(0.0, now - inside)

"""Progress of a live run: preconditioning rounds, matrix cells, time left; whether it can be
judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.figures import found_in, over_hosts, value_of
from tui.metrics.steady import (
    Round,
    SteadyWindow,
    is_steady,
    round_of,
    rounds_before,
    window_over,
    window_text,
)
from tui.model.hostfacts import ALLOCATION_ENDS
from tui.model.plain_data import parse_utc
from tui.model.plan import Headline, Plan, Precondition, Step, at_once
from tui.record.cells import Cell, CellRepetition, by_point, cell_of
from tui.record.headline import operation_value

if TYPE_CHECKING:
    from tui.journal.state import RunState

MADE = ("done", "failed", "cut", "running")


class Rounds(Struct, frozen=True):
    """Preconditioning rounds of one point, up to `planned`; `steps`, `rounds`: those run so far."""

    rule: Precondition
    planned: tuple[Step, ...]
    steps: tuple[Step, ...]
    rounds: tuple[Round, ...]
    stopped: bool  # another round was due but did not run

    @property
    def cell(self) -> str:
        """Key of the point that these rounds belong to."""
        return self.planned[0].cell_key

    @property
    def window(self) -> SteadyWindow | None:
        """Window of the last rounds; None while there are too few."""
        return window_over(self.rule, self.rounds)

    @property
    def attained(self) -> bool | None:
        """Whether the last window is steady; False only after all planned rounds, None before."""
        if is_steady(self.rule, self.rounds):
            return True
        return False if len(self.steps) == len(self.planned) and not self.stopped else None


def fills_of(plan: Plan, state: RunState) -> list[tuple[Step, bool]]:
    """Return the fill steps, each with True if all hosts filled all of their files."""
    fills = [step for step in plan.steps if step.is_fill]
    hosts = [_round(plan, state, step).hosts for step in fills]
    return [(step, set(whole) == set(step.hosts)) for step, whole in zip(fills, hosts, strict=True)]


def rounds_of(plan: Plan, state: RunState) -> list[Rounds]:
    """Return the preconditioning rounds of each point, in order; points without rounds are
    omitted.
    """
    return [_rounds(plan, state, block) for block in _blocks(plan)]


def rounds_of_step(plan: Plan, state: RunState, step: Step) -> Rounds | None:
    """Return the rounds before a measurement; None if none were planned."""
    planned = rounds_before(plan.steps, step)
    return _rounds(plan, state, planned) if planned else None


def _blocks(plan: Plan) -> Iterator[list[Step]]:
    """Yield the rounds grouped by point; each group begins with round 1."""
    block: list[Step] = []
    for step in plan.steps:
        if step.precondition is None or not step.is_round:
            continue
        if step.precondition.number == 1 and block:
            yield block
            block = []
        block.append(step)
    if block:
        yield block


def _rounds(plan: Plan, state: RunState, block: list[Step]) -> Rounds:
    states = {step.index: _state_of(state, step) for step in block}
    made = [step for step in block if states[step.index] in MADE]
    rule = block[0].precondition or Precondition("round")
    return Rounds(
        rule,
        tuple(block),
        tuple(made),
        tuple(_round(plan, state, step) for step in made),
        any(states[step.index] in ("missing", "cut", "running") for step in block),
    )


def _round(plan: Plan, state: RunState, step: Step) -> Round:
    return round_of(plan, step, state.at_step(step.index).results)


def _state_of(state: RunState, step: Step) -> str:
    view = state.steps.get(step.index)
    return view.state if view is not None else "missing"


def live_text(plan: Plan | None, state: RunState) -> str:
    """Return the progress of preconditioning; empty if the current step is not part of it.

    ``fill 37 % of 2 x 64 GiB``, ``round 4/25: range 31.0 % (max 20 %), slope 12.0 % (max 10 %)``.
    """
    if plan is None or state.step is None or state.step >= len(plan.steps):
        return ""
    step = plan.steps[state.step]
    if step.precondition is None or state.ended:
        return ""
    if step.is_fill:
        return _fill_text(step, state)
    made = [each for each in rounds_before(plan.steps, step) if _state_of(state, each) in MADE]
    rule = step.precondition
    window = window_over(rule, [_round(plan, state, each) for each in made[-rule.window :]])
    so_far = (
        window_text(rule, window)
        if window is not None
        else f"{len(made)} of the {rule.window} rounds of a window"
    )
    return f"round {rule.number}/{rule.rounds}: {so_far}"


def _fill_text(step: Step, state: RunState) -> str:
    times = step.precondition.times if step.precondition is not None else 1
    sizes = [task.writes_bytes for task in step.tasks]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not sum(known):
        return "fill"
    view = state.cluster.get("write") if state.current.is_of("measure", step.index) else None
    share = f"{units.share(min(1.0, view.bytes / sum(known)))} of " if view is not None else ""
    return f"fill {share}{times} x {units.size(sum(known) // times)}"


def allocation_left_s(state: RunState, now_t: float) -> float | None:
    """Return the seconds until the first allocation ends, 0 if it has ended; None without an end
    time, or after the run.
    """
    ends = [str(fact) for host in state.hosts.values() if (fact := host.facts.get(ALLOCATION_ENDS))]
    # RFC 3339 in one format sorts as text
    created, end = state.created, parse_utc(min(ends)) if ends else None
    if created is None or end is None or state.ended:
        return None
    return max(0.0, (end - created).total_seconds() - now_t)


FIRST_S = 10.0  # of load or layout; there is nothing to judge before
LOADED = ("layout", "measure")


def can_be_judged(state: RunState, now_t: float) -> bool:
    """Return whether the current load or layout has run long enough to be judged."""
    return state.phase in LOADED and not state.ended and now_t - state.phase_started_t >= FIRST_S


OVERHEAD_S = 3.0  # overhead around a load until one step has shown it: connect, barrier, collect
OVER = ("done", "failed", "cut", "skipped")


class MatrixProgress(Struct, frozen=True):
    """Progress of a matrix. `number` is the current step, from 1 (0: none yet).

    `over` and `cells_over` count finished steps and points, without points that were stopped.
    `remaining_s` is None if a later step has no time limit; with `at_most`, it is an upper limit,
    because repetitions may be skipped.
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
        """Position as text: ``step 7/36``."""
        return f"step {self.number}/{self.steps}"


def live_state(state: RunState, step: Step) -> str:
    """Return the state of a step: missing before it begins, never running after the run has
    ended.
    """
    view = state.steps.get(step.index)
    if view is None:
        return "missing"
    return "cut" if view.state == "running" and state.ended else view.state


def matrix_progress(plan: Plan | None, state: RunState, now_t: float) -> MatrixProgress | None:
    """Return the progress of a run; None if it has only one step."""
    if plan is None or len(plan.steps) < 2:
        return None
    is_over = [live_state(state, step) in OVER for step in plan.steps]
    over = [step for step, done in zip(plan.steps, is_over, strict=True) if done]
    still = [step for step, done in zip(plan.steps, is_over, strict=True) if not done]
    current = next((step for step in still if step.index == state.step), None)
    beside = [
        step
        for step in still
        if current is not None and step.together and step.together == current.together
    ]
    working = beside or ([current] if current is not None else [])
    left = [step for step in still if step not in working]
    inside = max(0.0, now_t - _began(state, current)) if current is not None else 0.0
    rest = _rest(state, over, left, working, inside)
    at = current or (over[-1] if over else None)
    cells = {step.cell_key for step in plan.steps if not step.warmup}
    measured = {step.cell_key for step in over if live_state(state, step) in ("done", "failed")}
    return MatrixProgress(
        number=at.index + 1 if at is not None else 0,
        steps=len(plan.steps),
        name=step_name(at) if at is not None else "",
        over=len(over),
        cells_over=len(measured & cells - {step.cell_key for step in still}),
        cells=len(cells),
        fraction=_fraction(len(over) / len(plan.steps), now_t, rest),
        remaining_s=rest,
        at_most=any(step.optional for step in left),
    )


def _fraction(of_steps: float, now_t: float, rest_s: float | None) -> float:
    """Return the completed share, by time if all steps have a time limit, else by steps."""
    return of_steps if rest_s is None or now_t + rest_s <= 0 else now_t / (now_t + rest_s)


def step_name(step: Step) -> str:
    """Return a step's name with its repetition or kind: ``ceph/randread bs=4k #2``, ``...
    warm-up``.
    """
    again = f" #{step.repetition}" if step.repetition > 1 else ""
    return f"{step.name}{' ' + kind_text(step) if step.warmup else again}"


def kind_text(step: Step) -> str:
    """Return the kind of a step that is not a measurement: ``warm-up``, ``fill``, ``round 4``."""
    if step.precondition is None:
        return "warm-up"
    return "fill" if step.is_fill else f"round {step.precondition.number}"


def _began(state: RunState, step: Step) -> float:
    """Return the run time at which a step, or the pause before it, began."""
    view = state.steps.get(step.index)
    return view.started_t if view is not None else state.phase_started_t


def _spent(state: RunState, step: Step) -> float:
    view = state.steps.get(step.index)
    return (
        max(0.0, view.ended_t - view.started_t)
        if view is not None and view.ended_t is not None
        else 0.0
    )


def _rest(
    state: RunState, over: list[Step], left: list[Step], working: list[Step], inside: float
) -> float | None:
    """Return the remaining seconds: planned time plus the overhead around loads measured so far;
    None if unknown.
    """
    measured = [step for step in over if state.steps[step.index].state == "done"]
    around = [
        _spent(state, step) - step.expected_s for step in measured if step.expected_s is not None
    ]
    overhead = max(0.0, fmean(around)) if around else OVERHEAD_S
    typical = fmean([_spent(state, step) for step in measured]) if measured else None

    def span(step: Step) -> float | None:
        return typical if step.expected_s is None else step.expected_s + overhead

    def longest(steps: list[Step]) -> float | None:
        spans = [each for step in steps if (each := span(step)) is not None]
        return max(spans, default=0.0) if len(spans) == len(steps) else None

    groups = list(at_once(left))
    spans, now = [longest(group) for group in groups], longest(working)
    if now is None or any(each is None for each in spans):
        return None
    pauses = sum(max(step.pause_s for step in group) for group in groups)
    return sum(each or 0.0 for each in spans) + pauses + max(0.0, now - inside)


def is_matrix(plan: Plan) -> bool:
    """Return whether a plan is a sweep, a suite or repetitions, rather than one step with its
    warm-up.
    """
    return sum(not step.warmup for step in plan.steps) > 1


class LiveMatrix:
    """Matrix progress of one run; empty if `plan` is None or has a single measurement."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan if plan is not None and is_matrix(plan) else None
        self._known: dict[tuple[int, int], float | None] = {}  # by step and attempt

    def cells(self, state: RunState) -> list[Cell]:
        """Return the current cells; a running one has its figure so far until it has a result."""
        plan = self.plan
        if plan is None:
            return []
        cells, working = [], self._working(plan, state)
        for key, steps in by_point(plan.steps).items():
            attempts = [
                CellRepetition(
                    step.index, live_state(state, step), self._headline_value(plan, state, step)
                )
                for step in steps
            ]
            at = working.get(key)
            running = at is not None and live_state(state, at) in ("running", "missing")
            cell = cell_of(key, steps[0].part or plan.profile.tag, steps[0].point,
                plan.headline_of(steps[0]),
                           attempts, "running" if running else None)  # fmt: skip
            if running and at is not None and cell.value is None and state.phase == "measure":
                cell = replace(cell, value=value_so_far(plan, state, at))
            cells.append(cell)
        return cells

    def _working(self, plan: Plan, state: RunState) -> dict[str, Step]:
        """Return the running steps by cell; several if they run at the same time."""
        if state.ended or state.step is None or state.step >= len(plan.steps):
            return {}
        return {
            plan.steps[index].cell_key: plan.steps[index]
            for index in (*state.beside.steps, state.step)
        }

    def progress(self, state: RunState) -> MatrixProgress | None:
        """Return the progress over all steps; None if there is a single measurement."""
        return matrix_progress(self.plan, state, state.clock.now)

    def _headline_value(self, plan: Plan, state: RunState, step: Step) -> float | None:
        """Return the headline figure of a finished step, cached; None if it was not measured."""
        view = state.steps.get(step.index)
        if view is None or view.ended_t is None:
            return None
        key = (step.index, view.attempt)
        if key not in self._known:
            self._known[key] = headline_value(plan, state, step)
        return self._known[key]


def headline_value(plan: Plan, state: RunState, step: Step) -> float | None:
    """Return the headline figure of a finished step; None if it was not measured."""
    headline = plan.headline_of(step)
    if headline is None:
        return None
    if state.at_step(step.index).metadata is not None:
        return operation_rate(state, step.index, headline)
    results = [
        result
        for host in step.hosts
        if (result := state.at_step(step.index).results.get(host)) is not None
    ]
    return value_of(
        headline, over_hosts([result.dirs for result in results]), plan.latency_kind_of(step)
    )


def operation_rate(state: RunState, index: int, headline: Headline) -> float | None:
    """Return an operation's mean rate or bandwidth, as the headline asks, as printed by the MPI
    program or from its iterations; None if unknown.
    """
    view = state.at_step(index).metadata
    operations = (
        (view.result.operations if view.result is not None else view.operations)
        if view is not None
        else {}
    )
    found = operations.get(headline.direction)
    if found is not None and found.mean is None and found.iterations:
        found = replace(found, mean=fmean(found.iterations))
    return operation_value(found, headline.metric)


def value_so_far(plan: Plan, state: RunState, step: Step) -> float | None:
    """Return a step's headline figure so far; None if it is not measuring."""
    headline = plan.headline_of(step)
    measured = state.measuring.get(step.index) or state.current
    if headline is None or not measured.is_of("measure", step.index) or not measured.cluster:
        return None
    views = measured.cluster
    view = views.get(found_in(headline, views)) or measured.whole
    if headline.metric == "latency" and headline.percentile is not None:
        return view.so_far_percentiles.get(label(headline.percentile))
    if headline.metric == "latency":
        return view.so_far_mean_ns
    known = [value for value in view.series(headline.metric) if value is not None]
    return fmean(known) if known else view.now(headline.metric)

"""Preconditioning of a run that is over or goes on: what was filled, what each round came to, whether it was steady."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.metrics import units
from tui.metrics.steady import Round, Window, is_steady, round_of, rounds_before, window_over, window_text
from tui.model.plan import Plan, Precondition, Step

if TYPE_CHECKING:
    from tui.journal.state import RunState

MADE = ("done", "failed", "cut", "running")


class Rounds(Struct, frozen=True):
    """The rounds before one point. `planned` are all that could be made, `steps` those that were, `rounds` theirs."""

    rule: Precondition
    planned: tuple[Step, ...]
    steps: tuple[Step, ...]
    rounds: tuple[Round, ...]
    stopped: bool  # another one was to be made, and was not

    @property
    def cell(self) -> str:
        """The point that they are of."""
        return self.planned[0].cell_key

    @property
    def window(self) -> Window | None:
        """The last rounds; None while they are too few."""
        return window_over(self.rule, self.rounds)

    @property
    def attained(self) -> bool | None:
        """Whether it was steady at the end; None when that was not reached."""
        if is_steady(self.rule, self.rounds):
            return True
        return False if len(self.steps) == len(self.planned) and not self.stopped else None

    @property
    def text(self) -> str:
        """How it ended, with the figures: ``steady after 6 rounds: range 12.0 % (max 20 %), ...``."""
        made = f"{len(self.steps)} round{'' if len(self.steps) == 1 else 's'}"
        words = {True: f"steady after {made}", False: f"not steady after {made}", None: f"after {made}"}
        window = self.window
        few = f"too few for a window of {self.rule.window}"
        return f"{words[self.attained]}: {window_text(self.rule, window) if window is not None else few}"


def fills_of(plan: Plan, state: RunState) -> list[tuple[Step, bool]]:
    """Return the steps that fill, and whether every host filled all of its files."""
    fills = [step for step in plan.steps if step.is_fill]
    hosts = [_round(plan, state, step).hosts for step in fills]
    return [(step, set(whole) == set(step.hosts)) for step, whole in zip(fills, hosts, strict=True)]


def rounds_of(plan: Plan, state: RunState) -> list[Rounds]:
    """Return the rounds of each point that has any, in order."""
    return [_rounds(plan, state, block) for block in _blocks(plan)]


def rounds_of_step(plan: Plan, state: RunState, step: Step) -> Rounds | None:
    """Return the rounds before a measurement; None when none were planned."""
    planned = rounds_before(plan.steps, step)
    return _rounds(plan, state, planned) if planned else None


def _blocks(plan: Plan) -> Iterator[list[Step]]:
    """Yield the rounds that belong together: each begins with number 1."""
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
    """Return how far preconditioning is; empty when the step of now is none of it.

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
    so_far = window_text(rule, window) if window is not None else f"{len(made)} of {rule.window} for a window"
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

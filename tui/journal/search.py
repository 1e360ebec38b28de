"""The points of a search as the journal tells them, and the plan that came of it."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from tui.model.event import PointDecided, PointOffered
from tui.model.plan import Plan
from tui.model.search import Point


class SearchState(Struct):
    """What was offered by step, the newest alone, and what was decided of it, in the order of decision."""

    offered: dict[int, PointOffered] = field(default_factory=dict)
    decided: dict[int, Point] = field(default_factory=dict)

    def offer(self, event: PointOffered) -> None:
        """Take an offer: what was decided of the step before counts for nothing."""
        self.forget(event.step)
        self.offered[event.step] = event

    def decide(self, event: PointDecided) -> None:
        """Take a decision."""
        self.forget(event.point.step)
        self.decided[event.point.step] = event.point

    def forget(self, step: int) -> None:
        """Leave out what was decided of a step: it is made again."""
        self.decided.pop(step, None)

    @property
    def points(self) -> tuple[Point, ...]:
        """What was measured, oldest first."""
        return tuple(self.decided.values())

    @property
    def open(self) -> PointOffered | None:
        """What is being measured, or was when the run ended; None: nothing."""
        return next((each for step, each in reversed(self.offered.items()) if step not in self.decided), None)


def plan_as_run(plan: Plan, seen: SearchState) -> Plan:
    """Return the plan with what its steps really offered in their place; the same plan when nothing was decided."""
    if not seen.offered:
        return plan
    planned = {step: each.planned for step, each in seen.offered.items()}
    return replace(plan, steps=[planned.get(step.index, step) for step in plan.steps])

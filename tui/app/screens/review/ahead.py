"""What the hosts answered about a plan, and for how long that has been so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.engine.preflight.ahead import Answer
    from tui.model.plan import Plan


class Preflight:
    """The answers of the hosts to one plan; another plan makes them void, for good."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.plan: Plan | None = None
        self.answers: Sequence[Answer] = ()
        self.asked_at = 0.0

    def take(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Keep the answers to a plan."""
        self.plan, self.answers, self.asked_at = plan, answers, self.clock()

    def hold_for(self, plan: Plan | None) -> None:
        """Forget the answers unless they are about this very plan."""
        if plan != self.plan:
            self.plan, self.answers = None, ()

    @property
    def age_s(self) -> float:
        """Seconds since the hosts answered."""
        return self.clock() - self.asked_at

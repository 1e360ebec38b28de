"""The interface of an executor: check, try, measure, adopt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.model.plan import Step

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext, Window
    from tui.engine.session.history import History
    from tui.model.event import TaskStarted


class AdoptedStep(Struct, frozen=True):
    """The outcome of a step that was running when its engine died.

    `alive`: its load was still running. `whole`: every host completed it, before or since.
    """

    alive: bool
    whole: bool


class Executor(Protocol):
    """How a step's load is checked, started, followed and ended: a module with these functions."""

    async def look(self, ctx: RunContext) -> None:
        """Check what the steps of this executor need in addition to the checks of every host.

        Reports all problems at once.
        """

    async def try_ahead(self, ctx: RunContext) -> None:
        """Try what can be tried before anything is measured. Raises RunRefused (exit 3)."""

    async def measure(self, ctx: RunContext, step: Step, window: Window) -> None:
        """Start on all hosts at once, follow to the end, take results. Raises RunRefused,
        RunStopped.

        It waits twice in `window` for concurrent steps: when its hosts are armed, and before GO.
        """

    async def adopt(
        self, ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
    ) -> AdoptedStep:
        """Follow a load left running by a dead engine to its end.

        `tasks` are those of the step, by host.
        """

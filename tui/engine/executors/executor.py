"""The interface of an executor: check, try, measure, adopt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.model.plan import Step

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext
    from tui.engine.session.history import History
    from tui.engine.session.window import Window
    from tui.model.event import TaskStarted


class AdoptedStep(Struct, frozen=True):
    """What became of a step that was going on when its engine died.

    `alive`: its load still ran. `whole`: every host came to its own end, before or since.
    """

    alive: bool
    whole: bool


class Executor(Protocol):
    """How the load of a step is checked, started, followed and ended: a module with these
    functions.
    """

    async def look(self, ctx: RunContext) -> None:
        """Check what the steps of this executor need beyond what every host needs.

        Report all problems at once.
        """

    async def try_ahead(self, ctx: RunContext) -> None:
        """Try what can be tried before anything is measured. Raises RunRefused (exit 3)."""

    async def measure(self, ctx: RunContext, step: Step, window: Window) -> None:
        """Begin on all hosts at once, follow to the end, take results. Raises RunRefused,
        RunStopped.

        It meets the steps that run at the same time twice in `window`: when its hosts are armed,
        and before GO.
        """

    async def adopt(
        self, ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
    ) -> AdoptedStep:
        """Follow what a dead engine has left running to its end.

        `tasks` are those of the step, by host.
        """

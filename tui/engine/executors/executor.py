"""Interface of an executor: check, try, measure, adopt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from tui.journal.clock import ASKED_TO_END
from tui.model.operands import Clause, clause

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext, Window
    from tui.engine.session.history import History
    from tui.model.event import TaskStarted
    from tui.model.plan import Step

# codes of problems, by the reason that a host gives
ENDS = {
    "lease": "lease-expired",
    "supervisor-died": "supervisor-died",
    "host-rebooted": "host-rebooted",
    "spool-full": "spool-full",
    "runner-died": "runner-died",
    "directory-removed": "agent-directory-removed",
    "flooded": "agent-flooded",
    "unknown": "end-unknown",
}


def end_of(reason: str) -> tuple[str, Clause]:
    """Return code and message of the problem if a host ended a load for this reason."""
    if reason in ENDS:
        return ENDS[reason], clause(ENDS[reason])
    return f"agent-{reason}", clause("stopped-by-host", quote=reason)


def early_end(reason: str) -> Clause | str:
    """Return why a load ended early; empty if it ended by itself."""
    if reason in ASKED_TO_END:
        return clause("stopped-on-request")
    if reason == "exit":
        return ""
    return clause(ENDS[reason]) if reason in ENDS else clause("ended-by-host", quote=reason)


def loss_of(reason: str) -> Clause:
    """Return the message for a connection that was lost before the output was collected."""
    known = reason in ENDS and reason != "unknown"
    return clause("not-restored", why=clause(ENDS[reason] if known else "ended-somehow"))


class AdoptedStep(Struct, frozen=True):
    """Outcome of a step that was running when its engine died.

    `alive`: its load was still running. `whole`: every host completed the step, before or after the
    engine died.
    """

    alive: bool
    whole: bool


class Executor(Protocol):
    """Checks, starts, follows and ends the load of a step; implemented as a module with these
    functions.
    """

    async def check_hosts(self, ctx: RunContext) -> None:
        """Check hosts for the additional needs of this executor's steps.

        Reports all problems at once.
        """

    async def try_ahead(self, ctx: RunContext) -> None:
        """Run the executor's trials before anything is measured.

        Raises RunRefused (exit 3).
        """

    async def measure(self, ctx: RunContext, step: Step, window: Window) -> None:
        """Start the load on all hosts at once, follow it to the end and collect results.

        Waits twice in `window` for concurrent steps: when its hosts are armed, and before it
        releases them. Raises RunRefused, RunStopped.
        """

    async def adopt(
        self, ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]
    ) -> AdoptedStep:
        """Follow a load left running by a dead engine to its end.

        `tasks` are the step's commands by host.
        """

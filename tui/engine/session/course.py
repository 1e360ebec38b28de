"""The courses that a measurement can take: a command on each host, or one program over all of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

from tui import workloads
from tui.model.plan import Plan, Step

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext
    from tui.engine.session.history import History
    from tui.model.event import TaskStarted
    from tui.workloads.base import CourseName

ROOMS: dict[CourseName, str] = {"commands": "tui.engine.per_host.commands", "mpi": "tui.engine.mpi.course"}


class Adopted(Struct, frozen=True):
    """What became of a step that was going on when its engine died.

    `alive`: its load still ran. `whole`: every host came to its own end, before or since.
    """

    alive: bool
    whole: bool


class Course(Protocol):
    """How the load of a step is checked, begins, goes on and ends: a module with these functions."""

    async def look(self, ctx: RunContext) -> None:
        """Look at what the steps of this course need beyond what every host needs: all problems are told at once."""

    async def try_ahead(self, ctx: RunContext) -> None:
        """Try what can be tried before anything is measured. Raises RunRefused (exit 3)."""

    async def measure(self, ctx: RunContext, step: Step) -> None:
        """Begin on all hosts at once, follow to the end, take results. Raises RunRefused, RunStopped."""

    async def adopt(self, ctx: RunContext, history: History, step: Step, tasks: dict[str, TaskStarted]) -> Adopted:
        """Follow what a dead engine has left running to its end; `tasks` are those of the step, by host."""


def course_of(step: Step) -> Course:
    """Return the course of a step. Raises UsageError for a load generator that is not installed."""
    return _room(workloads.of(step).course)


def courses_of(plan: Plan) -> list[Course]:
    """Return the courses that the steps of a plan take, each once."""
    first = {step.tool: step for step in reversed(plan.steps)}
    names = dict.fromkeys(workloads.of(step).course for step in reversed(first.values()))
    return [_room(name) for name in names]


def _room(name: CourseName) -> Course:
    return cast(Course, importlib.import_module(ROOMS[name]))

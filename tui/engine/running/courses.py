"""The courses that a measurement can take: a command on each host, or one program over all of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from tui import workloads
from tui.model.plan import Plan, Step

if TYPE_CHECKING:
    from tui.workloads.base import CourseName
from tui.engine.session.course import Course

ROOMS: dict[CourseName, str] = {"commands": "tui.engine.per_host.commands", "mpi": "tui.engine.mpi.course"}


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

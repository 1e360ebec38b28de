"""Find the executor of a step: per-host or MPI."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from tui import workloads
from tui.engine.executors.executor import Executor
from tui.model.plan import Plan, Step

if TYPE_CHECKING:
    from tui.workloads.base import ExecutorName

EXECUTORS: dict[ExecutorName, str] = {
    "per-host": "tui.engine.executors.per_host",
    "mpi": "tui.engine.executors.mpi",
}


def executor_of(step: Step) -> Executor:
    """Return the executor of a step.

    Raises UsageError for a load generator that is not installed.
    """
    return _load_executor(workloads.of(step).executor)


def executors_of(plan: Plan) -> list[Executor]:
    """Return the executors that the steps of a plan need, without duplicates."""
    first = {step.tool: step for step in reversed(plan.steps)}
    names = dict.fromkeys(workloads.of(step).executor for step in reversed(first.values()))
    return [_load_executor(name) for name in names]


def _load_executor(name: ExecutorName) -> Executor:
    return cast(Executor, importlib.import_module(EXECUTORS[name]))

"""One folder a load generator: how to plan it, what it needs, how to read its output."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING

from tui.model import tool
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.model.plan import Step
    from tui.workloads.base import Workload


def names() -> list[str]:
    """Return the load generators that are installed; nothing of them is imported."""
    return list(tool.installed())


def find(name: str) -> Workload | None:
    """Return a load generator for what a run has left; None when it is not installed here."""
    try:
        return get(name)
    except UsageError:
        return None


def reports_operations(name: str) -> bool:
    """Tell whether a load generator reports phases of one program over all hosts, no samples of
    each host.
    """
    found = find(name)
    return found is not None and found.reports == "operations"


def every() -> list[Workload]:
    """Return all load generators that can be imported, those that hosts are expected to have
    first.
    """
    found = []
    for name in names():
        with suppress(UsageError):  # the error is reported when it is used
            found.append(get(name))
    return sorted(found, key=lambda workload: not workload.expected)


def expected() -> list[Workload]:
    """Return the load generators that hosts are expected to have before there is any plan."""
    return [workload for workload in every() if workload.expected]


@functools.cache
def get(name: str) -> Workload:
    """Return the load generator of a profile's ``tool``. Raises UsageError for one that is not
    installed.

    One of another package is held to its contract: what it does wrong raises PluginError with its
    name.
    """
    found: Workload = tool.load(name)
    if name not in tool.foreign():
        return found
    from tui.workloads.contract import plugged_in  # few runs are of a plug-in

    return plugged_in(found, tool.named(name), tool.provider(name))


def of(step: Step) -> Workload:
    """Return the load generator of a planned step.

    Raises UsageError, with the package that it was planned with.
    """
    try:
        return get(step.tool)
    except UsageError as error:
        if step.tool in names() or step.provider is None:
            raise
        whence = step.provider.text()
        install = f"; install {step.provider.package}" if step.provider.package else ""
        raise UsageError(
            f"the load generator '{step.tool}' ({whence}) is not installed here{install}"
        ) from error

"""Load generators by name: which are installed, and what the loading of profiles asks of one.

A load generator is an entry point of the group `benchtui.workloads`: a class that implements `tui.workloads.base`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "benchtui.workloads"
SUITE = "suite"  # what stands for `tool` in a profile that runs others


@functools.cache
def installed() -> dict[str, EntryPoint]:
    """Return the entry points of all load generators by name; nothing of them is imported."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


@functools.cache
def load(name: str) -> Any:
    """Return a load generator. Raises UsageError when there is none of this name, or it cannot be imported."""
    point = installed().get(name)
    if point is None:
        known = ", ".join(installed()) or "none is installed: install benchtui again"
        raise UsageError(f"tool '{name}' is not supported{did_you_mean(name, installed())}; supported: {known}")
    try:
        return point.load()()
    except Exception as error:  # a package of somebody else's
        raise UsageError(f"the load generator '{name}' ({point.value}) cannot be loaded: {error!r}") from error

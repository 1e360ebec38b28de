"""One folder a load generator: how to plan it, what it needs, how to read its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model import tool

if TYPE_CHECKING:
    from tui.workloads.base import Workload


def names() -> list[str]:
    """Return the load generators that are installed; nothing of them is imported."""
    return list(tool.installed())


def get(name: str) -> Workload:
    """Return the load generator of a profile's ``tool``. Raises UsageError for one that is not installed."""
    found: Workload = tool.load(name)
    return found

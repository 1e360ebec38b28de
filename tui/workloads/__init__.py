"""One folder a load generator: how to plan it, what it needs, how to read its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from tui.workloads.base import Workload

TOOLS = ("fio", "mdtest")


def get(tool: str) -> Workload:
    """Return the load generator of a profile's ``tool``. Raises UsageError for one that is not supported."""
    if tool == "fio":
        from tui.workloads.fio.workload import FioWorkload

        return FioWorkload()
    if tool == "mdtest":
        from tui.workloads.mdtest.workload import MdtestWorkload

        return MdtestWorkload()
    raise UsageError(f"tool '{tool}' is not supported{did_you_mean(tool, TOOLS)}; supported: {', '.join(TOOLS)}")

"""A look at the hosts of a plan before it is started."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.engine.preflight.ahead import Answer
    from tui.engine.safety.preview import Preview
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


async def look(plan: Plan, paths: Paths, asker: Asker | None) -> tuple[Preview, Plan]:
    """Look at the hosts of a plan: return what is overwritten, and the plan without what they lack something for."""
    from tui.engine.hosts.fan_out import connections_of
    from tui.engine.preflight.lacking import has_several_tools, look_for_lacking, without
    from tui.engine.safety.made_files import MADE_FILES, MadeFiles
    from tui.engine.safety.preview import preview

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        fit = without(plan, await look_for_lacking(plan, connections)) if has_several_tools(plan) else plan
        return await preview(fit, connections, MadeFiles(paths.data / MADE_FILES)), fit


async def ask_ahead(plan: Plan, paths: Paths, asker: Asker | None, heard: Callable[[str], object]) -> list[Answer]:
    """Ask the hosts of a plan whether they would take it; `heard` is told each one that answered."""
    from tui.engine.hosts.fan_out import connections_of
    from tui.engine.preflight.ahead import look_ahead
    from tui.engine.safety.made_files import MADE_FILES, MadeFiles

    async with connections_of(plan, paths.known_hosts, asker) as connections:
        return await look_ahead(plan, connections, MadeFiles(paths.data / MADE_FILES), heard)

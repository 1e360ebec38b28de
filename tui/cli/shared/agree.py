"""Agreeing to what a run destroys: by `--destroy NAME`, or by typing each name on a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.cli.shared.common import paths, say
from tui.model.plan import Plan
from tui.model.problem import PreflightError, Problem

if TYPE_CHECKING:
    from tui.engine.safety.preview import Preview


def agreed(plan: Plan, names: Sequence[str], *, sure: bool) -> Plan:
    """Return the plan with the names that somebody agreed to destroy.

    On a terminal, and without `sure`, the names of devices are asked for. Files are judged by the engine alone.
    Raises UsageError for a name that is no target of the run, PreflightError (3) for what was not or cannot be agreed.
    """
    from msgspec.structs import replace

    from tui.engine.safety.destroy import unnamed_devices
    from tui.engine.safety.preview import check_names

    plan = replace(plan, destroy=tuple(dict.fromkeys(names)))
    check_names(plan)
    if unnamed := unnamed_devices(plan):
        if not sure and sys.stdin.isatty() and sys.stderr.isatty():
            return replace(plan, destroy=(*plan.destroy, *ask_for_names(look(plan))))
        said = "{0} loses what is on it: name it to agree: --destroy {0}"
        raise PreflightError([Problem(said.format(name)) for name in unnamed])
    return plan


def look(plan: Plan) -> Preview:
    """Look at the targets on all hosts."""
    from tui.cli.shared.asking import terminal_asker
    from tui.engine.hosts.fan_out import connections_of
    from tui.engine.safety.made_files import MADE_FILES, MadeFiles
    from tui.engine.safety.preview import preview

    async def run() -> Preview:
        async with connections_of(plan, paths().known_hosts, terminal_asker()) as connections:
            return await preview(plan, connections, MadeFiles(paths().data / MADE_FILES))

    return asyncio.run(run())


def ask_for_names(found: Preview) -> tuple[str, ...]:
    """Show what was found and have each name typed. Raises PreflightError when something is refused or not typed."""
    say("\n".join(found.lines))
    if found.problems:
        raise PreflightError(found.problems)
    for name in found.names:
        print(f"type {name} to overwrite it: ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() != name:
            raise PreflightError(f"{name} was not typed; nothing was started")
    return found.names

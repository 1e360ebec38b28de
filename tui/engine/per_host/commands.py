"""A command on each host, all released together: the course that most load generators take."""

from __future__ import annotations

from tui.engine.per_host.measure import measure
from tui.engine.per_host.reopen import adopt
from tui.engine.session.context import RunContext

__all__ = ["adopt", "look", "measure", "try_ahead"]


async def look(ctx: RunContext) -> None:
    """Look at nothing: each command needs only what every host needs."""


async def try_ahead(ctx: RunContext) -> None:
    """Try nothing."""

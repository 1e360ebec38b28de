"""A command on each host, all released together: the course that most load generators take."""

from __future__ import annotations

from tui.engine.recovery.reopen import adopt
from tui.engine.running.context import RunContext
from tui.engine.running.measure import measure

__all__ = ["adopt", "look_ahead", "measure"]


async def look_ahead(ctx: RunContext) -> None:
    """Check nothing: each command needs only what every host needs."""

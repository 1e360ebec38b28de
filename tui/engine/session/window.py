"""Steps that run at the same time wait for each other before their loads start; none starts when one cannot."""

from __future__ import annotations

import asyncio

from tui.engine.session.context import EXIT_PARTIAL, RunContext, RunRefused


class Window:
    """Where `steps` steps meet: prepared, armed, and right before GO. One step alone waits for nobody."""

    def __init__(self, steps: int = 1) -> None:
        self._barrier = asyncio.Barrier(steps)
        self._refusal = ""

    async def meet(self, ctx: RunContext) -> None:
        """Wait until every step is here. Raises RunRefused when one cannot come, RunStopped."""
        try:
            await ctx.unless_stopped(self._barrier.wait())
        except asyncio.BrokenBarrierError:
            raise RunRefused("failed", EXIT_PARTIAL, f"not started: {self._refusal}") from None
        ctx.check_stop()

    async def leave(self, why: str) -> None:
        """Say that a step does not come: those that wait for it are refused."""
        self._refusal = self._refusal or why
        await self._barrier.abort()

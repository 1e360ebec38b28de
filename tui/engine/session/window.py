"""Steps that run at the same time wait for each other before their loads start.

None starts when one cannot.
"""

from __future__ import annotations

import asyncio

from tui.engine.session.context import EXIT_PARTIAL, RunContext, RunRefused

NOT_STARTED = "not started: "


class Window:
    """Where `steps` steps wait for each other: prepared, armed, and right before GO.

    One alone waits for none.
    """

    def __init__(self, steps: int = 1) -> None:
        self._barrier = asyncio.Barrier(steps)
        self._refusal = ""

    async def meet(self, ctx: RunContext) -> None:
        """Wait until every step is here. Raises RunRefused when one cannot come, RunStopped."""
        try:
            await ctx.unless_stopped(self._barrier.wait())
        except asyncio.BrokenBarrierError:
            raise RunRefused("failed", EXIT_PARTIAL, f"{NOT_STARTED}{self._refusal}") from None
        ctx.check_stop()

    async def leave(self, why: str) -> None:
        """Withdraw a step: refuse the steps that wait for it."""
        self._refusal = self._refusal or why
        await self._barrier.abort()

"""Steps that run at the same time wait for each other, and none starts when one cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.engine.session.context import RunContext, RunRefused, RunStopped, Window
from tui.journal.writer import Journal
from tui.model.operands import clause
from tui.model.plan import Plan, ProfileRef


@pytest.fixture
def ctx(tmp_path: Path) -> RunContext:
    return RunContext(
        tmp_path, Plan(ProfileRef("a/b", 1, "", "", ""), {}, [], []), Journal(tmp_path), []
    )


async def test_no_step_continues_before_the_last_has_arrived(ctx: RunContext) -> None:
    window, order = Window(2), list[str]()

    async def first() -> None:
        await window.meet(ctx)
        order.append("first continues")

    waiting = asyncio.create_task(first())
    for _ in range(5):
        await asyncio.sleep(0)
    order.append("second is there")
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(window.meet(ctx), waiting)
    assert order == ["second is there", "first continues"]


async def test_those_who_wait_are_refused_with_the_reason_of_the_one_that_cannot_come(
    ctx: RunContext,
) -> None:
    window = Window(3)
    waiting = [asyncio.create_task(window.meet(ctx)) for _ in range(2)]
    await asyncio.sleep(0)
    await window.leave(clause("layout-failed", hosts=["h7"]))
    for each in waiting:
        with pytest.raises(RunRefused, match="h7"):
            await each
    with pytest.raises(RunRefused, match="h7"):
        await window.meet(ctx)  # one that comes later


async def test_a_stop_ends_the_wait(ctx: RunContext) -> None:
    waiting = asyncio.create_task(Window(2).meet(ctx))
    await asyncio.sleep(0)
    ctx.request_stop("stop")
    with pytest.raises(RunStopped):
        await waiting


async def test_one_step_alone_waits_for_nobody(ctx: RunContext) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await Window().meet(ctx)

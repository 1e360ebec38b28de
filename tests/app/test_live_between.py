"""Live keeps the last figures until there is something else to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.matrix_maker import line_sweep
from tests.app.stage import stage
from tui.app.screens.live_text import is_between, step_of
from tui.model.event import AnyEvent, PhaseStarted, RunEnded, StepStarted

NEXT = StepStarted(t=0.0, step=2)
END = RunEnded(t=0.0, state="complete", exit_code=0)


def phase(name: str, step: int | None) -> PhaseStarted:
    return PhaseStarted(t=0.0, phase=name, step=step)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("events", "keeps"),
    [
        ([phase("collect", 1)], True),
        ([phase("collect", 1), phase("cleanup", None)], True),
        ([phase("cleanup", None), END], True),
        ([NEXT], True),
        ([NEXT, phase("pause", 2)], True),
        ([NEXT, phase("barrier", 2)], False),
    ],
)
async def test_the_figures_of_a_step_stay_until_the_hosts_prepare_the_next_one(
    tmp_path: Path, events: list[AnyEvent], keeps: bool
) -> None:
    maker = line_sweep(tmp_path).steps_done({0: 1000.0}).start_step(1)
    async with stage(maker.measure(31)) as (app, pilot):
        maker.end_step(1, 1000.0).add(*(replace(each, t=maker.t) for each in events))
        await app.tick(pilot, maker)
        await app.settle(pilot)
        assert is_between(app.live.feed.state) != keeps
        assert ("no samples yet" not in app.screen_text()) == keeps
        shown = step_of(app.live.feed.state, maker.plan)
        assert shown is not None and shown.index == (2 if NEXT in events else 1)


async def test_an_ended_run_without_samples_does_not_promise_any(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path).steps_done({0: 1000.0}).finish("partial")
    async with stage(maker) as (app, _):
        assert "no samples" in app.screen_text() and "no samples yet" not in app.screen_text()

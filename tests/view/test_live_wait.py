"""What Live says before there are samples."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.app.journal_maker import plan_of
from tui.journal.state import RunState
from tui.view.live_wait import FIRST_SAMPLES, first_samples_text


@pytest.mark.parametrize(
    ("phase", "ramp_s", "now", "is_ramp"),
    [
        ("measure", 5.0, 103.0, True),
        ("measure", 5.0, 106.0, False),
        ("measure", 0.0, 101.0, False),
        ("barrier", 5.0, 103.0, False),
    ],
)
def test_the_ramp_is_named_until_it_is_over(
    phase: str, ramp_s: float, now: float, is_ramp: bool
) -> None:
    plan = plan_of(["h1"], ["read"], 10.0)
    plan = replace(plan, steps=[replace(each, ramp_s=ramp_s) for each in plan.steps])
    state = RunState()
    state.phase, state.step, state.phase_started_t = phase, 0, 100.0  # type: ignore[assignment]
    state.clock.now = now
    assert (first_samples_text(state, plan) != FIRST_SAMPLES) is is_ramp

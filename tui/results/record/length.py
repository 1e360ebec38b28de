"""How long a step measured, and whether that is too short to stand for its load. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics import units

if TYPE_CHECKING:
    from tui.model.step_record import StepRecord  # pydantic: not while a run goes on

SHORT_SHARE = 0.95  # of the runtime that was asked for
SHORT_S = 1.0  # what lasts less is no measurement, whatever was asked for


def ended_early(measured_s: float | None, runtime_s: float | None) -> bool:
    """Tell whether a measurement lasted less than was asked for; False when either is not known."""
    return measured_s is not None and runtime_s is not None and measured_s < SHORT_SHARE * runtime_s


def is_short(step: StepRecord) -> bool:
    """Tell whether a step measured less than was asked for, or too little to say anything."""
    seconds = step.measured_s
    return seconds is not None and (seconds < SHORT_S or ended_early(seconds, step.runtime_s))


def length_text(measured_s: float | None, runtime_s: float | None) -> str:
    """Return how long was measured: ``measured 30.0 s``, ``ended after 0.2 s of 30 s``; empty when it is not known."""
    if measured_s is None:
        return ""
    if ended_early(measured_s, runtime_s):
        return f"ended after {units.seconds(measured_s)} of {units.seconds(runtime_s)}"
    return f"measured {units.seconds(measured_s)}"

"""When a run that goes on can be judged. Loads nothing: most of a run there is nothing to judge yet."""

from __future__ import annotations

from tui.journal.state import RunState

FIRST_S = 10.0  # of a load or a layout: before that there is nothing to judge
LOADED = ("layout", "measure")


def is_time(state: RunState, now_t: float) -> bool:
    """Tell whether there is a load that has gone on for long enough."""
    return state.phase in LOADED and not state.ended and now_t - state.phase_started_t >= FIRST_S

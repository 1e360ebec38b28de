"""The progress of a running run in words: time left, end of the allocation, cells of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics.units import clock

if TYPE_CHECKING:
    from tui.record.progress import MatrixProgress

ROUND_UP_S = 0.999  # rounded up: 0 only at the end


def left_text(remaining_s: float, *, at_most: bool = False, about: bool = False) -> str:
    """Return the time left: ``0:30 left``, ``≤ 4:10 left``, ``~1:15 left`` (estimated)."""
    sign = "≤ " if at_most else "~" if about else ""
    return f"{sign}{clock(remaining_s + ROUND_UP_S)} left"


def allocation_text(left_s: float) -> str:
    """Return when the hosts' allocation ends: ``allocation ends in 0:40``."""
    return f"allocation ends in {clock(left_s)}"


def cells_text(progress: MatrixProgress) -> str:
    """Return the progress of a sweep: ``step 7/36, 3/18 cells done, ≤ 4:10 left in all``."""
    parts = [progress.place, f"{progress.cells_over}/{progress.cells} cells done"]
    if progress.remaining_s is not None and progress.over < progress.steps:
        parts.append(f"{left_text(progress.remaining_s, at_most=progress.at_most)} in all")
    return ", ".join(parts)

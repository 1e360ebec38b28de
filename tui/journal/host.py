"""One host of a run, as it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tui.journal.views import FRESH_S, DirectionView
from tui.model.event import HostResult, HostStateName


@dataclass(slots=True)
class HostView:
    """One host. `dirs` and `total` are of the current measurement, `version` grows with every visible change."""

    name: str
    total: DirectionView
    dirs: dict[str, Any]
    state: HostStateName = "waiting"
    detail: str = ""
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    last_sample_t: float | None = None
    running_since_t: float | None = None
    problem: str | None = None
    result: HostResult | None = None  # of the current measurement, once its tool has told it
    gives_none: bool = False  # its tool gives no samples
    version: int = 0

    def stale_s(self, now_t: float) -> float | None:
        """Return the seconds since the last sample of a running host; None when it is fresh or has no load."""
        if self.gives_none or self.state not in ("running", "layout") or self.running_since_t is None:
            return None
        silent = now_t - max(self.running_since_t, self.last_sample_t or 0.0)
        return silent if silent > FRESH_S else None

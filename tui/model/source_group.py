"""A source of hosts, and what it said when it was asked."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tui.model.plain_data import parse_utc


class SourceGroup(Struct, frozen=True):
    """A group of the inventory with `from:`, or a SPEC. `utc`: when it was asked, empty: not yet; `how`: by what.

    `problem`: why it could not be asked the last time; `names` are those of the time before.
    """

    title: str
    spec: str
    names: tuple[str, ...] = ()
    utc: str = ""
    how: str = ""
    problem: str = ""

    def age_s(self, now: datetime) -> float | None:
        """Return how long ago it was asked; None: not yet."""
        asked = parse_utc(self.utc)
        return max(0.0, (now - asked).total_seconds()) if asked is not None else None

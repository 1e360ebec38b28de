"""A group of hosts from a source, with the source's last answer."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tui.model.plain_data import parse_utc


class SourceGroup(Struct, frozen=True):
    """A group of the inventory with `from:`, or a SPEC with a source.

    `utc`: time of the query, empty if not yet queried; `how`: the program or file queried.
    `problem`: error of the last query; `names` are then those of the last successful one.
    """

    title: str
    spec: str
    names: tuple[str, ...] = ()
    utc: str = ""
    how: str = ""
    problem: str = ""

    def age_s(self, now: datetime) -> float | None:
        """Return the seconds since the query; None if not yet queried."""
        asked = parse_utc(self.utc)
        return max(0.0, (now - asked).total_seconds()) if asked is not None else None

"""What the user has chosen so far: the one state that Hosts, Profiles and Review share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.engine.hosts.fleet import HostCheck
    from tui.engine.planning.search import Wish


@dataclass(slots=True)
class Selection:
    """Ticked hosts in the order of the list, a profile's tag, and what was typed on Review.

    `overrides` holds texts as typed, also wrong ones: they are validated where they are shown.
    """

    ticked: list[str] = field(default_factory=list)
    profile: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    repeat: str = ""  # empty: as the profile says
    sweep: str = ""  # numjobs=1,2,4 bs=4k,1M
    note: str = ""
    cleanup: bool | None = None
    precondition: bool = True
    attest: dict[str, str] = field(default_factory=dict)  # answers by condition
    search: Wish | None = None  # None: what the profile searches for, if it does
    servers: list[str] = field(default_factory=list)  # storage nodes to look at meanwhile
    remarks: list[str] = field(default_factory=list)  # what to know of a choice that a run before made
    changes: int = 0  # times that everything was chosen anew: what shows it has to be filled again
    checks: dict[str, HostCheck] = field(default_factory=dict)

    def toggle(self, name: str) -> None:
        """Tick or untick one host."""
        if name in self.ticked:
            self.ticked.remove(name)
        else:
            self.ticked.append(name)

    def toggle_all(self, names: Iterable[str]) -> None:
        """Tick all of these, or untick them when every one is ticked already."""
        wanted = list(names)
        if all(name in self.ticked for name in wanted):
            self.ticked = [name for name in self.ticked if name not in wanted]
        else:
            self.ticked += [name for name in wanted if name not in self.ticked]

    def order_by(self, names: Iterable[str]) -> None:
        """Bring the ticks into the order of the list; hosts that are gone lose theirs."""
        ticked = set(self.ticked)
        self.ticked = [name for name in names if name in ticked]

    def choose_profile(self, tag: str) -> None:
        """Choose a profile. What was typed for another profile's parameters is dropped."""
        if tag != self.profile:
            self.profile = tag
            self.overrides = {}
            self.repeat = self.sweep = ""
            self.cleanup = None
            self.precondition, self.attest, self.search = True, {}, None
            self.servers, self.remarks = [], []
            self.changes += 1

    @property
    def ready(self) -> bool:
        """There is enough to make a plan."""
        return bool(self.ticked) and self.profile is not None

    def text(self) -> str:
        """Return the choice in a few words: ``4 hosts · weka/read-iops``."""
        return " · ".join(part for part in (self.hosts_text(), self.profile_text()) if part)

    def profile_text(self) -> str:
        """Return the profile's tag, or the name of its file when it is not in the catalogue."""
        profile = self.profile or ""
        return profile.rpartition("/")[2] if profile.startswith("/") else profile

    def hosts_text(self) -> str:
        """Return ``local`` or ``4 hosts``, empty when none is ticked."""
        if not self.ticked:
            return ""
        return self.ticked[0] if len(self.ticked) == 1 else f"{len(self.ticked)} hosts"

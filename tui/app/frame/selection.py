"""The user's selection, which Hosts, Profiles and Review share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui.metrics.units import plural

if TYPE_CHECKING:
    from tui.engine.plan.search import SearchChoice
    from tui.engine.preflight.host_check import HostCheck
    from tui.model.address import HostAddress


INPUT = (  # fields that Review fills, except the note
    "overrides", "swept", "roles", "repeat", "sweep", "cleanup", "precondition", "search",
)  # fmt: skip


class Selection(Struct):
    """The selected hosts in list order, the profile's tag, and the input of Review.

    A host is ticked as a load generator (`ticked`) or as a server to monitor (`servers`).
    `overrides` has texts as typed, even invalid ones: Review checks them.
    """

    ticked: list[str] = field(default_factory=list)
    profile: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    swept: dict[str, str] = field(default_factory=dict)  # overrides with several values: 4k,64k
    repeat: str = ""  # empty: as the profile says
    sweep: str = ""  # numjobs=1,2,4 bs=4k,1M
    note: str = ""
    cleanup: bool | None = None
    precondition: bool = True
    # hosts by role of a suite, where they differ from it
    roles: dict[str, str] = field(default_factory=dict)
    attest: dict[str, str] = field(default_factory=dict)  # answers by condition
    search: SearchChoice | None = None  # None: the profile's own search, if it has one
    servers: list[str] = field(default_factory=list)
    # caveats on a selection taken from an earlier run
    caveats: list[str] = field(default_factory=list)
    changes: int = 0  # how often the selection was replaced: forms must be filled again
    checks: dict[str, HostCheck] = field(default_factory=dict)

    @property
    def chosen(self) -> list[str]:
        """All ticked hosts, load generators first."""
        return [*self.ticked, *self.servers]

    @property
    def not_ready(self) -> list[str]:
        """The ticked hosts whose last check failed."""
        return [name for name in self.chosen if (check := self.checks.get(name)) and not check.ok]

    def put(self, name: str, *, server: bool | None) -> None:
        """Tick a host as server or load generator; None unticks it."""
        for part in (self.ticked, self.servers):
            if name in part:
                part.remove(name)
        if server is not None:
            (self.servers if server else self.ticked).append(name)

    def toggle(self, hosts: Sequence[HostAddress]) -> None:
        """Tick hosts in the role that the inventory gives them; untick them if all are ticked."""
        ticked = set(self.chosen)
        missing = [host for host in hosts if host.name not in ticked]
        for host in missing or hosts:
            self.put(host.name, server=host.role == "server" if missing else None)

    def is_server(self, host: HostAddress) -> bool:
        """Return whether a host is a server: as the user chose, otherwise by the inventory."""
        return host.name in self.servers or (host.name not in self.ticked and host.role == "server")

    def swap(self, hosts: Sequence[HostAddress]) -> None:
        """Tick hosts as servers or, if they all are servers, as load generators."""
        server = not all(map(self.is_server, hosts))
        for host in hosts:
            self.put(host.name, server=server)

    def order_by(self, names: Iterable[str]) -> None:
        """Sort the ticks in the order of `names`, and untick hosts that are not in it."""
        known, ticked, servers = list(names), set(self.ticked), set(self.servers)
        self.ticked = [name for name in known if name in ticked]
        self.servers = [name for name in known if name in servers]

    def choose_profile(self, tag: str) -> None:
        """Select a profile; if it differs from the previous one, reset the input of Review."""
        if tag != self.profile:
            self.profile = tag
            self.reset_input()
            self.attest = {}
            self.caveats = []
            self.changes += 1

    def typed_input(self) -> dict[str, Any]:
        """Return what was typed on Review, for `put_input`."""
        return {name: getattr(self, name) for name in INPUT}

    def put_input(self, values: Mapping[str, Any]) -> None:
        """Put back what `typed_input` returned."""
        for name, value in values.items():
            setattr(self, name, value)

    def reset_input(self) -> None:
        """Reset parameters, roles and options to the profile's values.

        The note and the attested answers stay.
        """
        self.overrides, self.swept, self.roles = {}, {}, {}
        self.repeat = self.sweep = ""
        self.cleanup, self.precondition, self.search = None, True, None

    @property
    def ready(self) -> bool:
        """Whether there are hosts and a profile, so that a plan can be made."""
        return bool(self.ticked) and self.profile is not None

    def text(self) -> str:
        """Return the selection as a short text: ``4 hosts · weka/read-iops``."""
        return " · ".join(part for part in (self.hosts_text(), self.profile_text()) if part)

    def profile_text(self) -> str:
        """Return the profile's tag, or the file name if it is not in the catalogue."""
        profile = (self.profile or "").removeprefix("job:")
        return profile.rpartition("/")[2] if profile.startswith("/") else profile

    def hosts_text(self) -> str:
        """Return the name of a single host, ``4 hosts`` or ``4 hosts + 3 servers``.

        Empty without ticks. Hosts whose last check failed are included; `not_ready_text` has their
        number.
        """
        hosts = (
            self.ticked[0]
            if len(self.ticked) == 1
            else f"{len(self.ticked)} hosts"
            if self.ticked
            else ""
        )
        servers = plural(len(self.servers), "server") if self.servers else ""
        return " + ".join(filter(None, (hosts, servers)))

    def not_ready_text(self) -> str:
        """Return ``1 not ready``; empty if no check of a ticked host has failed."""
        return f"{count} not ready" if (count := len(self.not_ready)) else ""

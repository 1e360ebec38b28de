"""The hosts of the Hosts screen, their groups and sources, and what is known about each. No
widgets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.model.hostspec import is_range, named
from tui.text.line import Run

if TYPE_CHECKING:
    from tui.app.frame.selection import Selection
    from tui.app.terminal.theme import Symbols
    from tui.engine.preflight.host_check import HostCheck
    from tui.metrics.facts import FactsTogether
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact
    from tui.model.source_group import SourceGroup

GROUPS_KEPT = 32
INDENT = 9  # cells before the text next to a label of the details
Labelled = tuple[str, list[Run]]
"""A label of the details, and the text next to it."""


class KnownHost(Struct, frozen=True):
    """A host, and the file it comes from."""

    address: HostAddress
    origin: str
    source: str = ""  # its source's heading, if only a source knows it

    @property
    def name(self) -> str:
        """Its name."""
        return self.address.name

    @property
    def group(self) -> str:
        """Its heading: its source, its first group, or its origin."""
        return self.source or (self.address.groups[0] if self.address.groups else self.origin)

    @property
    def has_key(self) -> bool:
        """Whether it has a host key."""
        from tui.remote.way_registry import is_over_ssh

        return is_over_ssh(self.address)


class HostList:
    """All hosts in inventory order, those that match the filter, and results of checks and ssh
    config.

    Row keys: the host's name; for headings `heading_key` of the group.
    """

    def __init__(self, selection: Selection, symbols: Symbols) -> None:
        self.selection = selection
        self.symbols = symbols
        self.hosts: list[KnownHost] = []
        self.shown: list[KnownHost] = []
        self.sources: list[SourceGroup] = []
        self.asking: set[str] = set()  # titles of sources that are queried now
        self.checking: set[str] = set()  # names of hosts that are checked now
        # by host: user, address, port and bastions
        self.places: dict[str, str] = {}
        self.problem: str | None = None  # why hosts could not be read
        self.was_read = False  # inventory and ssh config were read read read
        # kept until checks change
        self._together: dict[tuple[tuple[str, int], ...], FactsTogether] = {}

    def show(self, search: str) -> None:
        """Show the hosts that match a filter, group by group."""
        hosts = [host for members in by_group(self.hosts).values() for host in members]
        self.shown = [host for host in hosts if matches(host, search, self.place(host))]

    # -- of one host

    def place(self, host: KnownHost) -> str:
        """Return the address of a host, as far as known."""
        return self.places.get(host.name) or address_text(host.address)

    def check_of(self, host: KnownHost) -> HostCheck | None:
        """Return the last check of a host."""
        return self.selection.checks.get(host.name)

    def facts(self, host: KnownHost) -> Mapping[str, Fact]:
        """Return what the last check read."""
        check = self.check_of(host)
        return check.facts if check else {}

    def facts_together(self, host: KnownHost) -> FactsTogether:
        """Return the facts of a host and its peers: those with the same tick, else its group."""
        from tui.metrics.facts import compare

        parts = (self.selection.ticked, self.selection.servers)
        ticked = next((names for names in parts if host.name in names and len(names) > 1), ())
        names = ticked or [each.name for each in self.hosts if each.group == host.group]
        checks = {
            name: check
            for name in names
            if (check := self.selection.checks.get(name)) and check.facts
        }
        key = tuple((name, id(check)) for name, check in checks.items())
        if key not in self._together:
            if len(self._together) > GROUPS_KEPT:
                self._together.clear()
            self._together[key] = compare({name: check.facts for name, check in checks.items()})
        return self._together[key]

    def differs(self, host: KnownHost) -> str:
        """Return the facts in which a host differs from its peers, once all checks have finished:
        ``links: mtu``.
        """
        if self.checking or not self.facts(host):
            return ""
        parts: dict[str, dict[str, None]] = {}
        for odd in sorted(
            self.facts_together(host).odd_of(host.name), key=lambda odd: not odd.matters
        ):
            subject, _, part = odd.title.partition(": ")
            parts.setdefault(subject, {})[part] = None
        texts = (f"{subject}: {', '.join(shown)}" if (shown := [*filter(None, names)]) else subject
                 for subject, names in parts.items())  # fmt: skip
        return ", ".join(texts)

    # -- of a row

    def at(self, key: str | None) -> KnownHost | None:
        """Return the host of a row, None on a heading."""
        return next((host for host in self.shown if host.name == key), None)

    def group_at(self, key: str | None) -> str | None:
        """Return the group of a row, or of a heading."""
        host = self.at(key)
        return host.group if host else key.removeprefix("@") if key else None

    def members(self, group: str | None) -> list[KnownHost]:
        """Return the shown hosts of a group.

        A source may name hosts that are under another heading.
        """
        source = self.source(group)
        if source is not None:
            return [host for host in self.shown if host.name in source.names]
        return [host for host in self.shown if host.group == group]

    def picked(self, what: str, key: str | None) -> list[KnownHost]:
        """Return the hosts meant on a row: the "row" itself, its "group", or "all" shown."""
        if what == "all":
            return self.shown
        host = self.at(key)
        return [host] if host and what == "row" else self.members(self.group_at(key))

    def ticked_or_at(self, key: str | None) -> list[KnownHost]:
        """Return the ticked hosts, else the one of a row."""
        chosen = frozenset(self.selection.chosen)
        if chosen:
            return [host for host in self.hosts if host.name in chosen]
        host = self.at(key)
        return [host] if host else []

    def source(self, title: str | None) -> SourceGroup | None:
        """Return a source by its heading."""
        return next((each for each in self.sources if each.title == title), None)

    @property
    def has_others(self) -> bool:
        """Whether there are hosts other than this machine."""
        return any(host.address.transport != "local" for host in self.hosts)


def heading_key(group: str) -> str:
    """Return the row key of a group's heading, which no host can have."""
    return f"@{group}"


def address_text(host: HostAddress) -> str:
    """Return user, address and port as far as given: ``bench@10.0.0.1:2222``."""
    if host.transport != "ssh":
        return f"{host.transport} {host.through}" if host.through else "no SSH"
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    if not (host.address or user or port):
        return "as in ssh config"
    return f"{user}{host.address or host.name}{port}"


def matches(host: KnownHost, search: str, place: str = "") -> bool:
    """Return whether name, address, role or groups match every word of the filter.

    A word may be a range such as ``h[1-4]``.
    """
    address = host.address
    text = " ".join(
        (host.name, address_text(address), place, address.role, host.group, *address.groups)
    ).lower()
    return all(
        host.name in named(word) if is_range(word) else word.lower() in text
        for word in search.split()
    )


def by_group(hosts: Iterable[KnownHost]) -> dict[str, list[KnownHost]]:
    """Return hosts under their headings, in the order given."""
    groups: dict[str, list[KnownHost]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host)
    return groups


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that counts: h2 before h10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]

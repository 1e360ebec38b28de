"""The data of the Hosts screen: hosts, groups, sources, rows, and check results. No widgets."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.app.frame.selection import Selection
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.metrics.units import duration
from tui.model.hostspec import is_range, named
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    indented,
    whole_names,
)
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.inputs.hosts import Fleet, SourceAnswer, SourceGroup
    from tui.engine.preflight.host_check import HostCheck
    from tui.metrics.facts import FactDifference, FactsTogether
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact

GROUPS_KEPT = 32
DIFFERS_CELLS = 40  # of the facts that a host differs in
INDENT = 9  # cells before the text next to a label of the details
Labelled = tuple[str, list[Run]]
"""A label in the details, and the text beside it."""
NO_SOURCES: Mapping[str, Run] = {}
OF_SEVERAL = frozenset({"hosts.filter", "hosts.all", "hosts.sort", "hosts.group", "hosts.observe"})
LESS_THAN_TRUST = frozenset({"hosts.job", "hosts.new", "hosts.all", "hosts.sort"})


class KnownHost(Struct, frozen=True):
    """A host, and where it is listed."""

    address: HostAddress
    origin: str
    source: str = ""  # its source's heading, if only a source knows it

    @property
    def name(self) -> str:
        """The name of the host."""
        return self.address.name

    @property
    def group(self) -> str:
        """The heading that it is listed under: its source, its first group, or its origin."""
        return self.source or (self.address.groups[0] if self.address.groups else self.origin)

    @property
    def has_key(self) -> bool:
        """Whether the host has an SSH host key."""
        from tui.remote.way_base import is_over_ssh

        return is_over_ssh(self.address)


class HostList:
    """All hosts in inventory order, those that match the filter, and the check results.

    A host's row has the host's name as its key, and a heading has `heading_key` of its group.
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
        self.was_read = False  # inventory and ssh config were read
        self.known_hosts = Path()  # the file that trusted keys go to
        # kept until checks change
        self._together: dict[tuple[tuple[str, int], ...], FactsTogether] = {}
        self._odd: dict[tuple[int, str], list[FactDifference]] = {}

    def show(self, search: str) -> None:
        """Show the hosts that match a filter, group by group."""
        hosts = [host for members in by_group(self.hosts).values() for host in members]
        self.shown = [host for host in hosts if matches(host, search, self.place(host))]

    # -- of one host

    def place(self, host: KnownHost) -> str:
        """Return a host's address from ssh config or, until that has been read, the inventory."""
        return self.places.get(host.name) or address_text(host.address)

    def check_of(self, host: KnownHost) -> HostCheck | None:
        """Return the last check of a host; None if it was not checked."""
        return self.selection.checks.get(host.name)

    def facts(self, host: KnownHost) -> Mapping[str, Fact]:
        """Return the facts that the last check read; empty if there was none."""
        check = self.check_of(host)
        return check.facts if check else {}

    def facts_together(self, host: KnownHost) -> FactsTogether:
        """Return the facts of a host and its peers.

        Its peers are the hosts with the same tick or, if there are none, those in the same group.
        """
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
                self._odd.clear()
            self._together[key] = compare({name: check.facts for name, check in checks.items()})
        return self._together[key]

    def odd(self, host: KnownHost) -> list[FactDifference]:
        """Return how a host differs from its peers; facts that affect performance come first.

        Empty until all checks have finished.
        """
        if self.checking or not self.facts(host):
            return []
        together = self.facts_together(host)
        key = (id(together), host.name)
        if key not in self._odd:
            self._odd[key] = sorted(together.odd_of(host.name), key=lambda odd: not odd.matters)
        return self._odd[key]

    def differs(self, host: KnownHost) -> str:
        """Return the facts in which a host differs from its peers: ``kernel, link MTU``.

        Facts that do not fit into a column are counted: ``kernel, governor, +3``.
        """
        if not (odd := self.odd(host)):
            return ""
        from tui.metrics.facts import titles_together

        return whole_names(titles_together(odd), DIFFERS_CELLS, ", ")

    # -- of a row

    def at(self, key: str | None) -> KnownHost | None:
        """Return the host of a row; None for a heading."""
        return next((host for host in self.shown if host.name == key), None)

    def group_at(self, key: str | None) -> str | None:
        """Return the group that a row or heading belongs to; None without a row."""
        host = self.at(key)
        return host.group if host else key.removeprefix("@") if key else None

    def members(self, group: str | None) -> list[KnownHost]:
        """Return the shown hosts of a group.

        For a source, this includes hosts listed under another heading.
        """
        source = self.source(group)
        if source is not None:
            return [host for host in self.shown if host.name in source.names]
        return [host for host in self.shown if host.group == group]

    def picked(self, what: str, key: str | None) -> list[KnownHost]:
        """Return the hosts that an action applies to: the "row", its whole "group", or "all" shown.

        The row of a heading stands for its group. "all" includes this machine only if it is ticked,
        or if no other host is shown.
        """
        if what == "all":
            chosen = self.selection.chosen
            remote = [host.address.transport != "local" for host in self.shown]
            found = zip(self.shown, remote, strict=True)
            return [each for each, far in found if far or not any(remote) or each.name in chosen]
        host = self.at(key)
        return [host] if host and what == "row" else self.members(self.group_at(key))

    def ticked_or_at(self, key: str | None) -> list[KnownHost]:
        """Return the ticked hosts or, if there are none, the host of a row."""
        chosen = frozenset(self.selection.chosen)
        if chosen:
            return [host for host in self.hosts if host.name in chosen]
        host = self.at(key)
        return [host] if host else []

    def source(self, title: str | None) -> SourceGroup | None:
        """Return the source with this heading; None if there is no such source."""
        return next((each for each in self.sources if each.title == title), None)

    @property
    def lines(self) -> int:
        """Number of lines of the whole list, with the headings of its groups."""
        return len(self.hosts) + len({host.group for host in self.hosts})

    @property
    def has_others(self) -> bool:
        """Whether there are hosts other than this machine."""
        return any(host.address.transport != "local" for host in self.hosts)


def heading_key(group: str) -> str:
    """Return the row key of a group's heading. No host can have that name."""
    return f"@{group}"


def address_text(host: HostAddress) -> str:
    """Return user, address and port, as far as given: ``bench@10.0.0.1:2222``.

    Without SSH, return the transport and, if any, the host or pod that it goes through.
    """
    if host.transport != "ssh":
        return f"{host.transport} {host.through}" if host.through else "no SSH"
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    if not (host.address or user or port):
        return "as in ssh config"
    return f"{user}{host.address or host.name}{port}"


def matches(host: KnownHost, search: str, place: str = "") -> bool:
    """Return whether name, address, role or groups of a host match every word of a filter.

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
    """Return the hosts by heading, both in the order given."""
    groups: dict[str, list[KnownHost]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host)
    return groups


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in names: h2 before h10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def columns(host_list: HostList) -> tuple[Column[KnownHost], ...]:
    """Return the columns of the host list."""
    ticks, symbols = host_list.selection, host_list.symbols

    def reached(host: KnownHost) -> tuple[bool, str]:
        check = ticks.checks.get(host.name)
        # failures come first
        return check is None, "" if check is None else check.code or "~"

    def tick(host: KnownHost) -> Run:
        if host.name in ticks.servers:
            return symbols.watched, ACCENT
        return (symbols.ticked, ACCENT) if host.name in ticks.ticked else (symbols.unticked, LABEL)

    return (
        Column("", tick, 3),
        Column("host", lambda h: (h.name, BRIGHT if tick(h)[1] == ACCENT else TEXT), least=14,
            most=32,
               order=lambda h: natural(h.name)),
        Column("role", lambda h: run_role(h, ticks), 6, drop=2, order=lambda h: run_role(h, ticks)),
        Column("address", host_list.place, least=22, most=40, drop=5, role=LABEL,
            order=host_list.place),
        Column("reach", lambda h: reach(ticks.checks.get(h.name), h.name in host_list.checking,
            symbols), 15,
               order=reached),
    )  # fmt: skip


def useful_columns(
    columns: Iterable[Column[KnownHost]], host_list: HostList
) -> tuple[Column[KnownHost], ...]:
    """Return the columns that have content for these hosts."""
    useless = set() if mixed_roles(host_list.hosts, host_list.selection) else {"role"}
    useless |= set() if any(map(host_list.differs, host_list.shown)) else {"differs in"}
    return tuple(each for each in columns if each.title not in useless)


def run_role(host: KnownHost, selection: Selection) -> Run:
    """Return a host's role in the run, yellow if it differs from the inventory."""
    role = "server" if selection.is_server(host.address) else "client"
    return role, LABEL if role == host.address.role else WARN


def mixed_roles(hosts: Iterable[KnownHost], selection: Selection) -> bool:
    """Return whether group headings cannot state the roles of their hosts.

    This is true if a group has both clients and servers, or if a role differs from the inventory.
    """
    return any(
        len({run_role(host, selection) for host in members}) > 1
        or any(run_role(host, selection)[1] == WARN for host in members)
        for members in by_group(hosts).values()
    )


def rows(
    hosts: Sequence[KnownHost], selection: Selection, sources: Mapping[str, Run] = NO_SOURCES
) -> list[KnownHost | Heading]:
    """Return the hosts under the headings of their groups, which count the ticked hosts.

    `sources`: notes for the headings of sources. Sources without hosts come last.
    """
    chosen, failed = frozenset(selection.chosen), frozenset(selection.not_ready)
    mixed = mixed_roles(hosts, selection)
    found: list[KnownHost | Heading] = []
    for group, members in by_group(hosts).items():
        count = sum(host.name in chosen for host in members)
        share = (f"{count}/{len(members)}", ACCENT if count else LABEL)
        servers = not mixed and selection.is_server(members[0].address)
        more: list[Run] = [(" servers", LABEL)] if servers else []
        if count := sum(host.name in failed for host in members):
            more.append((f", {count} not ready", BAD))
        note = sources.get(group, share)
        found += [Heading(heading_key(group), group, note, tuple(more)), *members]
    there = {each.key for each in found if isinstance(each, Heading)}
    return [*found, *(Heading(key, title, note) for title, note in sources.items()
                      if (key := heading_key(title)) not in there)]  # fmt: skip


def reach(check: HostCheck | None, checking: bool, symbols: Symbols) -> Run:
    """Return the result of a host's check as a symbol and a word, coloured."""
    if checking:
        return f"{symbols.wait} checking", ACCENT
    if check is None:
        return f"{symbols.wait} not checked", LABEL
    if check.ok:
        return f"{symbols.ok} ready", GOOD
    return f"{symbols.bad} {short_code(check.code)}", BAD


def short_code(code: str | None) -> str:
    """Return a problem code in words: ``key unknown`` for ``host-key-unknown``."""
    return (code or "failed").removeprefix("host-").removeprefix("ssh-").replace("-", " ")


def useless_keys(host_list: HostList, host: KnownHost | None, *, narrow: bool) -> set[str]:
    """Return the actions to leave out of the footer.

    They are useless, or make room for `trust` on a host with an unknown key.
    """
    useless = set() if len(host_list.hosts) > 1 else set(OF_SEVERAL)
    useless |= set() if host_list.sources else {"hosts.refresh"}
    useless |= set() if any(each.has_key for each in host_list.hosts) else {"hosts.trust"}
    check = host_list.check_of(host) if host else None
    key_unknown = check is not None and check.code == "host-key-unknown"
    return useless | LESS_THAN_TRUST if key_unknown and narrow else useless


def groups_of_sources(fleet: Fleet) -> list[SourceGroup]:
    """Return the groups of an inventory that are filled by sources."""
    if not fleet.sources and not fleet.has_asked:
        return []
    from tui.engine.inputs.hosts import source_groups

    return source_groups(fleet)


def source_note(
    group: SourceGroup, ticked: Collection[str], asking: Collection[str], symbols: Symbols
) -> Run:
    """Return the note at a source's heading.

    It gives the number of ticked hosts and the age of the answer.
    """
    if group.title in asking:
        return f"{symbols.wait} querying", ACCENT
    count = sum(name in ticked for name in group.names)
    share = f"{count}/{len(group.names)}"
    if group.problem:
        return f"{share} {symbols.bad} failed", BAD
    age = group.age_s(datetime.now(UTC))
    if age is None:
        return "not queried: press r", LABEL
    return f"{share}, {duration(age)} ago", ACCENT if count else LABEL


def source_lines(group: SourceGroup, symbols: Symbols, width: int) -> list[Line]:
    """Return the details of a source: its error, and when and how it was queried."""
    failed = indented([(f"{symbols.bad} {group.problem}", BAD)], width, 0) if group.problem else []
    age = group.age_s(datetime.now(UTC))
    by = f", {group.how}" if group.how else ""
    if age is not None:
        age_text = f"{'last answer' if failed else 'queried'} {duration(age)} ago{by}; "
    else:
        age_text = "" if failed else "not queried yet; "
    return [*failed, *indented([(age_text, TEXT), ("r", ACCENT), (" refreshes", LABEL)], width, 0)]


def ask_sources(
    fleet: Fleet, groups: Sequence[SourceGroup], take: Callable[[SourceAnswer], None]
) -> None:
    """Query sources in daemon threads, which do not delay leaving the app.

    `take` is called on the event loop.
    """
    from tui.engine.inputs.hosts import ask_again

    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    def one(group: SourceGroup) -> None:
        answer = ask_again(fleet, group)
        with suppress(RuntimeError):  # the app is gone
            loop.call_soon_threadsafe(take, answer, context=context)

    for group in groups:
        Thread(target=one, args=(group,), daemon=True, name=f"source {group.title}").start()

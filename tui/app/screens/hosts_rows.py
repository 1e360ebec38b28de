"""Hosts as rows of a list and as a text of details; pure functions of hosts, ticks and checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui.app.frame.selection import Selection
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.model.hostspec import is_range, named
from tui.text.line import ACCENT, BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, indented, labelled
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact

INDENT = 9
NO_SOURCES: Mapping[str, Run] = {}
Labelled = tuple[str, list[Run]]
"""A label of the details, and what stands beside it."""


def heading_key(group: str) -> str:
    """Return the row key of a group's heading; no host is named like it."""
    return f"@{group}"


class KnownHost(Struct, frozen=True):
    """A host that can be ticked, and which file it comes from."""

    address: HostAddress
    origin: str
    source: str = ""  # the group of the source that alone knows it

    @property
    def name(self) -> str:
        """Its name."""
        return self.address.name

    @property
    def group(self) -> str:
        """The heading it stands under: its source, its first group, or where it comes from."""
        return self.source or (self.address.groups[0] if self.address.groups else self.origin)


def has_key(host: KnownHost) -> bool:
    """Return whether a host has a host key, which can be trusted."""
    from tui.remote.way_registry import is_over_ssh

    return is_over_ssh(host.address)


def address_text(host: HostAddress) -> str:
    """Return user, address and port as far as they are said: ``bench@10.0.0.1:2222``."""
    if host.transport != "ssh":
        return f"{host.transport} {host.through}" if host.through else "no SSH"
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    if not (host.address or user or port):
        return "as in ssh config"
    return f"{user}{host.address or host.name}{port}"


def matches(host: KnownHost, search: str, place: str = "") -> bool:
    """Return whether name, address, role or groups hold every word of the filter; ``h[1-4]`` is any of these names."""
    address = host.address
    text = " ".join((host.name, address_text(address), place, address.role, host.group, *address.groups)).lower()
    return all(host.name in named(word) if is_range(word) else word.lower() in text for word in search.split())


def by_group(hosts: Iterable[KnownHost]) -> dict[str, list[KnownHost]]:
    """Return hosts under their headings, in the order given."""
    groups: dict[str, list[KnownHost]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host)
    return groups


class Seen(Struct, frozen=True):
    """What the list shows beside the hosts themselves: it is looked at while a row is painted."""

    selection: Selection
    checking: set[str]
    symbols: Symbols
    places: dict[str, str] = field(default_factory=dict)  # by host: user, address and port, and what it goes through
    differs: Callable[[KnownHost], str] = lambda _: ""  # in which facts a host differs from its peers

    def place(self, host: KnownHost) -> str:
        """Return where a host is, as far as that is known."""
        return self.places.get(host.name) or address_text(host.address)

    def facts(self, host: KnownHost) -> Mapping[str, Fact]:
        """Return what the last check read."""
        check = self.selection.checks.get(host.name)
        return check.facts if check else {}


def columns(seen: Seen) -> tuple[Column[KnownHost], ...]:
    """Return the columns of the list: which hosts there are, and whether they were reached."""
    ticks, symbols = seen.selection, seen.symbols

    def reached(host: KnownHost) -> tuple[bool, str]:
        check = ticks.checks.get(host.name)
        return check is None, "" if check is None else check.code or "~"  # what went wrong comes first

    def tick(host: KnownHost) -> Run:
        if host.name in ticks.servers:
            return symbols.watched, ACCENT
        return (symbols.ticked, ACCENT) if host.name in ticks.ticked else (symbols.unticked, LABEL)

    return (
        Column("", tick, 3),
        Column("host", lambda h: (h.name, BRIGHT if tick(h)[1] == ACCENT else TEXT), least=14, most=32,
               order=lambda h: natural(h.name)),
        Column("role", lambda h: part(h, ticks), 6, drop=2, order=lambda h: part(h, ticks)),
        Column("address", seen.place, least=22, most=40, drop=5, role=LABEL, order=seen.place),
        Column("reach", lambda h: reach(ticks.checks.get(h.name), h.name in seen.checking, symbols), 15,
               order=reached),
    )  # fmt: skip


def part(host: KnownHost, selection: Selection) -> Run:
    """Return what a host is in a run, yellow where the inventory has it otherwise."""
    said = "server" if selection.is_server(host.address) else "client"
    return said, LABEL if said == host.address.role else WARN


def has_part(host: KnownHost, selection: Selection) -> bool:
    """Whether a host is, or would be, something else than one that generates load."""
    return "server" in (host.address.role, part(host, selection)[0])


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that counts: h2 before h10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def rows(
    hosts: Sequence[KnownHost], ticked: Iterable[str], sources: Mapping[str, Run] = NO_SOURCES
) -> list[KnownHost | Heading]:
    """Return the hosts under a heading a group, which tells how many of it are ticked.

    `sources`: what to say of the groups of sources; those without a host under them stand behind the others.
    """
    chosen = frozenset(ticked)
    found: list[KnownHost | Heading] = []
    for group, members in by_group(hosts).items():
        count = sum(host.name in chosen for host in members)
        share = (f"{count}/{len(members)}", ACCENT if count else LABEL)
        found += [Heading(heading_key(group), group, sources.get(group, share)), *members]
    there = {each.key for each in found if isinstance(each, Heading)}
    return [*found, *(Heading(key, title, note) for title, note in sources.items()
                      if (key := heading_key(title)) not in there)]  # fmt: skip


def reach(check: HostCheck | None, checking: bool, symbols: Symbols) -> Run:
    """Return whether a host was reached: a symbol and a word, coloured."""
    if checking:
        return f"{symbols.wait} checking", ACCENT
    if check is None:
        return f"{symbols.wait} not checked", LABEL
    if check.ok:
        return f"{symbols.ok} ready", GOOD
    return f"{symbols.bad} {short_code(check.code)}", BAD


def short_code(code: str | None) -> str:
    """Return a problem's stable name as two or three words: ``host-key-unknown`` is ``key unknown``."""
    return (code or "failed").removeprefix("host-").removeprefix("ssh-").replace("-", " ")


def details(
    host: KnownHost, seen: Seen, width: int, odd: Iterable[Labelled] = (), facts: Iterable[Labelled] = ()
) -> list[Line]:
    """Return everything known of one host; what is wrong comes first, then what differs from its peers (`odd`)."""
    lines: list[Line] = []
    check, checking, symbols = seen.selection.checks.get(host.name), host.name in seen.checking, seen.symbols
    if checking:
        lines.append(Line.of((f"{symbols.wait} checking", ACCENT)))
    elif check is None:
        lines.append(key_hint("c", "connects and collects facts", "not checked yet: "))
    else:
        lines += verdict_lines(check, symbols, width)
    role = [("role", runs)] if (runs := role_runs(host, seen.selection)) else []
    known = [*odd, *role, ("address", address_runs(host, seen.place(host))), *facts]
    return [*lines, *(line for label, runs in known for line in labelled([(label, LABEL)], runs, width, INDENT))]


def address_runs(host: KnownHost, place: str) -> list[Run]:
    """Return address, origin and groups."""
    groups = f", groups {', '.join(host.address.groups)}" if host.address.groups else ""
    return [(place, BRIGHT), (f"  from {host.origin}{groups}", LABEL)]


def role_runs(host: KnownHost, selection: Selection) -> list[Run]:
    """Return what a server is in a run, or a host that was made one or none; nothing of a host that is as usual."""
    said, role = part(host, selection)
    if said == "server":
        does, otherwise = "looked at while others generate load", " lets it generate load"
    elif host.address.role == "server":
        does, otherwise = "generates load, though a server in the inventory", " has it only looked at"
    else:
        return []
    return [(said, BRIGHT if role == LABEL else role), (f"  {does}; ", LABEL), ("o", ACCENT), (otherwise, LABEL)]


def verdict_lines(check: HostCheck, symbols: Symbols, width: int) -> list[Line]:
    """Return the outcome of a check, and the key that helps."""
    if check.ok:
        return []
    lines = indented([(f"{symbols.bad} {check.message}", BAD)], width, 0)
    if check.code == "host-key-unknown":
        lines.append(key_hint("t", "shows the key's fingerprint and pins it once you agree"))
    return lines


def key_hint(key: str, does: str, before: str = "") -> Line:
    """Return what a key does, the key in the accent colour."""
    return Line.of((before, LABEL), (key, ACCENT), (f" {does}", LABEL))

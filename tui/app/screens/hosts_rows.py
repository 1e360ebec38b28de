"""Hosts as rows: columns, headings, check results.

Pure functions of hosts and ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.app.frame.selection import Selection
from tui.app.screens.hosts_list import HostList, KnownHost, by_group, heading_key, natural
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.text.line import ACCENT, BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Run
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck

NO_SOURCES: Mapping[str, Run] = {}
OF_SEVERAL = frozenset({"hosts.filter", "hosts.all", "hosts.sort", "hosts.group", "hosts.observe"})
LESS_THAN_TRUST = frozenset({"hosts.new", "hosts.all", "hosts.sort"})


def columns(host_list: HostList) -> tuple[Column[KnownHost], ...]:
    """Return the columns of the list."""
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
        Column("role", lambda h: part(h, ticks), 6, drop=2, order=lambda h: part(h, ticks)),
        Column("address", host_list.place, least=22, most=40, drop=5, role=LABEL,
            order=host_list.place),
        Column("reach", lambda h: reach(ticks.checks.get(h.name), h.name in host_list.checking,
            symbols), 15,
               order=reached),
    )  # fmt: skip


def useful_columns(
    columns: Iterable[Column[KnownHost]], host_list: HostList
) -> tuple[Column[KnownHost], ...]:
    """Return the columns that are not empty for these hosts."""
    useless = (
        set() if any(has_part(host, host_list.selection) for host in host_list.hosts) else {"role"}
    )
    useless |= set() if any(map(host_list.differs, host_list.shown)) else {"differs in"}
    return tuple(each for each in columns if each.title not in useless)


def part(host: KnownHost, selection: Selection) -> Run:
    """Return a host's role in the run, yellow if it differs from the inventory."""
    role = "server" if selection.is_server(host.address) else "client"
    return role, LABEL if role == host.address.role else WARN


def has_part(host: KnownHost, selection: Selection) -> bool:
    """Whether a host is a server, in the run or in the inventory."""
    return "server" in (host.address.role, part(host, selection)[0])


def rows(
    hosts: Sequence[KnownHost], ticked: Iterable[str], sources: Mapping[str, Run] = NO_SOURCES
) -> list[KnownHost | Heading]:
    """Return the hosts under group headings, which show how many are ticked.

    `sources`: notes of the sources' headings; sources without hosts come last.
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
    """Return the result of a host's check: a symbol and a word, coloured."""
    if checking:
        return f"{symbols.wait} checking", ACCENT
    if check is None:
        return f"{symbols.wait} not checked", LABEL
    if check.ok:
        return f"{symbols.ok} ready", GOOD
    return f"{symbols.bad} {short_code(check.code)}", BAD


def short_code(code: str | None) -> str:
    """Return a problem's code in words: ``host-key-unknown`` is ``key unknown``."""
    return (code or "failed").removeprefix("host-").removeprefix("ssh-").replace("-", " ")


def useless_keys(host_list: HostList, host: KnownHost | None, *, narrow: bool) -> set[str]:
    """Return the actions that the footer leaves out.

    For a host with an unknown key, `trust` must fit.
    """
    useless = set() if len(host_list.hosts) > 1 else set(OF_SEVERAL)
    useless |= set() if host_list.sources else {"hosts.refresh"}
    useless |= set() if any(each.has_key for each in host_list.hosts) else {"hosts.trust"}
    check = host_list.check_of(host) if host else None
    key_unknown = check is not None and check.code == "host-key-unknown"
    return useless | LESS_THAN_TRUST if key_unknown and narrow else useless

"""The details of the Hosts screen: all about the host or the group under the cursor, or what to do
first. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.app.frame.selection import Selection
from tui.app.screens import hosts_sources
from tui.app.screens.hosts_list import INDENT, HostList, KnownHost, Labelled
from tui.app.screens.hosts_rows import part
from tui.app.terminal.theme import Symbols
from tui.text.line import ACCENT, BAD, BRIGHT, LABEL, TEXT, Line, Run, indented, labelled

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck

EMPTY = "No hosts yet: press n to add one, or tick 'local' to measure this machine"
NO_MATCH = "Nothing matches the filter: Esc clears it"
READING = "reading the inventory and ssh's configuration"
WHAT_NOW = (
    (
        "J",
        "measures this machine: a form asks for pattern, block size, jobs, queue depth and target",
    ),
    ("Enter", "measures it with a profile: presets of whole test plans"),
    ("n", "adds a host; hosts in ~/.ssh/config are listed automatically"),
    ("?", "shows every key"),
)


def detail_lines(
    host_list: HostList, key: str | None, width: int, *, broad: bool = False
) -> list[Line]:
    """Return the text about a row.

    `broad`: it is next to the list, with room for the ticked hosts as well.
    """
    host, group = host_list.at(key), host_list.group_at(key)
    if host_list.problem:
        return indented([(f"{host_list.symbols.bad} {host_list.problem}", BAD)], width, 0)
    if host is None and group:
        return group_lines(group, host_list, width)
    if host is None:
        text = NO_MATCH if host_list.hosts else EMPTY if host_list.was_read else READING
        return indented([(text, LABEL)], width, 0)
    if not host_list.has_others:
        return [*host_lines(host, host_list, width), Line(), *what_now(width)]
    return [*host_lines(host, host_list, width), *(ticked_lines(host_list, width) if broad else [])]


def what_now(width: int) -> list[Line]:
    """Return what a user without hosts can do."""
    return [
        line
        for key, does in WHAT_NOW
        for line in labelled([(key, ACCENT)], [(does, TEXT)], width, 7)
    ]


def host_lines(host: KnownHost, host_list: HostList, width: int) -> list[Line]:
    """Return everything known of one host.

    What is wrong comes first, then what differs from its peers.
    """
    lines: list[Line] = []
    check, symbols = host_list.check_of(host), host_list.symbols
    if host.name in host_list.checking:
        lines.append(Line.of((f"{symbols.wait} checking", ACCENT)))
    elif check is None:
        lines.append(key_hint("c", "connects and collects facts", "not checked yet: "))
    else:
        lines += verdict_lines(check, symbols, width)
    odd, facts = odd_and_facts(host, host_list)
    role = [("role", runs)] if (runs := role_runs(host, host_list.selection)) else []
    labels = [*odd, *role, ("address", address_runs(host, host_list.place(host))), *facts]
    return [
        *lines,
        *(
            line
            for label, runs in labels
            for line in labelled([(label, LABEL)], runs, width, INDENT)
        ),
    ]


def odd_and_facts(
    host: KnownHost, host_list: HostList
) -> tuple[Iterable[Labelled], Iterable[Labelled]]:
    """Return what a check read: in what the host differs from its peers, and what it is."""
    facts = host_list.facts(host)
    if not facts:
        return (), ()
    from tui.app.screens.hosts_facts import fact_lines
    from tui.text.facts import odd_lines, same_machine

    checked = {each.name: host_list.facts(each) for each in host_list.hosts}
    odd = odd_lines(host_list.facts_together(host), host.name)
    return (*same_machine(checked, host.name), *odd), fact_lines(facts)


def ticked_lines(host_list: HostList, width: int) -> list[Line]:
    """Return what the ticked hosts have in common and differ in."""
    ticked = host_list.selection.ticked
    facts = {
        host.name: facts
        for host in host_list.hosts
        if host.name in ticked and (facts := host_list.facts(host))
    }
    if len(facts) < 2:
        return []
    from tui.app.screens.hosts_facts import together_lines

    first = next(host for host in host_list.hosts if host.name in facts)
    return together_lines(host_list.facts_together(first), facts, len(ticked), width)


def group_lines(title: str, host_list: HostList, width: int) -> list[Line]:
    """Return the hosts of a group; of a source what it answered as well."""
    source = host_list.source(title)
    lines = hosts_sources.lines(source, host_list.symbols, width) if source is not None else []
    if source is not None and not source.names:
        return lines
    names = ", ".join(member.name for member in host_list.members(title))
    return [*lines, *indented([("Space ticks the whole group: ", LABEL), (names, TEXT)], width, 0)]


def address_runs(host: KnownHost, place: str) -> list[Run]:
    """Return address, origin and groups."""
    groups = f", groups {', '.join(host.address.groups)}" if host.address.groups else ""
    return [(place, BRIGHT), (f"  from {host.origin}{groups}", LABEL)]


def role_runs(host: KnownHost, selection: Selection) -> list[Run]:
    """Return what a server is in a run, or a host that was made one or none.

    Nothing of a host that is as usual.
    """
    role, style = part(host, selection)
    if role == "server":
        does, otherwise = "looked at while others generate load", " lets it generate load"
    elif host.address.role == "server":
        does, otherwise = (
            "generates load, though a server in the inventory",
            " has it only looked at",
        )
    else:
        return []
    return [
        (role, BRIGHT if style == LABEL else style),
        (f"  {does}; ", LABEL),
        ("o", ACCENT),
        (otherwise, LABEL),
    ]


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

"""The details on Hosts: the host or group under the cursor, or what to do first. Pure."""

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
READING = "reading the inventory and ssh config"
WHAT_NOW = (
    (
        "J",
        "measures this machine: a form with pattern, block size, jobs, queue depth and target",
    ),
    ("Enter", "measures it with a profile: presets are complete test plans"),
    ("n", "adds a host; hosts in ~/.ssh/config are listed automatically"),
    ("?", "shows every key"),
)


def detail_lines(
    host_list: HostList, key: str | None, width: int, *, broad: bool = False
) -> list[Line]:
    """Return the details of a row.

    `broad`: beside the list, with room for the ticked hosts as well.
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
    """Return everything known about one host.

    Problems first, then differences from its peers.
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
    """Return the facts that differ from the host's peers, and all facts."""
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
    """Return the hosts of a group; for a source, its state as well."""
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
    """Return the role of a server, or of a host whose role was changed.

    Empty for an ordinary host.
    """
    role, style = part(host, selection)
    if role == "server":
        does, otherwise = "only monitored while others generate load", " makes it generate load"
    elif host.address.role == "server":
        does, otherwise = (
            "generates load, although the inventory has it as a server",
            " makes it monitored only",
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
    """Return the failure of a check, and the key that helps."""
    if check.ok:
        return []
    lines = indented([(f"{symbols.bad} {check.message}", BAD)], width, 0)
    if check.code == "host-key-unknown":
        lines.append(key_hint("t", "shows the key's fingerprint, and pins it if you agree"))
    return lines


def key_hint(key: str, does: str, before: str = "") -> Line:
    """Return a line on a key, the key in the accent colour."""
    return Line.of((before, LABEL), (key, ACCENT), (f" {does}", LABEL))

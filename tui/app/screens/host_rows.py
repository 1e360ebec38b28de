"""Hosts as rows of a list and as a text of details; pure functions of hosts, ticks and checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui.app.theme import Symbols
from tui.app.widgets.picklist import Cell, Column, Row
from tui.metrics import units

if TYPE_CHECKING:
    from tui.engine.fleet import HostCheck
    from tui.model.plan import HostAddress

COLUMNS = (
    Column("", 3),
    Column("host", least=14),
    Column("address", 26, drop=3),
    Column("reach", 15),
    Column("fio", 6),
    Column("cores", 5, right=True),
    Column("kernel", 18, drop=1),
    Column("memory", 8, right=True, drop=2),
)
KEY_CODES = ("host-key-unknown", "host-key-changed")
Facts = Mapping[str, str | int | float | bool | None]


def heading_key(group: str) -> str:
    """Return the row key of a group's heading; no host is named like it."""
    return f"@{group}"


def group_of(host: HostAddress) -> str:
    """Return the heading a host stands under: its first group, or where it comes from."""
    if host.transport == "local":
        return "this machine"
    return host.groups[0] if host.groups else "no group"


def address_text(host: HostAddress) -> str:
    """Return user, address and port as far as they are said: ``bench@10.0.0.1:2222``."""
    if host.transport == "local":
        return "no SSH"
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    return f"{user}{host.address}{port}" if host.address else f"{user}as in ssh config{port}"


def matches(host: HostAddress, search: str) -> bool:
    """Return whether name, address or groups hold every word of the filter."""
    text = " ".join((host.name, address_text(host), group_of(host), *host.groups)).lower()
    return all(word in text for word in search.lower().split())


def by_group(hosts: Iterable[HostAddress]) -> dict[str, list[HostAddress]]:
    """Return hosts under their headings, in the order given."""
    groups: dict[str, list[HostAddress]] = {}
    for host in hosts:
        groups.setdefault(group_of(host), []).append(host)
    return groups


def host_rows(
    hosts: Sequence[HostAddress],
    ticked: Iterable[str],
    checks: Mapping[str, HostCheck],
    checking: frozenset[str],
    symbols: Symbols,
) -> list[Row]:
    """Return a heading a group and a row a host."""
    chosen = frozenset(ticked)
    rows: list[Row] = []
    for group, members in by_group(hosts).items():
        rows.append(heading_row(group, members, chosen))
        for host in members:
            busy = host.name in checking
            rows.append(host_row(host, host.name in chosen, checks.get(host.name), busy, symbols))
    return rows


def heading_row(group: str, members: Sequence[HostAddress], ticked: frozenset[str]) -> Row:
    """Return a group's heading with how many of it are ticked."""
    count = sum(host.name in ticked for host in members)
    share = (f"{count}/{len(members)}", "accent" if count else "dim")
    return Row(heading_key(group), (("", ""), (group, ""), share), heading=True)


def host_row(host: HostAddress, ticked: bool, check: HostCheck | None, checking: bool, symbols: Symbols) -> Row:
    """Return one host's row: what is known of it, dashes for what is not."""
    facts: Facts = check.facts if check else {}
    known = "" if check and check.ok else "dim"
    memory = facts.get("memory_bytes")
    return Row(
        host.name,
        (
            (symbols.ticked, "accent") if ticked else (symbols.unticked, "dim"),
            (host.name, "bright" if ticked else ""),
            (address_text(host), "dim"),
            reach_cell(check, checking, symbols),
            (text_of(facts.get("fio_version"), symbols).removeprefix("fio-"), known),
            (text_of(facts.get("cpus"), symbols), known),
            (text_of(facts.get("kernel"), symbols), known),
            (units.size(memory) if isinstance(memory, (int, float)) else symbols.unknown, known),
        ),
    )


def reach_cell(check: HostCheck | None, checking: bool, symbols: Symbols) -> Cell:
    """Return whether a host was reached: a symbol and a word, coloured."""
    if checking:
        return f"{symbols.wait} checking", "accent"
    if check is None:
        return f"{symbols.wait} not checked", "dim"
    if check.ok:
        return f"{symbols.ok} ready", "ok"
    return f"{symbols.bad} {short_code(check.code)}", "bad"


def short_code(code: str | None) -> str:
    """Return a problem's stable name as two or three words: ``host-key-unknown`` is ``key unknown``."""
    return (code or "failed").removeprefix("host-").removeprefix("ssh-").replace("-", " ")


def text_of(value: object, symbols: Symbols) -> str:
    """Return a fact as text; what is not known is a dash."""
    return symbols.unknown if value is None or value == "" else str(value)


def details(host: HostAddress, check: HostCheck | None, checking: bool, symbols: Symbols) -> Content:
    """Return everything known of one host."""
    lines = [pair("address", address_text(host))]
    if host.groups:
        lines.append(pair("groups", ", ".join(host.groups)))
    if checking:
        lines.append(Content.styled(f"{symbols.wait} checking", "$accent"))
    elif check is None:
        lines.append(key_hint("c", "reaches it and reads what it is", "not checked yet: "))
    else:
        lines += check_lines(check, symbols)
    return Content("\n").join(lines)


def check_lines(check: HostCheck, symbols: Symbols) -> list[Content]:
    """Return the outcome of a check, whole."""
    if check.ok:
        facts = {name: fact for name, fact in check.facts.items() if fact is not None}
        known = [f"{name.replace('_', ' ')} {fact_text(name, fact)}" for name, fact in facts.items()]
        return [Content.styled(f"{symbols.ok} ready", "$ok"), Content(f" {symbols.dot} ".join(known))]
    lines = [Content.styled(f"{symbols.bad} {check.message}", "$bad")]
    if check.code in KEY_CODES:
        lines.append(key_hint("t", "shows the key's fingerprint and pins it once you agree"))
    return lines


def key_hint(key: str, does: str, before: str = "") -> Content:
    """Return what a key does, the key in the accent colour."""
    return Content.assemble((before, "$dim"), (key, "bold $accent"), (f" {does}", "$dim"))


def fact_text(name: str, value: object) -> str:
    """Return a fact in the unit its name says."""
    if name.endswith("_bytes") and isinstance(value, (int, float)):
        return units.size(value)
    return str(value)


def pair(label: str, value: str) -> Content:
    """Return a dim label and a value."""
    return Content.assemble((f"{label:<9}", "$dim"), value)

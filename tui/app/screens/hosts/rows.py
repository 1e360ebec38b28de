"""Hosts as rows of a list and as a text of details; pure functions of hosts, ticks and checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui import workloads
from tui.app.selection import Selection
from tui.app.terminal.theme import Symbols
from tui.app.widgets.picklist import Heading
from tui.metrics.fact_groups import FactsTogether, compare
from tui.metrics.facts import fact_text
from tui.model.hostfacts import Fact
from tui.model.hostspec import expand, is_range
from tui.model.problem import UsageError
from tui.text.facts import common_lines, odd_lines
from tui.text.line import ACCENT, BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, indented, labelled
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.hosts.fleet import HostCheck
    from tui.model.address import HostAddress

INDENT = 9
GROUPS_KEPT = 32
Facts = Mapping[str, Fact]


@cache
def tool() -> str:
    """Return what hosts are looked at for. It loads the load generators, which the first frame has no need of."""
    return workloads.expected()[0].name


def heading_key(group: str) -> str:
    """Return the row key of a group's heading; no host is named like it."""
    return f"@{group}"


class KnownHost(Struct, frozen=True):
    """A host that can be ticked, and which file it comes from."""

    address: HostAddress
    origin: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.address.name

    @property
    def group(self) -> str:
        """The heading it stands under: its first group, or where it comes from."""
        return self.address.groups[0] if self.address.groups else self.origin


def address_text(host: HostAddress) -> str:
    """Return user, address and port as far as they are said: ``bench@10.0.0.1:2222``."""
    if host.transport == "local":
        return "no SSH"
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


@lru_cache(maxsize=8)
def named(word: str) -> frozenset[str]:
    """Return the names that a range stands for; none while it is being typed."""
    try:
        return frozenset(expand(word))
    except UsageError:
        return frozenset()


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

    def facts(self, host: KnownHost) -> Facts:
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


def fact_columns(seen: Seen) -> tuple[Column[KnownHost], ...]:
    """Return the columns of what checks read: dashes for what is not known of a host."""
    symbols, name = seen.symbols, tool()

    def known(text: Callable[[Facts], str]) -> Callable[[KnownHost], Run]:
        return lambda host: (text(facts := seen.facts(host)), TEXT if facts else LABEL)

    def by(name: str, *, falling: bool = False) -> dict[str, Any]:
        return {"order": lambda host: _order_of(seen.facts(host).get(name), falling), "falling": falling}

    return (
        Column(name, known(lambda f: _shown(f, f"{name}_version", symbols).removeprefix(f"{name}-")), 6,
               **by(f"{name}_version")),
        Column("cores", known(lambda f: _shown(f, "cpus", symbols)), 6, right=True, gap=1, **by("cpus", falling=True)),
        Column("kernel", known(lambda f: _shown(f, "kernel", symbols).removeprefix("Linux ")), 16, drop=4,
               **by("kernel")),
        Column("memory", known(lambda f: _shown(f, "mem_bytes", symbols)), 8, right=True, drop=3,
               **by("mem_bytes", falling=True)),
        Column("free", known(lambda f: _shown(f, "target_free_bytes", symbols)), 8, right=True, drop=2,
               **by("target_free_bytes")),
        Column("differs in", seen.differs, least=16, drop=1, role=WARN, order=lambda h: (not seen.differs(h), h.name)),
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


def _order_of(fact: object, falling: bool) -> tuple[bool, float, str]:
    """Return a sort key for facts of any kind; what is not known comes last."""
    number = float(fact) if isinstance(fact, int | float) else 0.0
    return (fact is None) != falling, number, "" if fact is None else str(fact)


def rows(hosts: Sequence[KnownHost], ticked: Iterable[str]) -> list[KnownHost | Heading]:
    """Return the hosts under a heading a group, which tells how many of it are ticked."""
    chosen = frozenset(ticked)
    found: list[KnownHost | Heading] = []
    for group, members in by_group(hosts).items():
        count = sum(host.name in chosen for host in members)
        share = (f"{count}/{len(members)}", ACCENT if count else LABEL)
        found += [Heading(heading_key(group), group, share), *members]
    return found


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


def _shown(facts: Facts, name: str, symbols: Symbols) -> str:
    """Return a fact as text; what is not known is a dash."""
    return fact_text(facts, name) or symbols.unknown


class Peers(Struct):
    """What a host is compared with: the others that are ticked as it is, else its group. Kept until that changes."""

    _found: dict[tuple[tuple[str, int], ...], FactsTogether] = field(default_factory=dict)

    def of(self, host: KnownHost, hosts: Iterable[KnownHost], selection: Selection) -> FactsTogether:
        """Return the facts of a host and its peers beside each other, as far as they were checked."""
        parts = (selection.ticked, selection.servers)
        ticked = next((names for names in parts if host.name in names and len(names) > 1), ())
        names = ticked or [each.name for each in hosts if each.group == host.group]
        checks = {name: check for name in names if (check := selection.checks.get(name)) and check.facts}
        key = tuple((name, id(check)) for name, check in checks.items())
        if key not in self._found:
            if len(self._found) > GROUPS_KEPT:
                self._found.clear()
            self._found[key] = compare({name: check.facts for name, check in checks.items()})
        return self._found[key]

    def differs_in(self, host: KnownHost, hosts: Iterable[KnownHost], selection: Selection) -> str:
        """Return in which facts a checked host differs from its peers: ``kernel, links: mtu, speed``."""
        check = selection.checks.get(host.name)
        if check is None or not check.facts:
            return ""
        odd = sorted(self.of(host, hosts, selection).odd_of(host.name), key=lambda each: not each.matters)
        parts: dict[str, dict[str, None]] = {}
        for each in odd:
            subject, _, part = each.title.partition(": ")
            parts.setdefault(subject, {})[part] = None
        told = (f"{subject}: {', '.join(known)}" if (known := [*filter(None, names)]) else subject
                for subject, names in parts.items())  # fmt: skip
        return ", ".join(told)


def details(host: KnownHost, seen: Seen, width: int, peers: FactsTogether) -> list[Line]:
    """Return everything known of one host; what is wrong comes first, then what differs from its peers."""
    lines: list[Line] = []
    check, checking, symbols = seen.selection.checks.get(host.name), host.name in seen.checking, seen.symbols
    if checking:
        lines.append(Line.of((f"{symbols.wait} checking", ACCENT)))
    elif check is None:
        lines.append(key_hint("c", "reaches it and reads what it is", "not checked yet: "))
    else:
        lines += verdict_lines(check, symbols, width)
    odd = list(odd_lines(peers, host.name)) if check else []
    role = [("role", runs)] if (runs := role_runs(host, seen.selection)) else []
    known = [*odd, *role, ("address", address_runs(host, seen.place(host)))]
    known += fact_lines(check.facts) if check else ()
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


def fact_lines(facts: Facts) -> Iterator[tuple[str, list[Run]]]:
    """Yield label and value of what a check read."""
    kernel = str(facts.get("kernel") or "").removeprefix("Linux ")
    yield from fact("system", facts.get("os"), facts.get("hostname"), kernel, facts.get("arch"))
    cores, model, load = facts.get("cpus"), facts.get("cpu_model"), facts.get("load1")
    yield from fact("cpu", f"{cores} cores" if cores else None, model, f"load {load}" if load else None)
    free = fact_text(facts, "mem_available_bytes")
    yield from fact("memory", fact_text(facts, "mem_bytes"), free and f"{free} available")
    name = tool()
    yield from fact(name, facts.get(f"{name}_version"), facts.get(f"{name}_path"))
    left = fact_text(facts, "target_free_bytes")
    whole = fact_text(facts, "target_total_bytes")
    space = f"{left} free{f' of {whole}' if whole else ''}" if left else None
    mount = f"{facts.get('target_fstype')} from {facts.get('target_source')}" if facts.get("target_source") else None
    yield from fact("target", facts.get("target"), space, mount)
    known = dict(common_lines(compare({"": facts})))
    yield from ((subject, known[subject]) for subject in ("network", "disks") if subject in known)


def fact(label: str, first: object, *more: object) -> Iterator[tuple[str, list[Run]]]:
    """Yield a label with what is known of it, nothing when that is nothing."""
    known = [str(value) for value in (first, *more) if value]
    if known:
        rest = "".join(f", {value}" for value in known[1:])
        yield label, [(known[0], BRIGHT), (rest, LABEL)]


def key_hint(key: str, does: str, before: str = "") -> Line:
    """Return what a key does, the key in the accent colour."""
    return Line.of((before, LABEL), (key, ACCENT), (f" {does}", LABEL))

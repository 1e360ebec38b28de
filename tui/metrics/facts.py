"""Host facts compared: common values, and hosts that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tui.metrics import units
from tui.model.host_tables import why_unknown
from tui.model.hostfacts import HOST_FACTS, TOOL_FACTS, Fact, HostFact, boot_of, fact_of, number_of


def fact_text(facts: Mapping[str, Fact], name: str) -> str:
    """Return a fact as text; empty if unknown."""
    known = HOST_FACTS.get(name)  # load generators add facts of their own
    if known is not None and known.kind == "bytes":
        size = number_of(facts, name)
        return "" if size is None else units.size(size)
    value = facts.get(name)
    return "" if value is None else str(value)


Value = str | int | float | bool | None
Leaf = Value | tuple[str, ...]
"""One comparable value; each word of a list is a separate value."""

USABLE = {"cpus_usable": "cpus", "mem_usable_bytes": "mem_bytes"}  # compared only if below this
NONE = "none"
WITHOUT = "without"
OPTIONAL = ("bond_mode", "bond_hash", "md_level", "md_action", "nfs_version", "paths", "via")
"""Columns that mean "none" if missing; other missing columns are unknown."""
ACRONYMS = ("mtu", "nfs", "nic", "md")
NAMED_HOSTS = 4
_PLACES = {name: place for place, name in enumerate(HOST_FACTS)}


class FactGroup(Struct, frozen=True):
    """Hosts with the same value; value None means unknown."""

    value: Value
    hosts: tuple[str, ...]


class FactDifference(Struct, frozen=True):
    """A fact that differs between hosts, the largest group first, unknown last.

    `name` is ``fact``, ``map.key`` or ``table.column``. `matters`: the difference may affect
    performance.
    """

    name: str
    title: str
    matters: bool
    groups: tuple[FactGroup, ...]

    @property
    def known(self) -> tuple[FactGroup, ...]:
        """Groups with a known value; fewer than two mean no known difference."""
        return tuple(group for group in self.groups if group.value is not None)

    @property
    def differs(self) -> bool:
        """Whether hosts are known to differ, rather than some values being unknown."""
        return len(self.known) > 1

    def of(self, host: str) -> FactGroup | None:
        """Return the group of a host; None if it is in none."""
        return next((group for group in self.groups if host in group.hosts), None)

    @property
    def text(self) -> str:
        """The difference as text: ``link MTU: 9000 on 7 hosts; 1500 on h8``."""
        groups = (
            f"{leaf_text(self.name, group.value)} on {hosts_text(group.hosts)}"
            for group in self.groups
        )
        return f"{self.title}: {'; '.join(groups)}"


class FactsTogether(Struct, frozen=True):
    """Facts that all hosts share, and facts that differ.

    Facts that are unique by nature, such as names, are in neither.
    """

    hosts: tuple[str, ...]
    common: dict[str, Value]
    differing: tuple[FactDifference, ...]

    def odd_of(self, host: str) -> list[FactDifference]:
        """Return the differences in which a host is in the minority: it differs from at least as
        many hosts as it matches.
        """
        return [each for each in self.differing if _is_odd(each, host)]


def _is_odd(difference: FactDifference, host: str) -> bool:
    own = difference.of(host)
    others = (len(group.hosts) for group in difference.known if group is not own)
    return difference.differs and own is not None and len(own.hosts) <= max(others, default=0)


def compare(hosts: Mapping[str, Mapping[str, Fact]]) -> FactsTogether:
    """Return the facts that hosts share and those that differ.

    Hosts without any known fact are ignored.
    """
    known = {host: facts for host, facts in hosts.items() if facts}
    leaves = {host: dict(leaves_of(facts)) for host, facts in known.items()}
    names = sorted({name for found in leaves.values() for name in found}, key=_order)
    common: dict[str, Value] = {}
    differing = []
    for name in names:
        values = {
            host: found.get(name, _missing(known[host], name)) for host, found in leaves.items()
        }
        groups = grouped(values, spec_of(name).tolerance)
        if len(groups) == 1:
            common[name] = _plain(groups[0][0])
        else:
            differing.append(_difference(name, groups))
    return FactsTogether(tuple(known), common, tuple(differing))


def spec_of(name: str) -> HostFact:
    """Return the registry entry of the fact that a leaf belongs to."""
    return HOST_FACTS[name] if name in HOST_FACTS else fact_of(_split(name)[0])


def _split(name: str) -> tuple[str, str]:
    """Split a leaf into its fact and its key or column."""
    fact, _, part = name.partition(".")
    return (fact, part) if fact in HOST_FACTS else (name, "")


def _order(name: str) -> tuple[int, str, int]:
    """Return a sort key in the registry's order; for a load generator, the version comes first."""
    fact, part = _split(name)
    if fact in _PLACES:
        return _PLACES[fact], part, 0
    ending = next((each for each in TOOL_FACTS if name.endswith(each)), "")
    return len(_PLACES), name.removesuffix(ending), list(TOOL_FACTS).index(ending) if ending else 0


def leaves_of(facts: Mapping[str, Fact]) -> Iterable[tuple[str, Leaf]]:
    """Yield the comparable values of a host's facts."""
    for name, value in facts.items():
        known = fact_of(name)
        if known.differs == "expected" or value is None or value == facts.get(USABLE.get(name, "")):
            continue
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", _scalar(each)) for key, each in value.items())
        elif isinstance(value, list) and known.kind == "table":
            yield name, len(value)
            yield from _columns(name, known, value)
        elif isinstance(value, list):
            yield name, tuple(sorted({str(each) for each in value}))
        else:
            yield name, value


def _columns(name: str, known: HostFact, rows: Sequence[Any]) -> Iterable[tuple[str, Leaf]]:
    """Yield each column's value: the words of lists, or its values as `_one` returns them."""
    for column in known.columns:
        values = [
            row[column] for row in rows if isinstance(row, dict) and row.get(column) is not None
        ]
        words = [word for value in values if isinstance(value, list) for word in value]
        if words:
            yield f"{name}.{column}", tuple(sorted({str(word) for word in words}))
        elif values:
            yield f"{name}.{column}", _one(f"{name}.{column}", values, known.tolerance)


def _one(name: str, values: Sequence[Any], tolerance: float) -> Value:
    """Return the only distinct value, or several joined into one text."""
    groups = grouped({str(index): _scalar(value) for index, value in enumerate(values)}, tolerance)
    found = [_plain(value) for value, _ in groups]
    return (
        found[0]
        if len(found) == 1
        else ", ".join(sorted(leaf_text(name, value) for value in found))
    )


def _scalar(value: Any) -> Value:
    return value if isinstance(value, str | int | float | bool) else str(value)


def _missing(facts: Mapping[str, Fact], name: str) -> Leaf:
    """Return the value that a missing leaf stands for; None if it is unknown."""
    fact, part = _split(name)
    known = spec_of(name)
    if fact in USABLE and USABLE[fact] in facts:
        return number_of(facts, USABLE[fact])
    if why_unknown(facts, fact):
        return None
    if part:
        return (
            NONE
            if part in OPTIONAL and known.kind == "table" and (fact in facts or known.absent)
            else None
        )
    if known.absent and known.kind in ("list", "table"):
        return () if known.kind == "list" else 0
    # older records do not distinguish the two
    return (known.absent or None) if "unknown" in facts else None


def grouped(values: Mapping[str, Leaf], tolerance: float) -> list[tuple[Leaf, tuple[str, ...]]]:
    """Return values with their hosts, the largest group first, unknown last.

    Numbers within tolerance of a group's lowest value belong to the group.
    """
    first = next(iter(values.values()), None)
    if all(type(value) is type(first) and value == first for value in values.values()):
        return [(first, tuple(values))] if values else []
    groups: list[tuple[Leaf, list[str]]] = []
    for name, value in sorted(values.items(), key=lambda each: _magnitude(each[1])):
        alike = next((names for other, names in groups if _same(other, value, tolerance)), None)
        if alike is None:
            groups.append((value, [name]))
        else:
            alike.append(name)
    places = {name: index for index, name in enumerate(values)}
    ordered = [(value, tuple(sorted(names, key=places.__getitem__))) for value, names in groups]
    return sorted(ordered, key=lambda each: (each[0] is None, -len(each[1]), places[each[1][0]]))


def _magnitude(value: Leaf) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _same(one: Leaf, other: Leaf, tolerance: float) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and not isinstance(one, bool) and not isinstance(other, bool):
        return abs(_magnitude(other) - _magnitude(one)) <= tolerance * abs(_magnitude(one))
    return type(one) is type(other) and one == other


def _plain(value: Leaf) -> Value:
    return (", ".join(value) or NONE) if isinstance(value, tuple) else value


def _difference(name: str, groups: Sequence[tuple[Leaf, tuple[str, ...]]]) -> FactDifference:
    """Return the difference of these groups; for lists, only the words that not all hosts have."""
    listed = [set(value) for value, _ in groups if isinstance(value, tuple)]
    shared = set.intersection(*listed) if listed else set()
    found = []
    for value, hosts in groups:
        if isinstance(value, tuple):
            own: Value = ", ".join(word for word in value if word not in shared) or (
                WITHOUT if value else NONE
            )
        else:
            own = value
        found.append(FactGroup(own, hosts))
    return FactDifference(name, leaf_title(name), spec_of(name).differs == "matters", tuple(found))


# -- as text


def leaf_title(name: str) -> str:
    """Return the title of a leaf: ``link MTU``, ``sysctl: vm.swappiness``."""
    fact, part = _split(name)
    if not part:
        return spec_of(name).title
    if spec_of(name).kind == "map":
        return f"{fact_of(fact).title}: {part}"
    return f"{fact_of(fact).title.removesuffix('s')} {_column_title(part)}"


def _column_title(part: str) -> str:
    words = part.replace("_bytes", "").replace("_mbit", "").split("_")
    return " ".join(word.upper() if word in ACRONYMS else word for word in words)


def titles_together(differences: Iterable[FactDifference]) -> list[str]:
    """Return the titles of differences, with one title per table: ``link MTU/speed``."""
    found: dict[str, str] = {}
    for each in differences:
        fact, part = _split(each.name)
        if part and (known := found.get(f"{fact}.")):
            found[f"{fact}."] = f"{known}/{_column_title(part)}"
        else:
            found[f"{fact}." if part else fact] = each.title
    return list(found.values())


def leaf_text(name: str, value: Value) -> str:
    """Return a leaf's value with its unit."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith("_bytes"):
            return units.size(value)
        if name.endswith("speed_mbit"):
            return f"{value / 1000:g} Gbit/s" if value >= 1000 else f"{value:g} Mbit/s"
        if name == "target_full":
            return units.percent(value)
        return f"{value:g}" if isinstance(value, float) else str(value)
    return value[:12] if name.endswith("_sha256") else value


class OneBoot(Struct, frozen=True):
    """Hosts with the same boot id.

    `machine`: they also share a host name; otherwise some are containers.
    """

    hosts: tuple[str, ...]
    machine: bool

    @property
    def what(self) -> str:
        """What the hosts share: ``machine``, or ``kernel`` if some are containers."""
        return "machine" if self.machine else "kernel"


def one_boot(hosts: Mapping[str, Mapping[str, Fact]]) -> list[OneBoot]:
    """Return hosts that share a boot id, in groups of two or more; unknown ids match nothing."""
    found: dict[str, list[str]] = {}
    for host, facts in hosts.items():
        if boot := boot_of(facts):
            found.setdefault(boot, []).append(host)
    alike = [names for names in found.values() if len(names) > 1]
    return [
        OneBoot(tuple(names), len({hosts[name].get("hostname") for name in names}) == 1)
        for names in alike
    ]


def hosts_text(hosts: Sequence[str]) -> str:
    """Return the names of up to four hosts, else their number."""
    return ", ".join(hosts) if len(hosts) <= NAMED_HOSTS else f"{len(hosts)} hosts"

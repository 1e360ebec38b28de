"""Host facts in a few lines: what all hosts share, by subject, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from tui.metrics.facts import (
    NONE,
    FactDifference,
    FactGroup,
    FactsTogether,
    Value,
    fact_text,
    hosts_text,
    leaf_text,
    leaf_title,
    one_boot,
    titles_together,
)
from tui.metrics.units import plural
from tui.model.host_tables import Running, Unknown, rows
from tui.model.hostfacts import HOST_FACTS, Fact, fact_of
from tui.model.plain import some
from tui.text.line import BRIGHT, LABEL, TEXT, WARN, Run, padded, width_of, wrap

ROWS_FROM, TABLE_FROM = 60, 100  # minimum widths: rows with both values of a fact; a table
LABEL_CELLS, COLUMN_GAP = 9, 2  # of a table of differences: cells before it, between columns
VALUE_CELLS = 12  # minimum for a value in such a table
PHRASES: dict[str, dict[str, str]] = {
    "system": {
        "os": "{}",
        "kernel": "{}",
        "machine": "{}",
        "virtualization": "virtualization {}",
        "container": "container {}",
        "boot_options": "booted with {}",
    },
    "cpu": {
        "cpu_model": "{}",
        "sockets": "{} sockets",
        "cores": "{} cores",
        "cpus": "{} CPUs",
        "cpus_usable": "{} usable",
        "numa": "{} NUMA nodes",
        "governor": "governor {}",
        "turbo": "turbo {}",
        "clocksource": "clock {}",
    },
    "memory": {
        "mem_bytes": "{}",
        "mem_usable_bytes": "{} usable",
        "swap_bytes": "swap {}",
        "transparent_hugepages": "transparent huge pages {}",
        "cgroup_cpus": "CPU limit {}",
        "cgroup_mem_bytes": "memory limit {}",
        "cgroup_io": "I/O limit {}",
    },
    "network": {
        "nics": "{} links",
        "nics.kind": "{}",
        "nics.speed_mbit": "{}",
        "nics.mtu": "MTU {}",
        "nics.driver": "{}",
        "nics.bond_mode": "bond {}",
        "rdma.rate": "RDMA {}",
        "rdma.link_layer": "{}",
        "fc_hosts.speed": "FC {}",
        "routes.nic": "server through {}",
    },
    "target": {
        "target_fstype": "{}",
        "target_source": "from {}",
        "target_full": "{} full",
        "mounts.nfs_version": "version {}",
        "mounts.options": "{}",
    },
    "disks": {
        "devices.model": "{}",
        "devices.transport": "{}",
        "devices.size_bytes": "{}",
        "devices.scheduler": "scheduler {}",
        "devices.nr_requests": "{} requests",
        "devices.write_cache": "cache {}",
        "devices.md_level": "{}",
        "devices.md_action": "RAID {}",
    },
}
"""Facts shown for hosts, by subject, and their format.

Everything is in the record and in `hosts check --facts`.
"""

# unknown while the target does not exist: the mount read is that of its parent
OF_A_TARGET = ("mounts.nfs_version", "mounts.options")

NAMED_FACTS = 6
Fold = Iterable[tuple[str, list[Run]]]


def common_lines(found: FactsTogether) -> Fold:
    """Yield each subject with the facts that all hosts share, as text."""
    for subject, phrases in PHRASES.items():
        values = ((name, phrase, _common_value(found, name)) for name, phrase in phrases.items())
        texts = [
            _phrase(name, phrase, value) for name, phrase, value in values if value is not None
        ]
        if texts:
            yield subject, [(texts[0], BRIGHT), ("".join(f", {each}" for each in texts[1:]), TEXT)]


def further_facts(found: FactsTogether, versions: str = "") -> FactsTogether:
    """Return the facts that `common_lines` and the differences that matter do not show.
    A shared fact whose value is `versions` is left out too.
    """
    told = {
        name
        for phrases in PHRASES.values()
        for name in phrases
        if _common_value(found, name) is not None
    }
    common = {
        name: value
        for name, value in found.common.items()
        if name not in told and value != versions
    }
    differing = [each for each in found.differing if not (each.differs and each.matters)]
    return replace(found, common=common, differing=tuple(differing))


def _common_value(found: FactsTogether, name: str) -> Value:
    """Return the value that all hosts share; None for 0 and empty values.

    Facts of a target are None while its file system is unknown.
    """
    known = {*found.common, *(each.name for each in found.differing)}
    if name in OF_A_TARGET and "target_fstype" not in known:
        return None
    value = found.common.get(name)
    return None if value in (0, NONE, "") else value


def _phrase(name: str, phrase: str, value: Value) -> str:
    said = phrase.format(leaf_text(name, value))
    return said.removesuffix("s") if value == 1 and phrase.startswith("{} ") else said


def machine_lines(hosts: Mapping[str, Mapping[str, Fact]]) -> Fold:
    """Yield a label and a text for each group of hosts with the same boot id.

    They are one machine, or containers on one kernel.
    """
    for each in one_boot(hosts):
        are = "are one machine" if each.machine else "run on one kernel"
        shared = "they share CPUs and links; count them once"
        yield "machine", [(f"{hosts_text(each.hosts)} {are}", TEXT), (f": {shared}", LABEL)]


def machines_text(hosts: Mapping[str, Mapping[str, Fact]]) -> str:
    """Return how many machines, or kernels, the hosts are: ``3 names, 1 machine``.

    Empty if no two hosts share a boot id.
    """
    found = one_boot(hosts)
    if not found:
        return ""
    count = len(hosts) - sum(len(each.hosts) - 1 for each in found)
    what = "machine" if all(each.machine for each in found) else "kernel"
    return f"{len(hosts)} names, {plural(count, what)}"


def same_machine(hosts: Mapping[str, Mapping[str, Fact]], host: str) -> Fold:
    """Yield the other names of a host's machine or kernel: ``the same machine as lo1, lo3``."""
    for each in one_boot(hosts):
        if host in each.hosts:
            others = [name for name in each.hosts if name != host]
            yield "machine", [(f"the same {each.what} as {hosts_text(others)}", TEXT)]


def differing_lines(found: FactsTogether) -> Fold:
    """Yield a label and a text for each difference: which hosts, and the values.

    Performance-relevant differences include their values. For the others, and for facts known on
    some hosts only, the first few titles are listed.
    """
    mattering = [each for each in found.differing if each.differs and each.matters]
    for hosts, differences in _by_hosts(mattering).items():
        if len(differences[0].groups) == 2:
            said = "; ".join(map(_against_others, [None, *differences], differences))
            yield "differs", [(f"{hosts_text(hosts[1])}: {said}", WARN)]
        else:
            yield from (("differs", [(each.text, WARN)]) for each in differences)
    rest = [each for each in found.differing if each.differs and not each.matters]
    if rest:
        yield "differs", [(f"also in {_titles(rest)}", LABEL)]
    for hosts, differences in _by_hosts(
        [each for each in found.differing if not each.differs]
    ).items():
        yield "unknown", [(f"only on {hosts_text(hosts[-1])}: {_titles(differences)}", LABEL)]


def difference_rows(found: FactsTogether, width: int, label_cells: int = LABEL_CELLS) -> Fold:
    """Yield the same as `differing_lines`, as a table if it fits beside labels `label_cells` wide.

    Very wide panes have a column for each fact, others a row for each.
    """
    room = width - label_cells
    mattering = [each for each in found.differing if each.differs and each.matters]
    table = _side_by_side(mattering, room) if width >= TABLE_FROM else []
    shown = mattering if table else [each for each in mattering if len(each.groups) == 2]
    if not table and width >= ROWS_FROM:
        table = _row_by_row(shown, room)
    if not table:
        yield from differing_lines(found)
        return
    yield from zip(("differs", *("" for _ in table[1:])), table, strict=True)
    others = [each for each in found.differing if each not in shown]
    yield from differing_lines(replace(found, differing=tuple(others)))


def difference_titles(found: FactsTogether) -> Iterator[tuple[str, str]]:
    """Yield each group of hosts with the performance-relevant facts in which they differ."""
    mattering = [each for each in found.differing if each.differs and each.matters]
    for hosts, differences in _by_hosts(mattering).items():
        yield hosts_text([name for group in hosts[1:] for name in group]), _titles(differences)


def _row_by_row(differences: Sequence[FactDifference], room: int) -> list[list[Run]]:
    """Return a table with a row for each difference: hosts, fact, their value and the others'
    value.

    Empty if there is too little room for the values.
    """
    rows = [
        (hosts_text(hosts[1]) if not at else "", each.title, *_few_and_most(each))
        for hosts, alike in _by_hosts(differences).items()
        for at, each in enumerate(alike)
    ]
    if len(rows) < 2:
        return [
            [
                (hosts, BRIGHT),
                (f"  {name}  ", LABEL),
                (few, WARN),
                (", others ", LABEL),
                (most, TEXT),
            ]
            for hosts, name, few, most in rows
        ]
    who, title, *_ = (max(map(width_of, column)) + COLUMN_GAP for column in zip(*rows, strict=True))
    left = room - who - title
    if left < 2 * VALUE_CELLS:
        return []
    here = min(
        range(VALUE_CELLS, left - VALUE_CELLS + 1),
        key=lambda cells: sum(len(_values(row, cells, left)) for row in rows),
    )
    blank = " " * (who + title)
    alone = all(len(hosts[1]) == 1 for hosts in _by_hosts(differences))
    named = "this host" if alone else "these hosts"
    table: list[list[Run]] = [[(blank, LABEL), (named.ljust(here), LABEL), ("others", LABEL)]]
    for row in rows:
        lead: list[Run] = [(row[0].ljust(who), BRIGHT), (row[1].ljust(title), LABEL)]
        for at, (own, other) in enumerate(_values(row, here, left)):
            table.append([*([(blank, LABEL)] if at else lead), *padded(own, here), *other])
    return table


def _values(
    row: tuple[str, str, str, str], here: int, room: int
) -> list[tuple[tuple[Run, ...], tuple[Run, ...]]]:
    """Return the lines of the two values of a row, the first in `here` cells of the room."""
    own, other = wrap([(row[2], WARN)], here - COLUMN_GAP), wrap([(row[3], TEXT)], room - here)
    return list(zip_longest(own, other, fillvalue=()))


def _few_and_most(difference: FactDifference) -> tuple[str, str]:
    """Return the values of the smaller and the larger group, without a first word of both."""
    most, few = (leaf_text(difference.name, group.value) for group in difference.groups)
    first, blank, _ = few.partition(" ")
    shared = f"{first} " if blank and first.isalpha() and most.startswith(f"{first} ") else ""
    return few.removeprefix(shared), most.removeprefix(shared)


def _side_by_side(differences: Sequence[FactDifference], width: int) -> list[list[Run]]:
    """Return a table with a column for each difference, and a row for each group of hosts that
    agree in all of them.

    The largest group comes first; what differs from a column's largest group stands out. Empty for
    a single difference, or if the table is too wide.
    """
    if len(differences) < 2:
        return []
    alike: dict[tuple[FactGroup | None, ...], list[str]] = {}
    for host in (host for group in differences[0].groups for host in group.hosts):
        alike.setdefault(tuple(each.of(host) for each in differences), []).append(host)
    titles = [
        _title_after(before, each)
        for before, each in zip([None, *differences], differences, strict=False)
    ]
    table: list[list[Run]] = [[("hosts", LABEL), *((title, LABEL) for title in titles)]]
    for groups, hosts in sorted(alike.items(), key=lambda pair: -len(pair[1])):
        values = (_value_run(each, group) for each, group in zip(differences, groups, strict=True))
        table.append([(hosts_text(hosts), BRIGHT), *values])
    columns = list(zip(*table, strict=True))
    rooms = [max(width_of(text) for text, _ in column) + COLUMN_GAP for column in columns]
    if sum(rooms) - COLUMN_GAP > width:
        return []
    last = len(rooms) - 1
    return [
        [
            (text if at == last else text + " " * (rooms[at] - width_of(text)), role)
            for at, (text, role) in enumerate(row)
        ]
        for row in table
    ]


def _value_run(difference: FactDifference, group: FactGroup | None) -> Run:
    if group is None or group.value is None:
        return "unknown", LABEL
    return leaf_text(difference.name, group.value), TEXT if group is difference.groups[0] else WARN


def _titles(differences: Iterable[FactDifference]) -> str:
    """Return the titles of the first few facts, without duplicates; further ones are counted."""
    return some(titles_together(differences), NAMED_FACTS)


def _by_hosts(
    differences: Iterable[FactDifference],
) -> dict[tuple[tuple[str, ...], ...], list[FactDifference]]:
    """Return the differences by how they divide the hosts into groups."""
    found: dict[tuple[tuple[str, ...], ...], list[FactDifference]] = {}
    for each in differences:
        found.setdefault(tuple(group.hosts for group in each.groups), []).append(each)
    return found


def _against_others(before: FactDifference | None, each: FactDifference) -> str:
    """Return the smaller group's value next to the larger group's.

    ``governor powersave, not performance``
    """
    most, few = (group.value for group in each.groups)
    return _not(before, each, few, most)


def _not(before: FactDifference | None, each: FactDifference, own: Value, other: Value) -> str:
    """Return a host's value next to its peers': ``governor powersave, not performance``."""
    return (
        f"{_title_after(before, each)} {leaf_text(each.name, own)}, not"
        f" {leaf_text(each.name, other)}"
    )


def _title_after(before: FactDifference | None, each: FactDifference) -> str:
    """Return a difference's title, without its table's name if `before` is in that table."""
    table, colon, column = each.title.partition(": ")
    return (
        column
        if colon and before is not None and before.title.startswith(f"{table}: ")
        else each.title
    )


def every_difference(found: FactsTogether) -> Iterator[str]:
    """Yield a text for each difference, including facts that are known for some hosts only."""
    return (
        each.text
        for each in sorted(found.differing, key=lambda each: (not each.differs, not each.matters))
    )


def own_lines(hosts: Mapping[str, Mapping[str, Fact]]) -> Iterator[str]:
    """Yield a line per host with the facts expected to differ, and its running load generators."""
    for host, facts in hosts.items():
        own = [
            name
            for name in facts
            if fact_of(name).differs == "expected" and fact_of(name).kind != "table"
        ]
        running = ", ".join(sorted({each.name for each in rows(facts, Running)}))
        said = [
            f"{leaf_title(name)} {fact_text(facts, name)}" for name in own if name in HOST_FACTS
        ]
        yield f"{host}: {'; '.join([*said, *([f'runs {running}'] if running else [])])}"


def unknown_lines(hosts: Mapping[str, Mapping[str, Fact]]) -> Iterator[str]:
    """Yield each fact that could not be read, with the reason; with the hosts if not all are
    affected.
    """
    found: dict[Unknown, list[str]] = {}
    for host, facts in hosts.items():
        for each in rows(facts, Unknown):
            found.setdefault(each, []).append(host)
    for each, on in found.items():
        where = f" ({hosts_text(on)})" if len(on) < len(hosts) else ""
        yield f"{leaf_title(each.name)}: {each.reason}{where}"


def odd_rows(found: FactsTogether, host: str) -> Fold:
    """Yield what differs on one host, a line for each fact: its value, then another value and its
    hosts.

    Performance-relevant differences come first; only these stand out.
    """
    odd = sorted(found.odd_of(host), key=lambda each: not each.matters)
    wide = max((width_of(each.title) for each in odd), default=0)
    label = "differs"
    for each in odd:
        own = each.of(host)
        other = next((group for group in each.known if group is not own), None)
        if own is None or other is None:
            continue
        here, there = (leaf_text(each.name, group.value) for group in (own, other))
        there = _without_shared_words(there, here)
        others = other.hosts[0] if len(other.hosts) == 1 else f"{len(other.hosts)} hosts"
        yield (
            label,
            [
                (f"{each.title:<{wide}}  ", LABEL),
                (here, WARN if each.matters else TEXT),
                (f"  ({there} on {others})", LABEL),
            ],
        )
        label = ""


def _without_shared_words(text: str, before: str) -> str:
    """Return a text without its first words if another text begins with them too."""
    words, others = text.split(" "), before.split(" ")
    shared = 0
    while shared < len(words) - 1 and words[: shared + 1] == others[: shared + 1]:
        shared += 1
    return " ".join(words[0 if text[:1].isdigit() else shared :])

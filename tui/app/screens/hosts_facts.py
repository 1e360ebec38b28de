"""Facts of checked hosts, as columns and in the details.

This module is loaded at the first check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from tui import workloads
from tui.app.screens.hosts_list import DIFFERS_CELLS, INDENT, HostList, KnownHost, Labelled
from tui.app.terminal.theme import Symbols
from tui.metrics.facts import FactsTogether, compare, fact_text
from tui.model.hostfacts import Fact
from tui.text.fact_table import table_lines
from tui.text.facts import PHRASES, common_lines, difference_rows, machine_lines
from tui.text.line import BRIGHT, LABEL, TEXT, WARN, Line, Run, labelled, rule
from tui.text.table import Column

Facts = Mapping[str, Fact]


@cache
def tool() -> str:
    """Return the load generator that checks look for."""
    return workloads.expected()[0].name


def fact_columns(host_list: HostList) -> tuple[Column[KnownHost], ...]:
    """Return the columns of facts; unknown facts are dashes."""
    symbols, name = host_list.symbols, tool()
    version = f"{name}_version"

    def cell(text: Callable[[Facts], str], fact: str = "") -> Callable[[KnownHost], Run]:
        def run(host: KnownHost) -> Run:
            facts = host_list.facts(host)
            is_odd = any(odd.matters and odd.name == fact for odd in host_list.odd(host))
            return text(facts), WARN if is_odd else TEXT if facts else LABEL

        return run

    def fact(name: str) -> Callable[[KnownHost], Run]:
        return cell(lambda f: _shown(f, name, symbols), name)

    def by(name: str, *, falling: bool = False) -> dict[str, Any]:
        return {
            "order": lambda host: _order_of(host_list.facts(host).get(name), falling),
            "falling": falling,
        }

    return (
        Column(name, cell(lambda f: _shown(f, version, symbols).removeprefix(f"{name}-"), version),
            6, **by(version)),
        Column("CPUs", fact("cpus"), 6, right=True, gap=1, drop=1, **by("cpus", falling=True)),
        Column("kernel", cell(lambda f: _shown(f, "kernel", symbols).removeprefix("Linux "),
            "kernel"), 16, drop=4, **by("kernel")),
        Column("memory", fact("mem_bytes"), 8, right=True, drop=3,
               **by("mem_bytes", falling=True)),
        Column("free", fact("target_free_bytes"), 8, right=True, drop=2,
               **by("target_free_bytes")),
        Column("differs in", host_list.differs, least=16, wants=DIFFERS_CELLS, role=WARN,
               order=lambda h: (not host_list.differs(h), h.name)),
    )  # fmt: skip


def _order_of(fact: object, falling: bool) -> tuple[bool, float, str]:
    """Return a sort key for facts of any type; unknown facts come last."""
    number = float(fact) if isinstance(fact, int | float) else 0.0
    return (fact is None) != falling, number, "" if fact is None else str(fact)


def _shown(facts: Facts, name: str, symbols: Symbols) -> str:
    """Return a fact as text; a dash if unknown."""
    return fact_text(facts, name) or symbols.unknown


def together_lines(
    found: FactsTogether, hosts: Mapping[str, Facts], ticked: int, width: int
) -> list[Line]:
    """Return how checked hosts differ, then what they share.

    `ticked`: number of ticked hosts, some of which may be unchecked.
    """
    labels = [*difference_rows(found, width), *machine_lines(hosts), *common_lines(found)]
    lines = [Line(), rule("Ticked hosts", f"{len(hosts)} of {ticked} checked", width)]
    return [
        *lines,
        *(
            line
            for label, runs in labels
            for line in labelled([(label, LABEL)], runs, width, INDENT)
        ),
    ]


TOLD = (
    *("os", "hostname", "kernel", "arch", "cpus", "cpu_model", "load1", "mem_bytes"),
    *("mem_available_bytes", "target", "target_fstype", "target_source", "target_free_bytes"),
    "target_total_bytes",
)
"""Facts that `fact_lines` shows in addition to those of links and disks."""
LINKS = "nics."


def further_lines(facts: Facts, odd: Collection[str], width: int) -> list[Line]:
    """Return the facts of a host that its details do not show.

    `odd`: facts in which it differs from other hosts, which the details do show.
    """
    subjects = ("disks",) if any(name.startswith(LINKS) for name in odd) else ("network", "disks")
    told = {*TOLD, f"{tool()}_version", f"{tool()}_path", *odd}
    told |= {name for subject in subjects for name in PHRASES[subject]}
    found = compare({"": facts})
    left = {name: value for name, value in found.common.items() if name not in told}
    table = table_lines(replace(found, common=left), width)
    return [Line(), rule("Further facts", "", width), *table] if table else []


def fact_lines(facts: Facts, told: Iterable[Labelled] = ()) -> Iterator[Labelled]:
    """Yield the label and the values of each main subject of a host's facts.

    `told`: rows about differences from other hosts; a kernel or links in them are not repeated.
    """
    titles = {runs[0][0].strip() for _, runs in told if runs}
    known = "" if "kernel" in titles else str(facts.get("kernel") or "")
    kernel = known.removeprefix("Linux ")
    yield from fact("system", facts.get("os"), facts.get("hostname"), kernel, facts.get("arch"))
    cpus, model, load = facts.get("cpus"), facts.get("cpu_model"), facts.get("load1")
    yield from fact(
        "cpu", f"{cpus} CPUs" if cpus else None, model, f"load {load}" if load else None
    )
    free = fact_text(facts, "mem_available_bytes")
    yield from fact("memory", fact_text(facts, "mem_bytes"), free and f"{free} available")
    name = tool()
    yield from fact(name, facts.get(f"{name}_version"), facts.get(f"{name}_path"))
    left = fact_text(facts, "target_free_bytes")
    whole = fact_text(facts, "target_total_bytes")
    space = f"{left} free{f' of {whole}' if whole else ''}" if left else None
    mount = (
        f"{facts.get('target_fstype')} from {facts.get('target_source')}"
        if facts.get("target_source")
        else None
    )
    yield from fact("target", facts.get("target"), space, mount)
    common = dict(common_lines(compare({"": facts})))
    told_link = any(title.startswith("link") for title in titles)
    subjects = ("disks",) if told_link else ("network", "disks")
    yield from ((subject, common[subject]) for subject in subjects if subject in common)


def fact(label: str, first: object, *more: object) -> Iterator[Labelled]:
    """Yield a label with its known values; nothing if all are unknown."""
    values = [str(value) for value in (first, *more) if value]
    if values:
        rest = "".join(f", {value}" for value in values[1:])
        yield label, [(values[0], BRIGHT), (rest, LABEL)]

"""What the figures of docs/performance.md come to, in words: targets kept or missed, what a host
costs, what we lose.

Pure: from what benches kept (bench -> {"rows": [...]}) to Markdown, written between marks by
`report`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tests.long.bench.kept import Row, shown, table

Found = Mapping[str, Mapping[str, Any]]
US, FLOOR = "benchtui", "Textual, an empty app"  # no peer: what ours stands on
GROWTH = 1.1  # what a host costs may differ by that much between sizes before it is called growth
SAME = 1.02  # a figure that is nearer to ours than that is no loss
TOLD_APART = ("hosts", "what")  # columns that say which rows of a bench belong together
RIVALS = {  # benches with other programs
    "fan_out": "one command", "cold_start": "cold start", "start_skew": "start and end",
    "frozen_host": "frozen host",
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """One promise: a column of a bench stays at or below `most`.

    At so many hosts, when that is said.
    """

    text: str
    bench: str
    column: str
    most: float
    hosts: int | None = None
    program: str = ""
    what: str = ""


TARGETS = (
    Target("engine, 256 hosts: CPU ≤ 25 % of a core", "engine_scale", "CPU, % of a core", 25, 256),
    Target(
        "engine, 256 hosts: memory ≤ 300 MB (286 MiB)",
        "engine_scale",
        "memory, MiB",
        300e6 / 2**20,
        256,
    ),
    Target(
        "engine, 256 hosts: loop lag p99 ≤ 100 ms", "engine_scale", "loop lag p99, ms", 100, 256
    ),
    Target("engine, 1024 hosts: CPU ≤ 1 core", "engine_scale", "CPU, % of a core", 100, 1024),
    Target(
        "engine, 1024 hosts: memory ≤ 400 MB (381 MiB)",
        "engine_scale",
        "memory, MiB",
        400e6 / 2**20,
        1024,
    ),
    Target("engine, 1024 hosts: preflight ≤ 60 s", "engine_scale", "preflight, s", 60, 1024),
    Target("screens, 64 hosts: CPU ≤ 5 % of a core", "app_scale", "CPU, % of a core", 5, 64),
    Target(
        "screens, 64 hosts: ≤ 10 kB/s to the terminal", "app_scale", "to the terminal, kB/s", 10, 64
    ),
    Target(
        "screens, 64 hosts: key to paint p99 ≤ 50 ms", "app_scale", "key to paint p99, ms", 50, 64
    ),
    Target("screens, 1024 hosts: CPU ≤ 10 % of a core", "app_scale", "CPU, % of a core", 10, 1024),
    Target(
        "screens, 1024 hosts: key to paint p99 ≤ 50 ms",
        "app_scale",
        "key to paint p99, ms",
        50,
        1024,
    ),
    Target("first frame ≤ 300 ms", "cold_start", "time, ms", 300, program=US, what="first frame"),
)


def rows_of(found: Found, bench: str) -> list[Row]:
    """Return the rows of a bench; none when it was not measured."""
    return list(found.get(bench, {}).get("rows", ()))


def number(row: Row, column: str) -> float | None:
    """Return a figure; None where there is a word, or nothing."""
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else None


# -- targets


def targets(found: Found) -> str:
    """Return a table: each target, what was measured, and whether that keeps it."""
    return table([judged(target, found) for target in TARGETS])


def judged(target: Target, found: Found) -> Row:
    """Return the row of a target. At fewer hosts than it is about nothing is judged."""
    rows = [row for row in rows_of(found, target.bench) if is_about(target, row)]
    measured = [row for row in rows if number(row, target.column) is not None]
    at = next((row for row in measured if row.get("hosts") == target.hosts), None)
    row: Row = {"target": target.text, "measured": "–", "judged": "not measured"}
    if at is None:
        fewer = [each for each in measured if each["hosts"] < target.hosts] if target.hosts else []
        if fewer:
            most = max(fewer, key=lambda each: each["hosts"])
            row["measured"] = f"{shown(number(most, target.column))} at {most['hosts']} hosts"
            row["judged"] = f"not measured at {target.hosts} hosts"
        return row
    value = number(at, target.column) or 0.0
    row["measured"] = shown(value)
    row["judged"] = (
        "met" if value <= target.most else f"missed by {100 * (value / target.most - 1):.0f} %"
    )
    return row


def is_about(target: Target, row: Row) -> bool:
    """Tell whether a row is one that a target may be judged by: its program's, of a run that went
    to its end.
    """
    named = [(row.get("program", ""), target.program), (row.get("what", ""), target.what)]
    return (
        all(said == wanted for said, wanted in named) and row.get("state", "complete") == "complete"
    )


def times(ratio: float) -> str:
    """Return a ratio as a factor."""
    return f"{ratio:.1f} times"


# -- what a host costs


def host_costs(found: Found) -> str:
    """Return a table of what a host costs at each size, and a sentence: whether more hosts make
    each dearer.
    """
    engine = {
        row["hosts"]: row
        for row in rows_of(found, "engine_scale")
        if row.get("state") == "complete"
    }
    screens = {row["hosts"]: row for row in rows_of(found, "app_scale")}
    rows: list[Row] = []
    sizes = sorted({*engine, *screens})
    for before, hosts in zip([0, *sizes], sizes, strict=False):
        of_engine, of_screens = engine.get(hosts, {}), screens.get(hosts, {})
        load = of_engine.get("CPU, % of a core"), of_screens.get("CPU, % of a core")
        rows.append({
            "hosts": hosts,
            "engine: CPU per host per second, ms": share(load[0], hosts / 10),
            "engine: CPU per host until GO, ms": share(of_engine.get("engine CPU until GO, s"),
                hosts / 1000),
            "engine: memory per additional host, MiB": share(more(engine, before, hosts,
                "memory, MiB"), hosts - before),
            "journal per host per second, kB": share(of_engine.get("journal, kB/s"), hosts),
            "screens: CPU per host per second, ms": share(load[1], hosts / 10),
        })  # fmt: skip
    if not rows:
        return "Not measured yet."
    return f"{table(rows)}\n\n{growth(rows)}"


def more(rows: Mapping[int, Row], before: int, hosts: int, column: str) -> float | None:
    """Return by how much a figure is larger than at the size before."""
    here, there = (number(rows.get(size, {}), column) for size in (hosts, before))
    return None if here is None or there is None else here - there


def share(value: float | None, parts: float) -> float | None:
    """Return what one of several has of a figure."""
    return None if value is None else value / parts


def growth(rows: Sequence[Row]) -> str:
    """Return what became dearer between the smallest and the largest size."""
    said = []
    for name in [name for name in rows[0] if name != "hosts"]:
        known = [(row["hosts"], value) for row in rows if (value := number(row, name)) is not None]
        if len(known) > 1 and known[-1][1] > GROWTH * known[0][1]:
            ratio = times(known[-1][1] / known[0][1])
            said.append(
                f"{name.rpartition(',')[0]}: {ratio} as much at {known[-1][0]} hosts as at"
                f" {known[0][0]}"
            )
    if len(rows) < 2:
        return f"Measured at {rows[0]['hosts']} hosts only; growth unknown."
    if said:
        return f"A host costs more with more hosts. {'; '.join(said)}."
    return f"A host costs no more at {rows[-1]['hosts']} hosts than at {rows[0]['hosts']}."


# -- what we lose


def losses(found: Found) -> str:
    """Return a table of every figure in which another program is better.

    Less is better in all of them.
    """
    rows = [row for bench in RIVALS for row in lost(found, bench)]
    measured = [title for bench, title in RIVALS.items() if rows_of(found, bench)]
    if not rows:
        return f"Nothing: {', '.join(measured)}." if measured else "Not measured yet."
    return table(rows)


def lost(found: Found, bench: str) -> list[Row]:
    """Return the rows of one bench, the worst first."""
    rows, lines = rows_of(found, bench), []
    for mine in [row for row in rows if row.get("program") == US]:
        peers = [
            row for row in rows if row.get("program") not in (US, FLOOR) and belongs(row, mine)
        ]
        for column in [name for name in mine if name not in (*TOLD_APART, "program")]:
            ours = inf if isinstance(mine[column], str) else number(mine, column)  # such as "never"
            for peer in peers:
                theirs = number(peer, column)
                if ours is not None and theirs is not None and ours > SAME * theirs:
                    lines.append(
                        (ours / theirs if theirs else inf, loss(bench, mine, peer, column))
                    )
    return [line for _, line in sorted(lines, key=lambda each: -each[0])]


def belongs(row: Row, mine: Row) -> bool:
    """Tell whether two rows are of the same trial."""
    return all(row.get(name) == mine.get(name) for name in TOLD_APART)


def loss(bench: str, mine: Row, peer: Row, column: str) -> Row:
    """Return one line."""
    of = f"{mine['hosts']} hosts" if "hosts" in mine else str(mine.get("what", ""))
    return {"figure": f"{RIVALS[bench]}, {of}: {column}", "better": peer["program"],
        "theirs": shown(peer[column]),
            "ours": shown(mine[column])}  # fmt: skip


# -- sentences


def truth(found: Found) -> str:
    """Return how far p99 of all hosts is off, merged and as it is usually said.

    For the README, within a sentence.
    """
    row = next(
        (row for row in rows_of(found, "true_percentiles") if row["percentile"] == "p99"), None
    )
    if row is None:
        return "not measured yet"
    off, mean, worst = (row[f"{who}, % off"] for who in ("benchtui", "mean of hosts", "worst host"))
    return (
        f"merged p99 {abs(off):.1f} % off, the mean of the hosts' p99 {direction(mean)},"
        f" the worst host's {direction(worst)}"
    )


def direction(off: float) -> str:
    """Return an error with its direction."""
    return f"{abs(off):.0f} % too {'low' if off < 0 else 'high'}"


def first_frame(found: Found) -> str:
    """Return how long the first frame took, and how much of that is Python and Textual alone."""
    rows = [row for row in rows_of(found, "cold_start") if row.get("what") == "first frame"]
    by_program = {row["program"]: row for row in rows if number(row, "time, ms") is not None}
    mine, floor = by_program.get(US), by_program.get(FLOOR)
    if mine is None:
        return "Not measured yet."
    said = f"The first frame took {shown(mine['time, ms'])} ms, {shown(mine['CPU, ms'])} of CPU"
    if floor is None:
        return f"{said}."
    alone = f"{shown(floor['time, ms'])} ms, {shown(floor['CPU, ms'])} of CPU"
    return (
        f"{said}; an empty app on Textual took {alone}, the minimum for any program that uses it."
        " The rest is ours."
    )


def observed(found: Found) -> str:
    """Return what watching cost the load, and whether that is more than rounds differ by."""
    rows = {row["side"]: row for row in rows_of(found, "observer")}
    if "under benchtui" not in rows:
        return "Not measured yet."
    cost = rows["under benchtui"]["against fio alone, %"]
    apart = max(row["between rounds, %"] for row in rows.values())
    said = f"Under benchtui fio did {abs(cost):.1f} % {'less' if cost < 0 else 'more'} than alone"
    known = "within" if abs(cost) <= apart else "beyond"
    return f"{said}, {known} the spread between rounds ({apart:.1f} %)."


WORDS: Mapping[str, Callable[[Found], str]] = {
    "targets": targets,
    "host_costs": host_costs,
    "losses": losses,
    "first_frame": first_frame,
    "observed": observed,
    "truth": truth,
}

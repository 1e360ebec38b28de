"""Every known host fact, by section, in as many columns as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.metrics.facts import (
    NONE,
    FactDifference,
    FactsTogether,
    hosts_text,
    leaf_text,
    leaf_title,
    spec_of,
)
from tui.model.hostfacts import HOST_FACTS
from tui.text.line import (
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    clip,
    heading,
    labelled,
    padded,
    width_of,
    width_of_runs,
)

Row = tuple[str, list[Run]]
LEAST_CELL = 44  # cells of a column: title and value
LEAST_VALUE = 12
MOST_ALIGNED = 22  # cells; values line up in all sections beside titles up to this width
GAP = 2


def table_lines(found: FactsTogether, width: int) -> list[Line]:
    """Return a heading and the facts for each section; differing values with their hosts."""
    lines: list[Line] = []
    sections = _sections(found)
    widths = [width_of(title) for rows in sections.values() for title, _ in rows]
    aligned = max((each for each in widths if each <= MOST_ALIGNED), default=0)
    for section, rows in sections.items():
        titles = max(aligned, *(width_of(title) for title, _ in rows)) + GAP
        lines += [heading(section), *_section_lines(rows, titles, width)]
    return lines


def _sections(found: FactsTogether) -> dict[str, list[Row]]:
    """Return titles and values by section, those that differ first; unknown facts are left out."""
    sections: dict[str, list[Row]] = {fact.section: [] for fact in HOST_FACTS.values()}
    for each in found.differing:
        runs = list(_group_runs(each))
        sections.setdefault(spec_of(each.name).section, []).append((_title(each.name), runs))
    for name, common in found.common.items():
        if common is not None:
            value: Run = (leaf_text(name, common), LABEL if common == NONE else TEXT)
            sections.setdefault(spec_of(name).section, []).append((_title(name), [value]))
    return {section: rows for section, rows in sections.items() if rows}


def _group_runs(difference: FactDifference) -> Iterator[Run]:
    """Yield each value with its hosts; a value that few hosts have is highlighted if it matters."""
    stands_out = WARN if difference.differs and difference.matters else TEXT
    for number, group in enumerate(difference.groups):
        value, hosts = leaf_text(difference.name, group.value), hosts_text(group.hosts)
        role = LABEL if group.value is None else stands_out if number else TEXT
        yield f"{'; ' if number else ''}{value} on {hosts}", role


def _section_lines(rows: Sequence[Row], titles: int, width: int) -> Iterator[Line]:
    """Yield short facts in columns, read downwards, then those that need whole lines."""
    columns = max((width + GAP) // (max(LEAST_CELL, titles + LEAST_VALUE) + GAP), 1)
    cell = (width + GAP) // columns - GAP
    short = [row for row in rows if titles + width_of_runs(row[1]) <= cell]
    height = -(-len(short) // columns)
    for number in range(height):
        runs: list[Run] = []
        for at, (title, value) in enumerate(short[number::height]):
            runs = padded(runs, at * (cell + GAP))
            runs += [*padded([(title, LABEL)], titles), *value]
        yield Line.of(*runs)
    for title, value in rows:
        if titles + width_of_runs(value) > cell:
            room = width - titles >= LEAST_VALUE
            label = clip([(title, LABEL)], width)
            yield from labelled(
                padded(label, titles) if room else label, value, width, titles if room else GAP
            )


def _title(name: str) -> str:
    """Return the title of a fact under the heading of its section."""
    title = leaf_title(name)
    return title.partition(": ")[2] if spec_of(name).kind == "map" else title

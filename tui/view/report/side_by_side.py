"""Several runs in a report: differences, changes with confidence intervals, tail latencies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from tui.analysis.compare import Change, Comparison, compare
from tui.analysis.criteria import judge_against
from tui.analysis.measured import ComparedPoint, NoiseFloors, points_of
from tui.metrics import units
from tui.metrics.registry import MIXED, in_order
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.record.headline import told_headline
from tui.text.line import BAD, LABEL, TEXT
from tui.view.comparison import ROLES, counts_text, figure_text, interval_text, method_texts, signed
from tui.view.comparison_sentence import sentence
from tui.view.document import Block, Chart, DocumentColumn, DocumentTable, Paragraph
from tui.view.document import Cell as TableCell
from tui.view.report.overview import detailed_steps, judged
from tui.view.report.step_charts import tail_chart, tail_of
from tui.view.report.tables import criteria_table
from tui.view.report.vega import GOOD, MUTED, WARN, WIDTH

ROW_PX = 22
MOST_PERCENT = 100.0  # larger changes are drawn at the edge
COLORS = {"better": GOOD, "worse": "var(--bad)", "inconclusive": WARN}


Sides = Sequence[Sequence[RunRecord]]
Found = dict[str, Comparison]
"""The comparison with A of each other side, by the side's name."""


@dataclass(frozen=True, slots=True)
class Versus:
    """How the runs of a report are compared.

    `sides`: number of runs on each side, in order; if empty, each run is a side. `across`:
    parameters that may differ. `floors`: measured noise floors.
    """

    sides: tuple[int, ...] = ()
    across: tuple[str, ...] = ()
    floors: NoiseFloors | None = None

    def parted(self, records: Sequence[RunRecord]) -> list[list[RunRecord]]:
        """Return the records grouped by side."""
        left = iter(records)
        return [list(islice(left, count)) for count in self.sides or [1] * len(records)]

    def renamed(self, records: Iterable[tuple[RunRecord, RunRecord]]) -> Versus:
        """Return a copy for redacted records; `records` pairs each original with its redacted
        record.
        """
        return self if self.floors is None else replace(self, floors=self.floors.renamed(records))


ALONE = Versus()


def names_of(sides: Sequence[Sequence[object]]) -> list[str]:
    """Return the names of each side's runs: A, B, C; if a side has several runs, A1, A2."""
    names = [
        chr(ord("A") + place) if place < 26 else f"run {place + 1}" for place in range(len(sides))
    ]
    return [
        name if len(side) == 1 else f"{name}{number}"
        for name, side in zip(names, sides, strict=True)
        for number in range(1, len(side) + 1)
    ]


def compared(sides: Sides, versus: Versus) -> Found:
    """Return each later side's comparison with the first side."""
    names = names_of([[side] for side in sides])
    return {
        name: compare(sides[0], side, versus.floors, versus.across)
        for name, side in zip(names[1:], sides[1:], strict=True)
    }


def answers(found: Found) -> Iterator[Paragraph]:
    """Yield the result of each comparison, in the sentence that `compare` prints."""
    for name, each in found.items():
        yield Paragraph(sentence(each, name=name), ROLES.get(each.word, TEXT))


def side_by_side(sides: Sides, found: Found) -> Iterator[Block]:
    """Yield the evidence: runs, differences in setup, figures, thresholds, searches or tails."""
    yield _runs(sides)
    for name, each in found.items():
        yield from _gate(each, name)
    for name, each in found.items():
        yield from _figures(each, name)
        if criteria := judge_against(each):
            yield criteria_table(f"Criteria: {name} compared with A", criteria)
    names = names_of([[side] for side in sides])
    known = {
        name: search
        for name, side in zip(names, sides, strict=True)
        if (search := side[0].search) is not None
    }
    if len(known) < len(sides):
        yield from _tails(sides, names)
        return
    # a tail belongs to its point's load
    from tui.view.report.searches import compared_blocks, over_each_other

    for name, each in found.items():
        yield from compared_blocks(each.search, name) if each.search is not None else ()
    yield from over_each_other(known)


def _runs(sides: Sides) -> DocumentTable:
    records = [record for side in sides for record in side]
    rows: list[list[TableCell]] = [
        ["run", *(record.run_id for record in records)],
        ["verdict", *(judged(record) for record in records)],
        ["profile", *(record.profile.tag for record in records)],
        ["target", *(record.target or units.UNKNOWN for record in records)],
        ["hosts", *(str(len(record.hosts)) for record in records)],
        [
            "start (UTC)",
            *((record.created_utc or units.UNKNOWN).replace("T", " ")[:16] for record in records),
        ],
        [
            "headline",
            *(told_headline(record) or units.UNKNOWN for record in records),
        ],
    ]
    return DocumentTable(
        "The runs", [DocumentColumn(""), *(DocumentColumn(name) for name in names_of(sides))], rows
    )


def _gate(found: Comparison, name: str) -> Iterator[Block]:
    """Yield the differences in setup, first those that prevent a comparison."""
    rows: list[list[TableCell]] = []
    for each in found.gate:
        weight: TableCell = "may matter" if each.matters else ("minor", LABEL)
        if each.blocks:
            weight = ("not comparable", BAD)
        elif each.what in found.across:
            weight = "compared"
        rows.append([each.title, each.a, each.b, weight])
    if rows:
        yield DocumentTable(
            f"Differences between A and {name}",
            [DocumentColumn("what"), DocumentColumn("A"), DocumentColumn(name), DocumentColumn("")],
            rows,
        )


def _figures(found: Comparison, name: str) -> Iterator[Block]:
    """Yield the figures with their changes, as table and as chart.

    For a matrix, only the headlines are shown.
    """
    table = compared_figures_table(found, name)
    if table is not None:
        yield table
        yield from changes_chart(
            _changes(found), f"{name} compared with A", several=len(found.points) > 1
        )


def _changes(found: Comparison, *, every: bool = False) -> list[tuple[str, Change]]:
    """Return the changes with the names of their points.

    For a matrix, only the headlines are returned, unless `every`.
    """
    several = len(found.points) > 1 and not every
    return [
        (point.name, each)
        for point in found.points
        for each in point.changes
        if not several or each.headline
    ]


def compared_figures_table(
    found: Comparison, name: str, *, every: bool = False
) -> DocumentTable | None:
    """Return a table of figures with their changes; None without figures.

    For a matrix, only the headlines are shown, unless `every`.
    """
    changes = _changes(found, every=every)
    if not changes:
        return None
    several = len(found.points) > 1
    counted = len(found.a) > 1 or len(found.b) > 1
    rows = [_row(point if several else "", each, counted=counted) for point, each in changes]
    titles = ["A", name, *(["runs"] if counted else []), "change", "95 % interval"]
    heads = [
        DocumentColumn("figure"),
        *(DocumentColumn(title, right=True) for title in titles),
        DocumentColumn(""),
    ]
    # the answer covers all of them
    if all(each.word == "not comparable" for _, each in changes):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    note = "".join(f"{text[:1].upper()}{text[1:]}. " for text in method_texts(found)).strip()
    return DocumentTable(
        f"Figures: {name} compared with A",
        heads,
        rows,
        f"Medians of repetitions. {note}" if counted else note,
    )


def _row(point: str, each: Change, *, counted: bool) -> list[TableCell]:
    title = f"{point}: {each.title}" if point else each.title
    why = f" ({each.why})" if each.why else ""
    word = (f"{each.word}{why}", ROLES.get(each.word, LABEL))
    told = [figure_text(each, value) for value in (each.a, each.b)] + (
        [counts_text(each)] if counted else []
    )
    return [title, *told, signed(each.change), interval_text(each), word]


def changes_chart(
    changes: Sequence[tuple[str, Change]], title: str, *, several: bool = False
) -> Iterator[Chart]:
    """Yield a chart of the changes with their intervals, better and worse ones in colour."""
    rows: list[dict[str, Any]] = []
    for point, each in changes:
        if each.change is None or each.effect is None:
            continue
        low, high = each.effect.low or each.effect.ratio, each.effect.high or each.effect.ratio
        ends = [_percent(value) for value in (each.effect.ratio, low, high)]
        label = f"{point}: {each.title}" if several else each.title
        said = f"{label}: {signed(each.change)}, {each.word}"
        rows.append(
            {"f": label, "v": ends[0], "lo": ends[1], "hi": ends[2], "s": said, "w": each.word}
        )
    if not rows:
        return
    most = max(2.0, *(abs(row[end]) for row in rows for end in ("v", "lo", "hi"))) * 1.08
    words = list(dict.fromkeys(row["w"] for row in rows))
    axis = {
        "title": f"change, {title}",
        "labelExpr": "(datum.value > 0 ? '+' : '') + datum.value + ' %'",
    }
    x = {"type": "quantitative", "scale": {"domain": [-most, most], "nice": False}, "axis": axis}
    labels = {"title": None, "ticks": False, "domain": False, "labelLimit": 190}
    y = {
        "field": "f",
        "type": "nominal",
        "sort": list(dict.fromkeys(row["f"] for row in rows)),
        "axis": labels,
    }
    scale = {"domain": words, "range": [COLORS.get(word, MUTED) for word in words]}
    color = {
        "field": "w",
        "type": "nominal",
        "scale": scale,
        "legend": {"title": None, "symbolType": "circle"},
    }
    zero = {"data": {"values": [{"z": 0}]}, "mark": {"type": "rule", "color": "var(--axis)"}}
    spec = {
        "width": WIDTH,
        "height": ROW_PX * len(rows),
        "data": {"values": rows},
        "layer": [
            {**zero, "encoding": {"x": {"field": "z", **x}}},
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "x": {"field": "lo", **x},
                    "x2": {"field": "hi"},
                    "y": y,
                    "color": color,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "aria": True, "opacity": 1},
                "encoding": {
                    "x": {"field": "v", **x},
                    "y": y,
                    "color": color,
                    "description": {"field": "s"},
                },
            },
        ],
    }
    alt = f"Changes, {title}: " + "; ".join(row["s"] for row in rows[:24])
    yield Chart(f"Changes: {title}", spec, alt, "Points: changes; lines: 95 % intervals.")


def _percent(ratio: float) -> float:
    return max(-MOST_PERCENT, min(MOST_PERCENT, (ratio - 1) * 100))


def _tails(sides: Sides, names: Sequence[str]) -> Iterator[Chart]:
    """Yield the latency distributions of all sides at the point of A's headline.

    There is one chart per direction. The I/Os of all repetitions of a side are merged.
    """
    points = [points_of(side) for side in sides]
    shown = next(iter(detailed_steps(sides[0][0])), None)
    if (
        shown is None
        or (key := next((key for key, each in points[0].items() if _has(each, shown)), None))
        is None
    ):
        return
    found = {name: side[key] for name, side in zip(names, points, strict=True) if key in side}
    known = {
        name
        for point in found.values()
        for each in point.attempts
        for name in each.step.results.aggregate
    }
    where = f" at {points[0][key].name}" if len(points[0]) > 1 else ""
    for direction in in_order(known - {MIXED}):
        merged = {name: point.merged(direction) for name, point in found.items()}
        curves = {name: tail_of(each.items(), each.total) for name, each in merged.items() if each}
        curves = {name: points for name, points in curves.items() if points}
        chart = tail_chart(
            curves, f"{direction.capitalize()} latency distribution{where}, compared"
        )
        if chart is not None and len(curves) > 1:
            yield chart


def _has(point: ComparedPoint, step: StepRecord) -> bool:
    return any(attempt.step is step for attempt in point.attempts)

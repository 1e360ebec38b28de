"""Several runs beside each other: what differs, how far their figures are apart and how surely, their tails.

What is said of a difference comes from ``tui.results.compare``; each run is held against the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tui.metrics import units
from tui.metrics.registry import in_order
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.compare.compare import Change, Comparison, compare
from tui.results.compare.text import ROLES, conclusion, figure_text, interval_text, signed
from tui.results.report.charts import tail_chart, tail_curve
from tui.results.report.document import Block, Chart, Column, Paragraph, Table
from tui.results.report.document import Cell as TableCell
from tui.results.report.overview import judged
from tui.results.report.shown import detailed_steps
from tui.results.report.vega import GOOD, MUTED, WARN, WIDTH
from tui.text.line import BAD, LABEL, TEXT

ONE_LINE = 10_000
ROW_PX = 22
MOST_PERCENT = 100.0  # what is further away is drawn at the edge
COLORS = {"better": GOOD, "worse": "var(--bad)", "inconclusive": WARN}


def side_by_side(records: Sequence[RunRecord]) -> Iterator[Block]:
    """Yield what is said of runs beside each other: the word, what differs, the figures, the tails."""
    names = names_of(records)
    found = {name: compare([records[0]], [record]) for name, record in zip(names[1:], records[1:], strict=True)}
    for name, each in found.items():
        said = " ".join(line.plain.strip() for line in conclusion(each, ONE_LINE))
        role = BAD if each.obstacles else ROLES.get(each.word, TEXT)
        yield Paragraph(said.replace("B against A", f"{name} against {names[0]}"), role)
    yield _sides(records, names)
    for name, each in found.items():
        yield from _gate(each, name, names[0])
    for name, each in found.items():
        yield from _figures(each, name, names[0])
    yield from _tails(records, names)


def names_of(records: Sequence[RunRecord]) -> list[str]:
    """Return what runs are called beside each other: A, B, C."""
    return [chr(ord("A") + place) if place < 26 else f"run {place + 1}" for place in range(len(records))]


def _sides(records: Sequence[RunRecord], names: Sequence[str]) -> Table:
    rows: list[list[TableCell]] = [
        ["run", *(record.run_id for record in records)],
        ["verdict", *(judged(record) for record in records)],
        ["profile", *(record.profile.tag for record in records)],
        ["target", *(record.target or units.UNKNOWN for record in records)],
        ["hosts", *(str(len(record.hosts)) for record in records)],
        ["began (UTC)", *((record.created_utc or units.UNKNOWN).replace("T", " ")[:16] for record in records)],
        ["headline", *(record.headline.text if record.headline else units.UNKNOWN for record in records)],
    ]
    return Table("The runs", [Column(""), *(Column(name) for name in names)], rows)


def _gate(found: Comparison, name: str, first: str) -> Iterator[Block]:
    """Yield what is not the same, what makes the figures incomparable first."""
    rows: list[list[TableCell]] = []
    for each in found.gate:
        weight = ("not comparable", BAD) if each.blocks else "may matter" if each.matters else ("beside it", LABEL)
        rows.append([each.what, each.a, each.b, weight])
    if rows:
        yield Table(
            f"What differs: {name} from {first}", [Column("what"), Column(first), Column(name), Column("")], rows
        )


def _figures(found: Comparison, name: str, first: str) -> Iterator[Block]:
    """Yield the figures with their changes, of a matrix the headlines of its points; and the changes as a chart."""
    several = len(found.points) > 1
    changes = [(point.name, each) for point in found.points for each in point.changes if not several or each.headline]
    if not changes:
        return
    rows = [_row(point if several else "", each) for point, each in changes]
    numbers = (Column(title, right=True) for title in (first, name, "change", "95 % interval"))
    note = "Differences within one run say nothing of the next one; below the threshold they are called none."
    yield Table(f"Figures: {name} against {first}", [Column("figure"), *numbers, Column("")], rows, note)
    yield from changes_chart(changes, f"{name} against {first}", several=several)


def _row(point: str, each: Change) -> list[TableCell]:
    title = f"{point}: {each.title}" if point else each.title
    why = f" ({each.why})" if each.why else ""
    word = (f"{each.word}{why}", ROLES.get(each.word, LABEL))
    sides = [figure_text(each, value) for value in (each.a, each.b)]
    return [title, *sides, signed(each.change), interval_text(each), word]


def changes_chart(changes: Sequence[tuple[str, Change]], title: str, *, several: bool = False) -> Iterator[Chart]:
    """Yield the changes as points with their intervals, those that are better or worse in colour."""
    rows: list[dict[str, Any]] = []
    for point, each in changes:
        if each.change is None or each.effect is None:
            continue
        low, high = each.effect.low or each.effect.ratio, each.effect.high or each.effect.ratio
        ends = [_percent(value) for value in (each.effect.ratio, low, high)]
        label = f"{point}: {each.title}" if several else each.title
        said = f"{label}: {signed(each.change)}, {each.word}"
        rows.append({"f": label, "v": ends[0], "lo": ends[1], "hi": ends[2], "s": said, "w": each.word})
    if not rows:
        return
    most = max(2.0, *(abs(row[end]) for row in rows for end in ("v", "lo", "hi"))) * 1.08
    words = list(dict.fromkeys(row["w"] for row in rows))
    axis = {"title": f"change, {title}", "labelExpr": "(datum.value > 0 ? '+' : '') + datum.value + ' %'"}
    x = {"type": "quantitative", "scale": {"domain": [-most, most], "nice": False}, "axis": axis}
    labels = {"title": None, "ticks": False, "domain": False, "labelLimit": 190}
    y = {"field": "f", "type": "nominal", "sort": list(dict.fromkeys(row["f"] for row in rows)), "axis": labels}
    scale = {"domain": words, "range": [COLORS.get(word, MUTED) for word in words]}
    color = {"field": "w", "type": "nominal", "scale": scale, "legend": {"title": None, "symbolType": "circle"}}
    zero = {"data": {"values": [{"z": 0}]}, "mark": {"type": "rule", "color": "var(--axis)"}}
    spec = {
        "width": WIDTH,
        "height": ROW_PX * len(rows),
        "data": {"values": rows},
        "layer": [
            {**zero, "encoding": {"x": {"field": "z", **x}}},
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {"field": "lo", **x}, "x2": {"field": "hi"}, "y": y, "color": color},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "aria": True, "opacity": 1},
                "encoding": {"x": {"field": "v", **x}, "y": y, "color": color, "description": {"field": "s"}},
            },
        ],
    }
    alt = f"Changes, {title}: " + "; ".join(row["s"] for row in rows[:24])
    yield Chart(f"Changes: {title}", spec, alt, "Points are changes, lines their 95 % intervals.")


def _percent(ratio: float) -> float:
    return max(-MOST_PERCENT, min(MOST_PERCENT, (ratio - 1) * 100))


def _tails(records: Sequence[RunRecord], names: Sequence[str]) -> Iterator[Chart]:
    """Yield the latency distributions over each other, a chart a direction that two runs or more have."""
    steps: list[StepRecord | None] = [next(iter(detailed_steps(record)), None) for record in records]
    known = {name for step in steps if step is not None for name in step.results.aggregate}
    for direction in in_order(known - {"mixed"}):
        curves = {
            name: tail_curve(step.results.aggregate[direction], direction, record.latency_kind_of(step))
            for name, record, step in zip(names, records, steps, strict=True)
            if step is not None and direction in step.results.aggregate
        }
        curves = {name: points for name, points in curves.items() if points}
        chart = tail_chart(curves, f"{direction.capitalize()} latency distribution, runs over each other")
        if chart is not None and len(curves) > 1:
            yield chart

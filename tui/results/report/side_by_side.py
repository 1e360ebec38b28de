"""Several runs beside each other: what differs between them, their figures with how far they are apart, their tails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.figures import kind_of, latency_of, shown_percentile
from tui.metrics.registry import METRICS, in_order
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.report.charts import tail_chart, tail_curve
from tui.results.report.document import Block, Column, Paragraph, Table
from tui.results.report.document import Cell as TableCell
from tui.results.report.overview import judged
from tui.results.report.shown import detailed_steps
from tui.text.line import LABEL

PERCENTILES = (50.0, 99.0, 99.9)


def side_by_side(records: Sequence[RunRecord]) -> Iterator[Block]:
    """Yield the figures of runs beside each other, each against the first one."""
    names = names_of(records)
    steps = [next(iter(detailed_steps(record)), None) for record in records]
    yield _differences(records, names)
    rows = list(_figures(records, steps))
    if rows:
        heads = [Column("figure"), *(Column(name, right=True) for name in names)]
        note = (
            f"In brackets: against {names[0]}. Without repetitions nothing is said of whether a difference is chance."
        )
        yield Table("Figures", heads, rows, note)
    for direction in _directions(steps):
        curves = {
            name: tail_curve(step.results.aggregate[direction], direction, record.latency_kind_of(step))
            for name, record, step in zip(names, records, steps, strict=True)
            if step is not None and direction in step.results.aggregate
        }
        chart = tail_chart(
            {name: points for name, points in curves.items() if points},
            f"{direction.capitalize()} latency distribution, runs side by side",
        )
        if chart is not None and len(curves) > 1:
            yield chart
    if not rows:
        yield Paragraph("These runs have no figure in common.", LABEL)


def names_of(records: Sequence[RunRecord]) -> list[str]:
    """Return what runs are called beside each other: A, B, C."""
    return [chr(ord("A") + place) if place < 26 else f"run {place + 1}" for place in range(len(records))]


def _directions(steps: Sequence[StepRecord | None]) -> list[str]:
    found = [set(step.results.aggregate) for step in steps if step is not None and step.results.aggregate]
    return [name for name in in_order(set.intersection(*found)) if name != "mixed"] if len(found) > 1 else []


def _differences(records: Sequence[RunRecord], names: Sequence[str]) -> Table:
    """Return what runs have in common in a row, and what differs marked by standing apart."""
    params = dict.fromkeys(name for record in records for name in record.profile.params)
    rows: list[list[TableCell]] = [
        ["run", *(record.run_id for record in records)],
        ["verdict", *(judged(record) for record in records)],
        ["profile", *(f"{record.profile.tag} v{record.profile.version}" for record in records)],
        ["target", *(record.target or units.UNKNOWN for record in records)],
        ["hosts", *(str(len(record.hosts)) for record in records)],
        ["tool", *(", ".join(sorted(set(record.provenance.tool_versions.values()))) for record in records)],
        ["began (UTC)", *((record.created_utc or units.UNKNOWN).replace("T", " ")[:16] for record in records)],
    ]
    for name in params:
        values = [str(record.profile.params.get(name, units.UNKNOWN)) for record in records]
        rows += [[name, *values]] if len(set(values)) > 1 else []
    return Table("What was run", [Column(""), *(Column(name) for name in names)], rows)


def _figures(records: Sequence[RunRecord], steps: Sequence[StepRecord | None]) -> Iterator[list[TableCell]]:
    values = [record.headline.value if record.headline is not None else None for record in records]
    first = records[0].headline
    if first is not None and all(r.headline is not None and r.headline.metric == first.metric for r in records):
        yield _row("headline", values, METRICS[first.metric].text)
    for name in _directions(steps):
        found = [step.results.aggregate[name] if step is not None else None for step in steps]
        kinds = [
            kind_of(name, r.latency_kind_of(s)) if s is not None else "" for r, s in zip(records, steps, strict=True)
        ]
        yield _row(f"{name} IOPS", [each.iops if each else None for each in found], units.iops)
        yield _row(f"{name} bandwidth", [each.bw_bytes_per_s if each else None for each in found], units.bandwidth)
        if len(set(kinds)) == 1:
            latencies = [latency_of(each, name, kinds[0]) if each else None for each in found]
            yield _row(f"{name} mean", [each.mean_ns if each else None for each in latencies], units.latency)
            for p in PERCENTILES:
                yield _row(f"{name} p{label(p)}", [shown_percentile(each, p) for each in latencies], units.latency)


def _row(name: str, values: Sequence[float | None], text: object) -> list[TableCell]:
    assert callable(text)
    first = values[0]
    cells: list[TableCell] = [name, text(first)]
    for value in values[1:]:
        few = isinstance(value, units.Few) or isinstance(first, units.Few)
        change = f" ({value / first - 1:+.1%})" if value is not None and first and not few else ""
        cells.append(f"{text(value)}{change}")
    return cells

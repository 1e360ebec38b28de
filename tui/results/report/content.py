"""Records as a document: the first screen, then section by section. What it says is what the screens say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.record import Finding, RunRecord
from tui.model.step_record import StepRecord
from tui.results.baselines.text import View
from tui.results.compare.criteria import criteria_of, judge
from tui.results.findings.catalogue import BY_ID
from tui.results.findings.weight import by_weight
from tui.results.matrix.render import knee_texts, remarks
from tui.results.record.metadata import metadata_remarks
from tui.results.report.charts import charts_of
from tui.results.report.disclosure import disclosure
from tui.results.report.document import Block, Chart, Column, Found, Paragraph, Report, RunPart, Section, Table
from tui.results.report.heat import Heat, heat_of
from tui.results.report.objections import objection_blocks
from tui.results.report.overview import card_of
from tui.results.report.shown import detailed_steps, measured_steps, name_of
from tui.results.report.side_by_side import ALONE, Versus, answers, compared, names_of, side_by_side
from tui.results.report.sizing import sizing_blocks
from tui.results.report.sweep import operations_chart, sweep_charts
from tui.results.report.tables import (
    criteria_table,
    figures_table,
    hosts_table,
    load_tables,
    matrix_table,
    matrix_tables,
    operations_table,
    percentiles_table,
)
from tui.results.report.telemetry import telemetry_charts
from tui.results.text.host_load import load_sums
from tui.results.text.judged import checks_text
from tui.results.text.remarks import length_texts, remark_texts
from tui.text.line import BAD, LABEL, WARN

if TYPE_CHECKING:
    from tui.results.compare.trend import Trend

MESSAGES = 100


@dataclass(frozen=True, slots=True)
class Source:
    """A run to report: its record, its directory when it has one, published figures beside it, and its history."""

    record: RunRecord
    run_dir: Path | None = None
    published: View | None = None
    called: str = ""  # what people call it
    history: Sequence[Trend] = ()  # of its profile on its target, of a sweep one a point


def report_of(
    sources: Sequence[Source],
    made: str = "",
    remarks: Sequence[str] = (),
    *,
    drawn: bool = True,
    versus: Versus = ALONE,
) -> Report:
    """Return the document of one run, or of several side by side; with charts when they are to be `drawn`.

    Raises UsageError for criteria of a profile that cannot be read.
    """
    sides = versus.parted([source.record for source in sources])
    names = names_of(sides) if len(sources) > 1 else [""]
    parts = [
        _part(source, f"run-{number}", name, drawn=drawn)
        for number, (source, name) in enumerate(zip(sources, names, strict=True), 1)
    ]
    if len(parts) == 1:
        return Report(parts[0].card.title, parts, remarks=list(remarks), made=made)
    found = compared(sides, versus)
    where = "side by side" if len(sides) == len(parts) else f"on {len(sides)} sides"
    title = f"{len(parts)} runs {where}"
    return Report(title, parts, list(answers(found)), list(side_by_side(sides, found)), list(remarks), made)


def _part(source: Source, place: str, name: str, *, drawn: bool) -> RunPart:
    record = source.record
    steps = detailed_steps(record)
    heat = heat_of(source.run_dir, steps) if drawn else {}
    found = (
        ("disclosure", "What was run", disclosure(record)),
        ("findings", "Findings", _findings(record)),
        ("limiter", "What limited it", _limiter(record, steps)),
        ("objections", "Objections", () if record.state == "running" else objection_blocks(record)),
        ("capacity", "What it sustains", sizing_blocks(record.search, drawn=drawn) if record.search else ()),
        ("results", "Results", _results(record, steps)),
        ("charts", "Charts", _charts(record, steps, heat) if drawn else ()),
        ("telemetry", "Load on hosts and servers", _telemetry(record, steps)),
        ("history", "History", _history(source, drawn=drawn)),
        ("published", "Beside published figures", _published(source.published)),
    )
    sections = [Section(f"{place}-{name}", title, list(blocks)) for name, title, blocks in found]
    shown = [each for each in sections if each.blocks]
    return RunPart(card_of(record, source.published, place, source.called), shown, name)


# -- what is doubtful


def _findings(record: RunRecord) -> Iterator[Block]:
    if record.state == "running":
        text = f"{record.reason.capitalize()}. It is judged at its end; below stands what was found so far."
        yield Paragraph(text, WARN)
    elif record.verdict is not None:
        yield Paragraph(checks_text(record))
    elif record.state == "failed":
        yield Paragraph(f"Nothing was measured. {record.reason}".strip(), BAD)
    else:
        yield Paragraph("This run was not judged.", WARN)
    yield from (_found(record, each) for each in by_weight(record.findings))
    criteria = judge([], [record], criteria_of([record]))
    if criteria:
        yield criteria_table("Criteria of the profile", criteria)
    problems = list(_problems(record))
    if problems:
        yield Table("Problems on hosts", [Column("host"), Column("when"), Column("what")], problems)
    if record.checks_not_made:
        reasons: dict[str, list[str]] = {}
        for name, reason in record.checks_not_made.items():
            reasons.setdefault(reason, []).append(name)
        rows = [[", ".join(names), reason] for reason, names in reasons.items()]
        yield Table("Could not be checked", [Column("checks"), Column("why")], rows)
    said = [each for each in record.messages if each.severity != "info"]
    if said:
        told = [[each.host or "", each.severity, each.text] for each in said[:MESSAGES]]
        more = f"{len(said) - MESSAGES} more are in run.json." if len(said) > MESSAGES else ""
        yield Table("What was said during the run", [Column("host"), Column("weight"), Column("message")], told, more)


def _found(record: RunRecord, finding: Finding) -> Found:
    check = BY_ID.get(finding.id)
    return Found(
        id=finding.id,
        severity=finding.severity,
        title=check.title if check is not None else "",
        where=_where(record, finding),
        message=finding.message,
        advice=check.advice if check is not None and finding.severity != "info" else "",
        rule=check.rule if check is not None else "",
        means=" ".join(check.means.split()) if check is not None else "",
    )


def _where(record: RunRecord, finding: Finding) -> str:
    step = finding.scope.get("step")
    if several := str(finding.scope.get("steps") or "").split():
        return f"on {len(several)} of {len(record.steps)} steps"
    known = isinstance(step, int) and 0 <= step < len(record.steps) and len(record.steps) > 1
    return record.steps[step].name if isinstance(step, int) and known else ""


def _problems(record: RunRecord) -> Iterator[list[str]]:
    for host in record.hosts:
        yield from ([host.name, problem.phase, problem.message] for problem in host.problems)
    for step in record.steps:
        yield from ([each.host, step.name, each.message] for each in step.errors if each.code == "tool-error")


def _limiter(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    for step in steps:
        if step.limiter is None:
            continue
        name = name_of(record, step)
        yield Paragraph(f"{f'{name}: ' if name else ''}{step.limiter.text}")
        if step.limiter.proof is not None:
            yield Paragraph(f"Counter-experiment: {step.limiter.proof.text}")
    if record.proves is not None:
        yield Paragraph(record.proves.text)


# -- figures


def _results(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    tables = matrix_tables(record) if any(step.cell for step in record.steps) else []
    for table in tables:
        yield matrix_table(table, named=len(tables) > 1)
        yield from (Paragraph(f"◆ {text}", LABEL) for text in knee_texts(table))
    yield from (Paragraph(text, LABEL) for text in (remarks(tables) if tables else ()))
    for step in steps:
        yield from _step_tables(record, step)
    left_out = len(measured_steps(record)) - len(steps)
    if left_out > 0:
        yield Paragraph(f"{left_out} more steps in detail: benchtui runs show --steps {record.run_id}", LABEL)
    if not steps:
        yield Paragraph("Nothing was measured.", WARN)


def _step_tables(record: RunRecord, step: StepRecord) -> Iterator[Block]:
    name = name_of(record, step)
    if step.metadata is not None:
        yield operations_table(step.metadata)
        yield from (Paragraph(text, LABEL) for text in metadata_remarks(step.metadata))
        return
    found = figures_table(record, step, f"All hosts together{f': {name}' if name else ''}")
    if found is not None:
        yield found
    said = [*length_texts(step), *remark_texts(step, record.latency_kind_of(step))]
    if said:
        yield Paragraph("; ".join(said), LABEL)
    yield from filter(None, (percentiles_table(step), hosts_table(record, step)))


def _charts(record: RunRecord, steps: Sequence[StepRecord], heat: Heat) -> Iterator[Block]:
    yield from sweep_charts(record)
    for step in steps:
        if step.metadata is not None:
            yield from operations_chart(step)
        else:
            yield from (_named(chart, name_of(record, step)) for chart in charts_of(record, step, heat))


def _named(chart: Chart, name: str) -> Chart:
    return replace(chart, title=f"{chart.title}: {name}") if name else chart


def _telemetry(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    for step in steps:
        yield from (_named(chart, name_of(record, step)) for chart in telemetry_charts(step))
        yield from load_tables(step, record.thresholds)
        yield from (Paragraph(text, LABEL) for text in load_sums(step))


def _history(source: Source, *, drawn: bool) -> Iterator[Block]:
    if source.history:
        from tui.results.report.history import history_blocks

        yield from history_blocks(source.record, source.history, drawn=drawn)


def _published(view: View | None) -> Iterator[Block]:
    """Yield the run beside published figures: whether it can be compared comes first."""
    if view is None:
        return
    yield from (Paragraph(f"{note.label}: {note.text}") for note in view.badges)
    if view.rows:
        numbers = (Column(name, right=True) for name in ("ours", "published", "ratio"))
        heads = [Column("baseline"), Column("figure"), *numbers]
        rows = [
            [f"{row.number or ''} {row.label}".strip(), row.figure, row.ours, row.theirs, row.ratio]
            for row in view.rows
        ]
        yield Table(f"Published figures: {view.title}", heads, rows)
    yield from (Paragraph(f"{note.label}: {note.text}", LABEL) for note in view.remarks)

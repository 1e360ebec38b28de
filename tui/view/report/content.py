"""The document of a report: the sections of each run, and several runs side by side.

The section "What was run" has everything needed to repeat the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.analysis.criteria import criteria_of, judge
from tui.judge.catalogue import BY_ID
from tui.judge.severity import by_weight
from tui.judge.wording import bottleneck_text, gap_reasons_of, message_of, proof_text, reasons_of
from tui.library.summary import tags_text
from tui.metrics import units
from tui.metrics.facts import compare
from tui.metrics.units import plural
from tui.model.host_record import HostRecord
from tui.model.record import Finding, JobFile, RunRecord
from tui.model.step_record import StepRecord
from tui.record.cells import measured_steps
from tui.record.host_facts import facts_together
from tui.text.facts import common_lines, differing_lines
from tui.text.line import BAD, LABEL, WARN
from tui.text.objects import left_texts
from tui.text.run_texts import run_text
from tui.view.document import (
    Block,
    Chart,
    Code,
    DocumentColumn,
    DocumentSection,
    DocumentTable,
    Facts,
    FindingBlock,
    Paragraph,
    Report,
    RunPart,
)
from tui.view.document import Cell as TableCell
from tui.view.host_links import speeds_of
from tui.view.host_load import load_sums
from tui.view.matrix import knee_texts
from tui.view.matrix_bests import best_table, notes_below
from tui.view.operation_tables import metadata_notes
from tui.view.published import OURS_IS, PublishedView
from tui.view.report.heat import Heat, heat_of
from tui.view.report.overview import (
    card_of,
    detailed_steps,
    is_edited_since,
    name_of,
)
from tui.view.report.run_charts import operations_chart, sweep_charts, telemetry_charts
from tui.view.report.searches import sizing_blocks
from tui.view.report.side_by_side import ALONE, Versus, answers, compared, names_of, side_by_side
from tui.view.report.step_charts import charts_of
from tui.view.report.tables import (
    criteria_table,
    figures_table,
    hosts_table,
    load_tables,
    matrix_table,
    matrix_tables,
    objection_blocks,
    operations_table,
    percentiles_table,
)
from tui.view.step_notes import (
    attest_texts,
    checks_text,
    finding_place,
    length_texts,
    note_texts,
    precondition_texts,
)

if TYPE_CHECKING:
    from tui.analysis.trend import Trend
    from tui.metrics.facts import FactsTogether

MOST_COMMANDS = 200  # different ones; the others are in run.json
MOST_LINES = 1200  # of what differs from job file to job file; the others are in run.json
SECONDS_NAMES = ("runtime", "ramp_time", "startdelay")


def disclosure(record: RunRecord) -> Iterator[Block]:
    """Yield the load, the target and the tools of a run, in full."""
    yield Facts([(name, texts) for name, texts in _facts(record) if texts])
    if record.profile.params:
        yield _params(record)
    if record.hosts:
        yield _hosts(record)
    yield from _job_files(record)
    yield from _commands(record)
    if record.profile.text:
        yield Code(f"Profile {record.profile.tag}", record.profile.text)
    for member in record.profile.members:
        if member.text:
            yield Code(f"Profile {member.tag}", member.text)


def _facts(record: RunRecord) -> Iterator[tuple[str, list[str]]]:
    profile, made = record.profile, record.provenance
    source = "; ".join(
        f"{name}: {' '.join(text.split())}" for name, text in profile.source.items() if text
    )
    preset = (
        {True: ", a preset", False: ", user-defined"}.get(profile.preset, "")
        if profile.preset is not None
        else ""
    )
    yield (
        "profile",
        [
            (
                f"{profile.tag} v{profile.version}{preset}"
                if profile.version is not None
                else profile.tag
            )
        ],
    )
    yield "source", [source] if source else []
    yield "SHA-256", [profile.sha256] if profile.sha256 else []
    yield "target", [record.target] if record.target else []
    yield from _facts_lines(facts_together(record), "hosts")
    yield from _facts_lines(
        compare({each.name: each.facts for each in record.servers if each.facts}), "servers"
    )
    yield "preconditioning", precondition_texts(record)
    yield "conditions", attest_texts(record)
    yield (
        "left out",
        [f"{left.profile}, {plural(left.steps, 'step')}: {left.why}" for left in record.left_out],
    )
    yield "added options", _added(record)
    yield "thresholds", [f"{name} {value:g}" for name, value in record.thresholds.items()]
    yield "page cache", _cache_drops(record)
    yield "tools", _versions(made.tool_versions, [host.name for host in record.hosts])
    yield "benchtui", [made.benchtui_version] if made.benchtui_version else []
    yield (
        "run from",
        (
            [", ".join(f"{name} {value}" for name, value in made.jump_host.items())]
            if made.jump_host
            else []
        ),
    )
    yield (
        "taken over",
        [f"{each.utc}, after {each.gap_s:.1f} s without an engine" for each in record.resumed],
    )
    yield "tags", [tags_text(record.tags)] if record.tags else []
    yield "notes", [note.text for note in record.notes]
    yield "left behind", [*_files_left(record), *left_texts(record.objects_left)]


def _facts_lines(found: FactsTogether, what: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the facts that all hosts share, and the facts that differ, under the name `what`."""
    if not found.hosts:
        return
    lines = [*common_lines(found), *differing_lines(found)]
    yield what, [f"{label}: {''.join(text for text, _ in runs)}" for label, runs in lines]


def _versions(versions: Mapping[str, str], hosts: Sequence[str]) -> list[str]:
    """Return each version with its hosts, and the hosts whose version is unknown."""
    groups: dict[str, list[str]] = {}
    for host, version in versions.items():
        groups.setdefault(version, []).append(host)
    if not groups:
        return []
    if left := [host for host in hosts if host not in versions]:
        groups["unknown"] = left
    if len(groups) == 1:
        return [f"{next(iter(groups))} on every host"]
    return [f"{version}: {', '.join(names)}" for version, names in groups.items()]


def _added(record: RunRecord) -> list[str]:
    added = {name: value for step in record.steps for name, value in step.added_options.items()}
    return [", ".join(f"{name}={value}" for name, value in added.items())] if added else []


def _cache_drops(record: RunRecord) -> list[str]:
    drops = [drop for step in record.steps for drop in step.cache_drops]
    if not drops:
        return []
    if failed := sorted({drop.host for drop in drops if not drop.ok}):
        return [f"not dropped on {', '.join(failed)}"]
    how = ", ".join(sorted({drop.method for drop in drops}))
    steps = sum(bool(step.cache_drops) for step in record.steps)
    which = "each step" if steps == len(record.steps) else f"{steps} of {len(record.steps)} steps"
    return [f"dropped before {which} ({how})"]


def _files_left(record: RunRecord) -> list[str]:
    left = [(host.name, host.files_left) for host in record.hosts if host.files_left is not None]
    return [
        f"{name}: {plural(len(found.paths), 'file')}, {units.size(found.bytes)}"
        for name, found in left
    ]


def _params(record: RunRecord) -> DocumentTable:
    """Return a table of the resolved parameters, changed ones marked.

    Swept parameters are in the table of steps.
    """
    profile = record.profile
    axes = record.matrix.axes if record.matrix is not None else []
    rows: list[list[TableCell]] = []
    for name, value in profile.params.items():
        how = (
            f"changed to {profile.changed[name]}"
            if name in profile.changed
            else "swept"
            if name in axes
            else ""
        )
        rows.append([name, _value(name, value), (how, LABEL)])
    return DocumentTable(
        "Parameters",
        [DocumentColumn("name"), DocumentColumn("value", right=True), DocumentColumn("")],
        rows,
    )


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value >= 4096 and value % 512 == 0:
        return units.size(value)
    if isinstance(value, float):
        return units.seconds(value) if name in SECONDS_NAMES else f"{value:g}"
    return str(value)


def _hosts(record: RunRecord) -> DocumentTable:
    heads = [
        DocumentColumn("host"),
        DocumentColumn("tool"),
        DocumentColumn("clock", right=True),
        DocumentColumn("seed", right=True),
        DocumentColumn("state"),
    ]
    rows = [_host(record, host) for host in record.hosts]
    return DocumentTable(
        "Hosts",
        heads,
        rows,
        "Clock: offset from the jump host, positive if the host is ahead.",
    )


def _host(record: RunRecord, host: HostRecord) -> list[TableCell]:
    clock = host.clock
    known = clock is not None and clock.offset_s is not None
    ahead = (
        f"{(clock.offset_s or 0) * 1000:+.1f} ms" if clock is not None and known else units.UNKNOWN
    )
    if clock is not None and known and clock.uncertainty_s is not None:
        ahead += f" ± {clock.uncertainty_s * 1000:.1f}"
    state = f"{host.state or ''} {run_text(host.detail)}".strip()
    version = record.provenance.tool_versions.get(host.name, "")
    return [
        host.name,
        version,
        ahead,
        str(host.randseed) if host.randseed is not None else "",
        state,
    ]


# -- job files


def _job_files(record: RunRecord) -> Iterator[Code]:
    """Yield the first job file in full, and only the differing lines of the others."""
    files = [each for each in record.profile.job_files if each.text.strip()]
    if not files:
        return
    first, *others = files
    name = f"Job file of {first.host}" + (
        f", step {first.step + 1}" if len(record.steps) > 1 else ""
    )
    yield Code(name, first.text)
    differing = [line for each in others for line in _differs(record, first, each)]
    if differing:
        cut = len(differing) - MOST_LINES
        more = [f"# and {cut} more lines, see run.json"] if cut > 0 else []
        yield Code(
            "Other job files: differing lines",
            "\n".join([*differing[:MOST_LINES], *more]),
        )


def _differs(record: RunRecord, first: JobFile, other: JobFile) -> Iterator[str]:
    known = set(first.text.splitlines())
    lines = [line for line in other.text.splitlines() if line not in known]
    step = f"step {other.step + 1}, " if len(record.steps) > 1 else ""
    if lines:
        yield f"{step}{other.host}: {'; '.join(lines)}"


def _commands(record: RunRecord) -> Iterator[Code]:
    """Yield the commands, each once, with the number of hosts and steps it ran on."""
    seen: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for each in record.provenance.commands:
        seen.setdefault((each.phase, shlex.join(each.argv)), []).append((each.host, each.step))
    lines = [f"# {phase}, {_often(places)}\n{text}" for (phase, text), places in seen.items()]
    cut = len(lines) - MOST_COMMANDS
    more = [f"# and {cut} more commands, see run.json"] if cut > 0 else []
    if lines:
        yield Code("Commands on the hosts", "\n".join([*lines[:MOST_COMMANDS], *more]))


def _often(places: Sequence[tuple[str, int]]) -> str:
    hosts, steps = {host for host, _ in places}, {step for _, step in places}
    said = next(iter(hosts)) if len(hosts) == 1 else plural(len(hosts), "host")
    return said if len(steps) == 1 else f"{said}, {plural(len(steps), 'step')}"


MESSAGES = 100


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A run to report: record, run directory if any, published results, history."""

    record: RunRecord
    run_dir: Path | None = None
    published: PublishedView | None = None
    called: str = ""  # the title that the user gave it
    history: Sequence[Trend] = ()  # of its profile on its target; a sweep has one per point


def report_of(
    sources: Sequence[ReportedRun],
    made: str = "",
    caveats: Sequence[str] = (),
    *,
    drawn: bool = True,
    versus: Versus = ALONE,
) -> Report:
    """Return the report on one run, or on several side by side.

    `drawn`: with charts. Raises UsageError for unreadable thresholds of a profile.
    """
    records = [source.record for source in sources]
    sides = versus.parted(records)
    names = names_of(sides) if len(sources) > 1 else [""]
    parts = [
        _part(
            source,
            f"run-{number}",
            name,
            drawn=drawn,
            edited=is_edited_since(source.record, records),
        )
        for number, (source, name) in enumerate(zip(sources, names, strict=True), 1)
    ]
    if len(parts) == 1:
        return Report(parts[0].card.title, parts, caveats=list(caveats), made=made)
    found = compared(sides, versus)
    where = " side by side" if len(sides) == len(parts) else f", compared as {len(sides)} groups"
    title = f"{len(parts)} runs{where}"
    return Report(
        title, parts, list(answers(found)), list(side_by_side(sides, found)), list(caveats), made
    )


def _part(source: ReportedRun, place: str, name: str, *, drawn: bool, edited: bool) -> RunPart:
    record = source.record
    steps = detailed_steps(record)
    heat = heat_of(source.run_dir, steps) if drawn else {}
    found = (
        ("disclosure", "What was run", disclosure(record)),
        ("findings", "Findings", _findings(record)),
        ("bottleneck", "Bottleneck", _bottleneck(record, steps)),
        ("objections", "Objections", () if record.state == "running" else objection_blocks(record)),
        (
            "capacity",
            "Capacity",
            sizing_blocks(record.search, drawn=drawn) if record.search else (),
        ),
        ("results", "Results", _results(record, steps)),
        ("charts", "Charts", _charts(record, steps, heat) if drawn else ()),
        ("telemetry", "Load on hosts and servers", _telemetry(record, steps)),
        ("history", "History", _history(source, drawn=drawn)),
        ("published", "Published results", _published(source.published)),
    )
    sections = [
        DocumentSection(f"{place}-{name}", title, list(blocks)) for name, title, blocks in found
    ]
    shown = [each for each in sections if each.blocks]
    card = card_of(record, source.published, place, source.called, edited=edited)
    return RunPart(card, shown, name)


# -- findings


def _findings(record: RunRecord) -> Iterator[Block]:
    if record.state == "running":
        text = (
            f"{run_text(record.reason).capitalize()}. The verdict follows when the run has ended;"
            " findings so far are below."
        )
        yield Paragraph(text, WARN)
    elif record.verdict is not None or record.not_as_sealed:
        yield Paragraph(checks_text(record))
    elif record.state == "failed":
        yield Paragraph(f"Nothing was measured. {run_text(record.reason)}".strip(), BAD)
    else:
        yield Paragraph("This run was not checked.", WARN)
    yield from (_finding(record, each) for each in by_weight(record.findings))
    criteria = judge([], [record], criteria_of([record]))
    if criteria:
        yield criteria_table("Profile thresholds", criteria)
    problems = list(_problems(record))
    if problems:
        yield DocumentTable(
            "Problems on hosts",
            [DocumentColumn("host"), DocumentColumn("when"), DocumentColumn("what")],
            problems,
        )
    lacking = [*reasons_of(record.checks_not_made).items(), *gap_reasons_of(record).items()]
    if lacking:
        reasons: dict[str, list[str]] = {}
        for name, reason in lacking:
            reasons.setdefault(reason, []).append(name)
        rows = [[", ".join(names), reason] for reason, names in reasons.items()]
        yield DocumentTable(
            "Checks that did not run", [DocumentColumn("checks"), DocumentColumn("why")], rows
        )
    messages = [each for each in record.messages if each.severity != "info"]
    if messages:
        more = len(messages) - MESSAGES
        yield DocumentTable(
            "Messages during the run",
            [DocumentColumn("host"), DocumentColumn("severity"), DocumentColumn("message")],
            [[each.host or "", each.severity, run_text(each.text)] for each in messages[:MESSAGES]],
            f"{plural(more, 'more message')} in run.json." if more > 0 else "",
        )


def _finding(record: RunRecord, finding: Finding) -> FindingBlock:
    check = BY_ID.get(finding.id)
    return FindingBlock(
        id=finding.id,
        severity=finding.severity,
        title=check.title if check is not None else "",
        where=finding_place(record, finding),
        message=message_of(finding),
        advice=check.advice if check is not None and finding.severity != "info" else "",
        rule=check.rule if check is not None else "",
        means=" ".join(check.means.split()) if check is not None else "",
    )


def _problems(record: RunRecord) -> Iterator[list[str]]:
    for host in record.hosts:
        yield from (
            [host.name, problem.phase, run_text(problem.message)] for problem in host.problems
        )
    for step in record.steps:
        yield from (
            [each.host, step.name, run_text(each.message)]
            for each in step.errors
            if each.code == "tool-error"
        )


def _bottleneck(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    for step in steps:
        if step.bottleneck is None:
            continue
        name = name_of(record, step)
        yield Paragraph(f"{f'{name}: ' if name else ''}{bottleneck_text(step.bottleneck)}")
        if step.bottleneck.proof is not None:
            yield Paragraph(f"Counter-experiment: {proof_text(step.bottleneck.proof)}")
    if record.proves is not None:
        yield Paragraph(proof_text(record.proves))


# -- figures


def _results(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    tables = matrix_tables(record) if any(step.cell for step in record.steps) else []
    for table in tables:
        yield matrix_table(table, named=len(tables) > 1)
        bests = best_table(table)
        knees = knee_texts(table) if bests is None else ()
        yield from () if bests is None else (bests,)
        yield from (Paragraph(f"◆ {text}", LABEL) for text in knees)
    yield from (Paragraph(text, LABEL) for text in (notes_below(tables) if tables else ()))
    for step in steps:
        yield from _step_tables(record, step)
    left_out = len(measured_steps(record)) - len(steps)
    if left_out > 0:
        yield Paragraph(
            f"for details of {plural(left_out, 'more step')}:"
            f" benchtui runs show --steps {record.run_id}",
            LABEL,
        )
    if not steps:
        yield Paragraph("Nothing was measured.", WARN)


def _step_tables(record: RunRecord, step: StepRecord) -> Iterator[Block]:
    name = name_of(record, step)
    if step.metadata is not None:
        yield operations_table(step.metadata)
        yield from (Paragraph(text, LABEL) for text in metadata_notes(step.metadata))
        return
    found = figures_table(record, step, f"All hosts together{f': {name}' if name else ''}")
    if found is not None:
        yield found
    said = [*length_texts(step), *note_texts(step, record.latency_kind_of(step))]
    if said:
        yield Paragraph("; ".join(said), LABEL)
    yield from filter(None, (percentiles_table(step), hosts_table(record, step)))


def _charts(record: RunRecord, steps: Sequence[StepRecord], heat: Heat) -> Iterator[Block]:
    yield from sweep_charts(record)
    for step in steps:
        if step.metadata is not None:
            yield from operations_chart(step)
        else:
            yield from (
                _named(chart, name_of(record, step)) for chart in charts_of(record, step, heat)
            )


def _named(chart: Chart, name: str) -> Chart:
    return replace(chart, title=f"{chart.title}: {name}") if name else chart


def _telemetry(record: RunRecord, steps: Sequence[StepRecord]) -> Iterator[Block]:
    for step in steps:
        yield from (_named(chart, name_of(record, step)) for chart in telemetry_charts(step))
        yield from load_tables(step, record.thresholds, speeds_of(record.hosts))
        yield from (Paragraph(text, LABEL) for text in load_sums(step))


def _history(source: ReportedRun, *, drawn: bool) -> Iterator[Block]:
    if source.history:
        from tui.view.report.history import history_blocks

        yield from history_blocks(source.record, source.history, drawn=drawn)


def _published(view: PublishedView | None) -> Iterator[Block]:
    """Yield the run next to published results, after the note on whether they can be compared."""
    if view is None:
        return
    yield from (Paragraph(f"{note.label}: {note.text}") for note in view.badges)
    if view.rows:
        numbers = (DocumentColumn(name, right=True) for name in ("ours", "published", OURS_IS))
        heads = [DocumentColumn("published result"), DocumentColumn("figure"), *numbers]
        rows = [
            [
                f"{row.number or ''} {row.label}".strip(),
                row.figure,
                row.ours,
                row.theirs,
                row.change,
            ]
            for row in view.rows
        ]
        yield DocumentTable(f"Published results: {view.title}", heads, rows)
    yield from (Paragraph(f"{note.label}: {note.text}", LABEL) for note in view.other_notes)

"""A run's record as plain text for terminals: aligned, 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tui.judge.severity import by_weight
from tui.judge.wording import bottleneck_text, message_of, proof_text
from tui.library.summary import tags_text
from tui.metrics import registry, units
from tui.metrics.buckets import SHOWN_NAMES, SHOWN_PERCENTILES
from tui.metrics.facts import FactsTogether, compare
from tui.metrics.figures import Latency, kind_of, latency_of, shown_percentile
from tui.metrics.registry import OPERATIONS
from tui.metrics.units import plural
from tui.model.figure_record import DirectionRecord
from tui.model.host_record import HostRecord
from tui.model.plain import printable, some
from tui.model.record import Finding, RunRecord
from tui.model.search_record import SearchRecord
from tui.model.step_record import StepRecord
from tui.record.cells import invalid_steps
from tui.record.headline import is_short, told_headline
from tui.record.host_facts import facts_together
from tui.text.facts import Fold, common_lines, differing_lines, machine_lines
from tui.text.objects import left_texts
from tui.text.run_texts import run_text
from tui.view.host_links import speeds_of
from tui.view.host_load import load_lines
from tui.view.operation_tables import metadata_lines, metadata_notes
from tui.view.plan import changed_text, recorded_title
from tui.view.step_notes import (
    NOT_MERGEABLE,
    VERDICTS,
    attest_texts,
    checks_text,
    finding_place,
    length_texts,
    measured_nothing,
    note_texts,
    precondition_texts,
    printed_lines,
    repeated_text,
    shared_problems,
    step_label,
    unjudged_text,
)

WIDTH = 80
NAME_WIDTH = 14
SHOWN_PATHS = 4
STEPS_IN_FULL = 4  # more steps are a sweep: one line each
COLUMNS = ("mean", *SHOWN_NAMES, "max")
Row = tuple[str, DirectionRecord]


def summary_text(
    record: RunRecord,
    path: Path | None = None,
    *,
    running: bool = False,
    steps: bool = False,
    width: int = WIDTH,
) -> str:
    """Return the summary of a run.

    `path`: location of its run.json; `running`: the run has not ended. A matrix comes first;
    `steps` adds the figures of every step. Tables of matrices take `width` columns, everything else
    80.
    """
    blocks = [
        _top(record, running=running),
        _about(record),
    ]
    if measured_nothing(record):  # the cause, without tables of nothing
        blocks += [_problems(record), _findings(record), _facts(record)]
    else:
        blocks += _results(record, width, every=steps, running=running)
        blocks += [_conditions(record), _findings(record), _problems(record), _facts(record)]
    blocks += [_files_left(record), _objects_left(record), _notes(record)]
    blocks += [[f"record: {path}"] if path is not None else []]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _top(record: RunRecord, *, running: bool) -> list[str]:
    """Return the first lines: run ID, headline, verdict, bottleneck."""
    profile = record.profile
    version = "" if profile.version is None else f" v{profile.version}"
    title = recorded_title(record)
    lines = [record.run_id, *_wrapped(f"{profile.tag}{version}", title), *_headline(record)]
    if record.verdict is not None or record.not_as_sealed:
        lines += _wrapped("verdict", checks_text(record))
    step = _shown_step(record)
    # a search has its own
    lines += _bottleneck(step) if step is not None and record.search is None else []
    judged = record.checks is not None and not running and not measured_nothing(record)
    lines += _objections(record) if judged else []
    how_far = run_text(record.reason) if record.state == "running" else "running"
    state = (
        [f"state: {how_far}; figures so far"]
        if running
        else _wrapped(f"state: {record.state}", run_text(record.reason))
    )
    return [*lines, *state]


def _objections(record: RunRecord) -> list[str]:
    """Return the numbers of objections by answer, and the command that lists them."""
    from tui.view.objection_catalogue import objections_to
    from tui.view.objections import counts_runs

    found = objections_to(record)
    counted = "".join(text for text, _ in counts_runs(found)).partition(": ")[2]
    return (
        _wrapped("objections", f"{counted}; benchtui runs show --defend {record.run_id}")
        if found
        else []
    )


def _shown_step(record: RunRecord) -> StepRecord | None:
    """Return the step of the headline, or the single step of the run; None if there is neither."""
    step = record.headline.step if record.headline is not None else None
    if step is None:
        return record.steps[0] if len(record.steps) == 1 else None
    return record.steps[step]


def _bottleneck(step: StepRecord) -> list[str]:
    if step.bottleneck is None:
        why = unjudged_text(step)
        return _wrapped("bottleneck", why) if why else []
    lines = _wrapped("limited by", bottleneck_text(step.bottleneck))
    return lines + (
        _wrapped("  counter-experiment", proof_text(step.bottleneck.proof))
        if step.bottleneck.proof is not None
        else []
    )


def _about(record: RunRecord) -> list[str]:
    """Return when, where, and with which options a run was started."""
    profile = record.profile
    began = f"{record.created_utc or 'start unknown'}, {units.duration(record.duration_s)}"
    target = f", target {record.target}" if record.target else ""
    lines = _wrapped_text(f"{began}, {plural(len(record.hosts), 'host')}{target}")
    if profile.changed:
        lines += _wrapped("changed", changed_text(profile.changed))
    for left in record.left_out:
        steps = plural(left.steps, "step")
        lines += _wrapped(
            "left out", f"{left.profile}, {steps}: {left.why} on {', '.join(left.hosts)}"
        )
    if record.proves is not None:
        lines += _wrapped(
            "counter-experiment",
            f"{record.proves.kind} as the bottleneck of {record.proves.run_id}",
        )
        lines += _wrapped("  result", proof_text(record.proves))
    for each in record.resumed:
        lines += _wrapped("taken over", f"{each.utc}, after {each.gap_s:.1f} s without an engine")
    if record.tags:
        lines += _wrapped("tags", tags_text(record.tags))
    return lines


def _headline(record: RunRecord) -> list[str]:
    if record.headline is None or (record.headline.value is None and record.search is None):
        return []
    repeated = repeated_text(record)
    judged = f"; {VERDICTS[record.verdict]}" if record.verdict is not None else ""
    told = _wrapped("headline", f"{told_headline(record)}{_where(record)}{judged}")
    return [*told, *([f"  {repeated}"] if repeated else [])]


def _where(record: RunRecord) -> str:
    """Return which of several steps the headline is from."""
    step = record.headline.step if record.headline is not None else None
    several = len(record.steps) > 1 and record.search is None
    return f" (step {record.steps[step].name})" if step is not None and several else ""


def _searched(search: SearchRecord, width: int) -> list[list[str]]:
    from tui.view.search import summary_blocks  # few runs are searches

    return summary_blocks(search, width)


def _matrix(record: RunRecord, width: int, *, running: bool) -> list[list[str]]:
    from tui.view.matrix_bests import matrix_blocks  # few runs have several points

    return matrix_blocks(record, width, running=running)


def _results(record: RunRecord, width: int, *, every: bool, running: bool) -> list[list[str]]:
    searched = _searched(record.search, width) if record.search is not None else []
    if searched and not every:
        return [
            *searched,
            [
                "to show the figures of every point:",
                f"  benchtui runs show --steps {record.run_id}",
            ],
        ]
    prepares = {
        step
        for part in (record.precondition.rounds if record.precondition else [])
        for step in part.steps
    }
    prepares |= {fill.step for fill in (record.precondition.fills if record.precondition else [])}
    steps = [step for step in record.steps if every or step.index not in prepares]
    measured = [step for step in steps if step.results.aggregate or step.metadata]
    matrix = (
        _matrix(record, width, running=running) if any(step.cell for step in record.steps) else []
    )
    if len(measured) <= STEPS_IN_FULL:
        return [
            *searched,
            *matrix,
            *(_step(record, step, named=len(record.steps) > 1) for step in measured),
        ]
    if matrix and not every:
        return [
            *matrix,
            [f"all {len(measured)} steps: benchtui runs show --steps {record.run_id}"],
        ]
    return [*searched, *matrix, _sweep(record, measured)]


def _step(record: RunRecord, step: StepRecord, *, named: bool) -> list[str]:
    label = f" {step_label(record, step)}" if step.warmup else ""
    lines = [f"step {step.index + 1}: {step.name}{label}"] if named else []
    loaded = load_lines(step, speeds_of(record.hosts))
    if step.metadata is not None:
        notes = (line for text in metadata_notes(step.metadata) for line in _wrapped_text(text))
        return [*lines, *metadata_lines(step.metadata), *notes, *loaded]
    for direction in step.results.aggregate:
        rows = [*_rows(step, direction), *_job_rows(step, direction)]
        operation = _operation(record, step)
        kind = record.latency_kind_of(step)
        lines += _table(step, direction, rows, kind, operation)
    if printed := printed_lines(step):
        lines += [
            NOT_MERGEABLE,
            *(line for host, text in printed for line in _wrapped(host, text, indent="  ")),
        ]
    # the headline's is above
    bottleneck = [] if step is _shown_step(record) else _bottleneck(step)
    return lines + _step_notes(step, record.latency_kind_of(step)) + bottleneck + loaded


def _operation(record: RunRecord, step: StepRecord) -> str | None:
    """Return the operation that a step without I/O reported as I/O; None for a step that
    did I/O.
    """
    cells = record.matrix.cells if record.matrix is not None else []
    headline = (
        next((cell.headline for cell in cells if step.index in cell.steps), None) or record.headline
    )
    if headline is None or headline.metric != "ops" or headline.direction in step.results.aggregate:
        return None  # counted under its own name
    return OPERATIONS.get(headline.direction)


def _rows(step: StepRecord, direction: str) -> list[Row]:
    """Return a row for all hosts together, then one per host; a single host has one row."""
    aggregate = step.results.aggregate[direction]
    hosts = [
        (host, dirs[direction]) for host, dirs in step.results.per_host.items() if direction in dirs
    ]
    if len(hosts) == 1:
        return hosts
    return [(f"all {len(aggregate.hosts)} hosts", aggregate), *hosts]


def _job_rows(step: StepRecord, direction: str) -> list[Row]:
    """Return the figures of each job over all hosts, if several jobs did this direction."""
    jobs = (step.results.jobs or {}).items()
    found: list[Row] = [(f"job {job}", dirs[direction]) for job, dirs in jobs if direction in dirs]
    return found if len(found) > 1 else []


def _table(
    step: StepRecord, direction: str, rows: Sequence[Row], kind: str, operation: str | None = None
) -> list[str]:
    known = registry.direction(direction)
    name, rate = (
        (operation, "ops/s")
        if operation
        else (f"{step.called(direction)} ({kind_of(direction, kind)})", known.counted)
    )
    if len(name) + len(rate) >= NAME_WIDTH + 6:
        name = step.called(direction)  # only whole objects, which have one kind of latency
    moves_data = known.moves_data and not operation
    bandwidth = "MiB/s" if moves_data else ""
    left = f"{name}{rate:>{max(NAME_WIDTH + 6 - len(name), len(rate) + 1)}}"
    header = f"{left}{bandwidth:>{NAME_WIDTH + 15 - len(left)}}  " + "".join(
        f"{name:>7}" for name in COLUMNS
    )
    return [
        header,
        *(
            _row(name, result, latency_of(result, direction, kind), moves_data)
            for name, result in rows
        ),
    ]


def _row(name: str, result: DirectionRecord, latency: Latency | None, moves_data: bool) -> str:
    mark = "~" if result.from_samples else ""
    bandwidth = (
        units.UNKNOWN if result.bw_bytes_per_s is None else f"{result.bw_bytes_per_s / 2**20:.1f}"
    )
    bandwidth = bandwidth if moves_data else ""
    cells = "".join(f"{_short_latency(value):>7}" for value in _latencies(latency))
    return (
        f"{_fit(name + mark, NAME_WIDTH - 1):<{NAME_WIDTH}}"
        f"{units.iops(result.iops):>6}{bandwidth:>9} "
        f" {cells}"
    )


def _latencies(latency: Latency | None) -> list[float | None]:
    if latency is None:
        return [None] * len(COLUMNS)
    percentiles = [shown_percentile(latency, each) for each in SHOWN_PERCENTILES]
    return [latency.mean_ns, *percentiles, latency.max_ns]


def _short_latency(value_ns: float | None) -> str:
    """Return a latency without the blank before its unit: "229µs"."""
    return "".join(units.latency_parts(value_ns))


def _step_notes(step: StepRecord, kind: str) -> list[str]:
    """Return notes needed to read the figures."""
    lines = list(length_texts(step))
    return [*lines, *(line for text in note_texts(step, kind) for line in _wrapped_text(text))]


def _sweep(record: RunRecord, steps: Iterable[StepRecord]) -> list[str]:
    """Return one line per step: swept parameters and figures."""
    steps = list(steps)
    varying = [] if any(step.cell for step in steps) else _varying([step.params for step in steps])
    kinds = "/".join(dict.fromkeys(record.latency_kind_of(step) for step in steps))
    wrong = invalid_steps(record)
    lines = [f"{'step':<34}{'dir':<6}{'IOPS':>7}{'MiB/s':>10}{'mean':>8}{'p99':>8}  {kinds}"]
    for step in steps:
        name = " ".join(f"{key}={step.params.get(key)}" for key in varying) or _short_name(
            record, step
        )
        short = units.seconds(step.measured_s) if is_short(step) else ""
        mark = "INVALID" if step.index in wrong else ""
        name = " ".join(part for part in (name, step_label(record, step), short) if part)
        name = f"{_fit(name, 33 - len(mark) - 1)} {mark}" if mark else name
        for direction, result in step.results.aggregate.items():
            latency = latency_of(result, direction, record.latency_kind_of(step))
            mean, p99 = (
                latency.mean_ns if latency is not None else None,
                shown_percentile(latency, 99.0),
            )
            bandwidth = (
                units.UNKNOWN
                if result.bw_bytes_per_s is None
                else f"{result.bw_bytes_per_s / 2**20:.1f}"
            )
            latencies = f"{_short_latency(mean):>8}{_short_latency(p99):>8}"
            figures = f"{units.iops(result.iops):>7}{bandwidth:>10}{latencies}"
            lines.append(f"{_fit(name, 33):<34}{step.called(direction):<6}{figures}")
    return lines


def _short_name(record: RunRecord, step: StepRecord) -> str:
    """Return a step's name without the profile, except in a suite."""
    return step.name.removeprefix(record.profile.tag).strip() or step.name


def _varying(params: Sequence[Mapping[str, object]]) -> list[str]:
    names = dict.fromkeys(name for each in params for name in each)
    return [name for name in names if len({str(each.get(name)) for each in params}) > 1]


def _conditions(record: RunRecord) -> list[str]:
    """Return how the storage was preconditioned, and the attested conditions."""
    parts = (("preconditioning", precondition_texts(record)), ("conditions", attest_texts(record)))
    return [line for label, texts in parts if texts for line in _listed(label, texts)]


def _listed(label: str, texts: Sequence[str]) -> list[str]:
    return [f"{label}:", *(line for text in texts for line in _wrapped_text(text, "  "))]


def _findings(record: RunRecord) -> list[str]:
    """Return the findings of a run; empty if it was not judged."""
    if record.verdict is None:
        return []
    found = [line for each in by_weight(record.findings) for line in _finding(record, each)]
    return ["findings:", *found] if found else []


def _finding(record: RunRecord, finding: Finding) -> list[str]:
    label = f"{finding.severity} {finding.id} {finding_place(record, finding)}".rstrip()
    return _wrapped(label, message_of(finding), indent="  ")


def _problems(record: RunRecord) -> list[str]:
    lines = []
    for problem in shared_problems(record):
        lines += _wrapped(f"{some(problem.hosts)}: {problem.phase}", problem.message, indent="  ")
    for step in record.steps:
        for error in step.errors:
            if error.code == "tool-error":  # problems of hosts are above
                lines += _wrapped(
                    f"{error.host}: {step.name}", run_text(error.message), indent="  "
                )
    return ["problems:", *lines] if lines else []


def _facts(record: RunRecord) -> list[str]:
    """Return the facts that all hosts share, and the facts that differ.

    A run that measured nothing has only the differences; the record has everything.
    """
    servers = compare({server.name: server.facts for server in record.servers if server.facts})
    brief = measured_nothing(record)
    same = () if brief else machine_lines({host.name: host.facts for host in record.hosts})
    hosts = _facts_of(facts_together(record), "host", same, brief=brief)
    return [*hosts, *_facts_of(servers, "server", brief=brief)]


def _facts_of(found: FactsTogether, what: str, same: Fold = (), *, brief: bool) -> list[str]:
    if not found.hosts:
        return []
    lines = [f"{plural(len(found.hosts), what)}:"]
    for label, runs in (*same, *(() if brief else common_lines(found)), *differing_lines(found)):
        lines += _wrapped(label, "".join(text for text, _ in runs), indent="  ")
    return lines if len(lines) > 1 else []


def _files_left(record: RunRecord) -> list[str]:
    left = [host for host in record.hosts if host.files_left is not None]
    return (
        ["files left behind:", *(line for host in left for line in _files_of(host))] if left else []
    )


def _objects_left(record: RunRecord) -> list[str]:
    left = [
        line
        for text in left_texts(record.objects_left)
        for line in _wrapped_text(text, indent="  ")
    ]
    return ["objects left behind (benchtui does not remove objects):", *left] if left else []


def _files_of(host: HostRecord) -> list[str]:
    files = host.files_left
    if files is None:
        return []
    more = len(files.paths) - SHOWN_PATHS
    shown = ", ".join(files.paths[:SHOWN_PATHS]) + (f" and {more} more" if more > 0 else "")
    size = f" ({units.size(files.bytes)})" if files.bytes else ""
    return _wrapped(f"{host.name}{size}", shown, indent="  ")


def _notes(record: RunRecord) -> list[str]:
    return [line for note in record.notes for line in _wrapped("note", note.text)]


def _wrapped(label: str, text: str, indent: str = "") -> list[str]:
    """Return "label: text" wrapped to 80 columns; only the label if there is no text."""
    if not text:
        return [f"{indent}{label}"]
    return _wrapped_text(f"{label}: {text}", indent)


def _wrapped_text(text: str, indent: str = "") -> list[str]:
    one_line = " ".join(printable(text).split())
    return textwrap.wrap(
        one_line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

"""The tables of a report: figures, percentiles, hosts, operations, host load, objections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from tui.analysis.criteria import JudgedCriterion
from tui.judge.stragglers import STRAGGLER_HOSTS, rates_of
from tui.metrics import units
from tui.metrics.buckets import PERCENTILES, SHOWN_NAMES, SHOWN_PERCENTILES, label
from tui.metrics.figures import kind_of, latency_of, shown_percentile
from tui.metrics.registry import METRICS, direction, metric_of_operation, rate_of_operation
from tui.model.criteria import default
from tui.model.figure_record import DirectionRecord, LatencyRecord
from tui.model.record import RunRecord
from tui.model.step_record import MetadataRecord, OperationRecord, StepRecord
from tui.record.cells import Cell, cells_of_record
from tui.record.matrix import MatrixTable, TableRow, tables_of
from tui.text.line import BAD, LABEL, TEXT, WARN
from tui.view.document import Block, DocumentColumn, DocumentTable, Paragraph
from tui.view.document import Cell as TableCell
from tui.view.host_links import LinkSpeeds, is_alike
from tui.view.host_load import (
    busiest_title,
    clients_of,
    columns_of,
    load_cell,
    nic_and_disk,
    servers_of,
)
from tui.view.matrix import INVALID, KNEE, SAID, FigureScale, mark_of, role_of, scale_of, title_of
from tui.view.objection_catalogue import objections_to
from tui.view.objections import ORDER, WORDS, ObjectionAnswer, counts_runs
from tui.view.step_notes import bucket_texts

NO_FIGURE = units.UNKNOWN


def _right(*titles: str) -> list[DocumentColumn]:
    return [DocumentColumn(title, right=True) for title in titles]


# -- one step


def figures_table(record: RunRecord, step: StepRecord, title: str) -> DocumentTable | None:
    """Return the figures of a step over all hosts, one row per direction; None without figures.

    If there are several jobs, each job has a row as well.
    """
    kind = record.latency_kind_of(step)
    rows = []
    for name, result in step.results.aggregate.items():
        rows.append(_figures(step.called(name), result, name, kind))
        jobs = [
            (job, dirs[name]) for job, dirs in (step.results.jobs or {}).items() if name in dirs
        ]
        rows += [
            _figures(f"{step.called(name)}, job {job}", part, name, kind)
            for job, part in jobs
            if len(jobs) > 1
        ]
    heads = [
        "per second",
        "bandwidth",
        "mean",
        *SHOWN_NAMES,
        "max",
    ]
    return (
        DocumentTable(title, [DocumentColumn("direction"), *_right(*heads)], rows) if rows else None
    )


def _figures(what: str, result: DirectionRecord, name: str, kind: str) -> list[TableCell]:
    known = direction(name)
    moved = METRICS["bandwidth"].text(result.bw_bytes_per_s) if known.moves_data else ""
    mark = " ~" if result.from_samples else ""
    shown = kind_of(name, kind)
    return [
        f"{what} ({shown}){mark}",
        f"{units.iops(result.iops)} {known.counted}",
        moved,
        *_latencies(result, name, kind),
    ]


def _latencies(result: DirectionRecord, name: str, kind: str) -> list[TableCell]:
    latency = latency_of(result, name, kind)
    if latency is None:
        return [NO_FIGURE] * (len(SHOWN_PERCENTILES) + 2)
    values = [
        latency.mean_ns,
        *(shown_percentile(latency, each) for each in SHOWN_PERCENTILES),
        latency.max_ns,
    ]
    return [units.latency(value) for value in values]


def percentiles_table(step: StepRecord) -> DocumentTable | None:
    """Return all percentiles of a step, a column per direction and latency kind; None without
    latencies.
    """
    found: list[tuple[str, LatencyRecord]] = []
    for name, result in step.results.aggregate.items():
        kinds = (("slat", result.slat), ("clat", result.clat), ("lat", result.lat))
        found += [
            (f"{step.called(name)} {kind}", latency)
            for kind, latency in kinds
            if latency is not None and latency.n
        ]
    if not found:
        return None
    tails = {
        f"p{label(p)}": [shown_percentile(latency, p) for _, latency in found] for p in PERCENTILES
    }
    rows: list[list[TableCell]] = [
        [name, *map(units.latency, values)] for name, values in tails.items()
    ]
    tops: tuple[tuple[str, Callable[[LatencyRecord], float | None]], ...] = (
        ("min", lambda each: each.min_ns),
        ("mean", lambda each: each.mean_ns),
        ("std dev", lambda each: each.stddev_ns),
    )
    head: list[list[TableCell]] = [
        [name, *(units.latency(pick(latency)) for _, latency in found)] for name, pick in tops
    ]
    rest: list[list[TableCell]] = [
        ["max", *(units.latency(latency.max_ns) for _, latency in found)],
        ["I/Os", *(units.exact(latency.n) for _, latency in found)],
    ]
    note = (
        f"From merged histograms of all hosts, never averaged. {units.TOO_FEW}: fewer than"
        f" {units.TAIL_SAMPLES} slower I/Os."
    )
    note = " ".join(
        [note, *(f"{text[0].upper()}{text[1:]}." for text in bucket_texts(dict(found)))]
    )
    return DocumentTable(
        "Percentiles",
        [DocumentColumn("latency"), *_right(*(name for name, _ in found))],
        [*head, *rows, *rest],
        note,
    )


def hosts_table(record: RunRecord, step: StepRecord) -> DocumentTable | None:
    """Return the figures of each host, with stragglers marked; None for a single host."""
    rows = [row for name in step.results.aggregate for row in _host_rows(record, step, name)]
    if len(step.results.per_host) < 2 or not rows:
        return None
    heads = [
        "per second",
        "of median",
        "bandwidth",
        "mean",
        *SHOWN_NAMES,
        "max",
    ]
    slow, late = _limit(record, "straggler.rate"), _limit(record, "straggler.tail")
    apart = (
        f"Marked: below {units.share(slow)} of the median host's rate, or p99 above {late:g} x the"
        " median's."
    )
    note = apart if len(step.results.per_host) >= STRAGGLER_HOSTS else ""
    return DocumentTable(
        "Hosts", [DocumentColumn("host"), DocumentColumn("direction"), *_right(*heads)], rows, note
    )


def _limit(record: RunRecord, name: str) -> float:
    return record.thresholds.get(name, default(name))


def _host_rows(record: RunRecord, step: StepRecord, name: str) -> Iterator[list[TableCell]]:
    kind = record.latency_kind_of(step)
    hosts = {host: dirs[name] for host, dirs in step.results.per_host.items() if name in dirs}
    rates = rates_of(step, name)
    middle = median(rates.values()) if rates else 0.0
    tails = {
        host: shown_percentile(latency_of(result, name, kind), 99.0)
        for host, result in hosts.items()
    }
    known = [value for value in tails.values() if value and not isinstance(value, units.Few)]
    usual = median(known) if known else 0.0
    several = len(rates) >= STRAGGLER_HOSTS
    for host, result in hosts.items():
        share = rates[host] / middle if middle and host in rates else None
        slow = several and share is not None and share < _limit(record, "straggler.rate")
        tail = tails[host]
        told = tail is not None and not isinstance(tail, units.Few)
        late = several and told and (tail or 0) > _limit(record, "straggler.tail") * usual > 0
        figures = _figures(host, result, name, kind)
        cells = [figures[2], *figures[3:]]
        cells[3] = (str(cells[3]), WARN) if late else cells[3]
        mark = " ~" if result.from_samples else ""
        share_cell: TableCell = (
            (f"{units.share(share)}", WARN if slow else LABEL) if share is not None else NO_FIGURE
        )
        yield [
            (f"{host}{mark}", WARN if slow or late else TEXT),
            (name, LABEL),
            units.iops(result.iops),
            share_cell,
            *cells,
        ]


# -- metadata benchmarks


def operations_table(found: MetadataRecord) -> DocumentTable:
    """Return an MPI benchmark's operations: the printed statistics, and the first iterations."""
    shown = min(max((len(each.iterations) for each in found.operations.values()), default=0), 10)
    heads = _right(
        "max",
        "min",
        "mean",
        "std dev",
        *(f"iteration {number}" for number in range(1, shown + 1)),
    )
    rows = [_operation(name, each, shown) for name, each in found.operations.items()]
    moving = {bool(each.bytes_per_op) for each in found.operations.values()}
    title = (
        "Rates" if len(moving) > 1 else "Bandwidth" if True in moving else "Operations per second"
    )
    return DocumentTable(title, [DocumentColumn("operation"), *heads], rows)


def _operation(name: str, each: OperationRecord, shown: int) -> list[TableCell]:
    rates = [*each.iterations[:shown], *[None] * (shown - len(each.iterations))]
    values = [each.max, each.min, each.mean, each.stddev, *rates]
    mark = " ~" if each.from_iterations else ""
    metric, moved = metric_of_operation(each.bytes_per_op), each.bytes_per_op
    texts = (
        "" if value is None else metric.text(rate_of_operation(value, moved)) for value in values
    )
    return [f"{name}{mark}", *texts]


# -- the matrix


def matrix_tables(record: RunRecord) -> list[MatrixTable]:
    """Return the matrix tables of a run: its sweep, suite or repetitions."""
    return tables_of(cells_of_record(record))


def matrix_table(table: MatrixTable, *, named: bool) -> DocumentTable:
    """Return a table of the matrix for the report.

    It is a grid if there is a column axis, otherwise one row per point with its latencies.
    """
    scale = scale_of(table.cells)
    title = title_of(table, profile=named)
    title = title[:1].upper() + title[1:]
    if table.is_grid:
        heads = [
            *(DocumentColumn(name) for name in table.down),
            *_right(*(f"{table.across} {text}" for text in table.columns)),
        ]
        return DocumentTable(
            title,
            heads,
            [
                [*row.labels, *(_figure(table, cell, scale) for cell in row.cells)]
                for row in table.rows
            ],
        )
    heads = [
        *(DocumentColumn(name) for name in table.down),
        *_right("figure", "lowest–highest", "n", "mean", "p99"),
        DocumentColumn(""),
    ]
    return DocumentTable(title, heads, [_row(table, row, scale) for row in table.rows])


def _figure(table: MatrixTable, cell: Cell | None, scale: FigureScale) -> TableCell:
    if cell is None:
        return ""
    if cell.value is None:
        return SAID.get(cell.state, NO_FIGURE), role_of(cell)
    knee = f" {KNEE}" if cell.key in table.knee_keys else ""
    return f"{mark_of(cell)}{scale.text(cell.value)}{knee}", role_of(cell)


def _row(table: MatrixTable, row: TableRow, scale: FigureScale) -> list[TableCell]:
    cell = row.cells[0]
    if cell is None:
        return [*row.labels, *[""] * 6]
    spread = (
        f"{scale.text(min(cell.values))}–{scale.text(max(cell.values))}"
        if len(cell.values) > 1
        else ""
    )
    count = str(len(cell.values)) if len(cell.values) > 1 else ""
    said: TableCell = (INVALID, BAD) if cell.invalid else cell.short or SAID.get(cell.state, "")
    what = "" if len({each.what for each in table.cells}) == 1 else f" {cell.what}"
    figure = _figure(table, cell, scale)
    figure = (f"{figure[0]}{what}", figure[1]) if isinstance(figure, tuple) else figure
    return [
        *row.labels,
        figure,
        spread,
        count,
        units.latency(cell.mean_ns),
        units.latency(cell.p99_ns),
        said,
    ]


# -- criteria


OUTCOMES = {
    "kept": TEXT,
    "broken": BAD,
    "not measured": WARN,
    "not comparable": WARN,
    "cannot be judged": WARN,
}


def criteria_table(title: str, judged: Sequence[JudgedCriterion]) -> DocumentTable:
    """Return the outcome of each threshold."""
    rows: list[list[TableCell]] = [
        [
            each.criterion,
            each.point,
            each.measured or each.why,
            (each.outcome, OUTCOMES[each.outcome]),
        ]
        for each in judged
    ]
    return DocumentTable(
        title,
        [
            DocumentColumn("fails if"),
            DocumentColumn("at"),
            DocumentColumn("measured", right=True),
            DocumentColumn("outcome"),
        ],
        rows,
    )


# -- load on hosts


def load_tables(
    step: StepRecord, thresholds: Mapping[str, float], speeds: LinkSpeeds
) -> Iterator[DocumentTable]:
    """Yield the mean and maximum load on clients and servers in the measured window."""
    known = columns_of(step)
    for title, hosts, columns in (
        ("Load on hosts", clients_of(step), known),
        ("Load on servers", servers_of(step), known[:2]),
    ):
        if hosts:
            named = not is_alike(hosts, speeds)
            heads = [
                DocumentColumn("host"),
                *_right(*(name for _, name, _ in columns)),
                DocumentColumn(busiest_title(hosts, speeds)),
            ]
            rows: list[list[TableCell]] = [
                [
                    each.host,
                    *(load_cell(each, name, 0, thresholds) for name, _, _ in columns),
                    nic_and_disk(each, speeds, named=named),
                ]
                for each in hosts
            ]
            yield DocumentTable(
                title, heads, rows, "Mean/maximum over the measured window; marked: at the limit."
            )


def objection_blocks(record: RunRecord) -> Iterator[Block]:
    """Yield the objections with their evidence; nothing if nothing was measured."""
    found = objections_to(record)
    if not found:
        return
    yield Paragraph("".join(text for text, _ in counts_runs(found)))
    raised = [answer for answer in found if answer.standing != "n/a"]
    rows = [
        [answer.objection.claim, WORDS[answer.standing], _evidence(answer)] for answer in raised
    ]
    yield DocumentTable(
        "Objections and evidence",
        [DocumentColumn("objection"), DocumentColumn("answer"), DocumentColumn("evidence")],
        rows,
    )
    moot = [f'"{answer.objection.claim}"' for answer in found if answer.standing == "n/a"]
    if moot:
        yield Paragraph(f"Not applicable: {', '.join(moot)}", LABEL)


def _evidence(answer: ObjectionAnswer) -> str:
    """Return the evidence on an objection, most important first, with the checks it is from."""
    known = sorted(
        (each for each in answer.evidence if each.weight in ORDER),
        key=lambda each: ORDER.index(each.weight),
    )
    return (
        "; ".join(f"{each.text} ({each.check})" if each.check else each.text for each in known)
        or "no data"
    )

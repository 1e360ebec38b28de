"""The figures of a run as tables, for CSV, spreadsheets, Parquet and time series databases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from tui.export.export_table import RUN, ExportColumn, ExportTable, Kind, Row, percentile_name
from tui.metrics.buckets import PERCENTILES, bucket_edges, index_to_value, label
from tui.metrics.histogram import TOP_BUCKET
from tui.metrics.registry import METRICS, in_order
from tui.model.figure_record import AggregateRecord, DirectionRecord, LatencyRecord, SeriesColumns
from tui.model.plain_data import format_utc, parse_utc
from tui.model.record import RunRecord
from tui.model.step_record import OperationRecord, Scalar, StepRecord
from tui.record.search_figures import found_figures
from tui.text.search_texts import search_text

LATENCIES = ("slat", "clat", "lat")
SEARCHED = (
    ExportColumn("place", "int"),
    ExportColumn("step", "int"),
    ExportColumn("role", "text"),
    ExportColumn("why", "text"),
    ExportColumn("knobs", "text"),
    ExportColumn("offered_iops", "float"),
    ExportColumn("iops", "float"),
    ExportColumn("bw_bytes_per_s", "float"),
    ExportColumn("seconds", "float"),
    ExportColumn("hosts", "int"),
    ExportColumn("lost", "text"),
    ExportColumn("cut", "bool"),
    ExportColumn("verdict", "text"),
    ExportColumn("direction", "text"),
)


def tables_of(record: RunRecord) -> list[ExportTable]:
    """Return the tables that have rows for a run, and the summary in any case."""
    found = [summary(record), per_host(record), per_job(record), operations(record)]
    found += [search_figures(record), search_points(record), scaling(record)]
    found += [series(record), histogram(record), telemetry(record)]
    return [
        table for table in found if table.name == "summary" or next(table.rows, None) is not None
    ]


STEP = (
    ExportColumn("step", "int"),
    ExportColumn("step_name", "text"),
    ExportColumn("cell", "text"),
    ExportColumn("repetition", "int"),
    ExportColumn("warmup", "bool"),
)
DIRECTION = ExportColumn("direction", "text")
REQUEST = ExportColumn("request", "text")  # of an object store
COUNTS = (
    ExportColumn("runtime_s", "float"),
    ExportColumn("ios", "int"),
    ExportColumn("bytes", "int"),
    ExportColumn("iops", "float"),
    ExportColumn("bw_bytes_per_s", "float"),
)
WINDOW = (ExportColumn("iops_window", "float"), ExportColumn("bw_window_bytes_per_s", "float"))
MOVED = (ExportColumn("op_bytes", "int"), ExportColumn("op_bw_bytes_per_s", "float"))
RATES = tuple(
    ExportColumn(METRICS["ops"].unit + end, "float") for end in ("", "_min", "_max", "_stddev")
)


def _latency_columns(kind: str, labels: Sequence[str]) -> tuple[ExportColumn, ...]:
    exact = (
        ExportColumn(f"{kind}_n", "int"),
        ExportColumn(f"{kind}_min_ns", "int"),
        ExportColumn(f"{kind}_mean_ns", "float"),
        ExportColumn(f"{kind}_stddev_ns", "float"),
        ExportColumn(f"{kind}_max_ns", "int"),
    )
    return exact + tuple(
        ExportColumn(f"{kind}_{percentile_name(each)}_ns", "int") for each in labels
    )


def percentiles_of(record: RunRecord) -> list[str]:
    """Return the labels of all percentiles of a run.

    They are the standard ones, and further ones of imported output.
    """
    known = set(map(label, PERCENTILES))
    for step in record.steps:
        for _, dirs in scopes(step):
            for part in dirs.values():
                for latency in (part.slat, part.clat, part.lat):
                    known.update(latency.percentiles_ns if latency is not None else ())
    return sorted(known, key=float)


def _figure_columns(labels: Sequence[str]) -> tuple[ExportColumn, ...]:
    latencies = (column for kind in LATENCIES for column in _latency_columns(kind, labels))
    return (*COUNTS, *latencies, ExportColumn("from_samples", "bool"))


def _rates(operation: OperationRecord) -> Row:
    return (operation.mean, operation.min, operation.max, operation.stddev)


def _run(record: RunRecord) -> Row:
    target = record.target or ""
    return (
        record.run_id,
        record.created_utc,
        record.profile.tag,
        target,
        record.state,
        record.verdict,
    )


def _step(step: StepRecord) -> Row:
    return (step.index, step.name, step.cell_key, step.repetition, step.warmup)


def _figures(part: DirectionRecord, labels: Sequence[str]) -> Row:
    counts = (part.runtime_s, part.ios, part.bytes, part.iops, part.bw_bytes_per_s)
    latencies = (value for kind in LATENCIES for value in _latency(getattr(part, kind), labels))
    return (*counts, *latencies, part.from_samples)


def _latency(latency: LatencyRecord | None, labels: Sequence[str]) -> Row:
    if latency is None:
        return (None,) * (5 + len(labels))
    exact = (latency.n, latency.min_ns, latency.mean_ns, latency.stddev_ns, latency.max_ns)
    return exact + tuple(map(latency.percentiles_ns.get, labels))


def axes(record: RunRecord) -> list[str]:
    """Return the names of the swept parameters, in plan order."""
    known = list(record.matrix.axes) if record.matrix is not None else []
    return known or list(dict.fromkeys(name for step in record.steps for name in step.point))


def _point(record: RunRecord) -> tuple[tuple[ExportColumn, ...], Callable[[StepRecord], Row]]:
    """Return columns for the swept values, and a function that returns a step's cells.

    A column is numeric only if all its values are.
    """
    kinds = {
        name: _kind_of([step.point.get(name) for step in record.steps]) for name in axes(record)
    }

    def of(step: StepRecord) -> Row:
        found = ((step.point.get(name), kind) for name, kind in kinds.items())
        return tuple(
            value if kind != "text" or value is None else str(value) for value, kind in found
        )

    return tuple(ExportColumn(f"point_{name}", kind) for name, kind in kinds.items()), of


def _kind_of(values: Iterable[Scalar]) -> Kind:
    found = {type(value) for value in values if value is not None}
    return "text" if not found or found - {int, float} else "int" if found == {int} else "float"


def summary(record: RunRecord) -> ExportTable:
    """Return a table with one row per step and direction, or per step and operation, over all
    hosts.

    There are columns for I/O if a step has I/O, and for operations if a step has operations.
    """
    columns, point = _point(record)
    labels = percentiles_of(record)
    counted = any(_operations(step) for step in record.steps)
    moving, moved = _moved(record)
    rates = (*RATES, *moving) if counted else ()
    figures = (*_figure_columns(labels), *WINDOW)
    asked, request = _requests(record)
    if counted and not any(step.results.aggregate for step in record.steps):
        figures = ()

    def rows() -> Iterator[Row]:
        for step in record.steps:
            head = (*_run(record), *_step(step), *point(step))
            for name in in_order(step.results.aggregate):
                part = step.results.aggregate[name]
                measured = (*_figures(part, labels), *_window(part))
                known = (*request(step, name), *measured)
                yield (*head, len(part.hosts), step.in_flight, name, *known, *_nothing(rates))
            for name, each in _operations(step).items():
                told = (*_rates(each), *moved(each, each.mean))
                none = _nothing((*asked, *figures))
                yield (*head, _nodes(step), step.in_flight, name, *none, *told)

    hosts = (ExportColumn("hosts", "int"), ExportColumn("in_flight", "int"))
    return ExportTable(
        "summary", (*RUN, *STEP, *columns, *hosts, DIRECTION, *asked, *figures, *rates), rows
    )


def _requests(
    record: RunRecord,
) -> tuple[tuple[ExportColumn, ...], Callable[[StepRecord, str], Row]]:
    """Return the column for requests of an object store, and a function that returns its cells.

    There is no column if no step used a store.
    """
    if not any(step.requests for step in record.steps):
        return (), lambda _step, _name: ()
    return (REQUEST,), lambda step, name: (step.requests.get(name),)


def _nothing(columns: Sequence[ExportColumn]) -> Row:
    return (None,) * len(columns)


def _operations(step: StepRecord) -> Mapping[str, OperationRecord]:
    return step.metadata.operations if step.metadata is not None else {}


def _moved(
    record: RunRecord,
) -> tuple[tuple[ExportColumn, ...], Callable[[OperationRecord, float | None], Row]]:
    """Return columns for operations that move bytes, and a function that returns their cells.

    The function's second argument is the rate. There are no columns if no operation moves bytes.
    """
    if not any(each.bytes_per_op for step in record.steps for each in _operations(step).values()):
        return (), lambda _operation, _rate: ()
    return MOVED, lambda each, rate: (
        each.bytes_per_op or None,
        (rate and rate * each.bytes_per_op) or None,
    )


def _nodes(step: StepRecord) -> int | None:
    """Return the number of hosts of an MPI benchmark; None if unknown.

    It is the larger one of the tool's own number and the number of tasks: imported output has one
    task, and hosts may share a name.
    """
    nodes = step.metadata.nodes if step.metadata is not None else None
    return max(nodes or 0, len(step.tasks)) or None


def _window(part: AggregateRecord) -> Row:
    return (part.iops_window, part.bw_window_bytes_per_s)


def per_host(record: RunRecord) -> ExportTable:
    """Return a table with one row per step, host and direction."""
    columns, point = _point(record)
    labels = percentiles_of(record)
    asked, request = _requests(record)

    def rows() -> Iterator[Row]:
        for step in record.steps:
            for host, dirs in step.results.per_host.items():
                for name in in_order(dirs):
                    yield (
                        record.run_id,
                        *_step(step),
                        *point(step),
                        host,
                        name,
                        *request(step, name),
                        *_figures(dirs[name], labels),
                    )

    own = (ExportColumn("host", "text"), DIRECTION, *asked, *_figure_columns(labels))
    return ExportTable("hosts", (RUN[0], *STEP, *columns, *own), rows)


def per_job(record: RunRecord) -> ExportTable:
    """Return a table with one row per step, host, job and direction, for steps with several jobs.

    Rows without a host cover all hosts.
    """
    columns, point = _point(record)
    labels = percentiles_of(record)

    def rows() -> Iterator[Row]:
        for step in record.steps:
            for host, jobs in _jobs(step):
                for job, dirs in jobs.items():
                    for name in in_order(dirs):
                        head = (record.run_id, *_step(step), *point(step), host, job, name)
                        yield (*head, *_figures(dirs[name], labels))

    own = (
        ExportColumn("host", "text"),
        ExportColumn("job", "text"),
        DIRECTION,
        *_figure_columns(labels),
    )
    return ExportTable("jobs", (RUN[0], *STEP, *columns, *own), rows)


def _jobs(
    step: StepRecord,
) -> Iterator[tuple[str | None, Mapping[str, Mapping[str, DirectionRecord]]]]:
    if step.results.jobs:
        yield None, step.results.jobs
    yield from (step.results.per_job or {}).items()


def operations(record: RunRecord) -> ExportTable:
    """Return a table with one row per step, operation and iteration of an MPI benchmark.

    Rows without an iteration cover all iterations; their `ops_per_s` is the mean. Only operations
    that move bytes have a bandwidth.
    """
    columns, point = _point(record)
    moving, moved = _moved(record)

    def rows() -> Iterator[Row]:
        for step in record.steps:
            for name, each in _operations(step).items():
                head = (*_run(record), *_step(step), *point(step), name)
                yield (*head, None, *_rates(each), None, *moved(each, each.mean))
                for index, rate in enumerate(each.iterations):
                    seconds = each.seconds[index] if index < len(each.seconds) else None
                    yield (*head, index + 1, rate, None, None, None, seconds, *moved(each, rate))

    own = (ExportColumn("operation", "text"), ExportColumn("iteration", "int"), *RATES)
    return ExportTable(
        "operations",
        (*RUN, *STEP, *columns, *own, ExportColumn("duration_s", "float"), *moving),
        rows,
    )


SERIES = (
    ExportColumn("t_s", "float"),
    ExportColumn("utc", "time"),
    ExportColumn("scope", "text"),
    ExportColumn("host", "text"),
    ExportColumn("direction", "text"),
    ExportColumn("iops", "float"),
    ExportColumn("bw_bytes_per_s", "float"),
    ExportColumn("lat_mean_ns", "float"),
    ExportColumn("lat_p99_ns", "int"),
)


def series(record: RunRecord) -> ExportTable:
    """Return a table with one row per second, host and direction.

    `scope` is ``all`` for all hosts together. `t_s` is the start of the second, counted from
    `created_utc`. Seconds without data have no row. Percentiles printed by the tool itself are in
    columns that begin with `printed_`, per host only.
    """
    every = [
        column for step in record.steps if step.series is not None for column in step.series.columns
    ]
    printed = sorted({name for column in every for name in column.printed_ns}, key=float)

    def rows() -> Iterator[Row]:
        for step in record.steps:
            for column in step.series.columns if step.series is not None else ():
                head = (record.run_id, step.index, step.name)
                yield from ((*head, *values) for values in _seconds(record, step, column, printed))

    own = (ExportColumn(f"printed_{percentile_name(name)}_ns", "int") for name in printed)
    return ExportTable("series", (RUN[0], STEP[0], STEP[1], *SERIES, *own), rows)


def _seconds(
    record: RunRecord, step: StepRecord, column: SeriesColumns, printed: Sequence[str]
) -> Iterator[Row]:
    assert step.series is not None
    begun = parse_utc(record.created_utc) if record.created_utc else None
    scope = "all" if column.host is None else "host"
    for place, iops in enumerate(column.iops):
        values = (iops, _at(column.bw_bytes_per_s, place), _at(column.lat_mean_ns, place),
            _at(column.p99_ns, place),
                  *(_at(column.printed_ns.get(name, []), place) for name in printed))  # fmt: skip
        if any(value is not None for value in values):
            t_s = round(step.series.start_s + place * step.series.step_s, 3)
            utc = None if begun is None else format_utc(begun + timedelta(seconds=t_s))
            yield (t_s, utc, scope, column.host, column.direction, *values)


def _at(values: list[float | None] | list[int | None], place: int) -> float | None:
    return values[place] if place < len(values) else None


TELEMETRY = (
    ExportColumn("role", "text"),
    ExportColumn("host", "text"),
    ExportColumn("t_s", "float"),
    ExportColumn("utc", "time"),
    ExportColumn("interval_s", "float"),
    ExportColumn("quiet", "bool"),
)
UNIT_ENDS = {"number": "", "id": "", "count": ""}  # the other columns end with their unit


def telemetry_name(name: str, unit: str) -> str:
    """Return the name of a telemetry column, with its unit.

    ``nic.eth0.rx`` becomes ``nic_eth0_rx_bytes_per_s``.
    """
    return re.sub(r"\W", "_", f"{name}_{UNIT_ENDS.get(unit, unit)}").rstrip("_")


def telemetry(record: RunRecord) -> ExportTable:
    """Return a table with one row per interval and host, storage nodes included.

    `role` distinguishes clients and storage nodes; `t_s` is the end of the interval; `quiet`:
    before the run loaded any host. Each value that any host reported has a column.
    """
    hosts = [(step, host) for step in record.steps for host in step.telemetry]
    known = list(
        dict.fromkeys((each.name, each.unit) for _, host in hosts for each in host.columns)
    )

    def rows() -> Iterator[Row]:
        begun = parse_utc(record.created_utc) if record.created_utc else None
        for step, host in hosts:
            values = [host.values_of(name) for name, _ in known]
            for place, (t_s, interval_s) in enumerate(zip(host.t_s, host.interval_s, strict=False)):
                utc = None if begun is None else format_utc(begun + timedelta(seconds=t_s))
                head = (
                    record.run_id,
                    step.index,
                    step.name,
                    host.role,
                    host.host,
                    t_s,
                    utc,
                    interval_s,
                )
                yield (*head, place < host.quiet, *(_at(column, place) for column in values))

    own = (ExportColumn(telemetry_name(*each), "float") for each in known)
    return ExportTable("telemetry", (RUN[0], STEP[0], STEP[1], *TELEMETRY, *own), rows)


BUCKET = (
    ExportColumn("scope", "text"),
    ExportColumn("host", "text"),
    ExportColumn("direction", "text"),
    ExportColumn("latency", "text"),
    ExportColumn("from_ns", "int"),
    ExportColumn("below_ns", "int"),
    ExportColumn("middle_ns", "int"),
    ExportColumn("count", "int"),
    ExportColumn("cumulative", "int"),
)


def histogram(record: RunRecord) -> ExportTable:
    """Return a table with one row per non-empty latency bucket: from_ns <= latency < below_ns.

    The last bucket has no upper end.
    """

    def rows() -> Iterator[Row]:
        for step in record.steps:
            for host, dirs in scopes(step):
                for name in in_order(dirs):
                    for kind in LATENCIES:
                        head = (
                            record.run_id,
                            step.index,
                            step.name,
                            "all" if host is None else "host",
                            host,
                            name,
                            kind,
                        )
                        yield from (
                            (*head, *bucket) for bucket in _buckets(getattr(dirs[name], kind))
                        )

    return ExportTable("histogram", (RUN[0], STEP[0], STEP[1], *BUCKET), rows)


def scopes(step: StepRecord) -> Iterator[tuple[str | None, Mapping[str, DirectionRecord]]]:
    """Yield the directions of all hosts together (None), then those of each host by name."""
    yield None, step.results.aggregate
    yield from step.results.per_host.items()


def _buckets(latency: LatencyRecord | None) -> Iterator[Row]:
    cumulative = 0
    if latency is None or latency.histogram is None:
        return
    for index, count in zip(latency.histogram.idx, latency.histogram.n, strict=True):
        cumulative += count
        low, high = bucket_edges(index)
        below = high + 1 if index < TOP_BUCKET else None
        yield (low, below, index_to_value(index), count, cumulative)


def search_points(record: RunRecord) -> ExportTable:
    """Return a table with one row per direction of each point of a search.

    `offered_iops` is empty at full load. Percentiles from the intended start cover all directions
    together and are repeated in each row.
    """
    points = record.search.points if record.search is not None else []
    actual = sorted(
        {name for point in points for dirs in point.percentiles_ns.values() for name in dirs},
        key=float,
    )
    due = sorted(
        {name for point in points for name in point.intended_ns if name != "mean"}, key=float
    )

    def rows() -> Iterator[Row]:
        for place, point in enumerate(points):
            knobs = " ".join(f"{name}={value}" for name, value in point.knobs.items())
            head = (
                record.run_id,
                place,
                point.step,
                point.role,
                search_text(point.why),
                knobs,
                point.offered_iops,
                point.iops,
            )
            more = (
                point.bw_bytes_per_s,
                point.seconds,
                point.hosts,
                " ".join(point.lost),
                point.cut,
                point.verdict,
            )
            intended = tuple(map(point.intended_ns.get, due))
            for name in in_order(point.percentiles_ns):
                yield (*head, *more, name, *map(point.percentiles_ns[name].get, actual), *intended)

    own = [ExportColumn(f"{percentile_name(name)}_ns", "int") for name in actual]
    own += [ExportColumn(f"intended_{percentile_name(name)}_ns", "float") for name in due]
    return ExportTable("points", (RUN[0], *SEARCHED, *own), rows)


def search_figures(record: RunRecord) -> ExportTable:
    """Return a table with one row per figure found by a search, with its 95 % interval."""
    found = found_figures(record.search) if record.search is not None else []
    own = (ExportColumn("figure", "text"), ExportColumn("unit", "text"),
        ExportColumn("value", "float"),
           ExportColumn("low", "float"), ExportColumn("high", "float"),
           ExportColumn("text", "text"))  # fmt: skip

    def rows() -> Iterator[Row]:
        for each in found:
            value, low, high = each.figure.value, each.figure.low, each.figure.high
            yield (record.run_id, each.name, each.unit, value, low, high, each.text or None)

    return ExportTable("search", (RUN[0], *own), rows)


def scaling(record: RunRecord) -> ExportTable:
    """Return a table with one row per number of hosts, with the throughput.

    `extrapolated`: computed by the scaling law, not measured.
    """
    law = record.search.scaling if record.search is not None else None
    own = (ExportColumn("hosts", "int"), ExportColumn("iops", "float"),
        ExportColumn("iops_low", "float"),
           ExportColumn("iops_high", "float"), ExportColumn("efficiency", "float"),
           ExportColumn("extrapolated", "bool"))  # fmt: skip

    def rows() -> Iterator[Row]:
        for each in law.points if law is not None else ():
            rate = each.iops
            yield (
                record.run_id,
                each.hosts,
                rate.value,
                rate.low,
                rate.high,
                each.efficiency,
                each.extrapolated,
            )

    return ExportTable("scaling", (RUN[0], *own), rows)

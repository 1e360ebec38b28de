"""Results of a step for the record: per host, per job, over all hosts, and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, isnan, sqrt

from tui.journal.measurement import Measurement
from tui.journal.views import (
    KINDS,
    Kind,
    Leaf,
    SeriesSet,
    Values,
    add_values,
    quotients,
)
from tui.metrics.buckets import PERCENTILES, index_to_value
from tui.metrics.figures import behind, kind_of, with_mixed
from tui.metrics.histogram import Histogram, combine_directions
from tui.metrics.registry import MIXED, in_order
from tui.model.event import Buckets, DirectionResult, HostResult, LatencyResult
from tui.model.figure_record import (
    AggregateRecord,
    DirectionRecord,
    HistogramRecord,
    LatencyRecord,
    ResultsRecord,
    SeriesColumns,
    SeriesRecord,
    TimeSpanRecord,
)
from tui.record.timeline import HostSpan, common_window

WHOLE_S = 0.9  # a second with less coverage than this is unknown


def series_record(measurement: Measurement) -> SeriesRecord | None:
    """Return the time series of a measurement, all hosts together first; None without samples.

    Seconds that are only partly covered are unknown, because load ramps up and down at the edges.
    """
    span = _span(
        [leaf.over_time for leaves in measurement.hosts.values() for leaf in leaves.values()]
    )
    if span is None:
        return None
    start, end = span
    columns = [
        series_column(measurement, None, direction, start, end) for direction in measurement.cluster
    ]
    for host, leaves in measurement.hosts.items():
        columns += [series_column(measurement, host, direction, start, end) for direction in leaves]
    for column in columns:
        bins = measurement.tails(column.host, column.direction)
        values = bins.values(start, end) if bins is not None else [None] * (end - start)
        column.p99_ns = [
            value if known is not None else None
            for value, known in zip(values, column.iops, strict=True)
        ]
        column.printed_ns = _printed(measurement, column, start, end)
    return _trimmed(SeriesRecord(step_s=1.0, start_s=float(start), columns=columns))


def _printed(
    measurement: Measurement, column: SeriesColumns, start: int, end: int
) -> dict[str, list[int | None]]:
    """Return the percentiles that the tool printed for one host, per second.

    Empty for all hosts together, because percentiles cannot be averaged.
    """
    if column.host is None:
        return {}
    leaf = measurement.hosts[column.host][column.direction]
    return {
        name: [values.get(second) for second in range(start, end)]
        for name, values in leaf.printed.items()
    }


def _span(parts: Sequence[SeriesSet]) -> tuple[int, int] | None:
    starts = [part.first_t for part in parts if part.first_t is not None]
    ends = [part.last_t for part in parts if part.last_t is not None]
    return (
        (floor(min(starts)), max(ceil(max(ends)), floor(min(starts)) + 1))
        if starts and ends
        else None
    )


def _trimmed(record: SeriesRecord) -> SeriesRecord | None:
    """Remove seconds without data at both ends; None if nothing is left."""
    known = [
        second
        for second, row in enumerate(zip(*(c.iops for c in record.columns), strict=True))
        if _any(row)
    ]
    if not known:
        return None
    first, end = known[0], known[-1] + 1
    for column in record.columns:
        column.iops, column.bw_bytes_per_s = (
            column.iops[first:end],
            column.bw_bytes_per_s[first:end],
        )
        column.lat_mean_ns, column.p99_ns = column.lat_mean_ns[first:end], column.p99_ns[first:end]
        column.printed_ns = {name: values[first:end] for name, values in column.printed_ns.items()}
    record.start_s += first
    return record


def _any(row: Sequence[float | None]) -> bool:
    return any(value is not None for value in row)


def series_column(
    measurement: Measurement, host: str | None, direction: str, start: int, end: int
) -> SeriesColumns:
    """Return per-second values for a host, or for all hosts together, from `start` to `end`."""
    parts = series_parts(measurement, host, direction)
    rates = {kind: [part.rates(kind, start, end) for part in parts] for kind in KINDS}
    return column_of(host, direction, rates)


def series_parts(measurement: Measurement, host: str | None, direction: str) -> list[SeriesSet]:
    """Return the series of a direction of a host, or of all hosts."""
    leaves = measurement.hosts.values() if host is None else [measurement.hosts[host]]
    return [each[direction].over_time for each in leaves if direction in each]


def column_of(
    host: str | None, direction: str, rates: Mapping[Kind, Sequence[Values]]
) -> SeriesColumns:
    """Return the values of all parts together, from the `rates` of each part by kind."""
    known = covered_seconds(rates["covered"])
    means = quotients(add_values(rates["lat_sum"]), add_values(rates["lat_n"]))
    return SeriesColumns(
        host=host,
        direction=direction,
        iops=_kept(add_values(rates["ios"]), known),
        bw_bytes_per_s=_kept(add_values(rates["bytes"]), known),
        lat_mean_ns=_kept(means, [each and 1.0 for each in known]),
    )


def covered_seconds(covered: Sequence[Values]) -> list[float | None]:
    """Return the divisor for the amounts of each second; None if a host covered only part of the
    second.

    A measurement shorter than one complete second is used as it is.
    """
    seen = [value for column in covered for value in column if value]
    enough = min(WHOLE_S, max(seen, default=WHOLE_S))
    return [
        _divisor([value for value in row if value], enough) for row in zip(*covered, strict=True)
    ]


def _divisor(row: Sequence[float], enough: float) -> float | None:
    """Return the mean coverage of a second over all hosts; None if one of them is below
    `enough`.
    """
    return min(1.0, sum(row) / len(row)) if row and min(row) >= enough else None


def _kept(values: Values, known: Sequence[float | None]) -> Values:
    """Return values per covered second, to six significant digits; more would be noise and double
    the file size.
    """
    return [
        float(f"{value / divisor:.6g}") if value is not None and divisor is not None else None
        for value, divisor in zip(values, known, strict=True)
    ]


def window_rates(
    hosts: Sequence[tuple[SeriesSet, float]], start_t: float, end_t: float
) -> tuple[float, float]:
    """Return IOPS and bytes per second of several hosts between two times, from their samples.

    Each series comes with the time at which its load ended; I/O counted after that time is
    attributed to the load.
    """
    start, end = floor(start_t), ceil(end_t)
    ios = amount = 0.0
    for series, load_end_t in hosts:
        covered = series.rates("covered", start, end)
        rows = zip(
            covered,
            series.rates("ios", start, end),
            series.rates("bytes", start, end),
            strict=True,
        )
        for second, (seen, count, size) in enumerate(rows, start):
            share = _share(seen or 0.0, second, start_t, end_t, load_end_t)
            ios, amount = ios + (count or 0.0) * share, amount + (size or 0.0) * share
    return ios / (end_t - start_t), amount / (end_t - start_t)


def _share(seen: float, second: int, start_t: float, end_t: float, load_end_t: float) -> float:
    """Return the share of a second's count that belongs to the window."""
    busy = min(seen, max(load_end_t - second, 0.0))
    overlap = min(end_t, second + 1) - max(start_t, second)
    return min(1.0, max(0.0, overlap) / busy) if busy > 0 else 0.0


HostDirections = dict[str, DirectionResult]


class StepFigures:
    """Figures of one step: the tool's own results, else figures rebuilt from samples."""

    def __init__(
        self,
        results: dict[str, HostResult],
        measurement: Measurement | None,
        spans: Mapping[str, HostSpan],
        latency_kind: str,
    ) -> None:
        self.results = results
        self.measurement = measurement
        self.spans = spans
        self.latency_kind = latency_kind
        self.rebuilt: set[str] = set()
        self.directions = self._directions()
        self.jobs = self._jobs_of_hosts()

    def _directions(self) -> dict[str, HostDirections]:
        found = {
            host: used_directions(result.dirs)
            for host, result in self.results.items()
            if _did_io(result.dirs)
        }
        sampled = self.measurement.hosts if self.measurement is not None else {}
        for host, leaves in sampled.items():
            if host not in found and (rebuilt := self._rebuilt(leaves)):
                found[host] = rebuilt
                self.rebuilt.add(host)
        return {host: with_mixed(directions) for host, directions in found.items()}

    def _rebuilt(self, leaves: Mapping[str, Leaf]) -> HostDirections:
        return {
            name: rebuild(leaf, kind_of(name, self.latency_kind))
            for name, leaf in leaves.items()
            if leaf.ios
        }

    def _jobs_of_hosts(self) -> dict[str, dict[str, HostDirections]]:
        """Return results by host and job, for hosts with several jobs."""
        found = {
            host: {job: used_directions(dirs) for job, dirs in result.jobs.items()}
            for host, result in self.results.items()
            if len(result.jobs) > 1
        }
        for job, measurement in (
            self.measurement.jobs.items() if self.measurement is not None else ()
        ):
            for host, leaves in measurement.hosts.items():
                if host in self.rebuilt:
                    found.setdefault(host, {})[job] = self._rebuilt(leaves)
        return found

    def record(self) -> ResultsRecord:
        """Return the results of the step for the record."""
        names = dict.fromkeys(
            name for directions in self.directions.values() for name in directions
        )
        return ResultsRecord(
            aggregate={name: self._aggregate(name) for name in in_order(names)},
            per_host={
                host: self._host_record(host, directions)
                for host, directions in self.directions.items()
            },
            per_job=self._per_job(),
            jobs=self._jobs(),
        )

    def _host_record(self, host: str, directions: HostDirections) -> dict[str, DirectionRecord]:
        from_samples = host in self.rebuilt
        return {name: direction_record(result, from_samples) for name, result in directions.items()}

    def _per_job(self) -> dict[str, dict[str, dict[str, DirectionRecord]]] | None:
        per_host = {
            host: {job: self._host_record(host, dirs) for job, dirs in jobs.items()}
            for host, jobs in self.jobs.items()
        }
        return per_host or None

    def _jobs(self) -> dict[str, dict[str, AggregateRecord]] | None:
        """Return results by job, over all hosts that ran it; None if there is only one job."""
        found: dict[str, dict[str, HostDirections]] = {}  # job, direction, host
        for host, jobs in self.jobs.items():
            for job, dirs in jobs.items():
                for name, part in with_mixed(dirs).items():
                    found.setdefault(job, {}).setdefault(name, {})[host] = part
        return {
            job: {name: self._over(dirs[name]) for name in in_order(dirs)}
            for job, dirs in found.items()
        } or None

    def _over(self, parts: Mapping[str, DirectionResult]) -> AggregateRecord:
        """Return the results of one direction over these hosts."""
        whole = direction_record(
            combine_directions(list(parts.values())), any(host in self.rebuilt for host in parts)
        )
        return AggregateRecord(**dict(whole), hosts=list(parts))

    def _aggregate(self, direction: str) -> AggregateRecord:
        parts = {
            host: dirs[direction] for host, dirs in self.directions.items() if direction in dirs
        }
        record = self._over(parts)
        if not any(dirs["read"].apart for dirs in self.directions.values() if "read" in dirs):
            self._add_window(record, direction)  # the window is that of reads and writes
        return record

    def _add_window(self, record: AggregateRecord, direction: str) -> None:
        """Add the common window of the hosts, and the rates in it; nothing if there was none or it
        is unknown.
        """
        if self.measurement is None or any(host not in self.spans for host in record.hosts):
            return
        window = common_window([self.spans[host] for host in record.hosts])
        if window is None:
            return
        series = [
            (leaf.over_time, self.spans[host].end_t)
            for host in record.hosts
            for name, leaf in self.measurement.hosts[host].items()
            if name == direction or (direction == MIXED and name in ("read", "write"))
        ]
        iops, bandwidth = window_rates(series, *window)
        record.interval = TimeSpanRecord(start_s=round(window[0], 3), end_s=round(window[1], 3))
        record.iops_window, record.bw_window_bytes_per_s = round(iops, 3), round(bandwidth, 3)
        record.window_difference = round(iops / record.iops - 1, 6) if record.iops else None


def _did_io(dirs: HostDirections) -> bool:
    return bool(used_directions(dirs))


def used_directions(dirs: HostDirections) -> HostDirections:
    """Return the directions that did I/O; tools also print unused ones, and some imports have only
    rates.
    """
    return {
        name: result
        for name, result in dirs.items()
        if result.ios or result.iops or result.bw_bytes_per_s
    }


def rebuild(leaf: Leaf, latency_kind: str) -> DirectionResult:
    """Rebuild the result of a direction from its samples.

    Counts, mean and maximum are exact; minimum and standard deviation are accurate to half
    the width of a bucket (0.78 %).
    """
    runtime_s = leaf.runtime_s
    result = DirectionResult(
        ios=leaf.ios,
        bytes=leaf.bytes,
        runtime_s=round(runtime_s, 3),
        iops=leaf.ios / runtime_s if runtime_s else 0.0,
        bw_bytes_per_s=leaf.bytes / runtime_s if runtime_s else 0.0,
    )
    latency = _rebuild_latency(leaf)
    if latency_kind == "lat":
        result.lat = latency
    else:
        result.clat = latency
    return result


def _rebuild_latency(leaf: Leaf) -> LatencyResult | None:
    buckets = leaf.so_far.buckets
    if not buckets.idx:  # only means are known: no spread can be derived
        return LatencyResult(0, 0, 0, leaf.so_far_mean_ns, None) if leaf.so_far_mean_ns else None
    count, mean = sum(buckets.n), leaf.so_far_mean_ns or 0.0
    squares = sum(
        n * (index_to_value(index) - mean) ** 2
        for index, n in zip(buckets.idx, buckets.n, strict=True)
    )
    max_ns = leaf.so_far_max or index_to_value(buckets.idx[-1])
    return LatencyResult(
        n=count,
        min_ns=index_to_value(buckets.idx[0]),
        max_ns=max_ns,
        mean_ns=mean,
        stddev_ns=sqrt(squares / (count - 1)) if count > 1 else 0.0,
        percentiles_ns=leaf.so_far.percentiles(PERCENTILES, max_ns),
        buckets=buckets,
    )


def direction_record(result: DirectionResult, from_samples: bool = False) -> DirectionRecord:
    """Return the record of one direction."""
    unknown = "iops" in result.rounded and result.bytes > 0  # 0 bytes: there was no I/O
    return DirectionRecord(
        ios=result.ios,
        bytes=result.bytes,
        runtime_s=result.runtime_s if result.ios else None,
        iops=round(result.iops, 3) if result.iops or (result.runtime_s and not unknown) else None,
        bw_bytes_per_s=(
            round(result.bw_bytes_per_s, 3) if result.runtime_s or result.bw_bytes_per_s else None
        ),
        short_ios=None if from_samples else result.short_ios,
        drop_ios=None if from_samples else result.drop_ios,
        slat=latency_record(result.slat),
        clat=latency_record(result.clat),
        lat=latency_record(result.lat),
        from_samples=from_samples,
        rounded=list(result.rounded),
    )


def latency_record(result: LatencyResult | None) -> LatencyRecord | None:
    """Return the record of one latency kind; None, not 0, without samples."""
    if result is None or (result.n == 0 and not result.mean_ns):
        return None
    return LatencyRecord(
        n=result.n,
        min_ns=result.min_ns if result.n else None,
        max_ns=result.max_ns if result.n else None,
        mean_ns=round(result.mean_ns, 3),
        stddev_ns=(
            None
            if result.stddev_ns is None or isnan(result.stddev_ns)
            else round(result.stddev_ns, 3)
        ),
        percentiles_ns=(percentiles := _percentiles(result)),
        percentiles_behind={name: behind(result.n, float(name)) for name in percentiles},
        histogram=_histogram(result.buckets),
        bucket_width=result.bucket_width,
    )


def _percentiles(result: LatencyResult) -> dict[str, int]:
    """Return the standard percentiles and additional ones that the tool printed, computed from
    buckets if possible.
    """
    if result.buckets is None or not result.buckets.idx:
        return {name: min(value, result.max_ns) for name, value in result.percentiles_ns.items()}
    wanted = sorted({*PERCENTILES, *map(float, result.percentiles_ns)})
    return Histogram.from_buckets(result.buckets).percentiles(wanted, result.max_ns)


def _histogram(buckets: Buckets | None) -> HistogramRecord | None:
    if buckets is None or not buckets.idx:
        return None
    upper_ns = list(buckets.upper_ns) or None
    return HistogramRecord(
        scheme="fio-plat/6x29",
        unit="ns",
        idx=list(buckets.idx),
        n=list(buckets.n),
        upper_ns=upper_ns,
    )

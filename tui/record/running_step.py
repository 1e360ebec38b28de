"""Record of a running step for live checks, built incrementally: nothing is read twice."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from operator import mul
from typing import TypeVar

from msgspec.structs import asdict
from pydantic import PrivateAttr

from tui.journal.measurement import Measurement
from tui.journal.state import RunState
from tui.journal.step import StepState
from tui.journal.telemetry import HostTelemetry
from tui.journal.views import KINDS, Kind, Leaf, Values
from tui.metrics.figures import kind_of
from tui.metrics.registry import BOTH, MIXED, in_order
from tui.metrics.so_far import passed_share, sure_percentile
from tui.metrics.telemetry import TelemetryUnit, metric_of
from tui.model.figure_record import (
    AggregateRecord,
    DirectionRecord,
    LatencyRecord,
    ResultsRecord,
    SeriesColumns,
    SeriesRecord,
)
from tui.model.plan import Plan, Step
from tui.model.step_record import (
    Applies,
    CacheDropRecord,
    HostTelemetryRecord,
    StepRecord,
    TelemetryColumn,
    known_in,
)
from tui.record.figures import column_of, series_parts
from tui.record.step import step_state, task_record, windows_of
from tui.record.timeline import HostSpan, coverage, host_spans, timing_record

T = TypeVar("T")
Sliced = Generator[None, None, T]
"""A generator that works in slices: each `next` does one slice; the return value is the result."""
PARTS_A_SLICE = 64  # series of hosts


def exhaust(work: Sliced[T]) -> T:
    """Exhaust the generator and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the generator returned


LOOK_BACK_S = 300
Key = tuple[str | None, str]


class RunningSeries:
    """Last five minutes of one measurement, including late samples."""

    def __init__(self) -> None:
        self._restart(None)

    def _restart(self, begin: int | None) -> None:
        self._begin = begin  # of the measurement
        self._start = self._end = begin or 0  # of the kept part
        self._columns: dict[Key, SeriesColumns] = {}
        self._read: dict[Key, float] = {}  # each host's samples are complete up to here

    @property
    def from_begin(self) -> bool:
        """Whether the first second of the measurement is still included."""
        return self._start == self._begin

    def record(self, measurement: Measurement) -> Sliced[SeriesRecord | None]:
        """Build the record up to the last second that all reporting hosts have sent.

        None before the first such second. The next call extends the lists in place.
        """
        span, windows = measurement.total.span, measurement.windows.values()
        if span is None or not windows:
            return None
        begin = ceil(min(window.start_t for window in windows))
        if begin != self._begin:  # the ramp took longer than assumed, or the load restarted
            self._restart(begin)
        yield from self._extend(measurement, max(span[1], self._end))
        if self._end == self._start:
            return None
        columns = list(self._columns.values())
        return SeriesRecord.model_construct(step_s=1.0, start_s=float(self._start), columns=columns)

    def _extend(self, measurement: Measurement, end: int) -> Sliced[None]:
        start = max(self._start, min(self._changed_from(measurement), self._end))
        for key in [*((None, name) for name in measurement.cluster), *self._leaves(measurement)]:
            new = yield from _column(measurement, key, start, end)
            column = self._columns.setdefault(key, SeriesColumns(host=key[0], direction=key[1]))
            for values, more in (
                (column.iops, new.iops),
                (column.bw_bytes_per_s, new.bw_bytes_per_s),
                (column.lat_mean_ns, new.lat_mean_ns),
            ):
                del values[start - self._start :]
                values += more
            yield
        self._end = end
        self._forget_old()

    def _leaves(self, measurement: Measurement) -> list[Key]:
        return [(host, name) for host, leaves in measurement.hosts.items() for name in leaves]

    def _changed_from(self, measurement: Measurement) -> int:
        """Return the first second with new data, and mark all data as read."""
        first = self._end
        for host, name in self._leaves(measurement):
            last_t = measurement.hosts[host or ""][name].over_time.last_t
            before = self._read.get((host, name), float(self._start))
            if last_t is not None and last_t != before:
                first = min(first, floor(before) - 1)
                self._read[host, name] = last_t
            if (host, name) not in self._columns:
                first = self._start
        return first

    def _forget_old(self) -> None:
        over = self._end - self._start - LOOK_BACK_S
        if over <= 0:
            return
        for column in self._columns.values():
            for values in (column.iops, column.bw_bytes_per_s, column.lat_mean_ns):
                del values[:over]
        self._start += over


def _column(measurement: Measurement, key: Key, start: int, end: int) -> Sliced[SeriesColumns]:
    """Return the same as `series_column`; for all hosts together, in slices."""
    rates: dict[Kind, list[Values]] = {kind: [] for kind in KINDS}
    for place, part in enumerate(series_parts(measurement, *key), 1):
        for kind, values in rates.items():
            values.append(part.rates(kind, start, end))
        if place % PARTS_A_SLICE == 0:
            yield
    return column_of(*key, rates)


def results_of(series: SeriesRecord, seconds: int, kind: str) -> ResultsRecord:
    """Return rates and mean latencies of the last `seconds` of a series, by direction and host."""
    results = ResultsRecord()
    for column in series.columns:
        found = _mean(column, seconds, kind)
        if found is None:
            continue
        if column.host is None:
            results.aggregate[column.direction] = AggregateRecord(**dict(found), hosts=[])
        else:
            results.per_host.setdefault(column.host, {})[column.direction] = found
    return results


def _mean(column: SeriesColumns, seconds: int, kind: str) -> DirectionRecord | None:
    rows = zip(
        column.iops[-seconds:],
        column.bw_bytes_per_s[-seconds:],
        column.lat_mean_ns[-seconds:],
        strict=True,
    )
    known = [(iops, bw or 0.0, lat) for iops, bw, lat in rows if iops is not None]
    if not known:
        return None
    ios, amount = sum(iops for iops, _, _ in known), sum(bw for _, bw, _ in known)
    timed = [(iops, lat) for iops, _, lat in known if lat is not None]
    count = sum(iops for iops, _ in timed)
    latency = None
    if count:
        mean_ns = sum(iops * lat for iops, lat in timed) / count
        latency = LatencyRecord(n=round(count), mean_ns=mean_ns)
    record = DirectionRecord(ios=round(ios), bytes=round(amount), runtime_s=float(len(known)))
    record.iops, record.bw_bytes_per_s = ios / len(known), amount / len(known)
    record.lat, record.clat = (
        (latency, None) if kind_of(column.direction, kind) == "lat" else (None, latency)
    )
    return record


@dataclass(slots=True)
class ColumnSum:
    """Sums of one telemetry column; each value counts once."""

    unit: TelemetryUnit
    until_t: float
    weight: float = 0.0
    weighted: float = 0.0
    total: float = 0.0
    highest: float | None = None
    same: float | None = None  # the value, while all are equal

    def add(self, values: Sequence[float], seconds: Sequence[float]) -> None:
        """Add values, with the seconds that each covers."""
        weighted = sum(map(mul, values, seconds))
        if weighted != weighted:  # some are unknown
            known = [
                (value, weight)
                for value, weight in zip(values, seconds, strict=True)
                if value == value
            ]
            values, seconds = [value for value, _ in known], [weight for _, weight in known]
            weighted = sum(map(mul, values, seconds))
        if values:
            low, high = min(values), max(values)
            self.same = high if low == high and (not self.weight or self.same == high) else None
            self.weight, self.weighted = self.weight + sum(seconds), self.weighted + weighted
            self.total += sum(values)
            self.highest = high if self.highest is None else max(self.highest, high)

    def column(self, name: str) -> TelemetryColumn:
        """Return mean and maximum so far; for a count, its sum.

        An id has neither; it has a value only if it never changed.
        """
        if self.unit == "id" or not self.weight:
            return TelemetryColumn(
                name=name, unit=self.unit, constant=self.same if self.unit == "id" else None
            )
        mean = self.total if self.unit == "count" else self.weighted / self.weight
        return TelemetryColumn(name=name, unit=self.unit, mean=mean, max=self.highest)


Sums = dict[str, ColumnSum]


@dataclass(slots=True)
class TelemetryReading:
    """One reading of a host's telemetry: columns since `start_t`, and the sums carried from reading
    to reading.
    """

    seen: HostTelemetry
    start_t: float
    sums: Sums
    made: dict[str, TelemetryColumn] = field(default_factory=dict)
    # new rows, by the time up to which a column was read
    _new: dict[float, tuple[int, int, list[float]]] = field(default_factory=dict)

    def column(self, name: str) -> TelemetryColumn:
        """Return a column as of this reading."""
        made = self.made.get(name)
        if made is None:
            sums = self.sums.get(name)
            if sums is None:
                sums = self.sums[name] = ColumnSum(metric_of(name).unit, self.start_t)
            first, end, seconds = self._rows(sums.until_t)
            if first < end:
                sums.add(self.seen.columns[name][first:end], seconds)
                sums.until_t = self.seen.end_t[end - 1]
            made = self.made[name] = sums.column(name)
        return made

    def seconds_where(self, columns: Sequence[str], applies: Applies) -> float:
        """Return for how many seconds a condition applied, as of this reading."""
        held = self.sums.setdefault(" ".join(columns), ColumnSum("count", self.start_t))
        first, end, seconds = self._rows(held.until_t)
        values = {each: self.seen.columns[each] for each in columns if each in self.seen.columns}
        for row in range(first, end):
            if applies(known_in(values, row)):
                held.weight += seconds[row - first]
            held.until_t = self.seen.end_t[row]
        return held.weight

    def _rows(self, until_t: float) -> tuple[int, int, list[float]]:
        """Return first and end of the rows that end after a time, without leading quiet rows, and
        the seconds of each row since `start_t`.
        """
        found = self._new.get(until_t)
        if found is None:
            seen, end = self.seen, len(self.seen.end_t)
            first = bisect_right(seen.end_t, until_t)
            while first < end and seen.quiet[first]:
                first += 1
            rows = range(first, end)
            seconds = [min(seen.interval_s[row], seen.end_t[row] - self.start_t) for row in rows]
            found = self._new[until_t] = (first, end, seconds)
        return found


class RunningTelemetry(HostTelemetryRecord):
    """Telemetry of one host so far.

    The `values` of its columns are empty; call `values_of`.
    """

    _reading: TelemetryReading = PrivateAttr()

    @classmethod
    def of(cls, seen: HostTelemetry, start_s: float | None, sums: Sums) -> RunningTelemetry:
        """Return the telemetry since `start_s`; without columns if `start_s` is None, because the
        host is not measuring.

        `sums` come from the previous reading and are extended.
        """
        made = cls(
            host=seen.host,
            role=seen.role,
            start_s=start_s,
            end_s=seen.end_t[-1] if seen.end_t else start_s,
            quiet=sum(seen.quiet),
            devices=seen.devices,
            unknown=seen.unknown,
        )
        made._reading = TelemetryReading(seen, start_s or 0.0, sums)
        return made

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return list(self._reading.seen.columns)

    def column(self, name: str) -> TelemetryColumn | None:
        """Return a column with mean and maximum; None if the host did not report it."""
        reading = self._reading
        return (
            reading.column(name)
            if name in reading.seen.columns and self.start_s is not None
            else None
        )

    def values_of(self, name: str) -> list[float | None]:
        """Return the values of a column over time, as far back as they are kept."""
        seen = self._reading.seen
        return seen.values(name) if name in seen.columns else []

    @property
    def ends_s(self) -> Sequence[float]:
        """Ends of the intervals that are kept, in seconds of run time."""
        return self._reading.seen.end_t

    def seconds_where(self, columns: Sequence[str], applies: Applies) -> float:
        """Return for how many seconds so far a condition on columns applied: each row is read once,
        so the condition must always be the same for these columns.
        """
        if self.start_s is None:
            return 0.0
        return self._reading.seconds_where(columns, applies)


LATELY_S = 10
PERCENTILES_EVERY_S = 30.0


class RunningStep:
    """Builds the record of one attempt of one step while it runs."""

    def __init__(self, plan: Plan, step: Step) -> None:
        self.plan = plan
        self.step = step
        self.kind = plan.latency_kind_of(step)
        self.series, self.results = RunningSeries(), RunningResults(self.kind, step.runtime_s)
        self._sums: dict[str, tuple[float, Sums]] = {}  # by host: start, and its columns

    def record(self, state: RunState) -> Sliced[StepRecord]:
        """Build the record so far.

        Its `runtime_s` is the time measured so far, not the planned total; None if the step is
        bounded by size.
        """
        seen = state.at_step(self.step.index)
        measurement = seen.measurement
        spans = host_spans(state, self.step.index, seen.results)
        covered = coverage(self.step, state, spans, seen.results)
        results, series = ResultsRecord(), None
        if measurement is not None:
            results = yield from self.results.record(measurement)
            series = yield from self.series.record(measurement)
        measured_s = max(
            (each.runtime_s or 0.0 for each in results.aggregate.values()), default=None
        )
        return StepRecord(
            index=self.step.index,
            name=self.step.name,
            tool=self.step.tool,
            role=self.step.role or None,
            beside=list(self.step.beside),
            together=self.step.together or None,
            # a journal without step events
            state="running" if seen.state == "missing" else step_state(state, seen),
            attempt=seen.attempt,
            warmup=self.step.warmup,
            in_flight=self.step.in_flight,
            requests=self.step.requests,
            cache_drops=[CacheDropRecord(**asdict(each)) for each in seen.cache_drops],
            latency_kind=self.step.latency_kind,
            runtime_s=None if self.step.runtime_s is None else measured_s,
            measured_s=measured_s,
            results=results,
            tasks={
                task.host: task_record(
                    seen, task, spans.get(task.host), seen.results.get(task.host)
                )
                for task in self.step.tasks
            },
            timing=timing_record(spans),
            coverage=covered,
            series=series,
            telemetry=self._telemetry(seen, spans),
        )

    def recent(self, state: RunState, record: StepRecord) -> StepRecord:
        """Return the record with figures and telemetry of the last LATELY_S seconds only."""
        start_s, results = state.clock.now - LATELY_S, ResultsRecord()
        if record.series is not None:
            results = results_of(record.series, LATELY_S, self.kind)
        measuring = [each for each in record.telemetry if each.start_s is not None]
        seen = state.at_step(self.step.index).telemetry
        telemetry = [
            RunningTelemetry.of(seen[each.host], max(each.start_s or 0.0, start_s), {})
            for each in measuring
        ]
        return record.model_copy(update={"results": results, "telemetry": telemetry})

    def _telemetry(self, seen: StepState, spans: dict[str, HostSpan]) -> list[HostTelemetryRecord]:
        found: list[HostTelemetryRecord] = []
        for host, window in windows_of(seen, spans, self.step.hosts):
            start_s = window[0] if window is not None else None
            since_s, sums = self._sums.get(host.host, (None, {}))
            if start_s is not None and since_s != start_s:
                sums = {}
                self._sums[host.host] = (start_s, sums)
            found.append(RunningTelemetry.of(host, start_s, sums))
        return found


class RunningResults:
    """Figures of a step so far.

    A host's percentiles are updated every 30 s only, because they scan a whole histogram.
    """

    def __init__(self, kind: str, runtime_s: float | None = None) -> None:
        self.kind, self.runtime_s = kind, runtime_s
        self._percentiles: dict[tuple[str, str], dict[str, int]] = {}
        self._percentiles_t = float("-inf")

    def record(self, measurement: Measurement) -> Sliced[ResultsRecord]:
        """Compute the figures by host and over all hosts; the only percentiles per host are p99
        and a lower bound of the final p99.
        """
        per_host: dict[str, dict[str, DirectionRecord]] = {}
        anew = measurement.clock.now - self._percentiles_t >= PERCENTILES_EVERY_S
        if anew:
            self._percentiles_t = measurement.clock.now
        for host in list(measurement.hosts):
            if dirs := self._host(measurement, host):
                per_host[host] = dirs
                self._add_percentiles(measurement, host, dirs, anew=anew)
            yield
        names = in_order(dict.fromkeys(name for dirs in per_host.values() for name in dirs))
        parts = {name: [dirs[name] for dirs in per_host.values() if name in dirs] for name in names}
        aggregate = {name: _together(each, name, self.kind) for name, each in parts.items()}
        return ResultsRecord(aggregate=aggregate, per_host=per_host)

    def _add_percentiles(
        self,
        measurement: Measurement,
        host: str,
        dirs: Mapping[str, DirectionRecord],
        *,
        anew: bool,
    ) -> None:
        for name, record in dirs.items():
            if anew:
                sure = sure_percentile(99.0, passed_share(record.runtime_s, self.runtime_s))
                self._percentiles[host, name] = _percentiles(measurement, host, name, (99.0, sure))
            latency = record.lat or record.clat
            if latency is not None:
                latency.percentiles_ns |= self._percentiles.get((host, name), {})

    def _host(self, measurement: Measurement, host: str) -> dict[str, DirectionRecord]:
        leaves = measurement.hosts[host]
        dirs = {
            name: _direction(leaf, kind_of(name, self.kind))
            for name, leaf in leaves.items()
            if leaf.ios
        }
        if {"read", "write"} <= dirs.keys() and BOTH not in dirs:
            dirs[MIXED] = _together([dirs["read"], dirs["write"]], MIXED, self.kind)
        return dirs


def _percentiles(
    measurement: Measurement, host: str, name: str, wanted: tuple[float, ...]
) -> dict[str, int]:
    leaves = measurement.hosts[host]
    view = measurement.total_of(host) if name == MIXED and MIXED not in leaves else leaves[name]
    if name not in (BOTH, MIXED) and {"read", "write"} <= leaves.keys():
        return {}  # with both directions, compare hosts by the sum
    return view.so_far.percentiles([each for each in wanted if each])


def _direction(leaf: Leaf, kind: str) -> DirectionRecord:
    record = DirectionRecord(
        ios=leaf.ios, bytes=leaf.bytes, runtime_s=leaf.runtime_s, from_samples=True
    )
    if leaf.runtime_s:
        record.iops, record.bw_bytes_per_s = leaf.ios / leaf.runtime_s, leaf.bytes / leaf.runtime_s
    if count := leaf.so_far.total:
        latency = LatencyRecord(n=count, max_ns=leaf.so_far_max, mean_ns=leaf.lat_sum_ns / count)
        record.lat, record.clat = (latency, None) if kind == "lat" else (None, latency)
    return record


def _together(parts: list[DirectionRecord], name: str, kind: str) -> AggregateRecord:
    record = AggregateRecord(
        ios=sum(part.ios for part in parts),
        bytes=sum(part.bytes for part in parts),
        runtime_s=max(part.runtime_s or 0.0 for part in parts),
        iops=sum(part.iops or 0.0 for part in parts),
        bw_bytes_per_s=sum(part.bw_bytes_per_s or 0.0 for part in parts),
        hosts=[],
        from_samples=True,
    )
    timed = [each for part in parts if (each := part.lat or part.clat) is not None]
    if count := sum(each.n for each in timed):
        mean_ns = sum(each.n * (each.mean_ns or 0.0) for each in timed) / count
        latency = LatencyRecord(n=count, mean_ns=mean_ns)
        record.lat, record.clat = (
            (latency, None) if kind_of(name, kind) == "lat" else (None, latency)
        )
    return record

"""Values over time of a step that goes on, as its record will have them: only what is new is read."""

from __future__ import annotations

from math import ceil, floor

from tui.journal.measurement import Measurement
from tui.metrics.figures import kind_of
from tui.model.step_record import (
    AggregateRecord,
    DirectionRecord,
    LatencyRecord,
    ResultsRecord,
    SeriesColumns,
    SeriesRecord,
)
from tui.results.record.columns import series_column
from tui.results.slices import Sliced

LOOK_BACK_S = 300
Key = tuple[str | None, str]


class RunningSeries:
    """The newest five minutes of one measurement. Samples that come late are put in their place."""

    def __init__(self) -> None:
        self._restart(None)

    def _restart(self, begin: int | None) -> None:
        self._begin = begin  # of the measurement
        self._start = self._end = begin or 0  # of what is kept
        self._columns: dict[Key, SeriesColumns] = {}
        self._read: dict[Key, float] = {}  # until when the samples of a host are in

    @property
    def from_begin(self) -> bool:
        """Whether the first second of the measurement is still there."""
        return self._start == self._begin

    def record(self, measurement: Measurement) -> Sliced[SeriesRecord | None]:
        """Work out what is known up to the last second that every host which reports has told; None: nothing yet.

        The lists grow with the next call.
        """
        span, windows = measurement.total.span, measurement.windows.values()
        if span is None or not windows:
            return None
        begin = ceil(min(window.start_t for window in windows))
        if begin != self._begin:  # the ramp was longer than it seemed, or a load began again
            self._restart(begin)
        yield from self._extend(measurement, max(span[1], self._end))
        if self._end == self._start:
            return None
        columns = list(self._columns.values())
        return SeriesRecord.model_construct(step_s=1.0, start_s=float(self._start), columns=columns)

    def _extend(self, measurement: Measurement, end: int) -> Sliced[None]:
        start = max(self._start, min(self._changed_from(measurement), self._end))
        for key in [*((None, name) for name in measurement.cluster), *self._leaves(measurement)]:
            new = series_column(measurement, *key, start, end)
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
        """Return the first second of which there is something new; what is new is taken as read."""
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
    rows = zip(column.iops[-seconds:], column.bw_bytes_per_s[-seconds:], column.lat_mean_ns[-seconds:], strict=True)
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
    record.lat, record.clat = (latency, None) if kind_of(column.direction, kind) == "lat" else (None, latency)
    return record

"""Values over time for the record: equal steps of a second, null where nothing is known."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from tui.journal.measurement import Measurement
from tui.journal.views import SeriesSet, Values, values_over_time
from tui.model.step_record import SeriesColumns, SeriesRecord

WHOLE_S = 0.9  # a second of which less was seen is unknown


def series_record(measurement: Measurement) -> SeriesRecord | None:
    """Return the columns of a measurement, cluster first; None when it has no samples.

    A second that was not seen whole is unknown: at its edges a measurement starts up and runs out.
    """
    span = _span([leaf.over_time for leaves in measurement.hosts.values() for leaf in leaves.values()])
    if span is None:
        return None
    start, end = span
    columns = [series_column(measurement, None, direction, start, end) for direction in measurement.cluster]
    for host, leaves in measurement.hosts.items():
        columns += [series_column(measurement, host, direction, start, end) for direction in leaves]
    for column in columns:
        bins = measurement.tails.get((column.host, column.direction))
        values = bins.values(start, end) if bins is not None else [None] * (end - start)
        column.p99_ns = [value if known is not None else None for value, known in zip(values, column.iops, strict=True)]
        column.printed_ns = _printed(measurement, column, start, end)
    return _trimmed(SeriesRecord(step_s=1.0, start_s=float(start), columns=columns))


def _printed(measurement: Measurement, column: SeriesColumns, start: int, end: int) -> dict[str, list[int | None]]:
    """Return the percentiles that the tool of one host printed; of all hosts together there are none."""
    if column.host is None:
        return {}
    leaf = measurement.hosts[column.host][column.direction]
    return {name: [values.get(second) for second in range(start, end)] for name, values in leaf.printed.items()}


def _span(parts: Sequence[SeriesSet]) -> tuple[int, int] | None:
    starts = [part.first_t for part in parts if part.first_t is not None]
    ends = [part.last_t for part in parts if part.last_t is not None]
    return (floor(min(starts)), max(ceil(max(ends)), floor(min(starts)) + 1)) if starts and ends else None


def _trimmed(record: SeriesRecord) -> SeriesRecord | None:
    """Return the record without the seconds at its ends of which nothing is known."""
    known = [second for second, row in enumerate(zip(*(c.iops for c in record.columns), strict=True)) if _any(row)]
    if not known:
        return None
    first, end = known[0], known[-1] + 1
    for column in record.columns:
        column.iops, column.bw_bytes_per_s = column.iops[first:end], column.bw_bytes_per_s[first:end]
        column.lat_mean_ns, column.p99_ns = column.lat_mean_ns[first:end], column.p99_ns[first:end]
        column.printed_ns = {name: values[first:end] for name, values in column.printed_ns.items()}
    record.start_s += first
    return record


def _any(row: Sequence[float | None]) -> bool:
    return any(value is not None for value in row)


def series_column(measurement: Measurement, host: str | None, direction: str, start: int, end: int) -> SeriesColumns:
    """Return the values of a host, or of all together, of each second from `start` to `end`."""
    leaves = measurement.hosts.values() if host is None else [measurement.hosts[host]]
    parts = [each[direction].over_time for each in leaves if direction in each]
    known = whole_seconds([part.covered.rates(start, end) for part in parts])
    return SeriesColumns(
        host=host,
        direction=direction,
        iops=_kept(values_over_time(parts, "iops", start, end), known),
        bw_bytes_per_s=_kept(values_over_time(parts, "bandwidth", start, end), known),
        lat_mean_ns=_kept(values_over_time(parts, "latency", start, end), [each and 1.0 for each in known]),
    )


def whole_seconds(covered: Sequence[Values]) -> list[float | None]:
    """Return by what to divide the amounts of each second, None where some host was seen for a part of it only.

    A measurement too short for one whole second is taken as it is.
    """
    seen = [value for column in covered for value in column if value]
    enough = min(WHOLE_S, max(seen, default=WHOLE_S))
    return [_divisor([value for value in row if value], enough) for row in zip(*covered, strict=True)]


def _divisor(row: Sequence[float], enough: float) -> float | None:
    """Return the mean of what was seen of a second."""
    return min(1.0, sum(row) / len(row)) if row and min(row) >= enough else None


def _kept(values: Values, known: Sequence[float | None]) -> Values:
    """Return values per second seen, six significant digits: more is noise, and half of the file."""
    return [
        float(f"{value / divisor:.6g}") if value is not None and divisor is not None else None
        for value, divisor in zip(values, known, strict=True)
    ]


def window_rates(hosts: Sequence[tuple[SeriesSet, float]], start_t: float, end_t: float) -> tuple[float, float]:
    """Return IOPS and bytes per second of several hosts between two times, from their samples.

    Each series comes with the time when its load ended: what was counted after that belongs before it.
    """
    start, end = floor(start_t), ceil(end_t)
    ios = amount = 0.0
    for series, load_end_t in hosts:
        covered = series.covered.rates(start, end)
        rows = zip(covered, series.ios.rates(start, end), series.bytes.rates(start, end), strict=True)
        for second, (seen, count, size) in enumerate(rows, start):
            share = _share(seen or 0.0, second, start_t, end_t, load_end_t)
            ios, amount = ios + (count or 0.0) * share, amount + (size or 0.0) * share
    return ios / (end_t - start_t), amount / (end_t - start_t)


def _share(seen: float, second: int, start_t: float, end_t: float, load_end_t: float) -> float:
    """Return which part of what was counted in a second falls into the window."""
    busy = min(seen, max(load_end_t - second, 0.0))
    overlap = min(end_t, second + 1) - max(start_t, second)
    return min(1.0, max(0.0, overlap) / busy) if busy > 0 else 0.0

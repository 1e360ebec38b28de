"""Import saved fio logs: bandwidth, IOPS and latencies per I/O or interval, histograms per
interval.

A row is ``msec, value, direction, block size[, offset, ...]``: bandwidth in KiB/s, latencies in ns;
the block size of an interval is 0. A histogram row has no value, and ends with the counts of all
buckets since the previous row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, nan
from statistics import median

from tui.metrics.histogram import PERCENTILES, PLAT_BUCKETS, Histogram, index_to_value
from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    Sample,
)
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput, KeptFile, KeptLog
from tui.workloads.reading import numbered

NAME = re.compile(
    r"(?P<stem>.+?)_(?P<kind>bw|iops|slat|clat_hist|clat|lat)(?:\.(?P<job>\d+))?\.log(?:\.(?P<host>.+))?"
)
# end of the names that fio-plot's bench-fio gives to the logs and results of a point
OF_SWEEP = re.compile(r"-iodepth-(\d+)-numjobs-(\d+)$")
ROW = re.compile(r"\d+, *(?:\d+, *[0-2]|[0-2], *\d+), *\d+\b.*")
DIRECTIONS = ("read", "write", "trim")
# kinds of logs that may have a row per I/O: any gives the counts, the first two also latencies
EACH_IO = ("clat", "lat", "bw", "iops")
EPOCH_MS = 10**11  # log_unix_epoch: later than that is a time of day
ROUNDED = ("ios", "bytes", "iops", "bw_bytes_per_s", "clat")
MOST_S = 10**6
LATE = 1.5  # of the usual distance between rows: longer is a gap
MOST = 2**64  # fio counts in 64 bits


@dataclass(slots=True)
class LogSecond:
    """One direction in one second.

    `waited` is a weighted sum of mean latencies; `weight` is the sum of the weights.
    """

    ios: float = 0.0
    bytes: float = 0.0
    waited: float = 0.0
    weight: float = 0.0
    histogram: Histogram = field(default_factory=Histogram)


Row = tuple[int, ...]
Seconds = dict[tuple[str, int], LogSecond]  # by direction and second


def kept_logs(files: Sequence[KeptFile]) -> list[KeptLog]:
    """Return the results of logs, one per name and host.

    Raises UsageError with the line of an invalid row.
    """
    groups: dict[tuple[str, str], list[tuple[str, KeptFile]]] = {}
    for file in files:
        match = NAME.fullmatch(file.name.rpartition("/")[2])
        if match and (not file.text or ROW.match(file.text)):
            stem = OF_SWEEP.sub(r"-\1-\2", match["stem"])
            groups.setdefault((stem, match["host"] or ""), []).append((match["kind"], file))
    return [
        log for (stem, host), logs in groups.items() if (log := _log(stem, host, logs)) is not None
    ]


def _log(stem: str, host: str, logs: Sequence[tuple[str, KeptFile]]) -> KeptLog | None:
    rows = [(kind, rows_of(file, histogram=kind == "clat_hist")) for kind, file in logs]
    told = [(kind, each) for kind, each in rows if each]
    if not told:
        return None
    begun_ms = min(begin_of(each) for _, each in told)
    seconds: Seconds = {}
    each_io = next(
        (kind for kind in EACH_IO for other, each in told if kind == other and each[0][3]), None
    )
    length_ms = _covered(told, each_io is not None) - begun_ms
    for kind, each in told:
        if kind == "clat_hist":
            _add_histograms(seconds, each, begun_ms)
        elif each[0][3] and kind == each_io:
            _add_each(seconds, each, begun_ms, timed=kind in ("clat", "lat"))
        elif not each[0][3] and kind != "slat":
            mean = (
                "clat" if kind == "lat" and not any(other == "clat" for other, _ in told) else kind
            )
            _add_intervals(seconds, each, begun_ms, length_ms, mean)
    samples = list(_samples(seconds, begun_ms, length_ms))
    result = _result(seconds, length_ms / 1000, begun_ms, exact=each_io is not None)
    output = ImportedOutput(0, stem, result, host, samples=samples)
    return KeptLog(stem, output, [file for _, file in logs]) if result.dirs else None


def begin_of(rows: Sequence[Row]) -> int:
    """Return the time of day in ms at which a log begins; 0 if its times are relative.

    An interval's row has the time at which the interval ends.
    """
    first = rows[0]
    if first[0] <= EPOCH_MS:
        return 0
    usual = 0.0 if first[3] else _usual_ms(rows)
    return first[0] - (round(usual) if usual < inf else 0)


def _covered(told: Sequence[tuple[str, Sequence[Row]]], each_io: bool) -> int:
    """Return the time in ms up to which all logs have data; fio drops the interval in which a job
    ended.

    The end of the longest log if each row is one I/O, or logs end more than two intervals apart.
    """
    rates = [rows for kind, rows in told if kind in ("iops", "bw")] or [rows for _, rows in told]
    ends = [rows[-1][0] for rows in rates]
    steps = [
        later[0] - row[0] for rows in rates for row, later in pairwise(rows) if later[0] > row[0]
    ]
    apart = max(ends) - min(ends)
    return max(ends) if each_io or apart > 2 * min(steps, default=0) else min(ends)


def rows_of(file: KeptFile, *, histogram: bool = False) -> list[Row]:
    """Return the rows of a log, ordered by time. Raises UsageError with the line of an invalid
    one.
    """
    found: list[Row] = []
    for number, line in numbered(file.text, file.place):
        words = [word for word in line.replace(" ", "").split(",") if word]
        try:
            row = tuple(int(word, 0) for word in (words if histogram else words[:4]))
        except ValueError:
            row = ()
        if (
            len(row) < 4
            or not 0 <= row[1 if histogram else 2] < len(DIRECTIONS)
            or min(row) < 0
            or max(row) >= MOST
        ):
            needed = (
                "msec, direction, block size, counts"
                if histogram
                else "msec, value, direction, block size"
            )
            message = f"found '{line.strip()[:40]}'; a row of a fio log has {needed}"
            raise UsageError([Problem(message, file=file.place, line=number)])
        found.append(row if not histogram else (row[0], 0, *row[1:]))
    found.sort(key=lambda row: row[0])
    if found and found[-1][0] - found[0][0] > MOST_S * 1000:
        raise UsageError(
            [
                Problem(
                    f"rows span more than {MOST_S // 86400} days; expected the rows of one run",
                    file=file.place,
                    line=len(found),
                )
            ]
        )
    return found


def _second(seconds: Seconds, row: Row, at_ms: float) -> LogSecond:
    return seconds.setdefault((DIRECTIONS[row[2]], int(max(at_ms, 0) // 1000)), LogSecond())


def _add_each(seconds: Seconds, rows: Sequence[Row], begun_ms: int, *, timed: bool) -> None:
    """Add I/Os from a log with one row per I/O."""
    for row in rows:
        second = _second(seconds, row, row[0] - begun_ms)
        second.ios += 1
        second.bytes += row[3]
        if timed:
            second.histogram.record(row[1])
            second.waited, second.weight = second.waited + row[1], second.weight + 1


def _intervals(rows: Sequence[Row], begun_ms: int) -> Iterator[tuple[Row, float, float]]:
    """Yield each row with start and end of its interval, in ms since the start of the load.

    fio writes no row for an interval without I/O (stat.c, __add_samples); an interval after a gap
    has the usual length.
    """
    usual = _usual_ms(rows)
    before: dict[int, float] = {}
    for row in rows:
        end = row[0] - begun_ms
        start = min(before.get(row[2], 0.0), end)
        yield row, start if end - start <= LATE * usual else end - usual, end
        before[row[2]] = end


def _usual_ms(rows: Sequence[Row]) -> float:
    """Return the median distance in ms between rows of one direction; infinite for a single row."""
    steps: list[float] = []
    for direction in {row[2] for row in rows}:
        ends = [row[0] for row in rows if row[2] == direction]
        steps += [later - end for end, later in pairwise(ends) if later > end]
    return median(steps) if steps else inf


def _add_intervals(
    seconds: Seconds, rows: Sequence[Row], begun_ms: int, length_ms: int, kind: str
) -> None:
    """Spread interval values over their seconds, up to the end of the shortest log."""
    for row, start, over in _intervals(rows, begun_ms):
        at, end = start, min(over, length_ms)
        while at < end:
            until = min(end, (at // 1000 + 1) * 1000)
            second, share = _second(seconds, row, at), (until - at) / 1000
            if kind == "iops":
                second.ios += row[1] * share
            elif kind == "bw":
                second.bytes += row[1] * 1024 * share
            elif kind == "clat":
                second.waited, second.weight = second.waited + row[1] * share, second.weight + share
            at = until


def _add_histograms(seconds: Seconds, rows: Sequence[Row], begun_ms: int) -> None:
    """Add each histogram to the second at the middle of its interval.

    Coarse buckets count at the middle of their group.
    """
    for row, start, end in _intervals(rows, begun_ms):
        coarse = max(1, PLAT_BUCKETS // max(1, len(row) - 4))
        second = _second(seconds, row, (start + end) / 2)
        counts = {
            place * coarse + coarse // 2: count for place, count in enumerate(row[4:]) if count
        }
        second.histogram.merge(Histogram(counts))


def _samples(seconds: Seconds, begun_ms: int, end_ms: int) -> Iterator[Sample]:
    """Yield one sample per second; if only means are known, one bucket contains all I/Os."""
    for second in sorted({second for _, second in seconds}):
        until_ms = min((second + 1) * 1000, max(end_ms, second * 1000 + 1))
        dirs = {
            name: _sample(seconds[name, second]) for name in DIRECTIONS if (name, second) in seconds
        }
        length_s = (until_ms - second * 1000) / 1000
        yield Sample(
            t=0.0,
            host="",
            step=0,
            phase="measure",
            host_time_ms=begun_ms + until_ms,
            interval_s=length_s,
            dirs=dirs,
        )


def _sample(told: LogSecond) -> DirectionSample:
    ios, mean = round(told.ios), told.waited / told.weight if told.weight else None
    if told.histogram:
        count = told.histogram.total
        return DirectionSample(
            ios or count, round(told.bytes), round((mean or 0.0) * count), 0, told.histogram.buckets
        )
    if mean is None or not ios:
        return DirectionSample(ios, round(told.bytes))
    return DirectionSample(ios, round(told.bytes), round(mean * ios), 0, Buckets([0], [ios]))


def _result(seconds: Seconds, length_s: float, begun_ms: int, *, exact: bool) -> HostResult:
    """Return the total over all logs; with interval logs, counts are only as exact as the rates."""
    parts: dict[str, list[LogSecond]] = {}
    for (name, _), second in seconds.items():
        parts.setdefault(name, []).append(second)
    dirs = {
        name: _direction(parts[name], length_s, exact=exact) for name in DIRECTIONS if name in parts
    }
    end_ms = round(begun_ms + length_s * 1000) if begun_ms else None
    used = {name: part for name, part in dirs.items() if part.ios}
    return HostResult(t=0.0, host="", step=0, dirs=used, end_ms=end_ms)


def _direction(parts: Sequence[LogSecond], length_s: float, *, exact: bool) -> DirectionResult:
    histogram = Histogram()
    for part in parts:
        histogram.merge(part.histogram)
    ios = round(sum(part.ios for part in parts)) or histogram.total
    moved = round(sum(part.bytes for part in parts))
    rate = length_s or 1.0
    result = DirectionResult(
        ios, moved, length_s, ios / rate, moved / rate, rounded=[] if exact else list(ROUNDED)
    )
    result.clat = _latency(parts, histogram)
    if result.clat is None and "clat" in result.rounded:
        result.rounded.remove("clat")
    return result


def _latency(parts: Sequence[LogSecond], histogram: Histogram) -> LatencyResult | None:
    weight = sum(part.weight for part in parts)
    mean = sum(part.waited for part in parts) / weight if weight else nan
    if not histogram:
        return LatencyResult(0, 0, 0, mean, nan) if weight else None
    buckets = histogram.buckets
    low, high = (index_to_value(index) for index in (buckets.idx[0], buckets.idx[-1]))
    return LatencyResult(
        histogram.total, low, high, mean, nan, histogram.percentiles(PERCENTILES), buckets
    )

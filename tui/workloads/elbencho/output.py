"""Parse elbencho's output: rows of live statistics become samples, a JSON object per phase becomes
its result.

Rows are means over their interval. The last, shorter interval of a phase has no row, and a phase
shorter than one interval has none: the difference between the object and the rows becomes one more
sample. Latencies are in whole microseconds.

Latency histograms: before 2026-08-26 (breuner/elbencho#116) buckets were quarter powers of two of a
microsecond, 19 % wide; since then they are about 1 % wide. The bucket edges show which. Percentiles
are upper edges, as elbencho prints them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from msgspec import Struct, field

from tui.metrics.buckets import value_to_index
from tui.metrics.histogram import Histogram
from tui.model.event import Buckets, DirectionResult, DirectionSample, LatencyResult
from tui.workloads.elbencho.options import MIXED, phase_of

HEADER = "ISO Date,"
ALL_THREADS = "Total"
BUCKET = "bucket"  # path type of a command on objects
MIX = {"Write": "write", "Read": "read"}
US = 1000  # ns
CUT_S = 0.002  # rates are cut to whole numbers, times to ms
Row = Mapping[str, str]
RANGE = re.compile(r"([\d.]+)-([\d.]+) ?(us|ms|s)")
UNIT_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
QUARTER = 2**0.25
QUARTERS = frozenset(
    f"{edge:.{1 if edge < 10 else 0}f}"
    for edge in (QUARTER**power for power in range(1, 4 * 28 + 1))
)


class RunningTotals(Struct):
    """Running totals of one direction: I/Os or entries, bytes, and the sum of latencies in ns."""

    ios: int = 0
    bytes: int = 0
    lat_sum_ns: int = 0

    def since(self, before: RunningTotals, lat_max_ns: int = 0) -> DirectionSample:
        """Return the increase since `before`, never negative."""
        ios, moved = max(self.ios - before.ios, 0), max(self.bytes - before.bytes, 0)
        waited = max(self.lat_sum_ns - before.lat_sum_ns, 0) if ios else 0
        return DirectionSample(ios, moved, waited, lat_max_ns)


class FinishedPhase(Struct):
    """One finished phase from its JSON object. Times are in ms of the host's clock."""

    name: str
    start_ms: int
    end_ms: int
    version: str
    dirs: dict[str, DirectionResult] = field(default_factory=dict)


def columns_of(line: str) -> list[str]:
    """Return the column names in a header line of live statistics."""
    return next(csv.reader([line]))


def row_of(columns: Sequence[str], line: str) -> Row | None:
    """Return a row of live statistics over all threads; None for other lines."""
    words = next(csv.reader([line]), [])
    row = dict(zip(columns, words, strict=False)) if len(words) == len(columns) else {}
    return row if row.get("Rank") == ALL_THREADS and phase_of(row.get("Phase", "")) else None


def stamp_ms(text: str) -> int:
    """Convert a printed date and time to epoch milliseconds. Raises ValueError."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def number(row: Row, name: str) -> int:
    """Return a number from a row. Raises ValueError if it is missing or not a whole number."""
    text = row.get(name, "").strip()
    if not text.isdigit():
        raise ValueError(f"{name}: found '{text}', expected a whole number")
    return int(text)


def counted(
    row: Row,
    before: Mapping[str, RunningTotals],
    interval_s: float,
    block: int | None,
    *,
    objects: bool = False,
) -> dict[str, RunningTotals]:
    """Return the running totals of each direction after a row. Raises ValueError."""
    phase = phase_of(row["Phase"], objects=objects)
    assert phase is not None
    entries = number(row, "Entries")
    if not phase.makes_ios:
        return {
            phase.direction: _grown(
                before.get(phase.direction, RunningTotals()), entries, 0, number(row, "Lat Ent us")
            )
        }
    name = MIX.get(row.get("MixType", ""), phase.direction)
    old, moved = before.get(name, RunningTotals()), number(row, "DoneBytes")
    ios = old.ios + _ios(moved - old.bytes, number(row, "IOPS") * interval_s, block)
    found = {name: _grown(old, ios, moved, number(row, "Lat IO us"))}
    if entries and name == phase.direction:
        files = before.get(phase.files, RunningTotals())
        found[phase.files] = _grown(files, entries, 0, number(row, "Lat Ent us"))
    return found


def _ios(moved: int, by_rate: float, block: int | None) -> int:
    """Return the number of I/Os, from the bytes moved if these are whole blocks, else from the
    truncated rate.
    """
    return moved // block if block and moved % block == 0 else round(by_rate)


def _grown(before: RunningTotals, ios: int, moved: int, mean_us: int) -> RunningTotals:
    return RunningTotals(ios, moved, before.lat_sum_ns + max(ios - before.ios, 0) * mean_us * US)


# -- JSON


def done(value: Mapping[str, Any], block: int | None) -> FinishedPhase | None:
    """Return the phase in a JSON object; None for one that measures nothing. Raises ValueError."""
    name = str(value.get("phase_type", ""))
    last, config = part(value, "last_done"), part(value, "config")
    phase = phase_of(name, objects=config.get("path_type") == BUCKET)
    if phase is None:
        return None
    start_ms, elapsed_ms = (
        stamp_ms(str(value.get("iso_start_date", ""))),
        whole(last, "elapsed_time_ms"),
    )
    version = str(config.get("version", ""))
    found = FinishedPhase(name, start_ms, start_ms + elapsed_ms, version)
    latency = part(last, "latency")
    entries, ios = part(latency, "entries"), part(latency, "IO")
    if not phase.makes_ios:
        found.dirs[phase.direction] = _entries(last, entries, elapsed_ms)
    elif whole(last, "bytes"):
        found.dirs[phase.direction] = _moved(last, ios, part(ios, "histogram"), elapsed_ms, block)
    if phase.makes_ios and whole(last, "entries"):
        found.dirs[phase.files] = _entries(last, entries, elapsed_ms)
    reads, of_reads = part(last, "rwmix_read"), part(part(ios, "histogram"), "rwmix_read")
    if name.startswith(MIXED) and whole(reads, "bytes"):
        found.dirs["read"] = _moved(reads, part(ios, "rwmix_read"), of_reads, elapsed_ms, block)
    return found


def part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a nested object; empty if there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def whole(value: Mapping[str, Any], name: str) -> int:
    """Return a number, which elbencho prints as text; 0 if it is missing. Raises ValueError."""
    text = str(value.get(name, "0"))
    if not text.isdigit():
        raise ValueError(f"{name}: found '{text}', expected a whole number")
    return int(text)


def _moved(
    last: Mapping[str, Any],
    latency: Mapping[str, Any],
    counts: Mapping[str, Any],
    elapsed_ms: int,
    block: int | None,
) -> DirectionResult:
    """Return the I/Os of one direction.

    Their number comes from the histogram, else from the block size, else from the rate.
    """
    moved = whole(last, "bytes")
    seconds = _seconds(moved, whole(last, "bytes/s"), elapsed_ms)
    lat = latency_of(latency, counts)
    ios = lat.n if lat is not None and lat.n else _ios(moved, whole(last, "iops") * seconds, block)
    found = _result(ios, moved, seconds, lat)
    found.iops = _finer(whole(last, "iops"), found.iops, seconds)
    found.bw_bytes_per_s = _finer(whole(last, "bytes/s"), found.bw_bytes_per_s, seconds)
    return found


def _finer(printed: int, made: float, seconds: float) -> float:
    """Return the rate computed from counts, if it agrees with the printed one within truncation;
    else the printed one.
    """
    return (
        made
        if abs(made - printed) <= 1 + printed * CUT_S / seconds or not printed
        else float(printed)
    )


def _entries(
    last: Mapping[str, Any], latency: Mapping[str, Any], elapsed_ms: int
) -> DirectionResult:
    """Return the result of operations on files or directories."""
    count = whole(last, "entries")
    seconds = _seconds(count, whole(last, "entries/s"), elapsed_ms)
    return _result(count, 0, seconds, latency_of(latency, part(latency, "histogram")))


def _result(ios: int, moved: int, seconds: float, lat: LatencyResult | None) -> DirectionResult:
    rates = (ios / seconds, moved / seconds) if seconds else (0.0, 0.0)
    return DirectionResult(ios, moved, seconds, *rates, lat=lat)


def _seconds(amount: int, rate: int, elapsed_ms: int) -> float:
    """Return the duration of a phase: amount / rate, limited to the printed time, which is
    truncated to ms.
    """
    fine = amount / rate if rate else 0.0
    low, high = elapsed_ms / 1000, (elapsed_ms + 1) / 1000
    return round(min(max(fine, low), high) if fine else max(low, 0.001), 6)


def latency_of(latency: Mapping[str, Any], counts: Mapping[str, Any]) -> LatencyResult | None:
    """Return the latencies of a phase; None if not printed, without percentiles if there is no
    histogram.

    Raises ValueError.
    """
    if "avg_us" not in latency:
        return None
    low, mean, high = (whole(latency, name) * US for name in ("min_us", "avg_us", "max_us"))
    printed = counts.get("buckets")
    found = histogram(printed) if isinstance(printed, list) else None
    if found is None:
        return LatencyResult(0, low, high, float(mean), None)
    buckets, width = found
    percentiles = Histogram.from_buckets(buckets).percentiles(at_most=high)
    return LatencyResult(sum(buckets.n), low, high, float(mean), None, percentiles, buckets, width)


def histogram(printed: Iterable[Mapping[str, object]]) -> tuple[Buckets, float] | None:
    """Return buckets and their relative width; None if no bucket has a count.

    Raises ValueError for an invalid range or count.
    """
    rows = [_row(each) for each in printed]
    low: dict[int, int] = {}
    upper: dict[int, int] = {}
    counts: dict[int, int] = {}
    for low_ns, upper_ns, _, count in rows:
        index = value_to_index(upper_ns)
        low[index] = min(low_ns, low.get(index, low_ns))
        upper[index] = max(upper_ns, upper.get(index, 0))
        counts[index] = counts.get(index, 0) + count
    known = sorted(index for index, count in counts.items() if count)
    if not known:
        return None
    buckets = Buckets(known, [counts[index] for index in known], [upper[index] for index in known])
    if all(text in QUARTERS for _, _, text, _ in rows):
        return buckets, round(QUARTER - 1, 6)
    return buckets, _widest(buckets, [low[index] for index in known])


def _row(printed: Mapping[str, object]) -> tuple[int, int, str, int]:
    """Return lower and upper edge in ns, the printed upper edge, and the count."""
    match = RANGE.fullmatch(str(printed.get("range", "")))
    count = str(printed.get("count", ""))
    if match is None or not count.isdigit():
        raise ValueError(f"histogram: found '{printed}', expected a range with a unit, and a count")
    factor = UNIT_NS[match[3]]
    return round(float(match[1]) * factor), round(float(match[2]) * factor), match[2], int(count)


def _widest(buckets: Buckets, low_ns: list[int]) -> float:
    """Return the relative width of the widest bucket at or above the median; edges are in whole
    µs.
    """
    half = sum(buckets.n) / 2
    slow = [at for at, reached in enumerate(accumulate(buckets.n)) if reached >= half]
    return round(max(buckets.upper_ns[at] / max(low_ns[at], 1) - 1 for at in slow), 4)

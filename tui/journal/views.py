"""Live figures of one direction, for one host or several together.

A `Leaf` receives samples; a `Group` is computed from leaves when it is read. Percentiles are
computed when read, once per version: figures that are not on the screen cost nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Literal, NamedTuple, Protocol, TypeVar, get_args

from tui.journal.intervals import Amounts, Clock, Interval, RecentIntervals
from tui.journal.latencies import JointLatencies
from tui.metrics.buckets import SHOWN_PERCENTILES, label
from tui.metrics.figures import marked
from tui.metrics.histogram import Histogram, index_to_value, percentiles_of
from tui.metrics.registry import MetricName
from tui.metrics.series import Parts, RateSeries, parts_of
from tui.model.event import Buckets

FRESH_S = 3.0  # a running host without samples for longer is silent
EDGE_S = 0.05  # a second with a gap up to this is whole
UNKNOWN_PERCENTILES: dict[str, int | None] = dict.fromkeys((*map(label, SHOWN_PERCENTILES), "max"))

Kind = Literal["ios", "bytes", "covered", "lat_sum", "lat_n"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # of which there is one value a second
Values = list[float | None]
T = TypeVar("T")


class Changes:
    """Counts changes to one host's figures, or to all hosts' figures."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class SeriesSet:
    """I/Os, bytes and latencies by second of the run, and the covered part of each second."""

    __slots__ = ("_series", "first_t", "last_t")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all data."""
        self._series = RateSeries()
        self.first_t: float | None = None
        self.last_t: float | None = None

    def rates(self, kind: Kind, start_s: float, end_s: float) -> Values:
        """Return one value per second; None for seconds without an interval."""
        return self._series.rates(start_s, end_s, KINDS.index(kind))

    def add(self, t0: float, t1: float, did: Amounts, parts: Parts | None = None) -> None:
        """Spread an interval over the seconds it covers; `parts`: these seconds, if already
        computed.
        """
        parts = parts_of(t0, t1) if parts is None else parts
        waited_ns = did.lat_sum_ns if did.timed else 0
        self._series.put(parts, (did.ios, did.bytes, t1 - t0, waited_ns, did.timed))
        if self.first_t is None or t0 < self.first_t:
            self.first_t = t0
        if self.last_t is None or t1 > self.last_t:
            self.last_t = t1


def values_over_time(
    parts: Sequence[SeriesSet], metric: MetricName, start_s: float, end_s: float
) -> Values:
    """Return one value per second over all parts together: IOPS, bytes per second, or mean latency
    in ns.
    """
    if metric != "latency":
        return add_values(
            [
                part.rates("bytes" if metric == "bandwidth" else "ios", start_s, end_s)
                for part in parts
            ]
        )
    sums = add_values([part.rates("lat_sum", start_s, end_s) for part in parts])
    counts = add_values([part.rates("lat_n", start_s, end_s) for part in parts])
    return quotients(sums, counts)


def quotients(sums: Values, counts: Values) -> Values:
    """Return the mean of each second, sum / count; None where the count is 0 or unknown."""
    return [a / b if a is not None and b else None for a, b in zip(sums, counts, strict=True)]


def add_values(columns: Sequence[Values]) -> Values:
    """Return the sums of equally long columns; a second is None only if it is in all of them."""
    if len(columns) == 1:
        return columns[0]
    if not any(None in column for column in columns):
        return [*map(sum, zip(*columns, strict=True))]
    return [
        (
            sum(value for value in row if value is not None)
            if any(value is not None for value in row)
            else None
        )
        for row in zip(*columns, strict=True)
    ]


class DirectionView(ABC):
    """Figures of one direction for a screen.

    Current figures cover the clock's window; totals cover the time since the end of the ramp.
    """

    def __init__(self, clock: Clock, changes: Changes) -> None:
        self.clock = clock
        self._changes = changes
        self._cache: dict[str, tuple[object, object]] = {}

    def _cached(self, name: str, version: object, compute: Callable[[], T]) -> T:
        held = self._cache.get(name)
        if held is None or held[0] != version:
            held = (version, compute())
            self._cache[name] = held
        return held[1]  # type: ignore[return-value]  # compute() put it there

    @property
    def version(self) -> int:
        """Number that increases when figures change, but not when a host goes silent."""
        return self._changes.count

    @property
    @abstractmethod
    def ios(self) -> int:
        """Number of I/Os so far."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Number of bytes moved so far."""

    @property
    @abstractmethod
    def so_far_max(self) -> int | None:
        """Exact maximum latency so far, in ns; None if there is none."""

    @property
    @abstractmethod
    def so_far(self) -> Histogram:
        """Histogram of all latencies so far."""

    @abstractmethod
    def intervals(self) -> list[Interval]:
        """Return the window of each host that counts towards current figures."""

    def waits(self) -> list[Interval]:
        """Return the windows that have latencies."""
        return self.intervals()

    @abstractmethod
    def values(self, metric: MetricName, start_s: float, end_s: float) -> Values:
        """Return one value per second between two run times."""

    @property
    @abstractmethod
    def span(self) -> tuple[int, int] | None:
        """First and end second with complete data; None if there is none yet."""

    def now(self, metric: MetricName) -> float | None:
        """Return a metric over the window, for latency the mean; None if no host reports."""
        if metric == "latency":
            return self.lat_mean_ns
        return self.bw_bytes_per_s if metric == "bandwidth" else self.iops

    @property
    def iops(self) -> float | None:
        """I/Os per second in the window; None if no host reports."""
        current = self.intervals()
        return sum(each.ios / each.interval_s for each in current) if current else None

    @property
    def bw_bytes_per_s(self) -> float | None:
        """Bytes per second in the window; None if no host reports."""
        current = self.intervals()
        return sum(each.bytes / each.interval_s for each in current) if current else None

    @property
    def lat_mean_ns(self) -> float | None:
        """Mean latency in the window, in ns; None without I/O."""
        return self._cached("mean", self._current_version(), lambda: _mean_of(self.waits()))

    @property
    def interval_percentiles(self) -> dict[str, int | None]:
        """Shown percentiles and maximum in the window, as `percentiles_in` returns them."""
        return self._cached(
            "interval",
            self._current_version(),
            lambda: self.percentiles_in(self.interval_buckets),
        )

    @property
    def so_far_percentiles(self) -> dict[str, int | None]:
        """Shown percentiles and exact maximum of all I/Os so far, in ns; None without I/O."""
        return self._cached(
            "so_far", self.version, lambda: _percentiles(self.so_far_buckets, self.so_far_max)
        )

    @property
    def so_far_buckets(self) -> Buckets:
        """Latency buckets of all I/Os so far, in ascending order."""
        return self._cached("so_far_buckets", self.version, lambda: self.so_far.buckets)

    @property
    def so_far_mean_ns(self) -> float | None:
        """Mean latency over all I/Os so far, in ns; None without I/O."""
        return self._cached("so_far_mean", self.version, self._so_far_mean)

    @abstractmethod
    def _so_far_mean(self) -> float | None: ...

    def _current_version(self) -> object:
        return self.version, self.clock.window_s, len(self.intervals())

    @property
    def interval_buckets(self) -> Buckets:
        """Latency buckets of the window, in ascending order."""
        return self._cached(
            "interval_buckets", self._current_version(), lambda: _buckets_of(self.waits())
        )

    def percentiles_in(self, buckets: Buckets) -> dict[str, int | None]:
        """Return the shown percentiles and the maximum of these buckets, in ns; None without I/O.

        Max is the middle of the highest bucket, but not above the exact maximum so far.
        """
        if not buckets.idx:
            return dict(UNKNOWN_PERCENTILES)
        top, exact = index_to_value(buckets.idx[-1]), self.so_far_max
        return _percentiles(buckets, min(top, exact) if exact else top)

    def series(self, metric: MetricName, last: int | None = None) -> Values:
        """Return one value per second, oldest first, for all seconds or the `last` ones.

        Ends with the last complete second; the current one is still being filled.
        """
        span = self.span
        if span is None:
            return []
        start, end = span
        if last is not None:
            start = max(start, end - last)
        return self._cached(
            f"{metric}:{last}", (self.version, start, end), lambda: self.values(metric, start, end)
        )


def _mean_of(intervals: Sequence[Interval]) -> float | None:
    """Return the mean latency of intervals in ns; None without I/O."""
    count = sum(each.timed for each in intervals)
    return sum(each.lat_sum_ns for each in intervals) / count if count else None


def _buckets_of(intervals: Sequence[Interval]) -> Buckets:
    """Return the merged latency buckets of these intervals."""
    histogram = Histogram()
    for each in intervals:
        for part in each.parts:
            histogram.add(part.lat)
    return histogram.buckets


def _percentiles(buckets: Buckets, maximum: int | None) -> dict[str, int | None]:
    total, found = sum(buckets.n), percentiles_of(buckets, SHOWN_PERCENTILES, maximum)
    if not found:
        return dict(UNKNOWN_PERCENTILES)
    return {
        **{name: marked(value, total, float(name)) for name, value in found.items()},
        "max": maximum,
    }


def whole_seconds(first_t: float, last_t: float) -> tuple[int, int] | None:
    """Return first and end of the complete seconds in an interval, with a small tolerance; None if
    there are none.
    """
    start, end = ceil(first_t - EDGE_S), floor(last_t + EDGE_S)
    return (start, end) if end > start else None


class Arrival(NamedTuple):
    """Arrival of a sample in run time, and the interval (t0, t1] that the sample covers."""

    t: float
    t0: float
    t1: float
    # seconds of the series that the interval covers; empty for load that is left out of them
    parts: Parts


class Leaf(DirectionView):
    """View of one direction of one host. Keeps the last intervals even if the host is silent.

    The caller counts the changes in `Changes`.
    """

    ios: int = 0
    bytes: int = 0
    so_far_max: int | None = None

    def __init__(
        self,
        clock: Clock,
        joint: JointLatencies,
        changes: Changes,
        *,
        keeps_latencies: bool = True,
    ) -> None:
        super().__init__(clock, changes)
        self._histogram = Histogram()
        self._joint = joint  # of all leaves of the direction
        self.keeps_latencies = keeps_latencies
        self.over_time = SeriesSet()
        # percentile as the tool printed it -> second of the run -> ns
        self.printed: dict[str, dict[int, int]] = {}
        self.recent = RecentIntervals(clock)
        self.restart()

    def restart(self) -> None:
        """Discard the totals, because the load before was not measured."""
        self.ios = self.bytes = self.lat_sum_ns = self.timed = 0
        self.so_far_max = None
        self.runtime_s = 0.0
        self._joint.take_back(self._histogram)
        self._histogram.clear()

    def add(
        self,
        at: Arrival,
        did: Amounts,
        *,
        counts: bool,
    ) -> None:
        """Add a sample; `counts` is False for load that is not measured."""
        t, t0, t1, parts = at
        interval_s = max(t1 - t0, 1e-3)
        self.recent.add(Interval(t, interval_s, (did,)))
        if parts:
            self.over_time.add(t0, t1, did, parts)
        if parts and did.printed_ns:
            self._print(t0, t1, did.printed_ns)
        if counts:
            self._count(interval_s, did)

    def _print(self, t0: float, t1: float, printed_ns: Mapping[str, int]) -> None:
        """Keep the percentiles printed by the tool for the seconds whose middle the interval
        covers.
        """
        for name, value in printed_ns.items():
            own = self.printed.setdefault(name, {})
            own.update(dict.fromkeys(range(floor(t0 + 0.5), floor(t1 + 0.5)), value))

    def _count(self, interval_s: float, did: Amounts) -> None:
        if did.ios or self.ios:  # before the first I/O nothing is measured: start delay
            self.runtime_s += interval_s
        self.ios += did.ios
        self.bytes += did.bytes
        self.lat_sum_ns += did.lat_sum_ns
        self.timed += did.timed
        if self.keeps_latencies and did.lat.total:
            self._histogram.add(did.lat)
        if did.lat_max_ns > (self.so_far_max or 0):
            self.so_far_max = did.lat_max_ns

    def silence(self) -> None:
        """Mark the load as over; there is no current interval any more."""
        self.recent.clear()

    @property
    def so_far(self) -> Histogram:
        """Histogram of all latencies so far."""
        return self._histogram

    def intervals(self) -> list[Interval]:
        """Return the window, even if the host is silent."""
        return [window] if (window := self.recent.window) is not None else []

    def values(self, metric: MetricName, start_s: float, end_s: float) -> Values:
        """Return one value per second between two run times."""
        return values_over_time([self.over_time], metric, start_s, end_s)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and end second with complete data; None if there is none yet."""
        series = self.over_time
        return (
            None
            if series.first_t is None or series.last_t is None
            else whole_seconds(series.first_t, series.last_t)
        )

    def _so_far_mean(self) -> float | None:
        return self.lat_sum_ns / self.timed if self.timed else None


class HasLatencies(Protocol):
    """A part of a group that counts latencies."""

    @property
    def so_far(self) -> Histogram:
        """Histogram of all latencies so far."""


class Group(DirectionView):
    """View of several leaves, merged exactly; only fresh hosts count towards current figures."""

    def __init__(self, clock: Clock, changes: Changes | None = None) -> None:
        super().__init__(clock, changes or Changes())
        self.leaves: list[Leaf] = []
        self.over_time: list[SeriesSet] = []  # of the leaves, or of larger parts that cover them
        self.latencies: list[HasLatencies] = []  # the same
        # reads and writes with one histogram: its latencies are those of the group
        self.joint: list[Leaf] = []

    @property
    def ios(self) -> int:
        """Number of I/Os so far."""
        return sum(leaf.ios for leaf in self.leaves)

    @property
    def bytes(self) -> int:
        """Number of bytes moved so far."""
        return sum(leaf.bytes for leaf in self.leaves)

    @property
    def so_far_max(self) -> int | None:
        """Exact maximum latency so far, in ns; None if there is none."""
        leaves = self.joint or self.leaves
        return max(
            (leaf.so_far_max for leaf in leaves if leaf.so_far_max is not None), default=None
        )

    @property
    def so_far(self) -> Histogram:
        """Histogram of all latencies so far, merged from all leaves."""
        return (
            self.latencies[0].so_far
            if len(self.latencies) == 1
            else self._cached("histogram", self.version, self._merge)
        )

    def _merge(self) -> Histogram:
        merged = Histogram()
        for part in self.latencies:
            merged.merge(part.so_far)
        return merged

    def intervals(self) -> list[Interval]:
        """Return the window of each fresh host."""
        at = self.version, self.clock.window_s, self.clock.now
        return self._cached("fresh", at, lambda: self._fresh(self.leaves))

    def waits(self) -> list[Interval]:
        """Return the window of each fresh host that has latencies."""
        return self._fresh(self.joint) if self.joint else self.intervals()

    def _fresh(self, leaves: Sequence[Leaf]) -> list[Interval]:
        oldest = self.clock.now - FRESH_S
        windows = [leaf.recent.window for leaf in leaves]
        return [each for each in windows if each is not None and each.t >= oldest]

    def values(self, metric: MetricName, start_s: float, end_s: float) -> Values:
        """Return one value per second between two run times."""
        if metric == "latency" and self.joint:
            return values_over_time([leaf.over_time for leaf in self.joint], metric, start_s, end_s)
        return values_over_time(self.over_time, metric, start_s, end_s)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and end second with complete data; None if there is none yet."""
        return self._cached("span", self.version, self._span)

    def _span(self) -> tuple[int, int] | None:
        # as in whole_seconds, without a call for each of a thousand hosts
        known = [
            (start, end)
            for leaf in self.leaves
            if (first_t := leaf.over_time.first_t) is not None
            and (last_t := leaf.over_time.last_t) is not None
            and (end := floor(last_t + EDGE_S)) > (start := ceil(first_t - EDGE_S))
        ]
        if not known:
            return None
        end = max(end for _, end in known)
        # a host that stalled does not hold up the rest
        settled = [last for _, last in known if last >= end - FRESH_S]
        return min(start for start, _ in known), min(settled)

    def _so_far_mean(self) -> float | None:
        leaves = self.joint or self.leaves
        count = sum(leaf.timed for leaf in leaves)
        return sum(leaf.lat_sum_ns for leaf in leaves) / count if count else None

"""Registry of all metrics and directions, and how their figures are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol, TypeVar

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.units import Parts

T = TypeVar("T", float, tuple[float, int])
MetricName = Literal["iops", "bandwidth", "latency", "ops", "score"]
UnitName = Literal["iops", "bytes_per_s", "ns", "ops_per_s", "score"]
OPERATIONS = {
    "create": "creates", "stat": "stats", "read": "reads", "remove": "removals",
    "mkdirs": "directories created", "rmdirs": "directories removed", "rmfiles": "files removed",
    "write-files": "files written", "read-files": "files read", "head": "HEADs",
    "mkbuckets": "buckets created", "rmbuckets": "buckets removed",
    "write-objects": "objects written", "read-objects": "objects read",
}  # fmt: skip
MIXED = "mixed"
BOTH = "both"


@dataclass(frozen=True, slots=True)
class Direction:
    """A kind of request. `in_total`: counts in sums over directions; `moves_data`: has a bandwidth.

    `latency`: its only latency kind; None means the kinds of the step. `of`: direction of the
    I/Os that each of its operations consists of.
    """

    name: str
    counted: str = "IOPS"
    in_total: bool = True
    moves_data: bool = True
    latency: Literal["lat"] | None = None
    of: str = ""


def _whole(name: str, counted: str, of: str) -> Direction:
    """Return the direction of whole files or objects, counted in addition to their I/Os."""
    return Direction(name, counted, in_total=False, moves_data=False, latency="lat", of=of)


DIRECTIONS = {
    each.name: each
    for each in (
        # fsync, fdatasync, sync_file_range: not added to the I/O that they flush
        Direction("sync", "syncs/s", in_total=False, moves_data=False, latency="lat"),
        Direction("read"),
        Direction("write"),
        Direction("trim"),
        Direction(MIXED),
        # reads plus writes, from a tool with one histogram for both: only its latencies count,
        # its I/Os are already in read and write
        Direction(BOTH, in_total=False),
        # file and directory operations, by their own names
        Direction("mkdirs", "dirs/s", moves_data=False, latency="lat"),
        Direction("stat", "files/s", moves_data=False, latency="lat"),
        Direction("rmfiles", "files/s", moves_data=False, latency="lat"),
        Direction("rmdirs", "dirs/s", moves_data=False, latency="lat"),
        # whole files, open to close, in addition to their I/Os
        _whole("write-files", "files/s", "write"),
        _whole("read-files", "files/s", "read"),
        # the same of a store: HEAD, buckets, whole objects beside the requests for their parts
        Direction("head", "objects/s", moves_data=False, latency="lat"),
        Direction("mkbuckets", "buckets/s", moves_data=False, latency="lat"),
        Direction("rmbuckets", "buckets/s", moves_data=False, latency="lat"),
        _whole("write-objects", "objects/s", "write"),
        _whole("read-objects", "objects/s", "read"),
    )
}
"""All directions, in display order."""


def direction(name: str) -> Direction:
    """Return the properties of a direction; unknown ones get defaults."""
    return DIRECTIONS.get(name) or Direction(name)


def each_io_once(names: Iterable[str]) -> list[str]:
    """Return directions that together count each I/O once.

    `mixed` alone if measured, else `both` in place of read and write, else every direction that
    counts in totals. A tool with a single histogram has no separate latencies for reads and writes.
    """
    known = list(names)
    if MIXED in known:
        return [MIXED]
    if BOTH in known:
        return [
            BOTH,
            *(name for name in known if name not in ("read", "write") and direction(name).in_total),
        ]
    return [name for name in known if direction(name).in_total]


def in_order(names: Iterable[str]) -> list[str]:
    """Return directions in display order, unknown ones last."""
    order = list(DIRECTIONS)
    return sorted(
        names, key=lambda name: (order.index(name) if name in order else len(order), name)
    )


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its unit in records, what it counts, how its values are printed."""

    name: MetricName
    title: str
    unit: UnitName
    counted: str  # printed after numbers without a unit: IOPS
    parts: Callable[[float | None], Parts]
    better: Literal["higher", "lower"] = "higher"
    base: int = 1000  # of round axis values

    def text(self, value: float | None) -> str:
        """Return a value in its shortest form: ``390k``, ``9.17 GiB/s``, ``229 µs``."""
        return ("" if self.counted else " ").join(self.parts(value)).rstrip()

    def with_unit(self, value: float | None) -> str:
        """Return a value with its unit: ``390k IOPS``, ``12.0k ops/s``, ``9.17 GiB/s``."""
        return (
            f"{self.text(value)} {self.counted}"
            if self.counted and value is not None
            else self.text(value)
        )

    def split(self, value: float | None) -> Parts:
        """Return number and unit as text: (``390``, ``k IOPS``)."""
        number, unit = self.parts(value)
        return number, f"{unit} {self.counted}".strip() if value is not None else ""

    def rounded(self, value: float) -> str:
        """Return a round value with its unit, without trailing zeros: ``2 GiB/s``."""
        number, unit = self.parts(value)
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return ("" if self.counted else " ").join((number, unit)).rstrip()

    def scale(self, highest: float) -> tuple[float, str]:
        """Return the unit for values up to `highest` on one axis, as its size and its text."""
        size, unit = 1.0, self.parts(1.0)[1]
        while highest >= size * self.base and (larger := self.parts(size * self.base)[1]) != unit:
            size, unit = size * self.base, larger
        return size, unit if self.counted else f" {unit}"

    def labels(self, highest: float) -> Callable[[float], str]:
        """Return a function that labels the round values of an axis up to `highest`, all in one
        unit.
        """
        size, unit = self.scale(highest)
        return lambda value: f"{value / size:.4g}{unit}"

    def best(self, values: Iterable[T]) -> T:
        """Return the best of these values, or of tuples that begin with a value."""
        return max(values) if self.better == "higher" else min(values)


METRICS: dict[str, Metric] = {
    each.name: each
    for each in (
        Metric("iops", "IOPS", "iops", "IOPS", units.iops_parts),
        Metric("bandwidth", "bandwidth", "bytes_per_s", "", units.bandwidth_parts, base=1024),
        Metric("latency", "latency", "ns", "", units.latency_parts, better="lower"),
        Metric("ops", "operations", "ops_per_s", "ops/s", units.iops_parts),
        # computed by the benchmark from its own figures
        Metric("score", "score", "score", "", units.score_parts),
    )
}
BY_UNIT: dict[str, Metric] = {metric.unit: metric for metric in METRICS.values()}


def metric_of_operation(bytes_per_op: int) -> Metric:
    """Return the metric for an operation's rate: bandwidth if each operation moves bytes."""
    return METRICS["bandwidth" if bytes_per_op else "ops"]


def rate_of_operation(rate: float | None, bytes_per_op: int) -> float | None:
    """Return operations per second converted to the displayed unit; None stays None."""
    return rate if rate is None else rate * (bytes_per_op or 1)


class NamesHeadline(Protocol):
    """The headline in a profile, plan or record."""

    @property
    def metric(self) -> MetricName: ...  # noqa: D102
    @property
    def direction(self) -> str: ...  # noqa: D102
    @property
    def percentile(self) -> float | None: ...  # noqa: D102


class HeadlineFigure(NamesHeadline, Protocol):
    """A headline with its figure."""

    @property
    def value(self) -> float | None: ...  # noqa: D102
    @property
    def behind(self) -> int | None: ...  # noqa: D102
    @property
    def request(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str | None: ...  # noqa: D102
    @property
    def short(self) -> str | None: ...  # noqa: D102


NO_REQUESTS: Mapping[str, str] = MappingProxyType({})


def meaning(headline: NamesHeadline, requests: Mapping[str, str] = NO_REQUESTS) -> str:
    """Return a headline in words: ``read IOPS``, ``write p99 latency``, ``creates``.

    `requests`: names of an object store's requests, by direction.
    """
    if headline.metric == "ops":
        return OPERATIONS.get(headline.direction, headline.direction)
    if headline.metric == "score":
        return f"{headline.direction} score"
    kind = f"{_ranked(headline.percentile)} " if headline.metric == "latency" else ""
    name = requests.get(headline.direction, headline.direction)
    return f"{name} {kind}{METRICS[headline.metric].title}"


def _ranked(percentile: float | None) -> str:
    """Return the statistic of a latency as text: ``mean``, ``p99.9``, ``max``."""
    if percentile is None:
        return "mean"
    return "max" if percentile >= 100 else f"p{label(percentile)}"


def figure_text(headline: HeadlineFigure) -> str:
    """Return a headline with its figure. Older records store the text itself; return it unchanged.

    Empty if nothing was measured. A percentile with too few slower I/Os is ``n<10``.
    """
    if headline.text is not None or headline.value is None:
        return headline.text or ""
    few = headline.behind is not None and headline.behind < units.TAIL_SAMPLES
    value = units.Few(headline.value) if few else headline.value
    return headline_text(
        headline, value, {headline.direction: headline.request or headline.direction}
    )


def headline_text(
    headline: NamesHeadline, value: float | None, requests: Mapping[str, str] = NO_REQUESTS
) -> str:
    """Return a headline with its value: ``read 390k IOPS``, ``write p99.5 432 µs``.

    `requests`: names of an object store's requests, by direction.
    """
    name = requests.get(headline.direction, headline.direction)
    metric = METRICS[headline.metric]
    text = metric.text(value)
    if headline.metric == "latency":
        return f"{name} {_ranked(headline.percentile)} {text}"
    if headline.metric == "score":
        return f"{meaning(headline)} {text}"
    counted = direction(headline.direction).counted if headline.metric == "iops" else metric.counted
    what = (
        OPERATIONS.get(headline.direction, headline.direction) if headline.metric == "ops" else name
    )
    return f"{what} {text} {counted}".rstrip()

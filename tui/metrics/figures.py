"""Figures of a measurement from journal or record results, and the spread of hosts around their
median.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Protocol

from msgspec import Struct

from tui.metrics import units
from tui.metrics.buckets import label
from tui.metrics.histogram import Histogram, HistogramLike, combine_directions
from tui.metrics.registry import BOTH, MIXED, direction
from tui.metrics.units import TAIL_SAMPLES, Few
from tui.model.criteria import default
from tui.model.event import DirectionResult
from tui.model.plan import Headline

# load generators without a direction for file operations count them here
OPERATIONS_AS = "read"


class Latency(Protocol):
    """One latency kind, in a journal or a record."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def min_ns(self) -> int | None: ...  # noqa: D102
    @property
    def mean_ns(self) -> float | None: ...  # noqa: D102
    @property
    def stddev_ns(self) -> float | None: ...  # noqa: D102
    @property
    def max_ns(self) -> int | None: ...  # noqa: D102
    @property
    def percentiles_ns(self) -> dict[str, int]: ...  # noqa: D102
    @property
    def buckets(self) -> HistogramLike | None: ...  # noqa: D102
    @property
    def bucket_width(self) -> float | None: ...  # noqa: D102


class Result(Protocol):
    """One direction, in a journal or a record."""

    @property
    def bytes(self) -> int: ...  # noqa: D102
    @property
    def iops(self) -> float | None: ...  # noqa: D102
    @property
    def bw_bytes_per_s(self) -> float | None: ...  # noqa: D102
    @property
    def clat(self) -> Latency | None: ...  # noqa: D102
    @property
    def lat(self) -> Latency | None: ...  # noqa: D102


def has_completed(result: Result) -> bool:
    """Return whether any I/O of a direction completed.

    Load generators count I/Os that failed, but these have no bytes, no rate and no latency.
    """
    return bool(result.bytes or result.iops or result.lat or result.clat)


def kind_of(name: str, kind: str) -> str:
    """Return the latency kind to show for a direction; `kind` is that of its step."""
    return direction(name).latency or kind


def latency_of(result: Result, name: str, kind: str) -> Latency | None:
    """Return the latency to show for a direction; None if it was not measured."""
    return result.lat if kind_of(name, kind) == "lat" else result.clat


def behind(count: int, percentile: float) -> float:
    """Return how many of `count` samples are beyond a percentile."""
    return round(count * (100 - percentile) / 100, 6)


def enough_behind(count: int, percentile: float) -> bool:
    """Return whether enough samples are beyond a percentile to print it."""
    return behind(count, percentile) >= TAIL_SAMPLES


def marked(value: int | None, count: int, percentile: float) -> int | None:
    """Return a percentile of `count` samples, as `Few` if too few of them are beyond it; None stays
    None.
    """
    return (
        value
        if value is None or percentile >= 100 or enough_behind(count, percentile)
        else Few(value)
    )


def shown_percentile(latency: Latency | None, percentile: float) -> int | None:
    """Return a percentile for display, marked as `Few` if too few samples are beyond it; None if
    unknown.
    """
    return (
        None
        if latency is None
        else marked(percentile_of(latency, percentile), latency.n, percentile)
    )


def percentile_of(latency: Latency, percentile: float) -> int | None:
    """Return any percentile in ns, from buckets if it is not stored, limited to the exact maximum;
    None if unknown.
    """
    known = latency.max_ns if percentile >= 100 else latency.percentiles_ns.get(label(percentile))
    if known is not None or latency.buckets is None:
        return known
    counted = Histogram.from_buckets(latency.buckets)
    return counted.percentiles((percentile,), at_most=latency.max_ns).get(label(percentile))


def headline_behind(headline: Headline, dirs: Mapping[str, Result], kind: str) -> int | None:
    """Return the number of samples beyond a percentile headline.

    None for other headlines, and for a percentile that was not measured.
    """
    if headline.metric != "latency" or headline.percentile is None:
        return None
    found = found_in(headline, dirs)
    latency = latency_of(dirs[found], found, kind) if found in dirs else None
    return None if latency is None else int(behind(latency.n, headline.percentile))


def value_of(headline: Headline, dirs: Mapping[str, Result], kind: str) -> float | None:
    """Return the headline figure from results by direction; None if not measured.

    `kind` is the step's latency kind. If there is a single I/O direction, it also counts as the
    mixed one.
    """
    wanted = found_in(headline, dirs)
    result = dirs.get(wanted)
    if result is None:
        return None
    if headline.metric != "latency":
        return result.bw_bytes_per_s if headline.metric == "bandwidth" else result.iops
    latency = latency_of(result, wanted, kind)
    if latency is None:
        return None
    return (
        latency.mean_ns
        if headline.percentile is None
        else shown_percentile(latency, headline.percentile)
    )


def found_in(headline: Headline, dirs: Iterable[str]) -> str:
    """Return the direction to take a headline's figure from; it may not be among `dirs`."""
    names = list(dirs)
    wanted = headline.direction
    if headline.metric == "ops" and wanted not in names:
        wanted = OPERATIONS_AS
    if wanted == MIXED and BOTH in names:
        return BOTH
    if wanted == MIXED and MIXED not in names:
        counted = [name for name in names if direction(name).in_total]
        wanted = counted[0] if len(counted) == 1 else wanted
    return wanted


def over_hosts(hosts: Sequence[Mapping[str, DirectionResult]]) -> dict[str, DirectionResult]:
    """Return the directions that all of these hosts have, merged over the hosts, plus `mixed`."""
    whole = [with_mixed(dirs) for dirs in hosts]
    names = [name for name in (whole[0] if whole else ()) if all(name in dirs for dirs in whole)]
    return {name: combine_directions([dirs[name] for dirs in whole]) for name in names}


def total_rates(dirs: Mapping[str, DirectionResult]) -> tuple[float, float]:
    """Return I/Os and bytes per second over all I/O directions that ran at the same time."""
    parts = [
        part
        for name, part in dirs.items()
        if direction(name).in_total and not (name == MIXED and "read" in dirs) and not part.apart
    ]
    return sum(part.iops for part in parts), sum(part.bw_bytes_per_s for part in parts)


def with_mixed(dirs: Mapping[str, DirectionResult]) -> dict[str, DirectionResult]:
    """Return the directions plus `mixed` (reads plus writes).

    It is not computed if it or `both` was measured, if reads or writes are missing, or if they ran
    one after the other.
    """
    if MIXED in dirs or BOTH in dirs or not {"read", "write"} <= dirs.keys():
        return dict(dirs)
    if dirs["read"].apart:
        return dict(dirs)
    return {**dirs, MIXED: combine_directions([dirs["read"], dirs["write"]])}


LAG = default("straggler.rate")  # of the median host, as in the straggler check
LEAST_HOSTS = 3  # fewer hosts have no meaningful median
LEAST_BAND = 0.03
SIGMAS, SIGMA_OF_MAD = 3.0, 1.4826  # of a normal distribution


class HostSpread(Struct, frozen=True):
    """Deviations of hosts from their median.

    `shares` by host: -0.75 means 25 % of the median, None is unknown. Hosts within `band` are
    unremarkable; hosts below `lag` (a share of the median) are stragglers.
    """

    middle: float | None
    shares: Mapping[str, float | None]
    band: float
    lag: float = LAG

    def lags(self, host: str) -> bool:
        """Return whether a host is a straggler; False with fewer than three hosts."""
        share = self.shares.get(host)
        return share is not None and len(self.shares) >= LEAST_HOSTS and share < self.lag - 1

    def is_far(self, host: str) -> bool:
        """Return whether a host is outside the band, or its rate is unknown."""
        share = self.shares.get(host)
        return share is None or abs(share) > self.band

    @property
    def stragglers(self) -> list[str]:
        """Stragglers, the slowest first."""
        return sorted(
            (host for host in self.shares if self.lags(host)),
            key=lambda host: self.shares[host] or 0.0,
        )

    def widest(self, hosts: list[str]) -> float:
        """Return the largest deviation of these hosts from the median; 0 if none is known."""
        return max(
            (abs(share) for host in hosts if (share := self.shares.get(host)) is not None),
            default=0.0,
        )


def spread_of(values: Mapping[str, float | None], lag: float = LAG) -> HostSpread:
    """Return the spread of hosts around their median.

    The band is three robust standard deviations, but at least 3 %, and not beyond the straggler
    limit. With fewer than two known values, or a median of 0, all deviations are unknown.
    """
    known = [value for value in values.values() if value is not None]
    middle = median(known) if len(known) > 1 else None
    if not middle:
        return HostSpread(middle, dict.fromkeys(values), LEAST_BAND, lag)
    shares = {host: None if value is None else value / middle - 1 for host, value in values.items()}
    mad = median(abs(value / middle - 1) for value in known)
    band = min(max(LEAST_BAND, SIGMAS * SIGMA_OF_MAD * mad), 1 - lag)
    return HostSpread(middle, shares, band, lag)


def share_text(share: float | None) -> str:
    """Return a deviation with its sign: ``-75 %``, ``+2 %``; a dash if it is unknown."""
    if share is None:
        return units.UNKNOWN
    rounded = round(share, 2)
    return units.share(rounded, sign="+") if rounded else units.share(0.0)


def behind_text(share: float) -> str:
    """Return a straggler's rate as text: ``25 % of median``."""
    return f"{units.share(max(0.0, 1 + share))} of median"


def within_text(widest: float) -> str:
    """Return the spread of hosts as text, rounded like their deviations: ``within ±3 %``."""
    return f"within ±{units.share(max(0.01, round(widest, 2)))}"

"""What one measured point says: each limit's figure with its interval, and a verdict by confidence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf, sqrt
from statistics import fmean, pstdev
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from tui.metrics.buckets import label
from tui.metrics.figures import kind_of, total_rates
from tui.metrics.histogram import Histogram
from tui.metrics.registry import MIXED, direction
from tui.metrics.units import iops as iops_text
from tui.metrics.units import latency as latency_text
from tui.model.event import Buckets, DirectionResult, LatencyResult
from tui.model.search import Limit, Measured, Offer, Point, Search, Verdict
from tui.sizing.intended import CLOSED, NO_SECONDS, WHY, backlog, intended, late_ios, of_direction
from tui.sizing.interval import Told, mean_told, over_limit, percentile_told, share_over

SHORT = 0.02  # of the offered rate: so much less is no longer what was offered
SURE = 3.0  # standard deviations of the number of Poisson arrivals
FLATTERED = 1.5  # times the latency from the actual start: from there on the intended one decides
SURELY_OVER = 4.0  # times as many I/Os above a limit as a whole point may have
OVER_SECONDS = 3  # which lie in so many seconds at least
BEHIND_S = 2.0  # seconds of load that are due and not done, when a point is ended early
SHOWN = (50.0, 99.0)  # percentiles that are told beside those of the limits


class Second(Struct, frozen=True):
    """What all hosts completed in one second: I/Os by direction, and their latencies of the kind that is judged."""

    ios: dict[str, int]
    lat: dict[str, Buckets] = field(default_factory=dict)
    seconds: float = 1.0


def judge(
    search: Search,
    offer: Offer,
    step: int,
    dirs: Mapping[str, DirectionResult],
    seconds: Sequence[Second],
    hosts: int,
    lost: Sequence[str],
    cut: bool,
    kind: str,
    errors: int = 0,
    jobs: Mapping[str, float] = MappingProxyType({}),
) -> Point:
    """Return what a point says, by merged results of all hosts and totals of each second.

    `kind`: latency kind of the step, "clat" or "lat"; `errors`: I/Os that failed, or how many kinds of errors were seen
    where they are not counted. `jobs`: I/Os a second of each job, where there are several.
    A point that lost a host is void: the others had another load than it says.
    """
    length = max((each.runtime_s for each in dirs.values()), default=0.0)
    iops, bandwidth = total_rates(dirs)
    measured = tuple(each for limit in search.limits for each in _measured(limit, dirs, seconds, kind, errors))
    from_intended, unknown = _intended(search, offer, dirs, seconds, kind)
    point = Point(
        step=step, offer=offer, seconds=length, iops=iops, bw_bytes_per_s=bandwidth, measured=measured, hosts=hosts,
        lost=tuple(lost), cut=cut, deviation=_deviation(seconds), intended=from_intended, intended_why=unknown,
        jobs=dict(jobs),
    )  # fmt: skip
    return _decided(search, point)


def _decided(search: Search, point: Point) -> Point:
    verdict, why = _verdict(search, point)
    return replace(point, verdict=verdict, why=why)


def _verdict(search: Search, point: Point) -> tuple[Verdict, str]:
    """Return what is decided of a point, and why in words."""
    if point.lost or not point.hosts:
        return "void", f"lost {', '.join(point.lost)}" if point.lost else "no host measured it to its end"
    if not point.iops:
        return "void", "no I/O was done"
    broken = [each for each in point.measured if each.verdict == "breaks"]
    if broken:
        return "breaks", "; ".join(_told(each) for each in broken)
    if short := not_achieved(point):
        return "breaks", short
    if late := _flattered(search, point):
        return "breaks", late
    open_ones = [each for each in point.measured if each.verdict in ("unclear", "void")]
    if open_ones:
        return "unclear", "; ".join(_told(each) for each in open_ones)
    return "meets", "; ".join(_told(each) for each in point.measured) or "nothing was to hold"


def _told(each: Measured) -> str:
    name = " ".join(filter(None, (each.direction, each.limit)))
    if each.value is None:
        return f"{name}: not measured"
    if each.low is None:
        return f"{name}: {each.value:g}"
    high = "no bound" if each.high is None else latency_text(each.high)
    return f"{name}: {latency_text(each.value)} ({latency_text(each.low)} to {high})"


def not_achieved(point: Point) -> str:
    """Return how far the achieved rate stays behind the offered one; empty: it does not, or none was offered.

    Nor may one of several jobs: what all did together hides that the smallest one stands still.
    """
    rate = point.offer.rate_iops
    if rate is None or point.seconds <= 0:
        return ""
    if short := _short(point.iops, rate, point.seconds):
        return short
    behind = ((name, _short(point.jobs[name], rate * share, point.seconds))
              for name, share in point.offer.shares.items() if name in point.jobs)  # fmt: skip
    return next((f"job {name}: {short}" for name, short in behind if short), "")


def _short(done: float, rate: float, seconds: float) -> str:
    allowed = SHORT * rate + SURE * sqrt(rate / seconds)
    return f"{iops_text(done)} of {iops_text(rate)} IOPS done" if done < rate - allowed else ""


def _flattered(search: Search, point: Point) -> str:
    """Return which limit is kept only because I/Os began late; empty: none."""
    for limit in search.limits:
        told = of_direction(point.intended, limit.percentile) if limit.metric == "latency" else None
        actual = max((m.value for m in point.measured if m.limit == limit.text and m.value is not None), default=0.0)
        if told is not None and told > max(limit.most, actual * FLATTERED):
            return f"{limit.text}: {latency_text(told)} from the intended start, because I/Os began late"
    return ""


# -- figures


def _measured(
    limit: Limit, dirs: Mapping[str, DirectionResult], seconds: Sequence[Second], kind: str, errors: int
) -> list[Measured]:
    if limit.metric == "errors":
        return [Measured(limit.text, "", float(errors), verdict="breaks" if errors > limit.most else "meets")]
    latencies = ((name, _latency_of(dirs[name], name, kind)) for name in wanted_directions(limit, dirs))
    found = [_latency(limit, name, latency, seconds) for name, latency in latencies if latency is not None]
    return found or [Measured(limit.text, limit.direction, None)]


def _latency_of(result: DirectionResult, name: str, kind: str) -> LatencyResult | None:
    return result.lat if kind_of(name, kind) == "lat" else result.clat


def wanted_directions(limit: Limit, dirs: Mapping[str, object]) -> list[str]:
    """Return the directions that a limit holds for: its own, or each that does I/O."""
    if limit.direction:
        return [limit.direction] if limit.direction in dirs else []
    return [name for name in dirs if direction(name).in_total and not (name == MIXED and "read" in dirs)]


def _latency(limit: Limit, name: str, latency: LatencyResult, seconds: Sequence[Second]) -> Measured:
    told: Told | None
    parts = [each.lat[name] for each in seconds if name in each.lat]
    if limit.percentile is None:
        told = mean_told(latency.mean_ns, latency.stddev_ns, latency.n, parts)
    else:
        told = percentile_told(latency.buckets, limit.percentile, parts) if latency.buckets else None
    if told is None:
        return Measured(limit.text, name, None)
    verdict: Verdict = "meets" if told.high < limit.most else "breaks" if told.low >= limit.most else "unclear"
    high = None if told.high == inf else told.high  # JSON has no infinity
    over = None
    if limit.percentile is not None and latency.buckets is not None:
        over = share_over(latency.buckets, limit.most) / max(1 - limit.percentile / 100, 1e-9)
    return Measured(limit.text, name, told.value, told.low, high, verdict, told.share_error, told.slope, over)


def _deviation(seconds: Sequence[Second]) -> float | None:
    rates = [sum(each.ios.values()) / each.seconds for each in seconds if each.seconds > 0]
    return pstdev(rates) / fmean(rates) if len(rates) > 1 and any(rates) else None


def _intended(
    search: Search, offer: Offer, dirs: Mapping[str, DirectionResult], seconds: Sequence[Second], kind: str
) -> tuple[dict[str, float], str]:
    """Return latency from the intended start over all directions, and what cannot be told of it."""
    if offer.rate_iops is None:
        return {}, CLOSED
    if not seconds:
        return {}, NO_SECONDS
    whole, sums = Histogram(), 0.0
    for name in wanted_directions(Limit("", "", "latency", None, 0), dirs):
        latency = _latency_of(dirs[name], name, kind)
        if latency is not None and latency.buckets is not None:
            whole.add(latency.buckets)
            sums += latency.mean_ns * latency.n
    wanted = sorted({*SHOWN, *(each.percentile for each in search.limits if each.percentile is not None)})
    late = late_ios([_ios(each) for each in seconds], [each.seconds for each in seconds], offer.rate_iops)
    return intended(whole.buckets, sums / max(whole.total, 1), wanted, late), WHY


def _ios(second: Second) -> int:
    """Return the I/Os of a second that the offered rate counts."""
    return sum(second.ios[name] for name in wanted_directions(Limit("", "", "latency", None, 0), second.ios))


# -- while it goes on


def clearly_over(search: Search, offer: Offer, so_far: Sequence[Second]) -> str:
    """Return why a point may be ended early; empty: it goes on.

    Never by one second: either four times as many I/Os are above a limit as a whole point may have, in three seconds or
    more, so that no quiet rest could mend it; or two seconds of load are due and not done, and ever more.
    """
    if offer.rate_iops is None or offer.role == "curve" or len(so_far) < OVER_SECONDS:
        return ""
    for limit in search.limits:
        if limit.metric == "latency" and limit.percentile is not None:
            names = {name for each in so_far for name in each.lat}
            for name in wanted_directions(limit, dict.fromkeys(names)):
                if why := _surely_over(limit, name, offer, so_far):
                    return why
    return _falls_behind(offer.rate_iops, so_far)


def _surely_over(limit: Limit, name: str, offer: Offer, so_far: Sequence[Second]) -> str:
    share = 1 - (limit.percentile or 0.0) / 100
    slow = [over_limit(each.lat[name], limit.most) if name in each.lat else 0 for each in so_far]
    ios = [sum(each.lat[name].n) if name in each.lat else 0 for each in so_far]
    lasted = sum(each.seconds for each in so_far)
    expected = max(sum(ios) * max(1.0, offer.seconds / max(lasted, 1e-9)), _ios_due(offer, name, so_far))
    in_seconds = sum(found > share * count for found, count in zip(slow, ios, strict=True))
    if in_seconds < OVER_SECONDS or sum(slow) <= SURELY_OVER * share * expected:
        return ""
    return f"{name} {limit.text}: {sum(slow)} I/Os above it, {label(100 * share)} % of the whole point are fewer"


def _ios_due(offer: Offer, name: str, so_far: Sequence[Second]) -> float:
    """Return how many I/Os of a direction a whole point has at its offered rate."""
    done = sum(_ios(each) for each in so_far)
    mine = sum(each.ios.get(name, 0) for each in so_far)
    return (offer.rate_iops or 0.0) * offer.seconds * (mine / done if done and direction(name).in_total else 0.0)


def _falls_behind(rate: float, so_far: Sequence[Second]) -> str:
    behind = backlog([_ios(each) for each in so_far], [each.seconds for each in so_far], rate)
    last = behind[-OVER_SECONDS:]
    grows = all(later > earlier for earlier, later in pairwise(last))
    if not grows or last[-1] <= BEHIND_S * rate:
        return ""
    return f"{iops_text(last[-1])} I/Os due and not done, ever more of them"

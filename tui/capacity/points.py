"""The result of one point: figures with intervals, latency from intended start, verdict."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import inf, sqrt
from statistics import NormalDist, fmean, pstdev
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from tui.capacity.hold import steadiness_of
from tui.capacity.interval import (
    LatencyInterval,
    mean_interval,
    over_limit,
    percentile_interval,
    share_over,
    time_in,
)
from tui.metrics.buckets import index_to_value, label, rank
from tui.metrics.figures import kind_of, total_rates
from tui.metrics.histogram import Histogram
from tui.metrics.registry import BOTH, MIXED, direction
from tui.metrics.series import ClusterSecond
from tui.model.event import Buckets, DirectionResult, LatencyResult
from tui.model.operands import Clause, clause
from tui.model.search import Limit, MeasuredLimit, Offer, Search, SearchPoint, Verdict

PARTS = 10  # of a second, each with a delay of its own
CHANCE = 0.05  # that random arrivals show a backlog anywhere in a point
MEAN = "mean"
# codes of what is unknown about the latency from intended start
INTENDED = WHY, CLOSED, NO_SECONDS = "within-a-second", "closed-loop", "no-seconds"

Late = tuple[float, float]
"""A delay in seconds, and the number of I/Os that began that late."""


def backlog(ios: Sequence[float], lengths: Sequence[float], rate: float) -> list[float]:
    """Return the minimum number of I/Os that were due but not done at the end of each second.

    That is the largest shortfall since the end of any earlier second, less what Poisson arrivals
    explain: by chance alone, the probability that any value is above 0 is at most CHANCE.
    """
    found: list[float] = []
    looks = len(ios) * (len(ios) + 1) / 2  # pairs of a start and an end
    reach = NormalDist().inv_cdf(1 - CHANCE / max(looks, 1))
    short = due = 0.0  # from the start: I/Os due but not done, due
    starts = [(short, due)]
    for done, length in zip(ios, lengths, strict=True):
        short += rate * length - done
        due += rate * length
        beyond = (short - before - reach * sqrt(due - due_0) for before, due_0 in starts)
        found.append(max(0.0, *beyond))
        # an earlier start with a larger shortfall never gives more
        while starts and starts[-1][0] >= short:
            starts.pop()
        starts.append((short, due))
    return found


def late_ios(ios: Sequence[float], lengths: Sequence[float], rate: float) -> list[Late]:
    """Return the delays of I/Os that began late, each with the number of I/Os.

    Empty if no delay can be proved.
    """
    behind = backlog(ios, lengths, rate)
    if not any(behind):
        return []
    ends, done = [0.0, *accumulate(lengths)], [0.0, *accumulate(ios)]
    due = [0.0, *(count + late for count, late in zip(done[1:], behind, strict=True))]
    usual = max(done[-1] / ends[-1], 1e-9)
    found: list[Late] = []
    for at in range(len(ios)):
        if not (behind[at] or (at and behind[at - 1])):
            continue
        step, length = (due[at + 1] - due[at]) / PARTS, lengths[at] / PARTS
        for part in range(PARTS):
            when = ends[at] + (part + 0.5) * length
            delay = _reached(ends, done, due[at] + (part + 0.5) * step, usual) - when
            if delay > length and step > 0:
                found.append((delay, step))
    return found


def _reached(ends: Sequence[float], done: Sequence[float], count: float, usual: float) -> float:
    """Return the time at which `count` I/Os were done; extrapolated after the last second."""
    at = bisect_left(done, count)
    if at == len(done):
        return ends[-1] + (count - done[-1]) / usual
    if at == 0:
        return ends[0]
    return ends[at - 1] + (ends[at] - ends[at - 1]) * (count - done[at - 1]) / (
        done[at] - done[at - 1]
    )


def intended(
    whole: Buckets, mean_ns: float, wanted: Sequence[float], late: Sequence[Late]
) -> dict[str, float]:
    """Return percentiles and the mean from the intended start, by name, in ns.

    They are never below the latencies from the actual start. Empty without I/Os.
    """
    total = sum(whole.n)
    if not total:
        return {}
    waited = sum(count for _, count in late)
    rest = max(0.0, total - waited) / total
    values = sorted(
        [
            (float(index_to_value(at)), count * rest)
            for at, count in zip(whole.idx, whole.n, strict=True)
        ]
        + [(delay * 1e9 + mean_ns, count) for delay, count in late]
    )
    reached = list(accumulate(count for _, count in values))
    found = {}
    for each in wanted:
        at = min(bisect_left(reached, reached[-1] * each / 100 - 1e-6), len(values) - 1)
        found[label(each)] = max(values[at][0], _actual(whole, total, each))
    found[MEAN] = mean_ns + sum(delay * 1e9 * count for delay, count in late) / max(total, waited)
    return found


def _actual(whole: Buckets, total: int, percentile: float) -> float:
    at = bisect_left(list(accumulate(whole.n)), rank(percentile, total))
    return float(index_to_value(whole.idx[min(at, len(whole.idx) - 1)]))


def of_limit(found: Mapping[str, float], percentile: float | None) -> float | None:
    """Return the figure that a limit bounds: a percentile, or the mean; None if unknown."""
    return found.get(MEAN if percentile is None else label(percentile))


SHORT = 0.02  # of the offered rate: less means the offered load was not achieved
SURE = 3.0  # standard deviations of the number of Poisson arrivals
FLATTERED = 1.5  # ratio to latency from the actual start above which the intended one decides
# times the I/Os above a limit that a whole point may have; for a mean, times their total latency
SURELY_OVER = 4.0
OVER_SECONDS = 3  # minimum number of seconds over the limit
BEHIND_S = 2.0  # seconds of load due and not done that end a point early
SHOWN = (50.0, 99.0)  # percentiles reported besides those of the limits
ANY = Limit("", "", "latency", None, 0)  # applies to each direction that the offered rate counts
OF_BOTH = ("read", "write")  # what MIXED consists of
FOLLOWED = ("write",)  # flushes, which no rate counts, belong to these


class PointData(Struct, frozen=True):
    """What was measured at a point."""

    step: int  # index
    dirs: Mapping[str, DirectionResult]  # merged over all hosts
    seconds: Sequence[ClusterSecond]
    hosts: int  # that measured to the end
    lost: Sequence[str] = ()
    cut: bool = False  # ended early: the outcome was certain
    kind: str = "lat"  # latency kind of the step, "clat" or "lat"
    errors: int = 0  # failed I/Os; for tools that do not count them, the number of distinct errors
    jobs: Mapping[str, float] = MappingProxyType({})  # IOPS of each job, if there are several
    # shares of the offered rate by direction; empty: as completed
    split: Mapping[str, float] = MappingProxyType({})


def judge(search: Search, offer: Offer, data: PointData) -> SearchPoint:
    """Return the measured point with its verdict.

    Void if a host was lost (the load was then not the offered one), if no host measured to the end,
    or if no I/O completed.
    """
    dirs, seconds, kind = data.dirs, data.seconds, data.kind
    length = max((each.runtime_s for each in dirs.values()), default=0.0)
    iops, bandwidth = total_rates(dirs)
    measured = tuple(each for limit in search.limits for each in _measured(limit, data))
    late = _late(offer, dirs, seconds, data.split)
    from_intended, unknown = _intended(search, offer, dirs, late, kind)
    point = SearchPoint(
        step=data.step, offer=offer, seconds=length, iops=iops, bw_bytes_per_s=bandwidth,
        measured=measured,
        hosts=data.hosts, lost=tuple(data.lost), cut=data.cut, deviation=_deviation(seconds),
        intended=from_intended,
        intended_why=unknown, jobs=dict(data.jobs),
    )  # fmt: skip
    if offer.role == "hold":
        names = {
            each.text: wanted_directions(each, dirs)
            for each in search.limits
            if each.metric == "latency"
        }
        limits = [each for each in search.limits if each.metric == "latency"]
        point = replace(point, steadiness=steadiness_of(limits, offer, seconds, names))
    verdict, why = _verdict(point, _flattered(search, point, dirs, late, kind))
    return replace(point, verdict=verdict, why=why)


def _verdict(point: SearchPoint, flattered: Clause | None) -> tuple[Verdict, Clause]:
    """Return the verdict of a point, and its reason."""
    if point.lost or not point.hosts:
        return "void", clause("hosts-lost", hosts=[*point.lost])
    if not point.iops:
        return "void", clause("no-io")
    broken = [each for each in point.measured if each.verdict == "breaks"]
    if broken:
        return "breaks", _limits(broken)
    if short := not_achieved(point):
        return "breaks", short
    if flattered:
        return "breaks", flattered
    open_ones = [each for each in point.measured if each.verdict in ("unclear", "void")]
    if open_ones:
        return "unclear", _limits(open_ones)
    return "meets", _limits(point.measured)


def _limits(measured: Sequence[MeasuredLimit]) -> Clause:
    figures = [[each.limit, each.direction, each.value, each.low, each.high] for each in measured]
    return clause("limits", figures=figures)


def not_achieved(point: SearchPoint) -> Clause | None:
    """Return the shortfall of the achieved rate below the offered one.

    None if the load was achieved, or full load was offered. Each of several jobs must achieve its
    share: the total would hide a small job that stalls.
    """
    rate = point.offer.rate_iops
    if rate is None or point.seconds <= 0:
        return None
    shares = (
        (name, point.jobs[name], rate * share)
        for name, share in point.offer.shares.items()
        if name in point.jobs
    )
    for job, iops, offered in (("", point.iops, rate), *shares):
        if iops < offered - SHORT * offered - SURE * sqrt(offered / point.seconds):
            return clause("not-achieved", job=job, iops=iops, offered_iops=offered)
    return None


def _flattered(
    search: Search,
    point: SearchPoint,
    dirs: Mapping[str, DirectionResult],
    late: Mapping[str, Sequence[Late]],
    kind: str,
) -> Clause | None:
    """Return the limit that was met only because I/Os began late; None if there is none."""
    limits = [each for each in search.limits if each.metric == "latency"]
    for limit, name in (
        (each, name) for each in limits for name in wanted_directions(each, dirs) if late.get(name)
    ):
        told = _known_from_intended(limit, _latency_of(dirs[name], name, kind), late[name])
        found = (m.value for m in point.measured if (m.limit, m.direction) == (limit.text, name))
        if told > max(limit.most, FLATTERED * (next(found, None) or 0.0)):
            return clause("began-late", limit=limit.text, direction=name, latency_ns=told)
    return None


def _known_from_intended(
    limit: Limit, latency: LatencyResult | None, late: Sequence[Late]
) -> float:
    """Return the latency that a limit bounds, from the intended start, in ns.

    0 if unknown.
    """
    if latency is None or latency.buckets is None:
        return 0.0
    wanted = [] if limit.percentile is None else [limit.percentile]
    return (
        of_limit(intended(latency.buckets, latency.mean_ns, wanted, late), limit.percentile) or 0.0
    )


# -- figures


def _measured(limit: Limit, data: PointData) -> list[MeasuredLimit]:
    if limit.metric == "errors":
        verdict: Verdict = "breaks" if data.errors > limit.most else "meets"
        return [MeasuredLimit(limit.text, "", float(data.errors), verdict=verdict)]
    names = wanted_directions(limit, data.dirs)
    latencies = ((name, _latency_of(data.dirs[name], name, data.kind)) for name in names)
    found = [
        _latency(limit, name, each, data.seconds, data.cut)
        for name, each in latencies
        if each is not None
    ]
    return found or [MeasuredLimit(limit.text, limit.direction, None)]


def _latency_of(result: DirectionResult, name: str, kind: str) -> LatencyResult | None:
    return result.lat if kind_of(name, kind) == "lat" else result.clat


def wanted_directions(limit: Limit, dirs: Mapping[str, object]) -> list[str]:
    """Return the directions a limit applies to: the one it names, otherwise all that do I/O."""
    if limit.direction:
        wanted = BOTH if limit.direction == MIXED and BOTH in dirs else limit.direction
        return [wanted] if wanted in dirs else []
    if BOTH in dirs:  # reads and writes have no latencies of their own
        return [
            name
            for name in dirs
            if name not in OF_BOTH and (name == BOTH or direction(name).in_total)
        ]
    return [
        name for name in dirs if direction(name).in_total and not (name == MIXED and "read" in dirs)
    ]


def _latency(
    limit: Limit, name: str, latency: LatencyResult, seconds: Sequence[ClusterSecond], cut: bool
) -> MeasuredLimit:
    told: LatencyInterval | None
    parts = [each.lat[name] for each in seconds if name in each.lat]
    if limit.percentile is None:
        told = mean_interval(latency.mean_ns, latency.stddev_ns, latency.n, parts)
    else:
        told = (
            percentile_interval(latency.buckets, limit.percentile, parts)
            if latency.buckets
            else None
        )
        # upper edge of a wide bucket
        if told is not None and latency.bucket_width is not None:
            told = replace(told, low=told.low / (1 + latency.bucket_width))
    if told is None:
        return MeasuredLimit(limit.text, name, None)
    # a point ended early was clearly over; its few seconds would understate that
    surely = told.value if cut else told.low
    verdict: Verdict = (
        "meets" if told.high < limit.most else "breaks" if surely >= limit.most else "unclear"
    )
    high = None if told.high == inf else told.high  # JSON has no infinity
    over = None
    if limit.percentile is not None and latency.buckets is not None:
        over = share_over(latency.buckets, limit.most) / max(1 - limit.percentile / 100, 1e-9)
    return MeasuredLimit(
        limit.text, name, told.value, told.low, high, verdict, told.share_error, told.slope, over
    )


def _deviation(seconds: Sequence[ClusterSecond]) -> float | None:
    rates = [sum(each.ios.values()) / each.seconds for each in seconds if each.seconds > 0]
    return pstdev(rates) / fmean(rates) if len(rates) > 1 and any(rates) else None


def _intended(
    search: Search,
    offer: Offer,
    dirs: Mapping[str, DirectionResult],
    late: Mapping[str, Sequence[Late]],
    kind: str,
) -> tuple[dict[str, float], str]:
    """Return latency from intended start over all directions, and the code of what is unknown."""
    if offer.rate_iops is None:
        return {}, CLOSED
    if not late:
        return {}, NO_SECONDS
    whole, sums = Histogram(), 0.0
    for name in wanted_directions(ANY, dirs):
        latency = _latency_of(dirs[name], name, kind)
        if latency is not None and latency.buckets is not None:
            whole.add(latency.buckets)
            sums += latency.mean_ns * latency.n
    wanted = sorted(
        {*SHOWN, *(each.percentile for each in search.limits if each.percentile is not None)}
    )
    all_late = [each for name in wanted_directions(ANY, dirs) for each in late[name]]
    return intended(whole.buckets, sums / max(whole.total, 1), wanted, all_late), WHY


def _late(
    offer: Offer,
    dirs: Mapping[str, DirectionResult],
    seconds: Sequence[ClusterSecond],
    split: Mapping[str, float],
) -> dict[str, list[Late]]:
    """Return the late I/Os of each direction, relative to its share of the offered rate.

    Reads and writes measured together are as late as both; a sync is as late as the writes before
    it.
    """
    if offer.rate_iops is None or not seconds:
        return {}
    names, lengths = wanted_directions(ANY, dirs), [each.seconds for each in seconds]
    told = all(name in split for name in names)
    parts: Mapping[str, float] = split if told else {name: dirs[name].ios for name in names}
    whole = max(sum(parts.values()), 1e-9)
    found = {
        name: late_ios(
            [each.ios.get(name, 0) for each in seconds],
            lengths,
            offer.rate_iops * parts[name] / whole,
        )
        for name in names
    }
    return found | {name: _late_like(name, dirs, found) for name in dirs if name not in found}


def _late_like(
    name: str, dirs: Mapping[str, DirectionResult], late: Mapping[str, Sequence[Late]]
) -> list[Late]:
    """Return the late I/Os of a direction that has no rate of its own.

    They are a share of the late I/Os of the directions it belongs to or follows.
    """
    own = OF_BOTH if name == MIXED else FOLLOWED
    others = [other for other in late if other in own] or list(late)
    share = dirs[name].ios / max(sum(dirs[other].ios for other in others), 1)
    return [(delay, count * share) for other in others for delay, count in late[other]]


def _ios(second: ClusterSecond) -> int:
    """Return how many I/Os of a second count towards the offered rate."""
    return sum(second.ios[name] for name in wanted_directions(ANY, second.ios))


# -- while a point is running


def clearly_over(search: Search, offer: Offer, so_far: Sequence[ClusterSecond]) -> Clause | None:
    """Return why a point may be ended early; None if it must continue.

    One second never decides. Either at least three seconds contain four times the I/Os above a
    limit that the whole point may have, so that no quiet rest could compensate (for a mean: four
    times the total time); or the backlog exceeds two seconds of load and is growing. Points at full
    load, of a load curve, and holds always continue: a hold shows whether the system recovers.
    """
    if offer.rate_iops is None or offer.role in ("curve", "hold") or len(so_far) < OVER_SECONDS:
        return None
    names = dict.fromkeys(name for each in so_far for name in each.lat)
    for limit in search.limits:
        if limit.metric == "latency":
            surely = _surely_slow if limit.percentile is None else _surely_over
            for name in wanted_directions(limit, names):
                if why := surely(limit, name, offer, so_far):
                    return why
    return _falls_behind(offer.rate_iops, so_far)


def _surely_over(
    limit: Limit, name: str, offer: Offer, so_far: Sequence[ClusterSecond]
) -> Clause | None:
    share = 1 - (limit.percentile or 0.0) / 100
    parts = [each.lat[name] for each in so_far if name in each.lat]
    slow = [over_limit(each, limit.most) for each in parts]
    in_seconds = sum(found > share * sum(each.n) for found, each in zip(slow, parts, strict=True))
    if in_seconds < OVER_SECONDS or sum(slow) <= SURELY_OVER * share * _ios_of_all(
        offer, name, so_far
    ):
        return None
    return clause("slow-ios", limit=limit.text, direction=name, ios=sum(slow), share=share)


def _surely_slow(
    limit: Limit, name: str, offer: Offer, so_far: Sequence[ClusterSecond]
) -> Clause | None:
    parts = [each.lat[name] for each in so_far if name in each.lat]
    took = [time_in(each) for each in parts]
    in_seconds = sum(
        time > limit.most * sum(each.n) for time, each in zip(took, parts, strict=True)
    )
    if in_seconds < OVER_SECONDS or sum(took) <= SURELY_OVER * limit.most * _ios_of_all(
        offer, name, so_far
    ):
        return None
    mean = sum(took) / sum(sum(each.n) for each in parts)
    return clause("slow-mean", limit=limit.text, direction=name, mean_ns=mean)


def _ios_of_all(offer: Offer, name: str, so_far: Sequence[ClusterSecond]) -> float:
    """Return how many I/Os of a direction the whole point may have, at the current or the offered
    rate, whichever is higher.
    """
    done = sum(sum(each.lat[name].n) for each in so_far if name in each.lat)
    lasted = sum(each.seconds for each in so_far)
    return max(done * max(1.0, offer.seconds / max(lasted, 1e-9)), _ios_due(offer, name, so_far))


def _ios_due(offer: Offer, name: str, so_far: Sequence[ClusterSecond]) -> float:
    """Return how many I/Os of a direction the whole point has at the offered rate."""
    done = sum(_ios(each) for each in so_far)
    mine = sum(each.ios.get(name, 0) for each in so_far)
    return (
        (offer.rate_iops or 0.0)
        * offer.seconds
        * (mine / done if done and direction(name).in_total else 0.0)
    )


def _falls_behind(rate: float, so_far: Sequence[ClusterSecond]) -> Clause | None:
    behind = backlog([_ios(each) for each in so_far], [each.seconds for each in so_far], rate)
    last = behind[-OVER_SECONDS:]
    grows = all(later > earlier for earlier, later in pairwise(last))
    if not grows or last[-1] <= BEHIND_S * rate:
        return None
    return clause("overdue", ios=last[-1])

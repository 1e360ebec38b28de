"""Texts about searches, by code: why points are measured, their verdicts, answers, caveats; and
points as lines of progress output.

`offered_iops` null: full load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.metrics.buckets import label
from tui.model.operands import Clause
from tui.model.plain import some
from tui.model.search import RATE, Limit, MeasuredLimit, Offer, Search, SearchPoint
from tui.text.form import Text, worded_from

if TYPE_CHECKING:
    from tui.model.figure_record import CodedText

Setting = Sequence[tuple[str, int]]
MOST_NAMED = 3  # settings not measured, by name


def search_text(told: CodedText | Clause | str) -> str:
    """Return the text for a code. Older records and journals store the text itself; return it
    unchanged.
    """
    return worded_from(SEARCH, told)


def load_text(offered: float | Setting | None) -> str:
    """Return an offered rate or a setting as text."""
    if offered is None:
        return "full load"
    if isinstance(offered, int | float):
        return f"{units.iops(offered)} IOPS"
    return settings_text([offered])


def settings_text(settings: Sequence[Setting]) -> str:
    """Return settings as text; a long list is shortened.

    ``iodepth 1, 8``, or ``iodepth=8 numjobs=1, iodepth=8 numjobs=2 and 7 more``
    """
    if all(len(each) == 1 for each in settings):
        return f"{settings[0][0][0]} {', '.join(str(value) for ((_, value),) in settings)}"
    told = (" ".join(f"{name}={value}" for name, value in each) for each in settings)
    return some(told, MOST_NAMED)


def named_limit(limit: str, direction: str) -> str:
    """Return a limit and the direction it was applied to."""
    return limit if not direction or limit.startswith(f"{direction}.") else f"{direction} {limit}"


# -- points


def hosts_at_full_load(hosts: int, again: bool) -> str:
    """Return why a number of hosts is measured."""
    return f"{units.plural(hosts, 'host')} at full load{' again' if again else ''}"


def better(knobs: Setting) -> str:
    """Return why another setting is measured."""
    return f"is {', '.join(f'{name} {value}' for name, value in knobs)} better?"


Figure = tuple[str, str, float | None, float | None, float | None]
"""Limit, direction, value, lower and upper end of its interval."""


def limits(figures: Sequence[Figure]) -> str:
    """Return the figures of the limits that decided a point."""
    return "; ".join(_figure(*each) for each in figures) or "no limits"


def _figure(
    limit: str, direction: str, value: float | None, low: float | None, high: float | None
) -> str:
    name = named_limit(limit, direction)
    if value is None:
        return f"{name}: not measured"
    if low is None:
        return f"{name}: {value:.0f}"
    end = "no bound" if high is None else units.latency(high)
    return f"{name}: {units.latency(value)} ({units.latency(low)} to {end})"


def not_achieved(job: str, iops: float, offered_iops: float) -> str:
    """Return how much of an offered rate was achieved."""
    of_job = f"job {job}: " if job else ""
    return f"{of_job}achieved {units.iops(iops)} of {units.iops(offered_iops)} IOPS offered"


def slow_ios(limit: str, direction: str, ios: int, share: float) -> str:
    """Return why a point with a percentile limit was ended early."""
    return (
        f"{named_limit(limit, direction)}: {ios} I/Os above the limit: already more"
        f" than {label(100 * share)} % of all I/Os planned for the point"
    )


def slow_mean(limit: str, direction: str, mean_ns: float) -> str:
    """Return why a point with a limit on the mean was ended early."""
    return (
        f"{named_limit(limit, direction)}: mean so far {units.latency(mean_ns)}; the point would"
        " exceed the limit even if all remaining I/Os took no time"
    )


def began_late(limit: str, direction: str, latency_ns: float) -> str:
    """Return which limit was met only because I/Os began late."""
    return (
        f"{named_limit(limit, direction)}: {units.latency(latency_ns)} from the intended start,"
        " because I/Os began late"
    )


POINTS: dict[str, Text] = {
    # why a point is measured
    "full-load": "rate at full load",
    "full-load-again": "full load meets the limits: repeat",
    "hosts-at-full-load": hosts_at_full_load,
    "share-of-maximum": "{share:share} of the maximum",
    "capacity-between": "narrows the interval",
    "least-load": "is there any load that meets the limits?",
    "slightly-lower": "does a slightly lower load meet the limits?",
    "recovered": "a lower rate than before exceeds the limits: has the system recovered?",
    "better": better,
    "hold": lambda seconds: f"does it hold for {units.span(seconds)}?",
    "longer": "unclear: repeat with a longer runtime",
    "heaviest": "the heaviest setting",
    "settings-left": lambda settings: f"{units.plural(settings, 'setting')} left",
    "again": "again: {why}",
    # its verdict
    "limits": limits,
    "hosts-lost": lambda hosts: (
        f"lost {', '.join(hosts)}" if hosts else "no host completed the measurement"
    ),
    "no-io": "no I/O completed",
    "not-achieved": not_achieved,
    "began-late": began_late,
    # why it was ended early
    "slow-ios": slow_ios,
    "slow-mean": slow_mean,
    "overdue": "{ios:iops} I/Os overdue, and their number is growing",
    # latency from intended start
    "within-a-second": (
        "computed from completions per second: a stall followed by catch-up within the same"
        " second is not visible"
    ),
    "closed-loop": "without an offered rate, I/Os have no intended start",
    "no-seconds": "per-second completions are unknown",
}


# -- ends and answers


def failed_hold(
    point: int, offered_iops: float | None, seconds: float, kind: str, at_s: float, every_s: float
) -> str:
    """Return how a held load exceeded the limits."""
    how = {
        "changed": (
            f": met them for {units.span(at_s)}, then exceeded them "
            "(burst credits, a cache tier, or throttling)"
        ),
        "stalls": f": stalls about every {units.span(every_s)}",
        "drift": ": latency drifts upward",
    }
    return (
        f"point {point} exceeded the limits at {load_text(offered_iops)} when held for"
        f" {units.span(seconds)}{how.get(kind, '')}"
    )


NOT_HELD = "not confirmed over a longer time"


def not_held(failure: str | None, seconds: float) -> str:
    """Return why the answer was not confirmed by a hold."""
    ended = f"the search ended before a hold of {units.span(seconds)}"
    return f"{NOT_HELD}: {failure or ended}"


def can_be_missed(stall_s: float | None, seconds: float) -> str:
    """Return which stalls a hold could have missed."""
    span = units.span(seconds)
    within = "" if stall_s is None else f"a stall of up to {stall_s:.2g} s in {span} stays within "
    within = f"{within}the limits; " if within else ""
    return f"{within}stalls rarer than one in {span} can be missed, whatever their length"


Place = tuple[int, float | Setting | None]
"""A point's number, and its offered rate or setting."""


def system_changed(met: Place, exceeded: Place) -> str:
    """Return the contradiction between two points."""
    return (
        f"point {met[0]} met the limits at {load_text(met[1])}, point {exceeded[0]} exceeded them"
        f" at {load_text(exceeded[1])}: the system changed during the search"
    )


def after_overload(point: int, offered_iops: float, pause_s: float) -> str:
    """Return which point does not count because of an overload before it."""
    return (
        f"point {point} exceeded the limits at {load_text(offered_iops)} right after an overload"
        f" and does not count: point {point + 1} met them after a pause of {pause_s:g} s"
    )


def settings_not_tried(settings: Sequence[Setting], implied: bool) -> str:
    """Return which settings were not measured."""
    why = ": implied by lighter or heavier settings" if implied else ""
    return f"{settings_text(settings)}{why}"


def higher_load(heavier: Sequence[str]) -> str:
    """Return how to offer more load: options for another search, if the profile suggests any."""
    options = [" ".join(f"--over {word}" for word in words.split()) for words in heavier]
    how = "use more jobs, a higher queue depth or more hosts"
    if options:
        how = (
            f"repeat with {', or with '.join(options)} (in the app r on Runs, then over:"
            f" {' or '.join(heavier)}), or with more hosts"
        )
    return f"a higher load than this load generator produced: {how}"


def points_left(others: Sequence[str], shares: Sequence[float], why: str) -> str:
    """Return which points of a curve or scaling run were not measured, and why."""
    told = [f"{', '.join(map(units.share, shares))} of the maximum"] if shares else []
    return f"{', '.join([*others, *told])}: {why}"


ANSWERS: dict[str, Text] = {
    # why a search ended
    "points-used": "all {points} points used",
    "time-used": lambda within_s: f"time used up: {units.span(within_s)} of load and pauses",
    "points-failed": "{points} points in a row failed",
    "search-stopped": "stopped",
    "answered": "no further point needed",
    # what was exceeded first, if no limit was
    "rate-not-achieved": "the offered rate, which was not achieved",
    # the hold
    "hold-not-requested": lambda longest_s: (
        f"{NOT_HELD}: no hold; the longest point took {units.span(longest_s)}"
    ),
    "held": lambda seconds, offered_iops: (
        f"held for {units.span(seconds)} at {load_text(offered_iops)}"
        + (" offered" if isinstance(offered_iops, int | float) else "")
    ),
    "not-held": not_held,
    "failed-hold": failed_hold,
    "capacity-lowered": "{failure}; the capacity was lowered",
    "points-discarded": (
        "point {point} contradicts earlier points, which are discarded; later points are longer"
    ),
    "drift": "drift: latency rose while the load was held; a longer load may exceed the limits",
    "exceeded-later": lambda at_s: (
        f"after {units.span(at_s)} of the hold, most seconds exceeded a limit"
    ),
    "can-be-missed": can_be_missed,
    # contradictions
    "system-changed": system_changed,
    "after-overload": after_overload,
    # what was not tried
    "settings": settings_not_tried,
    "hosts-lost-twice": lambda hosts: f"points that lost a host twice ({', '.join(hosts)})",
    "more-points": "more than {points} points",
    "more-time": lambda within_s: f"more than {units.span(within_s)} of load and pauses",
    "rest-of-search": "the rest of the search: {why}",
    "lower-loads": lambda share: (
        "any lower load" if share is None else f"loads below {units.share(share)} of the maximum"
    ),
    "higher-load": higher_load,
    "arrivals": (
        "random arrivals: full load was measured as a closed loop, which sends no new I/O until"
        " one completes; with random arrivals a lower rate may exceed the limits"
    ),
    "points-left": points_left,
}

# -- curves and scaling

CURVES: dict[str, Text] = {
    "few-points": "only {points} points: fitting the curve (4 parameters) needs 5 or more",
    "no-knee": "up to the highest rate, latency grows no faster than load",
    "low-but-not-achieved": (
        "latency stays low, but {offered_iops:iops} IOPS offered are not achieved"
    ),
    "few-host-counts": "{counts} host counts: too few to fit the law's three unknowns",
    "three-points": "three points for three unknowns: the fit cannot be checked",
    "no-maximum": "no maximum: throughput does not fall with more hosts, according to the model",
    "maximum-unbounded": "no upper bound for the number of hosts at the maximum",
    "maximum-too-far": "the maximum is too far beyond {hosts} hosts to estimate",
    "several": "{texts:lines}",
    # why two curves have no interval between them
    "few-common-points": (
        "no confidence interval: {a} and {b} points at common rates; each curve needs {needed}"
    ),
    "no-per-second-data": "no confidence interval: the points have no per-second data",
    "points-scatter": "no confidence interval: the points scatter too much",
}

SEARCH = POINTS | ANSWERS | CURVES


def point_text(search: Search, point: SearchPoint, number: str) -> str:
    """Return a search point as one line.

    ``point 4/15: offered 12.0k IOPS, achieved 11.9k IOPS, read p99.9 1.31 ms, limit 2 ms: meets``
    """
    limits = {limit.text: limit for limit in search.limits}
    figures = [
        _measured(limits[each.limit], each)
        for each in point.measured
        if each.value is not None and each.limit in limits
    ]
    load = ", ".join((offer_text(point.offer), f"achieved {units.iops(point.iops)} IOPS", *figures))
    cut = ", ended early" if point.cut else ""
    verdict = f": {point.verdict}" if search.limits else ""
    why = search_text(point.why) if point.verdict in ("void", "unclear") else ""
    return f"point {number}: {load}{cut}{verdict}{f' ({why})' if why else ''}"


def _measured(limit: Limit, found: MeasuredLimit) -> str:
    """Return a measured figure next to its limit: ``read p99.9 1.31 ms, limit 2.00 ms``."""
    if limit.metric == "errors":
        return units.plural(round(found.value or 0.0), "error")
    kind = "mean" if limit.percentile is None else f"p{label(limit.percentile)}"
    return (
        f"{found.direction} {kind} {units.latency(found.value)},"
        f" limit {units.latency(limit.most)}".strip()
    )


def knobs_text(knobs: dict[str, object]) -> str:
    """Return the settings of a point: ``numjobs=4 iodepth=32``."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def offer_text(offer: Offer) -> str:
    """Return the load of a point: ``offered 12.0k IOPS, iodepth=8``; ``full load, hosts=4``."""
    rate = "full load" if offer.rate_iops is None else f"offered {units.iops(offer.rate_iops)} IOPS"
    knobs = knobs_text({name: value for name, value in offer.knobs.items() if name != RATE})
    return f"{rate}, {knobs}" if knobs else rate

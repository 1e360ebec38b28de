"""Whether the load was steady while it was measured: SNIA's window, a warm-up that was measured, missing seconds.

The series is the cluster's own, all hosts together, in the headline's direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean, pstdev

from tui.metrics import units
from tui.metrics.steady import RANGE, ROUND_S, ROUNDS, SLOPE, window_across
from tui.model.step_record import SeriesRecord
from tui.model.thresholds import default
from tui.results.findings.check import Found, Moot, StepEvidence, UnknownError, step_check
from tui.results.findings.rates import cluster_rates

WARM_SHARE, WARM_OFF, WARM_S = 0.1, 0.10, 20  # first part of the series, how far it may be off, seconds it takes
MISSING = default("V30.missing")


@step_check(
    "V10",
    "Steady state",
    rule=f"five equal windows are within {units.share(RANGE)} of their mean, and drift by {units.share(SLOPE)} at most",
    advice="Fill the device, measure longer, or let the profile precondition: what falls is a cache or fresh flash "
    "that fills up, what rises is a cache that warms up.",
    source="SNIA SSS PTS 2.0",
)
def steady_state(at: StepEvidence) -> Iterator[Found]:
    """A mean over a rate that still moves depends on how long one looks."""
    values = cluster_rates(at.record.series)
    window = window_across(values)
    if at.step.runtime_s is None:
        raise UnknownError("the load is bound by size: it runs out at its end")
    if window is None:
        raise UnknownError(f"under {ROUNDS * ROUND_S} s were measured")
    if not window.steady:
        apart, drift = units.share(window.range), units.share(window.slope)
        message = f"not in steady state: five windows {apart} apart, drifting by {drift}"
        slow = window.range <= RANGE
        measured, threshold = (window.slope, SLOPE) if slow else (window.range, RANGE)
        yield Found("warning", message, round(measured, 4), threshold)


@step_check(
    "V11",
    "Warm-up in the figure",
    rule=f"without ramp_time, the first {units.share(WARM_SHARE)} are within {units.share(WARM_OFF)} of the rest, "
    "or its noise",
    advice="Give the profile a ramp_time that covers it.",
    source="mean of the first tenth against the rest",
)
def warm_up(at: StepEvidence) -> Iterator[Found]:
    """Caches, connections and clocks take time to get going: without a ramp that time is in the figure."""
    values = cluster_rates(at.record.series)
    if at.step.ramp_s:
        raise UnknownError(Moot.RAMP)
    if not at.run.from_begin:
        raise UnknownError("the begin is too long ago")
    if len(values) < WARM_S:
        raise UnknownError(f"under {WARM_S} s were measured")
    count = max(2, round(len(values) * WARM_SHARE))
    first, rest = values[:count], values[count:]
    mean, noise = fmean(rest), pstdev(rest)
    off = fmean(first) / mean - 1 if mean else 0.0
    if abs(off) > WARM_OFF and abs(off) * mean > 3 * noise:
        where = "above" if off > 0 else "below"
        message = f"the first {count} s are {units.share(abs(off))} {where} the rest, and there is no ramp"
        yield Found("warning", message, round(off, 4), WARM_OFF)


@step_check(
    "V30",
    "Seconds without samples",
    rule=f"samples are missing for {units.share(MISSING)} of the seconds of a host at most",
    advice="Look at the connection and the load of the host: totals are whole, the series is not.",
    source="samples of each host",
)
def missing_seconds(at: StepEvidence) -> Iterator[Found]:
    """Charts and percentiles over time have gaps where no samples came; the result itself does not depend on them."""
    series = at.record.series
    if series is None:
        raise UnknownError("there are no samples")
    allowed = max(1, at.limit("V30.missing") * len(series.columns[0].iops))
    gaps = {host: gap for host, gap in _gaps(series).items() if gap > allowed}
    if gaps:
        worst = max(gaps, key=lambda host: gaps[host])
        message = f"no samples of {worst} for {gaps[worst]} of {len(series.columns[0].iops)} s"
        yield Found("warning", message, gaps[worst], at.limit("V30.missing"), {"hosts": " ".join(gaps)})


def _gaps(series: SeriesRecord) -> dict[str, int]:
    """Return seconds of which nothing is known, between the first and the last known one, by host."""
    found: dict[str, int] = {}
    for column in series.columns:
        known = [second for second, value in enumerate(column.iops) if value is not None]
        if column.host is not None and known:
            gap = known[-1] - known[0] + 1 - len(known)
            found[column.host] = min(found.get(column.host, gap), gap)
    return found


CHECKS = (steady_state, warm_up, missing_seconds)

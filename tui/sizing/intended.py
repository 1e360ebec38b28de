"""Latency from the intended start of each I/O, estimated from each second's completions against the schedule. Pure.

fio tells how long an I/O took from when it was started. A system that stands still is flattered by that: what should
have begun meanwhile had to wait, and is not asked how long. What is known of an I/O scheduled at t is that it cannot
have begun before all those before it: its delay is how long completions needed to come to the schedule at t.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import sqrt

from tui.metrics.buckets import index_to_value, label, rank
from tui.model.event import Buckets

PARTS = 10  # of a second, each with a delay of its own
CHANCE = 2.0  # standard deviations of a second's Poisson arrivals that are no backlog
MEAN = "mean"
WHY = "from each second's completions: a stall that is made good within a second is not seen"
CLOSED = "without an offered rate no I/O has an intended start"
NO_SECONDS = "completions second by second are not known"

Late = tuple[float, float]
"""A delay in seconds, and how many I/Os had it."""


def backlog(ios: Sequence[float], lengths: Sequence[float], rate: float) -> list[float]:
    """Return the I/Os that were due and not done at each second's end, less what Poisson arrivals leave to chance."""
    found, behind = [], 0.0
    for done, length in zip(ios, lengths, strict=True):
        due = rate * length
        behind = max(0.0, behind + due - done - CHANCE * sqrt(due))
        found.append(behind)
    return found


def late_ios(ios: Sequence[float], lengths: Sequence[float], rate: float) -> list[Late]:
    """Return which I/Os began late and by how much; empty: none that can be told."""
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
    """Return when so many I/Os were done; beyond the last second at the usual rate."""
    at = bisect_left(done, count)
    if at == len(done):
        return ends[-1] + (count - done[-1]) / usual
    if at == 0:
        return ends[0]
    return ends[at - 1] + (ends[at] - ends[at - 1]) * (count - done[at - 1]) / (done[at] - done[at - 1])


def intended(whole: Buckets, mean_ns: float, wanted: Sequence[float], late: Sequence[Late]) -> dict[str, float]:
    """Return percentiles and the mean from the intended start, ns; never below those from the actual one."""
    total = sum(whole.n)
    if not total:
        return {}
    waited = sum(count for _, count in late)
    rest = max(0.0, total - waited) / total
    values = sorted(
        [(float(index_to_value(at)), count * rest) for at, count in zip(whole.idx, whole.n, strict=True)]
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
    """Return the figure that a limit asks for, None where it was not told."""
    return found.get(MEAN if percentile is None else label(percentile))

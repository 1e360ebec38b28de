"""Steady state by SNIA's rule: range and slope of the rounds of one load within limits. Pure.

SSS PTS: over five rounds Max(y)-Min(y) is at most 20 % of their mean, and the least-squares line
through them moves by at most 10 % of it over the window, slope x (rounds - 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean, median, pvariance

from msgspec import Struct
from msgspec.structs import replace

from tui.metrics import units
from tui.metrics.figures import kind_of, over_hosts, value_of
from tui.metrics.registry import MIXED
from tui.model.event import DirectionResult, HostResult
from tui.model.plan import Headline, Plan, Precondition, Step

ROUNDS = 5
RANGE, SLOPE = 0.20, 0.10  # of the mean
ROUND_S = 5  # minimum seconds of a round within one load
# minimum length of the parts before and after a change, as a share and in seconds; seconds left out
# between them, because both rates may occur there
PART, PART_S, BETWEEN_S = 0.2, 4, 1
CHANGE_S = 2 * PART_S + BETWEEN_S  # a load of 10 s has 9 whole seconds
# minimum difference between two parts, in standard deviations within them: the best split of a
# random walk exceeds it in 1 of 100 cases (9 to 60 values, simulated), less correlated noise in
# fewer
APART = 7.5
# without the most different second of each part: one that was disturbed hides no change. Exceeded
# by as few random walks of TRIMMED_S or more values
APART_TRIMMED, TRIMMED_S = 12.0, 12
LEAST_SCATTER = 0.005  # deviation within the parts, of their mean: counts are whole numbers


class SteadyWindow(Struct, frozen=True):
    """Mean figures of equally long rounds, and their range and slope relative to the overall
    mean.
    """

    means: tuple[float, ...]
    range: float
    slope: float

    def within(self, most_range: float, most_slope: float) -> bool:
        """Return whether range and slope are within these limits."""
        return self.range <= most_range and self.slope <= most_slope


def window_of(means: Sequence[float]) -> SteadyWindow | None:
    """Return the window of these rounds; None if they did no I/O.

    `slope` is the excursion of the least-squares line over the window (SNIA SSS PTS: slope x
    (rounds - 1)).
    """
    mean = fmean(means)
    if not mean:
        return None
    middle = (len(means) - 1) / 2
    squares = sum((x - middle) ** 2 for x in range(len(means)))
    slope = sum((x - middle) * (y - mean) for x, y in enumerate(means)) / squares
    return SteadyWindow(
        tuple(means), (max(means) - min(means)) / mean, abs(slope) * (len(means) - 1) / mean
    )


def window_across(values: Sequence[float]) -> SteadyWindow | None:
    """Return the window of a per-second series, cut into equal rounds; None if the series is too
    short, or all 0.
    """
    length = len(values) // ROUNDS
    if length < ROUND_S:
        return None
    return window_of([fmean(values[at * length : (at + 1) * length]) for at in range(ROUNDS)])


class RateChange(Struct, frozen=True):
    """Change of a per-second series: seconds before it, and mean rates before and after."""

    after_s: int
    before: float
    after: float

    @property
    def share(self) -> float:
        """The difference, relative to the higher rate."""
        return abs(self.after - self.before) / max(self.after, self.before)


def change_in(values: Sequence[float]) -> RateChange | None:
    """Return the change of a per-second series from one rate to another, by more than 20 %; None if
    there is none.

    Splits the series where the means of the parts differ most, in standard deviations within the
    parts. Noise needs no model: correlated seconds move the means apart, but also raise the
    deviations within the parts.
    """
    if len(values) < CHANGE_S or min(values) < 0:
        return None
    least = max(PART_S, round(PART * len(values)))
    found, most = None, 1.0
    for first in range(least, len(values) - least - BETWEEN_S + 1):
        parts = values[:first], values[first + BETWEEN_S :]
        before, after = map(fmean, parts)
        apart = _apart(parts) / APART
        if len(values) >= TRIMMED_S:
            apart = max(apart, _apart([*map(_without_furthest, parts)]) / APART_TRIMMED)
        if apart > most:
            found, most = RateChange(first, before, after), apart
    return found if found is not None and found.share > RANGE else None


def _apart(parts: Sequence[Sequence[float]]) -> float:
    """Return the difference between the means of two parts, in standard deviations within them."""
    before, after = map(fmean, parts)
    within = sum(pvariance(part, mean) * len(part)
                 for part, mean in zip(parts, (before, after), strict=True))  # fmt: skip
    scatter = sqrt(within / (sum(map(len, parts)) - len(parts)))
    return abs(after - before) / max(scatter, LEAST_SCATTER * (before + after) / 2, 1e-9)


def _without_furthest(values: Sequence[float]) -> list[float]:
    """Return the values without the value furthest from their median."""
    kept, middle = list(values), median(values)
    kept.remove(max(kept, key=lambda value: abs(value - middle)))
    return kept


class Round(Struct, frozen=True):
    """Headline figure of one round over the hosts that completed it; None if none did."""

    value: float | None
    hosts: tuple[str, ...] = ()


def round_of(plan: Plan, step: Step, results: Mapping[str, HostResult | None]) -> Round:
    """Return the figure of a round from the results of hosts that completed it."""
    whole = {
        host: each
        for host, each in results.items()
        if each is not None and each.final and not each.errors
    }
    headline = plan.headline_of(step)
    hosts = tuple(host for host in step.hosts if host in whole)
    if headline is None or not hosts:
        return Round(None)
    kind = plan.latency_kind_of(step)
    together = over_hosts([_needed(headline, whole[host].dirs, kind) for host in hosts])
    return Round(value_of(headline, together, kind), hosts)


def _needed(
    headline: Headline, dirs: Mapping[str, DirectionResult], kind: str
) -> dict[str, DirectionResult]:
    """Return results with only the latencies that a figure needs: merging many hosts is slow."""
    if headline.metric != "latency":
        return {name: replace(each, slat=None, clat=None, lat=None) for name, each in dirs.items()}
    found = {
        name: each
        for name, each in dirs.items()
        if headline.direction in (name, MIXED) or len(dirs) == 1
    }
    lat = {name: kind_of(name, kind) == "lat" for name in found}
    return {
        name: replace(each, slat=None, **{"clat" if lat[name] else "lat": None})
        for name, each in found.items()
    }


def window_over(rule: Precondition, rounds: Sequence[Round]) -> SteadyWindow | None:
    """Return the window of the last rounds; None if there are too few.

    Counts back from the last round; stops at a round without a figure or on other hosts.
    """
    values: list[float] = []
    for each in reversed(rounds):
        if each.value is None or each.hosts != rounds[-1].hosts or len(values) == rule.window:
            break
        values.insert(0, each.value)
    return window_of(values) if len(values) == rule.window else None


def is_steady(rule: Precondition, rounds: Sequence[Round]) -> bool:
    """Return whether the last rounds are steady by the profile's rule."""
    window = window_over(rule, rounds)
    return window is not None and window.within(rule.range, rule.slope)


def window_text(rule: Precondition, window: SteadyWindow) -> str:
    """Return a window and its limits as text: ``range 31.0 % (max 20 %), slope 4.0 % (max 10
    %)``.
    """
    spread = f"range {units.share(window.range, 1)} (max {units.share(rule.range)})"
    return f"{spread}, slope {units.share(window.slope, 1)} (max {units.share(rule.slope)})"


def rounds_before(steps: Sequence[Step], step: Step) -> list[Step]:
    """Return the rounds planned before a measurement, or before a later round, in order."""
    found: list[Step] = []
    for other in reversed(steps[: step.index]):
        if other.cell != step.cell:
            break
        if other.is_round:
            found.insert(0, other)
        elif found or step.is_round:
            break  # of an earlier pass of a suite
    return found

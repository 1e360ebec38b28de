"""Texts about steadiness and repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tui.metrics import units
from tui.metrics.registry import headline_text
from tui.model.plan import Headline
from tui.text.form import Text
from tui.text.names import names_of

Metric = Literal["iops", "bandwidth", "latency", "ops", "score"]


def _deviation(what: str) -> Text:
    def text(
        point: str,
        deviation: float,
        metric: Metric,
        direction: str,
        percentile: float | None,
        values: Sequence[float],
    ) -> str:
        headline = Headline(metric, direction, percentile)
        figures = ", ".join(headline_text(headline, value) for value in values)
        share = units.share(deviation)
        return f"{point}: standard deviation of {what} is {share} of the mean ({figures})"

    return text


def each_within_noise(profile: str, by: str, best: Sequence[tuple[str, int]]) -> str:
    """Return the best point of each block size that others equal, with their number."""
    told = [f"{name} ({units.plural(count, 'other')})" for name, count in best]
    return f"{profile}: best points that others equal within noise: {names_of(told)}; {by}"


CHANGE = (
    "not in steady state: the rate is {before:iops} IOPS for {seconds} s, then {after:iops}"
    " ({share:share} %s)"
)
FIRST = "the first {seconds} s are {off:share} %s the rest, and ramp_time is 0"
KNOWN_BY = {
    "assumed": "each measured once, so {apart:share} counts as noise",
    "repetitions": "noise is the spread of repetitions",
}
STEADINESS: dict[str, dict[str, Text]] = {
    "steady-state": {
        "windows": (
            "not in steady state: five windows {range:share} apart, drifting by {slope:share}"
        ),
        "lower": CHANGE % "lower",
        "higher": CHANGE % "higher",
    },
    "warm-up": {"above": FIRST % "above", "below": FIRST % "below"},
    "missing-samples": {"missing": "no samples from {host} for {seconds} of {of_s} s"},
    "repetitions": {
        "iterations": _deviation("iterations"),
        "repetitions": _deviation("repetitions"),
        "once": "single run; repeatability unknown",
        "few": "only {count} repetitions",
    },
    "sweep": {
        "short": ("{profile}: ended early, excluded from best point and knee: {points:bracket}"),
        "within-noise": ("{profile}: {best} is best, but within noise of {equal:names}; {by}"),
        "each-within-noise": each_within_noise,
        **KNOWN_BY,
    },
}

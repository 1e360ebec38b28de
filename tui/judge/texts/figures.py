"""Texts of figures that contradict each other: results, latencies, copies, iterations, and figures
within an output. Those of one load generator are in its package.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui import workloads
from tui.metrics import units
from tui.text.form import Text, formed, of_generator, where


def order(at: Sequence[str], kind: str, lower: tuple[str, float], upper: tuple[str, float]) -> str:
    """Return two figures of a latency that are in the wrong order."""
    (first, less), (second, more) = (
        (name if name.startswith("p") else f"the {name}", units.latency(value))
        for name, value in (lower, upper)
    )
    return f"{where(*at)}: {kind}: {first} {less} is above {second} {more}"


def invalid(tool: str, quotes: Sequence[str], count: int) -> str:
    """Return why a benchmark calls its result invalid."""
    more = f" and {count - len(quotes)} more" if count > len(quotes) else ""
    return f"{tool} calls its result invalid: {'; '.join(quotes)}{more}"


SIZE = "{at:of}: {bytes:exact} bytes in {ios:exact} I/Os are {mean_bytes:.7g} per I/O, but the"
SIZE = f"{SIZE} block size of the job is {{low_bytes:size}}"
DEVIATION = "{at:of}: {kind}: standard deviation {deviation_ns:latency};"
EXTREME = (
    "{at:of}: {kind}: %s {value_ns:latency}, but the histogram %s between {low_ns:latency} and"
    " {high_ns:latency}"
)
SUM = "{at:of}: intervals add up to {total:exact} %s, but the result has {told:exact}"
RATE = "the %s rate is {told:.6g}, but {expected:.6g} according to the iterations"
RATES = "rates from {low:.6g} to {high:.6g}"
FIGURES: dict[str, dict[str, Text]] = {
    "rate-mismatch": {
        "ios": (
            "{at:of}: {count:exact} I/Os in {seconds:time} are {expected:iops} IOPS, but the"
            " result has {rate:iops} IOPS"
        ),
        "bytes": (
            "{at:of}: {count:exact} bytes in {seconds:time} are {expected:bandwidth}, but the"
            " result has {rate:bandwidth}"
        ),
    },
    "size-mismatch": {
        "only-reads": "{at:of}: {ios:exact} I/Os, but the jobs only read",
        "size": SIZE,
        "sizes": f"{SIZE} to {{high_bytes:size}}",
    },
    "above-offered": {
        "iops": "{at:of}: achieved {reached:iops} IOPS, but only {offered:iops} IOPS offered",
        "bandwidth": (
            "{at:of}: achieved {reached:bandwidth}, but only {offered:bandwidth} offered"
        ),
    },
    "above-depth": {
        "above": (
            "{at:of}: {in_flight:.1f} I/Os in flight (IOPS x latency), but the jobs allow only"
            " {held}"
        )
    },
    "latency-mismatch": {
        "below-parts": "{at:of}: lat {lat_ns:latency} is below slat + clat, {parts_ns:latency}",
        "above-parts": "{at:of}: lat {lat_ns:latency} is above slat + clat, {parts_ns:latency}",
        "below-part": (
            "{at:of}: maximum lat, {lat_ns:latency}, is below maximum {kind}, {part_ns:latency}"
        ),
        "spread-of-parts": (
            "{at:of}: standard deviation of lat {deviation_ns:latency}; slat and clat allow"
            " {low_ns:latency} to {high_ns:latency}"
        ),
        "counts": "{at:of}: {ios:exact} I/Os, but {latencies:exact} latencies",
        "histogram-count": (
            "{at:of}: {kind}: {ios:exact} I/Os, but {counted:exact} in the histogram"
        ),
        "order": order,
        "mean-outside": (
            "{at:of}: {kind}: mean {mean_ns:latency} is not between minimum and maximum"
            " (limit {limit_ns:latency})"
        ),
        "mean-off": (
            "{at:of}: {kind}: mean {mean_ns:latency}; the distribution allows {low_ns:latency} to"
            " {high_ns:latency}"
        ),
        "deviation-above": (
            f"{DEVIATION} minimum, mean and maximum allow at most {{most_ns:latency}}"
        ),
        "deviation-below": f"{DEVIATION} the percentiles require {{least_ns:latency}} or more",
        "deviation-off": (
            f"{DEVIATION} the histogram allows {{low_ns:latency}} to {{high_ns:latency}}"
        ),
        "minimum": EXTREME % ("minimum", "begins"),
        "maximum": EXTREME % ("maximum", "ends"),
        "percentile": (
            "{at:of}: {kind}: p{percentile:.10g} {value_ns:latency}; the histogram has"
            " {histogram_ns:latency}"
        ),
    },
    "series-mismatch": {"ios": SUM % "I/Os", "bytes": SUM % "bytes"},
    "impossible-time": {
        "longer": "{at:of}: measured for {measured_s:time}, but the phase lasted {phase_s:time}",
        "later": "{host}: the output is dated {apart:days} days after its import",
    },
    "copied-output": {
        "identical": "{count} results are identical to the nanosecond: {names:all}",
        "copies": "{names:and} are copies: {how}",
        "copy-of-run": "{host} is a copy of the result in {run}: {how}",
        "rates": "{count} rates are equal to the last digit",
        "counts": "{equal} of {of} histogram counts are equal; {by_chance:.0f} expected by chance",
        "equal": "mean, deviation and maximum latency are equal to the last digit",
        "factor": "mean, deviation and maximum latency are all {factor:.6g} times as large",
    },
    "rank-shift": {"by-generator": of_generator, "shift": "{quote}"},
    "iterations": {
        "apart": "{operation}: {how}",
        "same": (
            "{operations:all}: {count} iterations differ by only {apart:.0e}; real repetitions"
            " differ more"
        ),
        "ends": "minimum rate {low:.6g} is above the maximum {high:.6g}",
        "mean-outside": (
            "mean rate {mean:.6g} is not between minimum {low:.6g} and maximum {high:.6g}"
        ),
        "mean": f"{{count}} {RATES} cannot have a mean of {{mean:.6g}}",
        "deviation-below": (
            f"{{count}} {RATES} must have a standard deviation above {{deviation:.6g}}"
        ),
        "deviation-above": f"{RATES} cannot have a standard deviation of {{deviation:.6g}}",
        "moved": (
            "iteration {iteration} moved {moved_bytes:size} (rate x time), but"
            " {planned_bytes:size} were planned"
        ),
        "largest": RATE % "largest",
        "smallest": RATE % "smallest",
        "mean-listed": RATE % "mean",
    },
    "own-verdict": {"invalid": invalid},
}


# of outputs of several hosts or formats
TEXTS = {
    "total-bandwidth": "total {told:bandwidth}, but directions add up to {other:bandwidth}",
    "total-iops": "total {told:iops} IOPS, but directions add up to {other:iops}",
    "hosts": "total {0} is {told:.4g} x the average of the hosts",
    "average-bandwidth": "average {told:bandwidth}, but a host has {other:bandwidth}",
    "average-iops": "average {told:iops} IOPS, but a host has {other:iops}",
    "formats": "{told:.0f} {0} in {1}, but {other:.0f} in {2} of the same measurement",
}
OTHER = "figures contradict each other ({about}): {told:.6g} and {other:.6g}"


def contradiction(
    *, tool: str | None, about: str, names: Sequence[str], told: float, other: float, **place: str
) -> str:
    """Return the text of a contradiction; without a text (another version, or a load generator that
    is not installed) its code and figures.
    """
    own = workloads.find(tool or "")
    text = {**TEXTS, **(own.contradiction_texts() if own is not None else {})}.get(about, "")
    if not text or len(names) < sum(text.count(f"{{{each}}}") for each in range(3)):
        text = OTHER
    figures = {
        "about": about,
        "told": told,
        "other": other,
        "times": told / max(other, 1.0),
        "apart": abs(told - other),
    }
    return f"{where(**place)}: {formed(text, figures, names)}"


OWN_FIGURES: dict[str, dict[str, Text]] = {
    "own-figures": {"contradiction": contradiction, "earlier": "{host}: {quote}"},
}

"""Two searches held against each other: capacity with its interval, the curves over the load that both have."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tui.metrics import units
from tui.model.search_record import IntervalRecord, SearchRecord
from tui.results.sizing.curve import Trace, main_trace, rate_unit, traces
from tui.results.sizing.words import known, limits_text, rate
from tui.sizing.curve import area
from tui.sizing.estimate import Estimate, ratio_of
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, labelled

Word = Literal["better", "worse", "no difference detected", "inconclusive", "not comparable", "not measured"]
ROLES: dict[Word, str] = {"better": GOOD, "worse": BAD, "no difference detected": TEXT, "inconclusive": WARN,
                          "not comparable": BAD, "not measured": WARN}  # fmt: skip
LEAST = 0.02  # what is less is not worth a word
WIDE = 0.05  # an interval that reaches further says that a difference may well be there
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the load that both curves have


@dataclass(frozen=True, slots=True)
class SearchChange:
    """B against A. `ratio`: of the capacities, or of full load where no limits were asked for.

    `latency`: of B's curve over A's, in the mean over the rates `low` to `high`; `at`: rate, A's and B's ns there.
    """

    figure: str
    unit: str
    a: IntervalRecord
    b: IntervalRecord
    ratio: Estimate
    word: Word
    why: str = ""
    percentile: str = ""
    latency: Estimate = field(default_factory=Estimate)
    low: float | None = None
    high: float | None = None
    at: tuple[tuple[float, float, float], ...] = ()


def compare_searches(a: SearchRecord, b: SearchRecord) -> SearchChange:
    """Return what can be said of the second against the first."""
    figure, ours, theirs = _figures(a, b)
    ratio = ratio_of(_estimate(ours), _estimate(theirs))
    why = _obstacle(a, b)
    word: Word = "not comparable" if why else _word(ratio)
    made = SearchChange(figure, rate_unit(a), ours, theirs, ratio, word, why)
    return _with_curves(made, a, b)


def _figures(a: SearchRecord, b: SearchRecord) -> tuple[str, IntervalRecord, IntervalRecord]:
    if a.answer is not None and b.answer is not None:
        none = IntervalRecord(value=None, low=None, high=None)
        ours, theirs = (each.capacity if each.step is not None else none for each in (a.answer, b.answer))
        return "capacity", ours, theirs
    none = IntervalRecord(value=None, low=None, high=None)
    return "full load", a.maximum_iops or none, b.maximum_iops or none


def _estimate(figure: IntervalRecord) -> Estimate:
    return Estimate(figure.value, figure.low, figure.high)


def _obstacle(a: SearchRecord, b: SearchRecord) -> str:
    if a.kind != b.kind:
        return f"a {a.kind} and a {b.kind}"
    if limits_text(a.limits) != limits_text(b.limits):
        return f"other limits: {limits_text(a.limits) or 'none'}; {limits_text(b.limits) or 'none'}"
    return "another objective" if a.objective != b.objective else ""


def _word(ratio: Estimate) -> Word:
    if ratio.value is None:
        return "not measured"
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if ratio.low > 1 and ratio.value - 1 >= LEAST:
        return "better"
    if ratio.high < 1 and 1 - ratio.value >= LEAST:
        return "worse"
    return "inconclusive" if max(ratio.high - 1, 1 - ratio.low) > WIDE else "no difference detected"


# -- curves


def _with_curves(made: SearchChange, a: SearchRecord, b: SearchRecord) -> SearchChange:
    from dataclasses import replace

    ours = main_trace(a)
    if ours is None:
        return made
    same = (each for each in traces(b) if (each.direction, each.percentile) == (ours.direction, ours.percentile))
    theirs = next(same, None)
    if theirs is None:
        return made
    mine, other = _columns(ours), _columns(theirs)
    at = tuple(_at_equal_load(mine, other))
    found = area(mine, other)
    if found is None:
        return replace(made, percentile=ours.name, at=at)
    return replace(made, percentile=ours.name, latency=found.ratio, low=found.low, high=found.high, at=at)


def _columns(trace: Trace) -> tuple[list[float], list[float]]:
    """Return rates and latencies of the paced points, by ascending rate."""
    points = sorted((each.rate, each.latency_ns) for each in trace.points if each.point.offered_iops is not None)
    return [x for x, _ in points], [y for _, y in points]


def _at_equal_load(
    a: tuple[list[float], list[float]], b: tuple[list[float], list[float]]
) -> list[tuple[float, float, float]]:
    if not a[0] or not b[0]:
        return []
    low, high = max(a[0][0], b[0][0]), min(a[0][-1], b[0][-1])
    if high < low:
        return []
    rates = dict.fromkeys(low + (high - low) * share for share in SHARES)
    return [(each, _between(*a, each), _between(*b, each)) for each in rates]


def _between(rates: Sequence[float], values: Sequence[float], wanted: float) -> float:
    """Return the latency at a rate, on the line between the points beside it."""
    at = min(max(bisect_left(rates, wanted), 1), len(rates) - 1) if len(rates) > 1 else 0
    if at == 0 or rates[at] == rates[at - 1]:
        return values[at]
    share = (wanted - rates[at - 1]) / (rates[at] - rates[at - 1])
    return values[at - 1] + share * (values[at] - values[at - 1])


# -- words


def search_lines(found: SearchChange, width: int) -> list[Line]:
    """Return the comparison: figure with its interval, latency over the load that both have, at some loads."""
    runs: list[Run] = [(f"{known(found.a, found.unit)} → {known(found.b, found.unit)}  ", TEXT)]
    runs += [(f"{signed(found.ratio)} ", BRIGHT), (found.word, ROLES[found.word])]
    runs += [(f" ({found.why})", LABEL)] if found.why else []
    lines = labelled([(f"{found.figure}: ", LABEL)], runs, width)
    if found.latency.value is not None and found.low is not None and found.high is not None:
        span = f"over {rate(found.low, found.unit)} to {rate(found.high, found.unit)}"
        told = [(signed(found.latency), BRIGHT), (f" in the mean {span} (area between the curves)", TEXT)]
        lines += labelled([(f"{found.percentile}: ", LABEL)], told, width)
    for load, ours, theirs in found.at:
        text = f"{units.latency(ours)} → {units.latency(theirs)}  {(theirs / ours - 1) * 100:+.1f} %"
        lines += labelled([(f"  {found.percentile} at {rate(load, found.unit)}: ", LABEL)], [(text, TEXT)], width)
    return lines


def signed(ratio: Estimate) -> str:
    """Return a ratio as a change: ``+3.1 % (+1.2 … +5.0 %)``."""
    if ratio.value is None:
        return units.UNKNOWN
    ends = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f" ({(ratio.low - 1) * 100:+.1f} … {(ratio.high - 1) * 100:+.1f} %)"
    return f"{(ratio.value - 1) * 100:+.1f} %{ends}"

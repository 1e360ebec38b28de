"""Searches held against each other: capacity with its interval, the curves over the load that both have."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from tui.metrics import units
from tui.metrics.ranks import LEAST_REPETITIONS
from tui.model.search_record import IntervalRecord, SearchRecord
from tui.results.compare.searches_beside import (
    FitChange,
    HostsChange,
    by_hosts,
    estimate,
    fit_facts,
    fits,
    hosts_lines,
    most_hosts,
    rate_with,
    signed,
)
from tui.results.sizing.curve import MEAN, CurvePoint, Trace, rate_unit, same_traces
from tui.results.sizing.found import UNKNOWN
from tui.results.sizing.words import known, limits_text, rate, shares_text
from tui.sizing.between import Known, between
from tui.sizing.estimate import Estimate, ratio_of
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, WARN, Line, Run, labelled

Word = Literal["better", "worse", "no difference detected", "inconclusive", "not comparable", "not measured",
               "too few repetitions to say"]  # fmt: skip
ROLES: dict[Word, str] = {"better": GOOD, "worse": BAD, "no difference detected": TEXT, "inconclusive": WARN,
                          "not comparable": BAD, "not measured": WARN, "too few repetitions to say": WARN}  # fmt: skip
LEAST = 0.02  # what is less is not worth a word
WIDE = 0.05  # an interval that reaches further says that a difference may well be there
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the load that both curves have
SAME_SHARES = 0.05  # of the load: jobs never reach quite the same at full load


@dataclass(frozen=True, slots=True)
class SearchChange:
    """B against A. `ratio`: of the capacities, of full load where no limits were asked for, of rates over most hosts.

    `latency`: of B's curve over A's, in the mean over the rates `low` to `high`; `at`: rate, A's and B's ns there. Of
    several searches on a side the capacities are repetitions, and `a` and `b` their medians; all else is of the first.
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
    latency_why: str = ""  # why it has no interval
    low: float | None = None
    high: float | None = None
    at: tuple[tuple[float, float, float], ...] = ()
    values_a: tuple[float, ...] = ()  # of each search
    values_b: tuple[float, ...] = ()
    hosts: tuple[HostsChange, ...] = ()  # of searches over numbers of hosts
    fits: tuple[FitChange, ...] = ()  # knee, terms of the scaling law

    @property
    def repeated(self) -> bool:
        """Whether a side is several searches."""
        return max(len(self.values_a), len(self.values_b)) > 1


Told = Callable[[int, str, float | None], tuple[float, float] | None]
"""How well a percentile (None: the mean) of a step is known: standard error of its logarithm, degrees of freedom."""


def compare_searches(
    a: Sequence[SearchRecord], b: Sequence[SearchRecord], told: tuple[Told | None, Told | None] = (None, None)
) -> SearchChange:
    """Return what can be said of the second side against the first; each is one search, or repetitions of one.

    `told` says of the first search of each side how well its points are known.
    """
    first, hosts = (a[0], b[0]), most_hosts([*a, *b])
    figure, ours, theirs = _figures(*first, hosts)
    why = next((each for other in (*a[1:], *b) if (each := _obstacle(a[0], other))), "")
    if not why and hosts is None and a[0].scaling is not None and b[0].scaling is not None:
        why = "no number of hosts that all of them measured"
    ratio = ratio_of(estimate(ours), estimate(theirs))
    word: Word = "not comparable" if why else _word(ratio)
    made = SearchChange(figure, rate_unit(a[0]), ours, theirs, ratio, word, why)
    made = replace(made, hosts=tuple(by_hosts(*first)), fits=tuple(fits(*first)))
    made = _with_curves(made, *first, told) if a[0].scaling is None else made
    if len(a) > 1 or len(b) > 1:
        sides = [[value for each in side if (value := _figures(each, each, hosts)[1].value)] for side in (a, b)]
        made = _of_repetitions(made, *sides) if all(sides) else replace(made, word=word if why else "not measured")
    return made if why else _with_never_met(made, a, b)


def _with_never_met(made: SearchChange, a: Sequence[SearchRecord], b: Sequence[SearchRecord]) -> SearchChange:
    """Return the change where searches found that no load keeps the limits: an answer, and no missing figure."""
    none = [sum(each.answer is not None and each.answer.state == "never-met" for each in side) for side in (a, b)]
    if not any(none):
        return made
    said = [f"{count} of {len(side)} searches of {name}" for name, count, side in zip("AB", none, (a, b), strict=True)]
    why = f"no load keeps the limits in {' and '.join(text for text, count in zip(said, none, strict=True) if count)}"
    word: Word = "inconclusive"
    if none == [0, len(b)] and made.a.value:
        word = "worse"
    elif none == [len(a), 0] and made.b.value:
        word = "better"
    elif none == [len(a), len(b)]:
        word = "not measured"
    return replace(made, word=word, why="; ".join(filter(None, (made.why, why))))


def _of_repetitions(made: SearchChange, a: Sequence[float], b: Sequence[float]) -> SearchChange:
    """Return the change by what each search of both sides found: Mann and Whitney's test, from four on."""
    from tui.results.compare import stats

    effect = stats.of_repetitions(a, b)
    ratio, why = Estimate(effect.ratio, effect.low, effect.high), made.why
    ours, theirs = (IntervalRecord(value=median(side), low=None, high=None) for side in (a, b))
    word: Word = _word(ratio)
    if effect.p is None:
        apart = max(a) < min(b) or max(b) < min(a)
        word, said = "too few repetitions to say", "do not overlap" if apart else "overlap"
        why = why or f"{len(a)} and {len(b)}, {LEAST_REPETITIONS} each are needed; ranges {said}"
    elif effect.p > stats.ALPHA and word in ("better", "worse"):
        word = "inconclusive"
    word = "not comparable" if made.word == "not comparable" else word
    return replace(made, a=ours, b=theirs, ratio=ratio, word=word, why=why, values_a=tuple(a), values_b=tuple(b))


def _figures(a: SearchRecord, b: SearchRecord, hosts: int | None) -> tuple[str, IntervalRecord, IntervalRecord]:
    """Return what is held against each other first: the capacity, throughput with so many hosts, or full load."""
    if a.answer is not None and b.answer is not None:
        ours, theirs = (each.capacity if each.step is not None else UNKNOWN for each in (a.answer, b.answer))
        return "capacity", ours, theirs
    if a.kind == b.kind == "scaling":
        figure = "throughput" if hosts is None else f"IOPS at {hosts} host{'' if hosts == 1 else 's'}"
        return figure, rate_with(a, hosts), rate_with(b, hosts)
    return "full load", a.maximum_iops or UNKNOWN, b.maximum_iops or UNKNOWN


def _obstacle(a: SearchRecord, b: SearchRecord) -> str:
    if a.kind != b.kind:
        return f"a {a.kind} and a {b.kind}"
    if limits_text(a.limits) != limits_text(b.limits):
        return f"other limits: {limits_text(a.limits) or 'none'}; {limits_text(b.limits) or 'none'}"
    if a.job_shares and b.job_shares and _apart(a.job_shares, b.job_shares) > SAME_SHARES:
        return f"jobs share the load otherwise: {shares_text(a.job_shares)}; {shares_text(b.job_shares)}"
    return "another objective" if a.objective != b.objective else ""


def _apart(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return by how much the share of a job differs at most."""
    return max((abs(a.get(name, 0.0) - b.get(name, 0.0)) for name in {*a, *b}), default=0.0)


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


def _with_curves(
    made: SearchChange, a: SearchRecord, b: SearchRecord, told: tuple[Told | None, Told | None]
) -> SearchChange:
    pair = same_traces(a, b)
    if pair is None:
        return made
    mine, other = (_known(trace, side) for trace, side in zip(pair, told, strict=True))
    at = tuple(_at_equal_load(_columns(mine), _columns(other)))
    found = between(mine, other)
    made = replace(made, percentile=pair[0].name, at=at)
    if found is None:
        return made
    return replace(made, latency=found.ratio, latency_why=found.remark, low=found.low, high=found.high)


def _known(trace: Trace, told: Told | None) -> list[Known]:
    """Return the paced points by ascending rate, each with what its own seconds say of how well it is known."""
    paced = [each for each in trace.points if each.point.offered_iops is not None and each.latency_ns > 0]
    return [_point(trace, each, told) for each in sorted(paced, key=lambda each: each.rate)]


def _point(trace: Trace, each: CurvePoint, told: Told | None) -> Known:
    percentile = None if trace.percentile == MEAN else float(trace.percentile)
    found = told(each.point.step, trace.direction, percentile) if told is not None else None
    return Known(each.rate, each.latency_ns, *(found or ()))


def _columns(points: Sequence[Known]) -> tuple[list[float], list[float]]:
    return [each.rate for each in points], [each.latency_ns for each in points]


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
    """Return the comparison: figures with their intervals, what was fitted, throughput with each number of hosts."""
    lines = [line for name, runs in search_facts(found) for line in labelled([(f"{name}: ", LABEL)], runs, width)]
    return [*lines, *([Line(), *hosts_lines(found.hosts, width)] if found.hosts else [])]


def search_facts(found: SearchChange) -> Iterator[tuple[str, list[Run]]]:
    """Yield what is said of two searches: a name, its runs."""
    runs: list[Run] = [(f"{known(found.a, found.unit)} → {known(found.b, found.unit)}  ", TEXT)]
    runs += [(f"{signed(found.ratio)} ", BRIGHT), (found.word, ROLES[found.word])]
    yield found.figure, [*runs, *([(f" ({found.why})", LABEL)] if found.why else [])]
    if found.repeated:
        counts = f"{len(found.values_a)} and {len(found.values_b)} searches: medians, Mann-Whitney U"
        yield "repetitions", [(f"{counts}; all else is of the first of each side", LABEL)]
    if found.latency.value is not None and found.low is not None and found.high is not None:
        span = f"over {rate(found.low, found.unit)} to {rate(found.high, found.unit)}"
        told: list[Run] = [(signed(found.latency), BRIGHT), (f" in the mean {span} (area between the curves)", TEXT)]
        yield found.percentile, [*told, *([(f"; {found.latency_why}", LABEL)] if found.latency_why else [])]
    for load, ours, theirs in found.at:
        text = f"{units.latency(ours)} → {units.latency(theirs)}  {(theirs / ours - 1) * 100:+.1f} %"
        yield f"  {found.percentile} at {rate(load, found.unit)}", [(text, TEXT)]
    yield from fit_facts(found.fits)

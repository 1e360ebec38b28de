"""Compare searches: capacities with intervals, load curves, throughput by number of hosts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from msgspec import Struct

from tui.analysis.measured import (
    Configuration,
    Floor,
    configuration,
    floor_of,
)
from tui.analysis.verdicts import THRESHOLD, may_be_worse, outcome
from tui.capacity.curves import UncertainPoint, between
from tui.capacity.interval import Estimate, ratio_of
from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.metrics.repeat import HEADLINE_ALPHA, LEAST_RANKED_REPETITIONS, can_decide
from tui.model.operands import Clause, clause
from tui.model.record import RunRecord
from tui.model.search_record import ConfidenceInterval, SearchRecord
from tui.record.search_figures import (
    MEAN,
    UNKNOWN,
    CurvePoint,
    SearchFigure,
    Trace,
    figure_text,
    found_figures,
    rate_unit,
    same_traces,
)
from tui.text.comparison_texts import comparison_text
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, VALUE, WARN, Line, Run, labelled
from tui.text.search import known, limit_text, measured_scales, rate
from tui.text.search_texts import search_text
from tui.text.table import Column, text_table

# capacity and full load are compared first
FITTED = ("knee", "one_host", "contention", "coherence")
RATES = ("knee", "one_host")  # other figures may be 0, so they have no ratio


class HostsChange(Struct, frozen=True):
    """B compared with A at one number of hosts.

    Efficiencies are relative to linear scaling from each side's lowest number of hosts.
    """

    hosts: int
    a: ConfidenceInterval
    b: ConfidenceInterval
    ratio: Estimate
    efficiency_a: float | None
    efficiency_b: float | None


class FitChange(Struct, frozen=True):
    """A fitted figure of both sides, such as the knee; unknown on a side without it."""

    a: SearchFigure
    b: SearchFigure

    @property
    def ratio(self) -> Estimate:
        """B / A for rates; unknown for terms of the scaling law, which may be 0."""
        return (
            ratio_of(estimate(self.a.figure), estimate(self.b.figure))
            if self.a.name in RATES
            else Estimate()
        )

    @property
    def apart(self) -> bool | None:
        """Whether the intervals of both sides do not overlap; None if an interval is unknown."""
        ends = [end for side in (self.a, self.b) for end in (side.figure.low, side.figure.high)]
        low, high, other_low, other_high = ends
        if low is None or high is None or other_low is None or other_high is None:
            return None
        return other_low > high or other_high < low


def estimate(figure: ConfidenceInterval) -> Estimate:
    """Return a figure of the record as an Estimate.

    Older records store an interval without width for a figure that was measured once; such a figure
    has no interval.
    """
    if figure.low == figure.high:
        return Estimate(figure.value)
    return Estimate(figure.value, figure.low, figure.high)


def most_hosts(searches: Sequence[SearchRecord]) -> int | None:
    """Return the highest number of hosts at which all searches measured throughput.

    None if there is none.
    """
    measured = [
        set(measured_scales(each.scaling)) if each.scaling is not None else set()
        for each in searches
    ]
    return max(set.intersection(*measured), default=None) if measured else None


def rate_with(search: SearchRecord, hosts: int | None) -> ConfidenceInterval:
    """Return the throughput with a number of hosts; unknown if not measured."""
    found = measured_scales(search.scaling) if search.scaling is not None else {}
    return found[hosts].iops if hosts in found else UNKNOWN


def by_hosts(a: SearchRecord, b: SearchRecord) -> list[HostsChange]:
    """Return throughput at each number of hosts that both searches measured.

    Empty for searches that did not vary hosts.
    """
    if a.scaling is None or b.scaling is None:
        return []
    ours, theirs = measured_scales(a.scaling), measured_scales(b.scaling)
    return [
        HostsChange(
            hosts, ours[hosts].iops, theirs[hosts].iops,
            ratio_of(estimate(ours[hosts].iops), estimate(theirs[hosts].iops)),
            ours[hosts].efficiency, theirs[hosts].efficiency,
        )
        for hosts in sorted(ours.keys() & theirs.keys())
    ]  # fmt: skip


def fits(a: SearchRecord, b: SearchRecord) -> list[FitChange]:
    """Compare the knee and the scaling law's terms, where either search has them."""
    ours, theirs = ({each.name: each for each in found_figures(side)} for side in (a, b))
    made = []
    for name in FITTED:
        found = ours.get(name) or theirs.get(name)
        if found is not None:
            none = SearchFigure(name, found.unit, UNKNOWN)
            made.append(FitChange(ours.get(name, none), theirs.get(name, none)))
    return [each for each in made if (each.a.figure.value, each.b.figure.value) != (None, None)]


# -- text


def hosts_lines(found: Sequence[HostsChange], width: int) -> list[Line]:
    """Return a table of throughput by number of hosts; empty if there is none."""
    return text_table(hosts_columns(), found, width) if found else []


def hosts_columns() -> list[Column[HostsChange]]:
    """Return the columns of the throughput table, which has one row per number of hosts."""
    rate = METRICS["iops"].text
    return [
        Column("hosts", lambda row: str(row.hosts), right=True),
        Column("A IOPS", lambda row: rate(row.a.value), right=True),
        Column("B IOPS", lambda row: rate(row.b.value), right=True),
        Column("change", lambda row: signed(row.ratio), right=True, role=VALUE),
        Column("A % of linear", lambda row: units.percent(row.efficiency_a), right=True, drop=1),
        Column("B % of linear", lambda row: units.percent(row.efficiency_b), right=True, drop=1),
    ]


def fit_facts(found: Sequence[FitChange]) -> Iterator[tuple[str, list[Run]]]:
    """Yield name and text of knee and terms of the scaling law, for both sides."""
    for each in found:
        runs: list[Run] = [(f"{figure_text(each.a)} → {figure_text(each.b)}", TEXT)]
        if each.ratio.value is not None:
            runs.append((f"  {signed(each.ratio)}", VALUE))
        if each.apart is not None:
            runs.append((f"  intervals {'do not overlap' if each.apart else 'overlap'}", LABEL))
        yield each.a.title, runs


def signed(ratio: Estimate) -> str:
    """Return a ratio as a change: ``+3.1 % (+1.2 … +5.0 %)``."""
    if ratio.value is None:
        return units.UNKNOWN
    ends = ""
    if ratio.low is not None and ratio.high is not None:
        ends = f" ({(ratio.low - 1) * 100:+.1f} … {(ratio.high - 1) * 100:+.1f} %)"
    return f"{(ratio.value - 1) * 100:+.1f} %{ends}"


Word = Literal["better", "worse", "no difference detected", "inconclusive", "not comparable",
    "not measured",
               "too few repetitions to say"]  # fmt: skip
ROLES: dict[Word, str] = {"better": GOOD, "worse": BAD, "no difference detected": TEXT,
    "inconclusive": WARN,
                          "not comparable": BAD, "not measured": WARN,
                          "too few repetitions to say": WARN}  # fmt: skip
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the load range that both curves cover
SAME_SHARES = 0.05  # of the load: jobs never reach exactly the same at full load


@dataclass(frozen=True, slots=True)
class SearchChange:
    """B compared with A.

    `ratio`: B's capacity over A's; without limits, the rates at full load, or with the most hosts.
    `latency`: mean ratio of the curves, B over A, at the rates `low` to `high`; `at`: one rate, and
    the latencies of A and B there in ns. With several searches on a side, capacities are
    repetitions, and `a` and `b` are medians; everything else comes from the first search.
    """

    figure: str
    unit: str
    a: ConfidenceInterval
    b: ConfidenceInterval
    ratio: Estimate
    word: Word
    reason: Clause | None = field(default=None, hash=False)
    percentile: str = ""
    latency: Estimate = field(default_factory=Estimate)
    latency_reason: Clause | None = field(default=None, hash=False)  # why it has no interval
    low: float | None = None
    high: float | None = None
    at: tuple[tuple[float, float, float], ...] = ()
    values_a: tuple[float, ...] = ()  # of each search
    values_b: tuple[float, ...] = ()
    hosts: tuple[HostsChange, ...] = ()  # of searches over numbers of hosts
    fits: tuple[FitChange, ...] = ()  # knee, terms of the scaling law
    threshold: float | None = None  # the smallest change that counts; None if none was tested
    floor: Floor | None = None

    @property
    def undecided(self) -> bool:
        """Whether B may be worse by more than 5 %, or by the noise floor if that is larger."""
        low = self.ratio.low
        if self.word == "inconclusive" and self.threshold is not None and low is not None:
            return may_be_worse(1 - low, self.threshold)
        return self.word not in ("better", "worse", "no difference detected", "not comparable")

    @property
    def why(self) -> str:
        """The reason for the verdict as text; empty if the figures show it."""
        return comparison_text(self.reason)

    @property
    def latency_why(self) -> str:
        """Why the latency has no interval, as text."""
        return search_text(self.latency_reason or "")

    @property
    def repeated(self) -> bool:
        """Whether a side consists of several searches."""
        return max(len(self.values_a), len(self.values_b)) > 1


UncertaintyOf = Callable[[int, str, float | None], tuple[float, float] | None]
"""A function that returns the uncertainty of a step's percentile, or mean if None.

The uncertainty is the standard error of the logarithm, with degrees of freedom.
"""
FloorOf = Callable[[str], Floor | None]
"""A function that returns the noise floor of a figure by its name; None if never measured."""


def compare_searches(
    a: Sequence[SearchRecord],
    b: Sequence[SearchRecord],
    uncertainty: tuple[UncertaintyOf | None, UncertaintyOf | None] = (None, None),
    noise: FloorOf | None = None,
) -> SearchChange:
    """Compare B with A; each side is one search, or repetitions of one.

    `uncertainty`: returns the uncertainty of points, for the first search of each side. `noise`:
    returns the noise floor of a figure.
    """
    first, hosts = (a[0], b[0]), most_hosts([*a, *b])
    figure, ours, theirs = _figures(*first, hosts)
    why = next((each for other in (*a[1:], *b) if (each := _obstacle(a[0], other))), None)
    if not why and hosts is None and a[0].scaling is not None and b[0].scaling is not None:
        why = clause("no-common-host-count")
    ratio = ratio_of(estimate(ours), estimate(theirs))
    word: Word = "not comparable" if why else "inconclusive"
    if ratio.value is None and not why:
        word = "not measured"
    sides = [_found_values(side, hosts) for side in (a, b)]
    made = SearchChange(figure, rate_unit(a[0]), ours, theirs, ratio, word, why)
    made = replace(made, floor=noise(figure) if noise is not None else None)
    if not why and word != "not measured" and len(a) == len(b) == 1:
        made = _of_single(made) if all(sides) else _noise_unknown(made)
    made = replace(made, hosts=tuple(by_hosts(*first)), fits=tuple(fits(*first)))
    made = _with_curves(made, *first, uncertainty) if a[0].scaling is None else made
    if len(a) > 1 or len(b) > 1:
        made = (
            _of_repetitions(made, *sides)
            if all(sides)
            else replace(
                made,
                word=word if why else "not measured",
                reason=why or clause("no-figure", side="B" if sides[0] else "A", figure=figure),
            )
        )
    return made if word == "not comparable" else _with_never_met(made, a, b, sides)


def _found_values(side: Sequence[SearchRecord], hosts: int | None) -> list[float]:
    """Return the figure of each search; only those capacities that the search found."""
    every = (each for each in side if each.answer is None or each.answer.state == "found")
    return [value for each in every if (value := _figures(each, each, hosts)[1].value)]


def _with_never_met(
    made: SearchChange,
    a: Sequence[SearchRecord],
    b: Sequence[SearchRecord],
    found: Sequence[Sequence[float]],
) -> SearchChange:
    """Return the change, with its own verdict if some searches found that no load meets the limits.

    That is an answer, not a missing figure. It is a difference if all searches of one side found
    it, and each side has as many searches as the test needs. `found`: the capacities of each side.
    """
    none = [
        sum(each.answer is not None and each.answer.state == "never-met" for each in side)
        for side in (a, b)
    ]
    if not any(none):
        return made
    counts = [
        (name, (count, len(side)))
        for name, count, side in zip("AB", none, (a, b), strict=True)
        if count
    ]
    why = clause("never-met", searches=counts)
    word: Word = "inconclusive"
    made = replace(made, threshold=None)
    known = [len(values) or count for values, count in zip(found, none, strict=True)]
    if none == [len(a), len(b)]:
        word = "not measured"
    elif none in ([0, len(b)], [len(a), 0]) and all(known):
        if len(a) == len(b) == 1:
            made = _noise_unknown(made)
        elif can_decide(known[0], known[1], 1, HEADLINE_ALPHA):
            word = "better" if none[0] else "worse"
        else:
            word, needed = "too few repetitions to say", LEAST_RANKED_REPETITIONS
            few = clause("few-repetitions", a=known[0], b=known[1], needed=needed, apart=True)
            made = replace(made, reason=few)
    told = why if made.reason is None else clause("several", texts=[made.reason, why])
    return replace(made, word=word, reason=told)


def _of_repetitions(made: SearchChange, a: Sequence[float], b: Sequence[float]) -> SearchChange:
    """Return the change over all searches of both sides.

    With LEAST_RANKED_REPETITIONS or more on each side it is tested (Mann-Whitney).
    """
    from tui.analysis import stats

    effect = stats.of_repetitions(a, b)
    ratio, why, threshold = Estimate(effect.ratio, effect.low, effect.high), made.reason, None
    ours, theirs = (ConfidenceInterval(value=median(side), low=None, high=None) for side in (a, b))
    word: Word = "inconclusive"
    if effect.p is not None:
        threshold = max(THRESHOLD, made.floor.cov if made.floor is not None else 0.0)
        word, told = _tested(ratio, significant=effect.p <= HEADLINE_ALPHA, threshold=threshold)
        why = why or told
    else:
        apart = max(a) < min(b) or max(b) < min(a)
        word, needed = "too few repetitions to say", LEAST_RANKED_REPETITIONS
        why = why or clause("few-repetitions", a=len(a), b=len(b), needed=needed, apart=apart)
    word = "not comparable" if made.word == "not comparable" else word
    return replace(
        made,
        a=ours,
        b=theirs,
        ratio=ratio,
        word=word,
        reason=why,
        values_a=tuple(a),
        values_b=tuple(b),
        threshold=threshold,
    )


def _of_single(made: SearchChange) -> SearchChange:
    """Return the change between two single searches; inconclusive without a noise floor.

    The interval comes from the noise floor, or from within the searches if that is wider.
    """
    from tui.analysis import stats

    if made.floor is None or made.ratio.value is None:
        return _noise_unknown(made)
    effect = stats.with_noise(stats.Effect(made.ratio.value), made.floor.cov, made.floor.n)
    lows = [each for each in (effect.low, made.ratio.low) if each is not None]
    highs = [each for each in (effect.high, made.ratio.high) if each is not None]
    ratio = Estimate(made.ratio.value, min(lows), max(highs))
    apart = min(lows) > 1 or max(highs) < 1
    significant = apart and effect.p is not None and effect.p <= HEADLINE_ALPHA
    word, why = _tested(ratio, significant=significant, threshold=THRESHOLD)
    return replace(made, ratio=ratio, word=word, reason=why, threshold=THRESHOLD)


def _noise_unknown(made: SearchChange) -> SearchChange:
    return replace(made, word="inconclusive", reason=clause("search-noise-unknown"))


def measure_searches(records: Sequence[RunRecord]) -> Configuration:
    """Return the noise floor of the figure that is compared first, from equal searches.

    No floor if fewer than two of them found it.
    """
    searches = [record.search for record in records if record.search is not None]
    found, hosts = configuration(records[0]), most_hosts(searches)
    found.runs = [record.run_id for record in records]
    values = _found_values(searches, hosts)
    if len(values) > 1:
        found.figures[_figures(searches[0], searches[0], hosts)[0]] = floor_of(values)
    return found


def _figures(
    a: SearchRecord, b: SearchRecord, hosts: int | None
) -> tuple[str, ConfidenceInterval, ConfidenceInterval]:
    """Return name and both values of the figure to compare first: capacity, throughput with the
    most hosts, or full load.
    """
    if a.answer is not None and b.answer is not None:
        ours, theirs = (
            each.capacity if each.step is not None else UNKNOWN for each in (a.answer, b.answer)
        )
        return "capacity", ours, theirs
    if a.kind == b.kind == "scaling":
        figure = (
            "throughput" if hosts is None else f"IOPS at {hosts} host{'' if hosts == 1 else 's'}"
        )
        return figure, rate_with(a, hosts), rate_with(b, hosts)
    return "full load", a.maximum_iops or UNKNOWN, b.maximum_iops or UNKNOWN


def _obstacle(a: SearchRecord, b: SearchRecord) -> Clause | None:
    if a.kind != b.kind:
        return clause("different-kinds", a=a.kind, b=b.kind)
    limits = [[limit_text(limit) for limit in each.limits] for each in (a, b)]
    if limits[0] != limits[1]:
        return clause("different-limits", a=limits[0], b=limits[1])
    if a.job_shares and b.job_shares and _apart(a.job_shares, b.job_shares) > SAME_SHARES:
        shares = [[*each.job_shares.items()] for each in (a, b)]
        return clause("different-shares", a=shares[0], b=shares[1])
    return clause("different-objective") if a.objective != b.objective else None


def _apart(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return the largest difference between the shares of a job on both sides."""
    return max((abs(a.get(name, 0.0) - b.get(name, 0.0)) for name in {*a, *b}), default=0.0)


def _tested(ratio: Estimate, *, significant: bool, threshold: float) -> tuple[Word, Clause | None]:
    """Return the verdict of a ratio with its interval, at the level of headlines, and the reason.

    Higher is better.
    """
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return "inconclusive", None
    said, why = outcome(
        ratio.value,
        ratio.low,
        ratio.high,
        significant=significant,
        threshold=threshold,
        alpha=HEADLINE_ALPHA,
    )
    if said == "differs":
        return ("better" if ratio.value > 1 else "worse"), None
    return said, why


# -- curves


def _with_curves(
    made: SearchChange,
    a: SearchRecord,
    b: SearchRecord,
    uncertainty: tuple[UncertaintyOf | None, UncertaintyOf | None],
) -> SearchChange:
    pair = same_traces(a, b)
    if pair is None:
        return made
    mine, other = (_known(trace, side) for trace, side in zip(pair, uncertainty, strict=True))
    at = tuple(_at_equal_load(_columns(mine), _columns(other)))
    found = between(mine, other)
    made = replace(made, percentile=pair[0].name, at=at)
    if found is None:
        return made
    return replace(
        made, latency=found.ratio, latency_reason=found.caveat, low=found.low, high=found.high
    )


def _known(trace: Trace, uncertainty: UncertaintyOf | None) -> list[UncertainPoint]:
    """Return the paced points by ascending rate, each with the uncertainty from its seconds."""
    paced = [
        each for each in trace.points if each.point.offered_iops is not None and each.latency_ns > 0
    ]
    return [_point(trace, each, uncertainty) for each in sorted(paced, key=lambda each: each.rate)]


def _point(trace: Trace, each: CurvePoint, uncertainty: UncertaintyOf | None) -> UncertainPoint:
    percentile = None if trace.percentile == MEAN else float(trace.percentile)
    found = (
        uncertainty(each.point.step, trace.direction, percentile)
        if uncertainty is not None
        else None
    )
    return UncertainPoint(each.rate, each.latency_ns, *(found or ()))


def _columns(points: Sequence[UncertainPoint]) -> tuple[list[float], list[float]]:
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
    """Return the latency at the rate `wanted`, interpolated between neighbouring points."""
    at = min(max(bisect_left(rates, wanted), 1), len(rates) - 1) if len(rates) > 1 else 0
    if at == 0 or rates[at] == rates[at - 1]:
        return values[at]
    share = (wanted - rates[at - 1]) / (rates[at] - rates[at - 1])
    return values[at - 1] + share * (values[at] - values[at - 1])


# -- text


def search_lines(found: SearchChange, width: int) -> list[Line]:
    """Return a comparison of searches as lines.

    It has figures with intervals, fitted terms, and throughput by hosts.
    """
    lines = [
        line
        for name, runs in search_facts(found)
        for line in labelled([(f"{name}: ", LABEL)], runs, width)
    ]
    return [*lines, *([Line(), *hosts_lines(found.hosts, width)] if found.hosts else [])]


def search_facts(found: SearchChange) -> Iterator[tuple[str, list[Run]]]:
    """Yield name and text of each fact about the comparison of two searches."""
    runs: list[Run] = [(f"{known(found.a, found.unit)} → {known(found.b, found.unit)}  ", TEXT)]
    runs += [(f"{signed(found.ratio)} ", BRIGHT), (found.word, ROLES[found.word])]
    yield found.figure, [*runs, *([(f" ({found.why})", LABEL)] if found.why else [])]
    if found.repeated:
        counts = (
            f"{len(found.values_a)} and {len(found.values_b)} searches: medians, Mann-Whitney U"
        )
        yield (
            "repetitions",
            [(f"{counts}; all other figures are from the first of each side", LABEL)],
        )
    if found.floor is not None and found.threshold is not None:
        share = f"{found.floor.cov * 100:.2g} %"
        yield "noise floor", [(f"{share}, from {found.floor.n} searches", LABEL)]
    if found.latency.value is not None and found.low is not None and found.high is not None:
        span = f"over {rate(found.low, found.unit)} to {rate(found.high, found.unit)}"
        curves: list[Run] = [
            (signed(found.latency), BRIGHT),
            (f" on average {span} (area between the curves)", TEXT),
        ]
        yield (
            found.percentile,
            [*curves, *([(f"; {found.latency_why}", LABEL)] if found.latency_why else [])],
        )
    for load, ours, theirs in found.at:
        text = (
            f"{units.latency(ours)} → {units.latency(theirs)}  {(theirs / ours - 1) * 100:+.1f} %"
        )
        yield f"  {found.percentile} at {rate(load, found.unit)}", [(text, TEXT)]
    yield from fit_facts(found.fits)

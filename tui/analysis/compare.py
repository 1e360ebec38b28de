"""Compare two sides, each one run or several.

Every figure of every point gets its change, interval and verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from tui.analysis import stats
from tui.analysis.measured import (
    ComparedPoint,
    Floor,
    NoiseFloors,
    PointRepetition,
    configuration,
    figure_name,
    is_few,
    name_of,
    points_of,
)
from tui.analysis.setup_differences import SetupDifference, differences, points_missing
from tui.analysis.verdicts import THRESHOLD, may_be_worse, outcome
from tui.capacity.interval import UNKNOWN
from tui.metrics.blocks import LEAST_SECONDS, LogSpread, within_run
from tui.metrics.figures import Latency, percentile_of
from tui.metrics.registry import METRICS, meaning
from tui.metrics.repeat import (
    HEADLINE_ALPHA,
    LEAST_RANKED_REPETITIONS,
    OTHERS_ALPHA,
    can_decide,
    repetitions_needed,
)
from tui.metrics.units import Few
from tui.model.figure_record import SeriesColumns
from tui.model.operands import Clause, clause
from tui.model.plain import AB_SIDE_TAG, AB_TAG
from tui.model.plan import Headline
from tui.model.problem import UsageError, did_you_mean
from tui.model.record import RunRecord
from tui.text.comparison_texts import comparison_text

if TYPE_CHECKING:
    from tui.analysis.searches import SearchChange

Word = Literal["better", "worse", "no difference detected", "inconclusive",
    "too few repetitions to say",
               "too few samples", "not measured", "not comparable"]  # fmt: skip
WITHIN_RUNS: tuple[stats.Method, ...] = ("within one run", "one run, order statistics")
UNKNOWN_WORDS = ("inconclusive", "too few repetitions to say", "too few samples", "not measured")
CLIENTS = "number of clients"  # its name in the comparison
HOSTS = "hosts"  # its name in --across


@dataclass(frozen=True, slots=True)
class Change:
    """One figure at one point: A, B, and the change."""

    figure: Headline
    name: str  # read.p99, as in thresholds
    title: str
    unit: str
    a: float | None
    b: float | None
    values_a: tuple[float, ...]
    values_b: tuple[float, ...]
    word: Word
    reason: Clause | None = field(default=None, hash=False)
    effect: stats.Effect | None = None
    p_corrected: float | None = None
    threshold: float = THRESHOLD
    headline: bool = False

    @property
    def why(self) -> str:
        """The reason for the verdict as text; empty if the figures show it."""
        return comparison_text(self.reason)

    @property
    def counts(self) -> bool:
        """Whether the exit code for builds depends on this figure.

        For single runs only the headline counts, because one stall changes all tails.
        """
        return self.headline or max(len(self.values_a), len(self.values_b)) > 1

    @property
    def within_runs(self) -> bool:
        """Whether single runs with unknown run-to-run noise are compared."""
        return self.effect is not None and self.effect.method in WITHIN_RUNS

    @property
    def change(self) -> float | None:
        """B / A - 1; None if either is unknown."""
        if self.effect is None and self.a and self.b == 0:
            return -1.0
        return self.effect.ratio - 1 if self.effect is not None else None

    @property
    def undecided(self) -> bool:
        """Whether B may be worse by more than 5 %.

        With repetitions: by more than the noise floor, if that is larger.
        """
        effect = self.effect
        if self.word != "inconclusive" or self.within_runs:
            return self.word in UNKNOWN_WORDS
        if effect is None or effect.low is None or effect.high is None:
            return True
        loss = 1 - effect.low if METRICS[self.figure.metric].better == "higher" else effect.high - 1
        return may_be_worse(loss, self.threshold)


@dataclass(frozen=True, slots=True)
class PointChange:
    """The changes at one point, the headline first."""

    name: str
    changes: tuple[Change, ...]

    @property
    def headline(self) -> Change | None:
        """The headline's change; None if the point has no headline."""
        return next((each for each in self.changes if each.headline), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """B compared with A, point by point."""

    a: tuple[RunRecord, ...]
    b: tuple[RunRecord, ...]
    gate: tuple[SetupDifference, ...]
    points: tuple[PointChange, ...]
    across: tuple[str, ...] = field(default=())
    search: SearchChange | None = None  # for two searches, in place of points

    @property
    def obstacles(self) -> list[SetupDifference]:
        """The differences in setup that make the runs incomparable; empty if there are none."""
        return [each for each in self.gate if each.blocks]

    @property
    def changes(self) -> list[Change]:
        """The changes of all figures at all points."""
        return [change for point in self.points for change in point.changes]

    @property
    def undecided(self) -> bool:
        """Whether the headlines are too uncertain to say that B is not worse."""
        if self.search is not None:
            return self.search.undecided
        headlines = [each for each in self.changes if each.headline]
        return not headlines or any(each.undecided for each in headlines)

    @property
    def word(self) -> Word:
        """The overall result: worse if any headline is worse, else better if any is better, else
        undecided if any is.

        For searches, their own result. Not comparable if there are obstacles.
        """
        if self.obstacles:
            return "not comparable"
        if self.search is not None:
            return self.search.word
        words = [change.word for change in self.changes if change.headline] or ["not measured"]
        order: tuple[Word, ...] = (
            "worse",
            "better",
            "inconclusive",
            "too few repetitions to say",
            "too few samples",
        )
        return next((word for word in order if word in words), words[0])


def compare(
    a: Sequence[RunRecord],
    b: Sequence[RunRecord],
    floors: NoiseFloors | None = None,
    across: Collection[str] = (),
) -> Comparison:
    """Compare B with A. Each side is one run, or several that repeat each other.

    Searches are compared by their results. Parameters in `across` may differ.
    """
    searches = [[each.search for each in side if each.search is not None] for side in (a, b)]
    if all(searches) and sum(map(len, searches)) == len(a) + len(b):
        from tui.analysis.searches import compare_searches  # few comparisons need it

        gate = differences(a, b, across, searches=True)
        searched = compare_searches(
            searches[0],
            searches[1],
            (percentile_uncertainty(a[0]), percentile_uncertainty(b[0])),
            lambda name: _larger(floors, ((a[0], name), (b[0], name))),
        )
        return Comparison(tuple(a), tuple(b), tuple(gate), (), tuple(across), searched)
    ours, theirs = points_of(a), points_of(b)
    pairs = [(ours[key], theirs[key]) for key in ours if key in theirs]
    gate = [*differences(a, b, across), *points_missing(ours, theirs)]
    found = [
        [_change(*pair, figure, _floor(floors, *pair, figure)) for figure in _shared(*pair)]
        for pair in pairs
    ]
    judged: Iterator[Change] = iter(_judged([change for changes in found for change in changes]))
    if any(each.blocks for each in gate):  # shown side by side without a verdict
        judged = (replace(each, word="not comparable", reason=None) for each in judged)
    points = [PointChange(pair[0].name, tuple(next(judged) for _ in changes))
              for pair, changes in zip(pairs, found, strict=True)]  # fmt: skip
    return Comparison(tuple(a), tuple(b), tuple(gate), tuple(points), tuple(across))


def _shared(a: ComparedPoint, b: ComparedPoint) -> list[Headline]:
    return list(dict.fromkeys([*a.figures, *b.figures]))


def _floor(
    floors: NoiseFloors | None, a: ComparedPoint, b: ComparedPoint, figure: Headline
) -> Floor | None:
    """Return the noise floor of a figure, the larger one if both sides have one; None if neither
    has.
    """
    name = name_of(a, figure)
    return _larger(floors, [(point.attempts[0].record, name) for point in (a, b)])


def _larger(floors: NoiseFloors | None, sides: Iterable[tuple[RunRecord, str]]) -> Floor | None:
    known = [floors.floor(*side) for side in sides] if floors is not None else []
    return max(
        (each for each in known if each is not None), key=lambda each: each.cov, default=None
    )


def _requests(a: ComparedPoint, b: ComparedPoint) -> Mapping[str, str]:
    """Return the names of a store's requests by direction; empty unless all steps have the same."""
    found = [attempt.step.requests for point in (a, b) for attempt in point.attempts]
    return found[0] if found and all(each == found[0] for each in found) else {}


def _change(a: ComparedPoint, b: ComparedPoint, figure: Headline, floor: Floor | None) -> Change:
    """Return one figure for both sides, with the effect between them.

    Verdicts need all figures and are added later.
    """
    measured = [point.by_run(figure) for point in (a, b)]
    every = [[value for run in side for value in run] for side in measured]
    values = [list(map(median, side)) for side in measured]
    few = any(is_few(value) for side in every for value in side)
    word: Word = "not measured" if not all(values) else "too few samples" if few else "inconclusive"
    change = Change(
        figure=figure,
        name=figure_name(figure),
        title=meaning(figure, _requests(a, b)),
        unit=METRICS[figure.metric].unit,
        a=_middle(values[0], few=few),
        b=_middle(values[1], few=few),
        values_a=tuple(values[0]),
        values_b=tuple(values[1]),
        word=word,
        headline=a.headline == figure,
    )
    if word != "inconclusive":
        return change
    if min(*every[0], *every[1]) <= 0:
        return _of_nothing(change, every)
    effect = effect_of(a, b, figure, values)
    if floor is None:
        return replace(change, effect=effect)
    if effect.method == "repetitions":
        return replace(change, effect=effect, threshold=max(THRESHOLD, floor.cov))
    return replace(change, effect=stats.with_noise(effect, floor.cov, floor.n))


def change_between(a: ComparedPoint, b: ComparedPoint, figure: Headline) -> float | None:
    """Return B / A - 1 for a figure, as in every comparison; None if unknown."""
    return _change(a, b, figure, None).change


def _of_nothing(change: Change, measured: Sequence[Sequence[float]]) -> Change:
    """Return a change with its verdict if a figure is 0.

    A side that did no I/O needs no test. `measured`: every repetition of each side.
    """
    a, b = (max(values) > 0 for values in (change.values_a, change.values_b))
    always = all(min(values) > 0 or max(values) <= 0 for values in measured)
    if not always:
        return replace(change, reason=clause("zero-repetition"))
    if a == b:
        return replace(change, word="no difference detected", reason=clause("both-zero"))
    larger_is_better = METRICS[change.figure.metric].better == "higher"
    word: Word = "better" if b == larger_is_better else "worse"
    return replace(change, word=word, reason=clause("zero", side="A" if b else "B"))


def _middle(values: Sequence[float], *, few: bool) -> float | None:
    value = median(values) if values else None
    return Few(value) if few and value is not None else value


def effect_of(
    a: ComparedPoint, b: ComparedPoint, figure: Headline, values: Sequence[Sequence[float]]
) -> stats.Effect:
    """Return the effect between the values of several runs, or between two single runs.

    For single runs it is estimated from their own repetitions, iterations or seconds.
    """
    if len(values[0]) > 1 or len(values[1]) > 1:
        return stats.of_repetitions(values[0], values[1])
    repeated = inside(a, figure), inside(b, figure)
    if min(map(len, repeated)) >= LEAST_RANKED_REPETITIONS and all(map(all, repeated)):
        return replace(stats.of_repetitions(*repeated), method="within one run")
    spreads = [
        stats.pooled([spread_of(attempt, figure) for attempt in side.attempts]) for side in (a, b)
    ]
    if spreads[0] is not None and spreads[1] is not None:
        ranked = figure.metric == "latency" and figure.percentile is not None
        method: stats.Method = "one run, order statistics" if ranked else "within one run"
        return stats.of_spreads(values[0][0], values[1][0], spreads[0], spreads[1], method)
    seconds = min(seconds_of(attempt, figure) for side in (a, b) for attempt in side.attempts)
    return stats.Effect(values[1][0] / values[0][0], method="within one run", seconds=seconds)


def inside(point: ComparedPoint, figure: Headline) -> list[float]:
    """Return a figure's repetitions in a single run, or the iterations of its MPI program."""
    if len(point.attempts) == 1:
        return point.attempts[0].iterations(figure)
    return [value for run in point.by_run(figure) for value in run]


def seconds_of(attempt: PointRepetition, figure: Headline) -> int:
    """Return the number of seconds for which a figure is known over all hosts together."""
    columns = attempt.series(figure)
    return 0 if columns is None else sum(value is not None for value in columns.iops)


def spread_of(attempt: PointRepetition, figure: Headline) -> LogSpread | None:
    """Return the uncertainty of a figure from the run itself; None if it cannot be derived."""
    columns = attempt.series(figure)
    if columns is None:
        return None
    if figure.metric != "latency":
        rates = columns.bw_bytes_per_s if figure.metric == "bandwidth" else columns.iops
        return within_run([value for value in rates if value is not None])
    pairs = [(mean * ios, ios) for mean, ios in zip(columns.lat_mean_ns, columns.iops, strict=False)
             if mean is not None and ios is not None]  # fmt: skip
    mean = within_run([each for each, _ in pairs], [each for _, each in pairs])
    if figure.percentile is None or mean is None:
        return mean
    latency = attempt.latency(figure)
    if latency is None or latency.buckets is None:
        return None
    beyond = _beyond(columns, latency, figure.percentile) or mean
    interval = stats.percentile_interval(
        latency.buckets.idx, latency.buckets.n, figure.percentile, beyond, latency.max_ns
    )
    return None if interval is None else stats.of_interval(interval, mean.degrees)


def percentile_uncertainty(
    record: RunRecord,
) -> Callable[[int, str, float | None], tuple[float, float] | None]:
    """Return a function that estimates the uncertainty of a step's percentile (None: the mean).

    The function takes step index, direction and percentile. It returns the standard error of the
    logarithm and the degrees of freedom, from the step's seconds and histogram.
    """
    steps = {step.index: step for step in record.steps}

    def uncertainty(
        index: int, direction: str, percentile: float | None
    ) -> tuple[float, float] | None:
        step = steps.get(index)
        if step is None:
            return None
        attempt, figure = PointRepetition(record, step), Headline("latency", direction, percentile)
        known = spread_of(attempt, figure) or _by_ranks(attempt, figure)
        return None if known is None else (known.error, known.degrees)

    return uncertainty


def _by_ranks(attempt: PointRepetition, figure: Headline) -> LogSpread | None:
    """Return the uncertainty of a percentile for a short run, estimated from ranks.

    The error is doubled, because seconds are correlated. None for a mean, or without a histogram.
    """
    latency = attempt.latency(figure)
    if figure.percentile is None or latency is None or latency.buckets is None:
        return None
    interval = stats.percentile_interval(latency.buckets.idx, latency.buckets.n, figure.percentile)
    spread = None if interval is None else stats.of_interval(interval, LEAST_SECONDS)
    return None if spread is None else LogSpread(spread.error * UNKNOWN, spread.degrees)


def _beyond(columns: SeriesColumns, latency: Latency, percentile: float) -> LogSpread | None:
    """Return the uncertainty of the share of I/Os beyond a percentile, from its variation over
    time; None if it is unknown.
    """
    value = percentile_of(latency, percentile)
    seconds = zip(columns.lat_mean_ns, columns.p99_ns, columns.iops, strict=False)
    known = [(mean, p99, ios) for mean, p99, ios in seconds if mean and mean > 0 and p99 and ios]
    if not value or not known:
        return None
    means, p99s, rates = zip(*known, strict=True)
    shares = stats.shares_beyond(value, means, p99s)
    return within_run([share * ios for share, ios in zip(shares, rates, strict=True)], rates)


# -- verdicts


def _judged(changes: Iterable[Change]) -> list[Change]:
    """Return the changes with their verdicts.

    Headlines, declared before the run, are tested as one family, all other figures as another. The
    families share the error of 5 %; if all headlines differ, their part goes to the other figures
    (Wiens 2003).
    """
    found = [each if _is_tested(each) else _untested(each) for each in changes]
    alpha = HEADLINE_ALPHA
    for headline in (True, False):
        family = [
            at for at, each in enumerate(found) if each.headline is headline and _is_tested(each)
        ]
        effects = [effect for at in family if (effect := found[at].effect) is not None]
        corrected = stats.holm([each.p for each in effects])
        for at, p in zip(family, corrected, strict=True):
            found[at] = _worded(replace(found[at], p_corrected=p), len(family), alpha)
        alpha = (
            stats.ALPHA if all(p is not None and p <= alpha for p in corrected) else OTHERS_ALPHA
        )
    return found


def _is_tested(change: Change) -> bool:
    return change.effect is not None and not change.within_runs


def _untested(change: Change) -> Change:
    """Return an untested change; inconclusive for single runs, as it may be run-to-run noise."""
    if change.effect is None or change.effect.p is None:
        return _worded(change, 0, 0.0)
    return replace(change, word="inconclusive", reason=clause("run-noise-unknown"))


def _worded(change: Change, family: int, alpha: float) -> Change:
    """Return a change with its verdict, and the reason if there is one."""
    effect = change.effect
    if effect is None:
        return change
    counts = len(change.values_a), len(change.values_b)
    if effect.p is None or effect.low is None or effect.high is None:
        return replace(change, word="too few repetitions to say", reason=_why_too_few(change))
    significant = change.p_corrected is not None and change.p_corrected <= alpha
    ranked = effect.method == "repetitions"
    if ranked and not significant and not can_decide(*counts, family, alpha):
        needed = repetitions_needed(family, alpha)
        few = clause(
            "figures-tested-together", figures=family, needed=needed, repetitions=min(counts)
        )
        return replace(change, word="too few repetitions to say", reason=few)
    said, reason = outcome(
        effect.ratio,
        effect.low,
        effect.high,
        significant=significant,
        threshold=change.threshold,
        alpha=alpha,
    )
    if said != "differs":
        return replace(change, word=said, reason=reason)
    larger_is_better = METRICS[change.figure.metric].better == "higher"
    return replace(change, word="better" if (effect.ratio > 1) == larger_is_better else "worse")


def _why_too_few(change: Change) -> Clause:
    a, b = change.values_a, change.values_b
    if (len(a), len(b)) == (1, 1):
        seconds = change.effect.seconds if change.effect is not None else None
        if seconds is None or seconds >= LEAST_SECONDS:
            return clause("no-spread-within-runs")
        return clause("short-runs", seconds=seconds, least_s=LEAST_SECONDS)
    return clause("few-repetitions", a=len(a), b=len(b), needed=LEAST_RANKED_REPETITIONS,
                  apart=max(a) < min(b) or max(b) < min(a))  # fmt: skip


class Sides(Struct, frozen=True):
    """Runs grouped into sides, by index.

    `by`: what they were grouped by; empty if each run is a side of its own.
    """

    places: tuple[tuple[int, ...], ...]
    by: str = ""

    @property
    def meant(self) -> bool:
        """Whether the sides were declared before the runs, by `ab`."""
        return self.by == BY_AB

    def turned(self, times: int) -> Sides:
        """Return the sides rotated by `times`, so that another side comes first."""
        first = times % len(self.places)
        return structs.replace(self, places=self.places[first:] + self.places[:first])


BY_AB = "benchtui ab"


def apart(records: Sequence[RunRecord]) -> Sides:
    """Return sides of one run each."""
    return Sides(tuple((place,) for place in range(len(records))))


def joined(records: Sequence[RunRecord]) -> Sides:
    """Group runs that repeat each other into sides, in order of first appearance.

    Tries in turn the sides of `ab`, the configuration (profile, parameters, target, hosts), and all
    tags together, and uses the first that gives several sides but fewer than runs. If none does,
    each run is a side of its own.
    """
    keys: tuple[tuple[str, Callable[[RunRecord], object]], ...] = (
        (BY_AB, _of_ab),
        ("parameters, target and hosts", _configuration),
        ("tags", lambda record: sorted(record.tags.items())),
    )
    for by, key in keys:
        groups: dict[str, list[int]] = {}
        for place, record in enumerate(records):
            groups.setdefault(repr(key(record)), []).append(place)
        if 1 < len(groups) < len(records):
            return Sides(tuple(map(tuple, groups.values())), by)
    return apart(records)


def _of_ab(record: RunRecord) -> object:
    """Return the side of a run in its A/B test; a run outside of tests is on its own."""
    side = record.tags.get(AB_SIDE_TAG)
    return record.run_id if side is None else (record.tags.get(AB_TAG), side)


def _configuration(record: RunRecord) -> object:
    """Return the configuration that repetitions have in common."""
    return configuration(record).key


def differing(found: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the parameters that alone prevent a comparison, so that --across would allow it.

    ``hosts`` stands for the number of hosts.
    """
    names: set[str] = set()
    for each in found:
        what = {HOSTS if told.what == CLIENTS else told.what for told in each.obstacles}
        if what <= _params((*each.a, *each.b)) | {HOSTS}:
            names |= what
    return tuple(sorted(names))


def check_across(names: Iterable[str], records: Iterable[RunRecord]) -> None:
    """Raise UsageError if --across names an unknown parameter."""
    known = [*sorted(_params(records)), HOSTS]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--across: unknown parameter '{name}'{hint}; these runs have: {', '.join(known)}"
            )


def _params(records: Iterable[RunRecord]) -> set[str]:
    return {
        name
        for record in records
        for step in record.steps
        for name in (*step.params, *step.options)
    }

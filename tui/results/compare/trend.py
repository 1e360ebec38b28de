"""The history of one profile on one target, of a sweep or a suite point by point: where it changed for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log, sqrt
from random import Random
from statistics import median

import msgspec

from tui.metrics import units
from tui.metrics.registry import BY_UNIT
from tui.metrics.units import plural
from tui.results.compare.compare import THRESHOLD
from tui.results.compare.setup import PROFILE_TEXT, UNKNOWN, Measured, Setup
from tui.results.compare.stats import ALPHA
from tui.results.store.summary import RunSummary
from tui.results.text.chart import value_axis
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run, labelled
from tui.text.plot import ROLES, Axis, Curve, Ticks, plot, plot_rows
from tui.text.table import Column, text_table

LEAST = 4  # runs before a change and after it
SHUFFLES = 999
SEED = 20261122  # the same runs always give the same answer
UNBOUNDED = 10_000  # columns of text that goes into a pipe
WHOLE = ("complete", "imported")
Look = Callable[[RunSummary], Sequence[Measured]]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From run number `at` on the headline is another one: B / A of the medians of the spans around it."""

    at: int
    ratio: float
    p: float


@dataclass(frozen=True, slots=True)
class Other:
    """Runs that are another history, `newest` the last of them, and what is not as in the one that is shown."""

    runs: int
    newest: RunSummary
    differs: str


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs of one profile on one target that were measured alike, oldest first, and where they changed.

    `left_out` are not whole or invalid. Of a sweep or a suite it is the history of one `point`: the headlines of its
    runs are of that point. `others` were measured otherwise: with other parameters, hosts, or another tool.
    """

    profile: str
    target: str
    unit: str
    runs: tuple[RunSummary, ...]
    changes: tuple[ChangePoint, ...]
    left_out: int
    point: str = ""
    setup: Setup = UNKNOWN
    others: tuple[Other, ...] = ()

    @property
    def values(self) -> list[float]:
        """The headlines."""
        return [run.headline_value or 0.0 for run in self.runs]

    @property
    def name(self) -> str:
        """The profile, or the point of it."""
        return self.point or self.profile

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the runs between two changes begin and end."""
        return list(pairwise([0, *(each.at for each in self.changes), len(self.runs)]))


Alike = tuple[Setup, str]  # how it was measured, and the unit of its headline
Place = tuple[str, str]  # target and point


def trends_of(
    runs: Iterable[RunSummary],
    profile: str,
    target: str | None = None,
    look: Look | None = None,
    like: Mapping[str, Setup] | None = None,
    *,
    every: bool = False,
) -> list[Trend]:
    """Return the trends of a profile, one a target and point, the one with the most runs first.

    `look` tells how the points of a run were measured; without it all were measured alike. Runs that were measured
    otherwise are no part of a history: it is that of the newest run, or of `like`, a setup by point, or `every` one.
    """
    places: dict[Place, dict[Alike, list[RunSummary]]] = {}
    left_out: Counter[tuple[Place, Setup]] = Counter()
    for run in sorted(runs, key=_when):
        if run.profile == profile and target in (None, run.target):
            for point, setup, each in _by_point(run, look):
                if each.state in WHOLE and each.verdict != "invalid" and (each.headline_value or 0) > 0:
                    series = places.setdefault((each.target, point), {})
                    series.setdefault((setup, each.headline_unit), []).append(each)
                else:
                    left_out[(each.target, point), setup] += 1
    shown = [(place, alike) for place, series in places.items() for alike in _shown(place, series, like, every=every)]
    tests = Counter(target for (target, _), _ in shown)
    found = []
    for place, alike in shown:
        fit, (setup, unit) = places[place][alike], alike
        changes = change_points([run.headline_value or 0.0 for run in fit], tests[place[0]])
        others = () if every else tuple(_others(places[place], alike))
        found.append(Trend(profile, place[0], unit, tuple(fit), tuple(changes), left_out[place, setup], place[1],
                           setup, others))  # fmt: skip
    return sorted(found, key=lambda each: -len(each.runs))


def _when(run: RunSummary) -> tuple[str, str]:
    return run.utc or run.run_id, run.run_id


def _newest_first(series: Mapping[Alike, Sequence[RunSummary]]) -> list[Alike]:
    return sorted(series, key=lambda alike: _when(series[alike][-1]), reverse=True)


def _shown(
    place: Place, series: Mapping[Alike, Sequence[RunSummary]], like: Mapping[str, Setup] | None, *, every: bool
) -> list[Alike]:
    found = _newest_first(series)
    if like is not None:
        found = [alike for alike in found if alike[0] == like.get(place[1])]
    return found if every else found[:1]


def _others(series: Mapping[Alike, Sequence[RunSummary]], shown: Alike) -> Iterator[Other]:
    for setup, unit in _newest_first(series):
        if (setup, unit) != shown:
            runs = series[setup, unit]
            differs = setup.differs(shown[0]) or f"headline in {unit or 'no unit'}, here in {shown[1] or 'no unit'}"
            yield Other(len(runs), runs[-1], differs)


def _by_point(run: RunSummary, look: Look | None) -> Iterator[tuple[str, Setup, RunSummary]]:
    for each in look(run) if look is not None else [Measured()]:
        head = each.headline
        about = {} if head is None else {
            "headline": head.text, "headline_value": head.value, "headline_unit": head.unit
        }  # fmt: skip
        yield each.point, each.setup, msgspec.structs.replace(run, **about)


def change_points(values: Sequence[float], tests: int = 1) -> list[ChangePoint]:
    """Return where a history changed, first to last: binary segmentation (Vostrikova 1981), each split held against
    the largest one that shuffled histories have; of those that are left, what is less than the threshold is none.

    Of several histories looked at together, `tests`, each has its share of the error (Bonferroni).
    """
    places = sorted(_splits([log(each) for each in values], 0, Random(SEED), ALPHA / tests))
    edges = [0, *(at for at, _ in places), len(values)]
    found = []
    for number, (at, p) in enumerate(places):
        ratio = median(values[at : edges[number + 2]]) / median(values[edges[number] : at])
        if abs(ratio - 1) >= THRESHOLD:
            found.append(ChangePoint(at, ratio, p))
    return found


def _splits(logs: Sequence[float], begin: int, random: Random, alpha: float) -> Iterator[tuple[int, float]]:
    if len(logs) < 2 * LEAST:
        return
    strengths = _strengths(logs)
    best = max(range(len(strengths)), key=strengths.__getitem__)
    p = _p_of_shuffles(logs, strengths[best] - 1e-12, random, alpha)
    if p > alpha:
        return
    at = best + LEAST
    yield begin + at, p
    yield from _splits(logs[:at], begin, random, alpha)
    yield from _splits(logs[at:], begin + at, random, alpha)


def _p_of_shuffles(logs: Sequence[float], strength: float, random: Random, alpha: float) -> float:
    """Return how often shuffled histories split as much; none are shuffled once it is more than alpha for certain."""
    times = max(SHUFFLES, round(2 / alpha))
    shuffled, as_much = list(logs), 1
    for _ in range(times):
        random.shuffle(shuffled)
        as_much += max(_strengths(shuffled)) >= strength
        if as_much > alpha * (times + 1):
            return 1.0
    return as_much / (times + 1)


def _strengths(logs: Sequence[float]) -> list[float]:
    """Return how far apart the means before and after each place are, weighted by how many runs they are of."""
    n, sums = len(logs), list(accumulate(logs))
    return [
        abs((sums[-1] - sums[at - 1]) / (n - at) - sums[at - 1] / at) * sqrt(at * (n - at) / n)
        for at in range(LEAST, n - LEAST + 1)
    ]


# -- for people


def trend_lines(found: Trend, width: int | None) -> list[Line]:
    """Return the table of a history, its changes in it."""
    where = f" on {found.target}" if found.target else ""
    more = f", {found.left_out} left out (not whole, or invalid)" if found.left_out else ""
    head: list[Run] = [(found.name, BRIGHT), (f"{where}: {plural(len(found.runs), 'run')}{more}", TEXT)]
    changes = {each.at: each for each in found.changes}
    rows = list(enumerate(found.runs))
    columns: list[Column[tuple[int, RunSummary]]] = [
        Column("run", lambda row: row[1].run_id),
        Column("hosts", lambda row: str(len(row[1].hosts)), right=True, drop=2),
        Column("headline", lambda row: (row[1].headline, BRIGHT), right=True),
        Column("findings", lambda row: row[1].weakened_by, drop=3, role=LABEL),
        Column("", lambda row: change_runs(found, changes.get(row[0]))),
    ]
    said = "no change detected" if len(found.runs) >= 2 * LEAST else f"{2 * LEAST} runs are needed to tell a change"
    tail = [] if found.changes else [Line.of((said, LABEL))]
    return [Line.of(*head), Line(), *text_table(columns, rows, width), *tail]


def points_lines(found: Sequence[Trend], width: int | None) -> list[Line]:
    """Return the points of a sweep or a suite on one target, each with its newest headline and its last change."""
    first = found[0]
    where = f" on {first.target}" if first.target else ""
    columns: list[Column[Trend]] = [
        Column("point", lambda each: (each.point, BRIGHT)),
        Column("runs", lambda each: str(len(each.runs)), right=True, drop=2),
        Column("newest", lambda each: each.runs[-1].headline, right=True),
        Column("", last_change_runs),
    ]
    head = Line.of((first.profile, BRIGHT), (f"{where}: {len(found)} points, each by itself", TEXT))
    return [head, Line(), *text_table(columns, found, width)]


def others_of(found: Sequence[Trend]) -> list[Other]:
    """Return the runs that these histories leave out because they were measured otherwise, each once."""
    return list({(each.newest.run_id, each.differs): each for trend in found for each in trend.others}.values())


def others_lines(found: Sequence[Trend], width: int | None) -> list[Line]:
    """Return what the histories leave out because it was measured otherwise, each once, and how to see it."""
    if not (others := others_of(found)):
        return []
    lines = [Line(), Line.of(("measured otherwise, so histories of their own:", LABEL))]
    for each in others:
        counted: list[Run] = [(f"  {plural(each.runs, 'run')} to {each.newest.run_id}: ", TEXT)]
        lines += labelled(counted, [(each.differs, BRIGHT)], width or UNBOUNDED, indent=4)
    return [*lines, Line.of(("--like RUN shows the history that a run belongs to, --all each of them", LABEL))]


def setup_lines(found: Trend, width: int | None) -> list[Line]:
    """Return how the runs of a history were measured."""
    parts = [f"{name} {value}" for name, value in found.setup.parts if name != PROFILE_TEXT]
    said = "; ".join(parts) or "their records do not tell"
    return [Line(), *labelled([("measured with: ", LABEL)], [(said, TEXT)], width or UNBOUNDED)]


def last_change_runs(found: Trend) -> list[Run]:
    """Return the last change of a history for people: ``worse since 20260105T...: -10.0 % (p 0.001)``."""
    if not found.changes:
        few = len(found.runs) < 2 * LEAST
        return [(f"{2 * LEAST} runs are needed" if few else "no change detected", LABEL)]
    last = found.changes[-1]
    word, role = change_word(found, last)
    return [(f"{word} since {found.runs[last.at].run_id}: {(last.ratio - 1) * 100:+.1f} % (p {last.p:.3f})", role)]


def change_word(found: Trend, change: ChangePoint) -> tuple[str, str]:
    """Return whether a change is for the better, and the role of the word."""
    better = (change.ratio > 1) == (BY_UNIT[found.unit].better == "higher")
    return ("better", GOOD) if better else ("worse", BAD)


def change_runs(found: Trend, change: ChangePoint | None) -> list[Run]:
    """Return a change for people: ``from here on -12.3 % (p 0.001)``."""
    if change is None:
        return []
    word, role = change_word(found, change)
    return [(f"{word} from here on: {(change.ratio - 1) * 100:+.1f} % (p {change.p:.3f})", role)]


def trend_chart(found: Trend, width: int, height: int = 16, *, coloured: bool = False) -> list[Line]:
    """Return the headlines over the runs, each span between changes a curve of its own."""
    values, metric = found.values, BY_UNIT[found.unit]
    curves = [
        Curve([(list(range(begin + 1, end + 1)), values[begin:end])], ROLES[place % 2], f"runs {begin + 1}-{end}")
        for place, (begin, end) in enumerate(found.spans)
    ]
    if metric.name in ("iops", "bandwidth", "latency"):
        y = value_axis(metric.name, max(values), plot_rows(height))
    else:
        y = Axis(0, max(values), Ticks([0, max(values)], ["0", units.count(max(values))]))
    step = max(1, len(values) // 10)
    marks = list(range(1, len(values) + 1, step))
    x = Axis(0.5, len(values) + 0.5, Ticks([float(mark) for mark in marks], [str(mark) for mark in marks]))
    title = f"{found.name}: {metric.title} by run"
    return plot(title, curves, x, y, width, height, coloured=coloured)

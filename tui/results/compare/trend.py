"""The history of one profile on one target: where its headline changed for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from tui.metrics import units
from tui.metrics.registry import BY_UNIT
from tui.results.compare.compare import THRESHOLD
from tui.results.compare.stats import ALPHA, SEED
from tui.results.store.summary import RunSummary
from tui.results.text.chart import value_axis
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run
from tui.text.plot import ROLES, Axis, Curve, Ticks, plot, plot_rows
from tui.text.table import Column, text_table

LEAST = 4  # runs before a change and after it
SHUFFLES = 999
WHOLE = ("complete", "imported")


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From run number `at` on the headline is another one: B / A of the medians of the spans around it."""

    at: int
    ratio: float
    p: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs of one profile on one target, oldest first, and where they changed; `left_out` are not whole or invalid."""

    profile: str
    target: str
    unit: str
    runs: tuple[RunSummary, ...]
    changes: tuple[ChangePoint, ...]
    left_out: int

    @property
    def values(self) -> list[float]:
        """The headlines."""
        return [run.headline_value or 0.0 for run in self.runs]


def trends_of(runs: Iterable[RunSummary], profile: str, target: str | None = None) -> list[Trend]:
    """Return the trends of a profile: one a target and unit, the one with the most runs first."""
    groups: dict[tuple[str, str], list[RunSummary]] = {}
    left_out: dict[tuple[str, str], int] = {}
    for run in sorted(runs, key=lambda each: each.utc or each.run_id):
        if run.profile != profile or (target is not None and run.target != target):
            continue
        key = (run.target, run.headline_unit)
        fit = run.state in WHOLE and run.verdict != "invalid" and (run.headline_value or 0) > 0
        if fit:
            groups.setdefault(key, []).append(run)
        else:
            left_out[key] = left_out.get(key, 0) + 1
    found = [
        Trend(profile, key[0], key[1], tuple(each), tuple(change_points([run.headline_value or 0.0 for run in each])),
              left_out.get(key, 0))
        for key, each in groups.items()
    ]  # fmt: skip
    return sorted(found, key=lambda each: -len(each.runs))


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Return where a history changed, first to last: binary segmentation (Vostrikova 1981), each split held against
    the largest one that shuffled histories have; of those that are left, what is less than the threshold is none.
    """
    logs = np.log(np.asarray(values, float))
    places = sorted(_splits(logs, 0, np.random.default_rng(SEED)))
    edges = [0, *(at for at, _ in places), len(values)]
    found = []
    for number, (at, p) in enumerate(places):
        ratio = median(values[at : edges[number + 2]]) / median(values[edges[number] : at])
        if abs(ratio - 1) >= THRESHOLD:
            found.append(ChangePoint(at, ratio, p))
    return found


def _splits(logs: np.ndarray, begin: int, random: np.random.Generator) -> Iterator[tuple[int, float]]:
    if len(logs) < 2 * LEAST:
        return
    strengths = _strengths(logs[None, :])[0]
    best = int(np.argmax(strengths))
    shuffled = random.permuted(np.tile(logs, (SHUFFLES, 1)), axis=1)
    p = (1 + int((_strengths(shuffled).max(axis=1) >= strengths[best] - 1e-12).sum())) / (SHUFFLES + 1)
    if p > ALPHA:
        return
    at = best + LEAST
    yield begin + at, p
    yield from _splits(logs[:at], begin, random)
    yield from _splits(logs[at:], begin + at, random)


def _strengths(rows: np.ndarray) -> np.ndarray:
    """Return how far apart the means before and after each place are, weighted by how many runs they are of."""
    n = rows.shape[1]
    before = np.arange(LEAST, n - LEAST + 1)
    sums = rows.cumsum(axis=1)[:, before - 1]
    gap = (rows.sum(axis=1, keepdims=True) - sums) / (n - before) - sums / before
    strengths: np.ndarray = np.abs(gap) * np.sqrt(before * (n - before) / n)
    return strengths


# -- for people


def trend_lines(found: Trend, width: int | None) -> list[Line]:
    """Return the table of a history, its changes in it."""
    where = f" on {found.target}" if found.target else ""
    more = f", {found.left_out} left out (not whole, or invalid)" if found.left_out else ""
    head: list[Run] = [(found.profile, BRIGHT), (f"{where}: {len(found.runs)} runs{more}", TEXT)]
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


def change_runs(found: Trend, change: ChangePoint | None) -> list[Run]:
    """Return a change for people: ``from here on -12.3 % (p 0.001)``."""
    if change is None:
        return []
    better = (change.ratio > 1) == (BY_UNIT[found.unit].better == "higher")
    word = "better" if better else "worse"
    return [(f"{word} from here on: {(change.ratio - 1) * 100:+.1f} % (p {change.p:.3f})", GOOD if better else BAD)]


def trend_chart(found: Trend, width: int, height: int = 16, *, coloured: bool = False) -> list[Line]:
    """Return the headlines over the runs, each span between changes a curve of its own."""
    values, metric = found.values, BY_UNIT[found.unit]
    edges = [0, *(each.at for each in found.changes), len(values)]
    curves = [
        Curve([(list(range(begin + 1, end + 1)), values[begin:end])], ROLES[place % 2], f"runs {begin + 1}-{end}")
        for place, (begin, end) in enumerate(pairwise(edges))
    ]
    if metric.name in ("iops", "bandwidth", "latency"):
        y = value_axis(metric.name, max(values), plot_rows(height))
    else:
        y = Axis(0, max(values), Ticks([0, max(values)], ["0", units.count(max(values))]))
    step = max(1, len(values) // 10)
    marks = list(range(1, len(values) + 1, step))
    x = Axis(0.5, len(values) + 0.5, Ticks([float(mark) for mark in marks], [str(mark) for mark in marks]))
    title = f"{found.profile}: {metric.title} by run"
    return plot(title, curves, x, y, width, height, coloured=coloured)

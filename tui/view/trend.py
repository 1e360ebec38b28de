"""The history of a profile on a target, as lines and as a chart."""

from __future__ import annotations

from collections.abc import Sequence

from tui.analysis.setup import PROFILE_TEXT
from tui.analysis.trend import LEAST, ChangePoint, Trend, others_of
from tui.library.summary import RunSummary
from tui.metrics import units
from tui.metrics.registry import BY_UNIT
from tui.metrics.units import plural
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run, labelled
from tui.text.plot import ROLES, Axis, AxisTicks, Curve, Plot, plot_rows
from tui.text.table import Column, text_table
from tui.view.charts import value_axis

UNBOUNDED = 10_000  # columns of text in a pipe


def trend_lines(found: Trend, width: int | None) -> list[Line]:
    """Return the table of a history: its runs and changes."""
    where = f" on {found.target}" if found.target else ""
    more = f", {found.left_out} excluded (incomplete or invalid)" if found.left_out else ""
    head: list[Run] = [
        (found.name, BRIGHT),
        (f"{where}: {plural(len(found.runs), 'run')}{more}", TEXT),
    ]
    changes = {each.at: each for each in found.changes}
    rows = list(enumerate(found.runs))
    columns: list[Column[tuple[int, RunSummary]]] = [
        Column("run", lambda row: row[1].run_id),
        Column("hosts", lambda row: str(len(row[1].hosts)), right=True, drop=2),
        Column("headline", lambda row: (row[1].headline, BRIGHT), right=True),
        Column("findings", lambda row: row[1].weakened_by, drop=3, role=LABEL),
        Column("", lambda row: change_runs(found, changes.get(row[0]))),
    ]
    said = (
        "no change detected"
        if len(found.runs) >= 2 * LEAST
        else f"{2 * LEAST} runs are required to detect a change"
    )
    tail = [] if found.changes else [Line.of((said, LABEL))]
    return [Line.of(*head), Line(), *text_table(columns, rows, width), *tail]


def points_lines(found: Sequence[Trend], width: int | None) -> list[Line]:
    """Return the points of a sweep or suite on a target: latest headline, last change."""
    first = found[0]
    where = f" on {first.target}" if first.target else ""
    columns: list[Column[Trend]] = [
        Column("point", lambda each: (each.point, BRIGHT)),
        Column("runs", lambda each: str(len(each.runs)), right=True, drop=2),
        Column("newest", lambda each: each.runs[-1].headline, right=True),
        Column("", last_change_runs),
    ]
    head = Line.of(
        (first.profile, BRIGHT), (f"{where}: {len(found)} points, judged separately", TEXT)
    )
    return [head, Line(), *text_table(columns, found, width)]


def others_lines(found: Sequence[Trend], width: int | None) -> list[Line]:
    """Return the runs left out because they were measured differently, and how to see them."""
    if not (others := others_of(found)):
        return []
    lines = [Line(), Line.of(("measured differently, separate histories:", LABEL))]
    for each in others:
        counted: list[Run] = [
            (f"  {plural(each.runs, 'run')}, newest {each.newest.run_id}: ", TEXT)
        ]
        lines += labelled(counted, [(each.differs, BRIGHT)], width or UNBOUNDED, indent=4)
    return [
        *lines,
        Line.of(("to show one run's history: --like RUN; all histories: --all", LABEL)),
    ]


def setup_lines(found: Trend, width: int | None) -> list[Line]:
    """Return how the runs of a history were measured: parameters, hosts, tool."""
    parts = [f"{name} {value}" for name, value in found.setup.parts if name != PROFILE_TEXT]
    said = "; ".join(parts) or "not recorded"
    return [Line(), *labelled([("measured with: ", LABEL)], [(said, TEXT)], width or UNBOUNDED)]


def last_change_runs(found: Trend) -> list[Run]:
    """Return the last change of a history: ``worse since 20260105T...: -10.0 % (p 0.001)``."""
    if not found.changes:
        few = len(found.runs) < 2 * LEAST
        return [(f"{2 * LEAST} runs required" if few else "no change detected", LABEL)]
    last = found.changes[-1]
    word, role = change_word(found, last)
    return [
        (
            (
                f"{word} since {found.runs[last.at].run_id}: {units.change(last.ratio)}"
                f" (p {last.p:.3f})"
            ),
            role,
        )
    ]


def change_word(found: Trend, change: ChangePoint) -> tuple[str, str]:
    """Return the word for a change, better or worse, and its role."""
    better = (change.ratio > 1) == (BY_UNIT[found.unit].better == "higher")
    return ("better", GOOD) if better else ("worse", BAD)


def change_runs(found: Trend, change: ChangePoint | None) -> list[Run]:
    """Return a change as text: ``worse since this run: -12.3 % (p 0.001)``. Empty without a
    change.
    """
    if change is None:
        return []
    word, role = change_word(found, change)
    return [(f"{word} since this run: {units.change(change.ratio)} (p {change.p:.3f})", role)]


CHART_ROWS = 16


def trend_chart(found: Trend, width: int, *, coloured: bool = False) -> list[Line]:
    """Return a chart of the headline by run, with a curve for each span between changes."""
    values, metric = found.values, BY_UNIT[found.unit]
    curves = [
        Curve(
            [(list(range(begin + 1, end + 1)), values[begin:end])],
            ROLES[place % 2],
            f"runs {begin + 1}-{end}",
        )
        for place, (begin, end) in enumerate(found.spans)
    ]
    if metric.name in ("iops", "bandwidth", "latency"):
        y = value_axis(metric.name, max(values), plot_rows(CHART_ROWS))
    else:
        y = Axis(0, max(values), AxisTicks([0, max(values)], ["0", units.count(max(values))]))
    step = max(1, len(values) // 10)
    marks = list(range(1, len(values) + 1, step))
    x = Axis(
        0.5,
        len(values) + 0.5,
        AxisTicks([float(mark) for mark in marks], [str(mark) for mark in marks]),
    )
    title = f"{found.name}: {metric.title} by run"
    return Plot(title, curves, x, y).lines(width, CHART_ROWS, coloured=coloured)

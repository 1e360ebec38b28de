"""Result: the page (current step, cell, tab), the matrix of a sweep, published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.metrics import registry, units
from tui.metrics.buckets import SHOWN_PERCENTILES, label
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.registry import DIRECTIONS
from tui.metrics.repeat import shows_ci
from tui.model.plan import Headline
from tui.record.cells import Cell, cells_of_record
from tui.record.matrix import MatrixTable, tables_of
from tui.text.line import (
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    beside,
    clip,
    fit,
    key_rule,
    labelled,
    rule,
    spread,
)
from tui.text.plot import merged
from tui.text.sparkline import Symbols, spark
from tui.view.matrix import (
    KNEE,
    SAID,
    MatrixStyle,
    knee_texts,
    scale_of,
    table_lines,
    title_of,
)
from tui.view.matrix_bests import best_lines, notes_below
from tui.view.matrix_chart import table_chart

if TYPE_CHECKING:
    from tui.model.figure_record import AggregateRecord, DirectionRecord
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.step_record import StepRecord
    from tui.view.charts import ChartMetric
    from tui.view.objections import ObjectionAnswer
    from tui.view.published import PublishedNote, PublishedView

DROPPED = (95.0, 99.5)  # percentiles without a column on a narrow screen
LATENCY_CELLS = 9
LATENCY_SHOWN = 99.0  # percentile shown in tables by the l key
BESIDE = 110  # columns from which a chart is beside its table
GUTTER = 3


@dataclass(frozen=True, slots=True)
class Matrix:
    """The tables of a run, and the key of the cell under the cursor."""

    tables: tuple[MatrixTable, ...]
    cursor: str
    metric: ChartMetric | None = None  # a metric in place of the headline
    colors: bool = True  # curves are distinguished by colour

    @property
    def cells(self) -> list[Cell]:
        """The cells of all tables."""
        return [cell for table in self.tables for cell in table.cells]

    @property
    def cell(self) -> Cell:
        """The cell under the cursor."""
        return next(cell for cell in self.cells if cell.key == self.cursor)

    @property
    def table(self) -> MatrixTable:
        """The table that contains the cursor."""
        return next(
            table for table in self.tables if any(cell.key == self.cursor for cell in table.cells)
        )


def matrix_of(
    record: RunRecord, cursor: str = "", metric: ChartMetric | None = None, *, colors: bool = True
) -> Matrix | None:
    """Return the matrix of a run; None if it has none.

    By default the cursor is on the point of the headline.
    """
    if record.matrix is None or not any(step.cell for step in record.steps):
        return None
    cells = cells_of_record(record, shown_figure(record, metric))
    if not cells:
        return None
    keys = [cell.key for cell in cells]
    at = cursor if cursor in keys else best_of(record, cells)
    return Matrix(tuple(tables_of(cells)), at, metric, colors)


def shown_figure(record: RunRecord, metric: ChartMetric | None) -> Headline | None:
    """Return a metric's figure in the headline's direction.

    None without a metric; the headline itself is shown then.
    """
    if metric is None:
        return None
    named = (
        (cell.headline.direction for cell in record.matrix.cells if cell.headline)
        if record.matrix
        else iter(())
    )
    direction = next(named, "read")
    found = direction if direction in DIRECTIONS else "read"
    return Headline(metric, found, LATENCY_SHOWN if metric == "latency" else None)


def best_of(record: RunRecord, cells: Sequence[Cell]) -> str:
    """Return the key of the headline's cell or, without one, of the first cell."""
    step = record.headline.step if record.headline is not None else None
    return next((cell.key for cell in cells if step in cell.steps), cells[0].key)


def moved(matrix: Matrix, rows: int, columns: int) -> str:
    """Return the key of the cell `rows` further down, or of the next one in the row.

    `columns`: positive for the next cell to the right, negative to the left; 0 to move by rows.
    Empty places are skipped. At the edge the cursor stays.
    """
    lines = [row.cells for table in matrix.tables for row in table.rows]
    y, x = next(
        (y, x)
        for y, line in enumerate(lines)
        for x, c in enumerate(line)
        if c and c.key == matrix.cursor
    )
    if columns:
        step = 1 if columns > 0 else -1
        places = range(x + step, len(lines[y]) if step > 0 else -1, step)
        return next(
            (cell.key for place in places if (cell := lines[y][place]) is not None), matrix.cursor
        )
    step = 1 if rows > 0 else -1
    found = matrix.cursor
    for place in range(y + step, len(lines) if step > 0 else -1, step):
        if (nearest := _nearest(lines[place], x)) is not None:
            found, rows = nearest.key, rows - step
            if not rows:
                break
    return found


def _nearest(line: Sequence[Cell | None], x: int) -> Cell | None:
    """Return the cell of a row that is nearest to column `x`; None if the row has none."""
    cells = [(abs(place - x), cell) for place, cell in enumerate(line) if cell is not None]
    return min(cells, key=lambda each: each[0])[1] if cells else None


CHOOSE = (("arrows", "choose"), ("Enter", "opens"))
BACK = (("v", "goes back"),)


def matrix_lines(matrix: Matrix, width: int, chart_height: int) -> list[Line]:
    """Return tables, cell under the cursor, knees and chart.

    The chart is beside its table if it fits.
    """
    lines: list[Line] = []
    is_broad = width >= BESIDE
    for place, table in enumerate(matrix.tables):
        lines += [Line()] if place else []
        title = title_of(table, profile=len(matrix.tables) > 1)
        lines.append(rule(title, "", width) if place else key_rule(title, CHOOSE, width))
        here = table is matrix.table
        if here and is_broad:
            lines += table_and_chart(matrix, table, width, chart_height)
        else:
            lines += table_part(matrix, table, width, brief=width < NARROW)
    notes = [Line.of(*clip([(text, LABEL)], width)) for text in notes_below(matrix.tables)]
    lines += [Line(), *notes] if notes else []
    chart = (
        [] if is_broad else table_chart(matrix.table, width, chart_height, coloured=matrix.colors)
    )
    return [*lines, *([Line(), rule("Chart", "", width), *chart] if chart else [])]


def table_part(
    matrix: Matrix, table: MatrixTable, width: int, *, brief: bool = False
) -> list[Line]:
    """Return a table, a line on the cell under the cursor, and the best points or the knees.

    `brief`: the names of both axes share a line, if that saves one.
    """
    lines = table_lines(table, width, MatrixStyle(cursor=matrix.cursor))
    has_details = table.repeated or table.scaling or not all(cell.fit for cell in table.cells)
    if brief and table.is_grid and not has_details:
        brief_lines = table_lines(table, width, MatrixStyle(False, matrix.cursor))
        lines = min(lines, brief_lines, key=len)
    if table is matrix.table and table.axes:  # a row of a suite shows all of it
        lines.append(Line.of(*cell_runs(matrix.cell, table, width)))
    if bests := best_lines(table, width):
        return [*lines, *bests]
    for text in knee_texts(table):
        lines += labelled([(f"{KNEE} ", "good")], [(text, TEXT)], width)
    return lines


def table_and_chart(
    matrix: Matrix, table: MatrixTable, width: int, chart_height: int
) -> list[Line]:
    """Return a table with its chart on the right, or below it if the table is wide."""
    half = width // 2 - GUTTER
    widest = max(line.width for line in table_lines(table, half))
    left = table_part(matrix, table, half)
    chart = table_chart(
        table, width - half - GUTTER, max(chart_height, len(left)), coloured=matrix.colors
    )
    if widest > half or not chart:
        return [
            *table_part(matrix, table, width),
            *table_chart(table, width, chart_height, coloured=matrix.colors),
        ]
    return beside(left, chart, half + GUTTER)


def cell_runs(cell: Cell, table: MatrixTable, width: int) -> list[Run]:
    """Return details of the cell under the cursor that its table does not show."""
    scale = scale_of([cell])
    parts: list[Run] = [("› ", "accent"), (cell.name, VALUE)]
    texts: list[str] = []
    if len(cell.values) > 1:
        texts.append(
            f"{len(cell.values)} repetitions:"
            f" {scale.text(min(cell.values))}–{scale.text(max(cell.values))}"
        )
    if cell.ci is not None and shows_ci(cell.values, cell.ci):
        texts.append(f"mean ±{units.share(cell.ci, 1)} (95 %)")
    if cell.skipped:
        texts.append(f"{cell.skipped} not needed")
    if cell.mean_ns is not None:
        texts.append(f"mean {units.latency(cell.mean_ns)}")
    if cell.p99_ns is not None:
        texts.append(f"p99 {units.latency(cell.p99_ns)}")
    if cell.key in table.scaling:
        texts.append(f"{units.share(table.scaling[cell.key])} of linear")
    if cell.state in SAID:
        texts.append(SAID[cell.state])
    return clip([*parts, *((f"  {text}", TEXT) for text in texts)], width)


NARROW = 100


@dataclass(frozen=True, slots=True)
class Page:
    """What Result shows of a run: record, current step, chart, tab."""

    record: RunRecord
    path: Path
    step: int = 0
    metric: ChartMetric = "iops"
    # the run next to published results, if its profile has some
    published: PublishedView | None = None
    tab: str = "summary"  # the current tab
    matrix: Matrix | None = None  # of sweeps, suites, repetitions
    inside: bool = True  # show one step; else the matrix
    job: str | None = None  # the chosen one; steps without such a job show all
    colors: bool = True  # curves are distinguished by colour
    symbols: Symbols = "braille"
    answers: tuple[ObjectionAnswer, ...] = ()  # to each objection

    @property
    def shown_step(self) -> StepRecord | None:
        """The current step; None if the run has none."""
        steps = self.record.steps
        return steps[min(self.step, len(steps) - 1)] if steps else None

    @property
    def jobs(self) -> list[str]:
        """The names of the current step's jobs; empty for one job, or while the matrix is shown."""
        step = self.shown_step
        return (
            list(step.results.jobs or ()) if step is not None and self.shown_matrix is None else []
        )

    @property
    def shown_job(self) -> str | None:
        """The job that is shown; None for all jobs together."""
        return self.job if self.job in self.jobs else None

    @property
    def all_hosts(self) -> Mapping[str, AggregateRecord]:
        """The figures over all hosts by direction, for the shown job or all jobs."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        return results.aggregate if self.shown_job is None else (results.jobs or {})[self.shown_job]

    @property
    def by_host(self) -> Mapping[str, Mapping[str, DirectionRecord]]:
        """Each host's figures by direction, for the shown job or all jobs."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        if self.shown_job is None:
            return results.per_host
        return {
            host: dirs
            for host, jobs in (results.per_job or {}).items()
            if (dirs := jobs.get(self.shown_job))
        }

    @property
    def shown_matrix(self) -> Matrix | None:
        """The matrix if the page shows it, otherwise None."""
        return None if self.inside or self.tab != "summary" else self.matrix

    @property
    def shown_headline(self) -> HeadlineRecord | None:
        """The run's headline or, for a step of a matrix, its cell's; None if there is none."""
        matrix, step = self.record.matrix, self.shown_step
        if matrix is None or self.matrix is None or not self.inside or step is None:
            return self.record.headline
        return next(
            (cell.headline for cell in matrix.cells if step.index in cell.steps),
            self.record.headline,
        )

    # -- results of keys

    def with_metric(self, metric: ChartMetric) -> Page:
        """Return the page with a metric drawn over time, or shown in the cells.

        In the cells, the same metric again restores the headline.
        """
        at = self.shown_matrix
        if at is None:
            return replace(self, metric=metric)
        wanted = None if at.metric == metric else metric
        return replace(self, matrix=matrix_of(self.record, at.cursor, wanted, colors=at.colors))

    def with_matrix(self) -> Page:
        """Return the page with its matrix, the cursor on the cell of the current step."""
        step = self.shown_step
        cursor = step.cell or "" if step is not None else ""
        matrix = matrix_of(
            self.record, cursor, colors=self.matrix.colors if self.matrix is not None else True
        )
        return replace(self, inside=False, tab="summary", matrix=matrix)

    def with_cursor(self, rows: int, columns: int) -> Page | None:
        """Return the page with the cursor of the matrix moved.

        None without a matrix, or at its edge.
        """
        matrix = self.shown_matrix
        at = moved(matrix, rows, columns) if matrix is not None else ""
        if matrix is None or at == matrix.cursor:
            return None
        return replace(self, matrix=replace(matrix, cursor=at))

    def with_next_job(self) -> Page:
        """Return the page with the next job; after the last one, with all jobs."""
        order = [None, *self.jobs]
        return replace(self, job=order[(order.index(self.shown_job) + 1) % len(order)])


def page_of(
    record: RunRecord,
    path: Path,
    *,
    colors: bool,
    symbols: Symbols = "braille",
    before: Page | None = None,
) -> Page:
    """Return the first page of a record.

    If the record was read again, tab, step, job and cell are those of the page `before`.
    """
    step = record.headline.step if record.headline and record.headline.step is not None else 0
    matrix = matrix_of(
        record, before.matrix.cursor if before and before.matrix else "", colors=colors
    )
    page = Page(record, path, step, metric_of(record), matrix=matrix, inside=matrix is None,
        colors=colors,
                symbols=symbols)  # fmt: skip
    if before is None:
        return page
    page = replace(page, tab=before.tab, inside=matrix is None or before.inside)
    return replace(page, step=before.step, job=before.job) if page.inside else page


def metric_of(record: RunRecord) -> ChartMetric:
    """Return the metric to draw over time, which is the headline's."""
    drawn: dict[str, ChartMetric] = {"bandwidth": "bandwidth", "latency": "latency"}
    return drawn.get(record.headline.metric, "iops") if record.headline is not None else "iops"


def slow_tails(record: RunRecord) -> set[tuple[str, str]]:
    """Return the hosts and directions whose p99 a finding names."""
    return {
        (host, str(each.scope.get("direction")))
        for each in record.findings
        if (each.id, each.code) == ("straggler", "tail")
        for host in str(each.scope.get("hosts", "")).split()
    }


def columns(width: int, *, rates: bool = True) -> str:
    """Return the column titles of figures as one text; without `rates`, of latencies alone."""
    names = [f"p{label(each)}" for each in percentiles_shown(width)]
    titles = "".join(f"{title:>{LATENCY_CELLS}}" for title in ("mean", *names, "max"))
    return f"{'IOPS':>6}{'BW':>12}{titles}" if rates else titles


def percentiles_shown(width: int) -> tuple[float, ...]:
    """Return the percentiles in the table of figures: fewer on a narrow screen."""
    return tuple(each for each in SHOWN_PERCENTILES if width >= NARROW or each not in DROPPED)


def row(
    result: DirectionRecord, direction: str, kind: str, width: int, *, rates: bool = True
) -> str:
    """Return the figures of one direction in fixed columns, as text."""
    latency, shown = latency_of(result, direction, kind), percentiles_shown(width)
    values: list[float | None] = [None] * (len(shown) + 2)
    if latency is not None:
        values = [
            latency.mean_ns,
            *(shown_percentile(latency, each) for each in shown),
            latency.max_ns,
        ]
    cells = "".join(f"{units.latency(value):>{LATENCY_CELLS}}" for value in values)
    if not rates:
        return cells
    rate = (
        units.bandwidth(result.bw_bytes_per_s) if registry.direction(direction).moves_data else ""
    )
    return f"{units.iops(result.iops):>6}{rate:>12}{cells}"


def course(
    values: Sequence[float | None], width: int, symbols: Symbols, top: float, *, peaks: bool = False
) -> str:
    """Return a series as one line of `width` cells; a short series is stretched.

    In a long one, each mark is the mean of its seconds, or with `peaks` (percentiles) the maximum.
    """
    count, least = len(values), 2 * width
    wide: Sequence[float | None] = values
    if 0 < count < least:
        wide = [values[at * count // least] for at in range(least)]
    elif peaks:
        wide = [
            merged(values[at * count // least : (at + 1) * count // least], peaks=True)
            for at in range(least)
        ]
    return spark(wide, width, symbols, high=top).replace("\u2800", " ")


METRIC_KEYS: tuple[tuple[ChartMetric, str, str], ...] = (
    ("iops", "i", "IOPS"),
    ("bandwidth", "b", "bandwidth"),
    ("latency", "l", "latency"),
)


def metric_rule(page: Page, title: str, width: int, *, alone: bool = False) -> Line:
    """Return a heading with the keys that select the metric; those that are drawn are bright.

    `alone`: only the selected metric is drawn; otherwise a rate has latency beside it.
    """
    drawn = {page.metric} if alone else {"latency", "iops", page.metric}
    drawn -= {"iops"} if page.metric == "bandwidth" else set()
    keys: list[Run] = []
    for metric, key, name in METRIC_KEYS:
        role = VALUE if metric in drawn else LABEL
        keys += [("  " if keys else "", TEXT), (key, "accent"), (f" {name}", role)]
    return Line.of(
        *spread([(title, "title"), (" ", TEXT)], [(" ", TEXT), *keys], width, "─", "faint")
    )


NOTE_WIDTH, MOST_NOTE_WIDTH = 12, 20
PUBLISHED, ASIDE = "Published", 12  # title of a line below the findings, and its width
NOTE_KEYS = {"badge": "warn", "doubt": "warn", "error": "bad"}


def hint_lines(view: PublishedView | None, width: int) -> list[Line]:
    """Return the summary's line about published results; empty if there are none."""
    if view is None:
        return []
    left: list[Run] = [(fit(PUBLISHED, ASIDE), "title"), (view.told, TEXT)]
    return [Line.of(*spread(left, [("v", "accent"), (" compares", LABEL)], width))]


def published_lines(view: PublishedView | None, tag: str, width: int) -> list[Line]:
    """Return the page of published results; the first lines say whether they can be compared."""
    if view is None:
        text = (
            f"no published results for {tag}; "
            "put your own into the baselines folder next to your profiles"
        )
        return [key_rule("Published", BACK, width), *labelled([], [(text, TEXT)], width)]
    lines = [key_rule(f"Published: {view.title}", BACK, width)]
    column = max((len(note.label) for note in (*view.badges, *view.other_notes)), default=0)
    column = min(max(column, NOTE_WIDTH), MOST_NOTE_WIDTH)
    lines += [line for note in view.badges for line in note_lines(note, width, column)]
    lines += view.table(width)
    lines += [Line()] if width >= NARROW else []
    before = ""
    for note in view.other_notes:
        lines += note_lines(note, width, column, named=note.label != before)
        before = note.label
    return lines


def note_lines(
    note: PublishedNote, width: int, column: int = NOTE_WIDTH, *, named: bool = True
) -> list[Line]:
    """Return a note, with its label in a column of its own, which is blank unless `named`."""
    name = note.label if named else ""
    label: Run = (f"{name:<{column}}  ", NOTE_KEYS.get(note.kind, LABEL))
    return labelled(
        [label], [(note.text, "warn" if note.kind == "badge" else TEXT)], width, column + 2
    )

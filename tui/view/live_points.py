"""Points of a search and cells of a matrix, as lines, while a run measures them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tui.metrics.registry import BY_UNIT, METRICS
from tui.metrics.units import clock, duration, latency, latency_parts
from tui.record.matrix import best_of, block_texts, compared
from tui.text.digits import FigureTile
from tui.text.line import (
    ACCENT,
    BAD,
    GOOD,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    clip,
    width_of,
    width_of_runs,
)
from tui.text.search import ends_text, headline_text, limits_text
from tui.text.search_texts import offer_text, search_text
from tui.view.matrix import KNEE, legend

if TYPE_CHECKING:
    from tui.model.search_record import AnswerRecord, SearchRecord
    from tui.record.cells import Cell
    from tui.record.matrix import MatrixTable
    from tui.record.search import SearchView
    from tui.record.search_figures import LatencyNow, PointNow

ACHIEVED = "achieved now"  # title of a tile
LEAST_WHY = 16  # minimum cells for the reason of a point, or a part of it


def budget_text(search: SearchRecord) -> str:
    """Return how much of its budget a search has spent: ``4 of at most 15 points``.

    The time follows once its share exceeds the share of points:
    ``4 of at most 15 points, 8:10 of 10:00``.
    """
    done, most = len(search.points), search.most_points
    points = f"{done} of {'at most ' if search.kind == 'capacity' else ''}{most} points"
    if search.within_s is None or search.spent_s * most <= search.within_s * done:
        return points
    return f"{points}, {duration(search.spent_s)} of {duration(search.within_s)}"


def found_line(view: SearchView, width: int) -> Line:
    """Return the answer of a search so far or, at the end, the final one."""
    if view.ended and view.behind:
        return Line.of(*clip([("found  ", LABEL), ("evaluating the points", TEXT)], width))
    found = headline_text(view.record, so_far=not view.ended)
    label = "found  " if view.ended else "so far "
    if width_of(label + found) > width:  # the heading has the limits
        found = found.replace(f" at {limits_text(view.record.limits)}", "")
    return Line.of(
        *clip([(label, LABEL), (found or "no points yet", VALUE if found else TEXT)], width)
    )


def now_lines(view: SearchView, width: int, shown: Sequence[FigureTile] = ()) -> list[Line]:
    """Return the current point: offered load, time, figures so far, and why it is measured.

    `shown`: figures in large digits, which are left out.
    """
    if view.ended:
        return []
    offer = view.offer
    if offer is None:
        return [Line.of(("now    ", LABEL), ("choosing the next point", TEXT))]
    load, figures = offer_text(offer), now_runs(view.now, [each.title for each in shown])
    if view.elapsed_s >= 0:
        measured = f"{clock(view.elapsed_s)} of {clock(offer.seconds)}"
    else:
        measured = f"measurement starts in {clock(-view.elapsed_s)}"
    runs: list[Run] = [("now    ", LABEL), (load, ACCENT), (f"  {measured}", LABEL), *figures]
    if width - width_of_runs(runs) >= LEAST_WHY:
        runs.append((f"  {search_text(offer.why)}", TEXT))
    return [Line.of(*clip(runs, width))]


def now_runs(now: PointNow | None, shown: Collection[str] = ()) -> list[Run]:
    """Return the current point's figures so far; a latency has the colour of its limit.

    ``46.2k achieved p99.9 1.84 ms``

    `shown`: titles of tiles; their figures are left out.
    """
    if now is None:
        return []
    runs: list[Run] = []
    if ACHIEVED not in shown:
        runs.append((f"  {METRICS['iops'].text(now.iops)} achieved", TEXT))
    for each in now.latencies:
        if _title_of(each) not in shown:
            runs += [(f"  {each.name} ", LABEL), (latency(each.value_ns), _role_of(each))]
    return runs


def _title_of(figure: LatencyNow) -> str:
    return f"{figure.name} now"


def _role_of(figure: LatencyNow) -> str:
    """Return the role of a latency: whether it meets its limit."""
    if figure.most_ns is None:
        return VALUE
    return BAD if figure.value_ns >= figure.most_ns else GOOD


def search_tiles(view: SearchView) -> list[FigureTile]:
    """Return tiles with the capacity so far, and with the current point's rate and limited
    latencies; empty without a capacity.
    """
    answer = view.record.answer
    capacity = _capacity(answer, ended=view.ended) if answer is not None else None
    if capacity is None:
        return []
    return [capacity, *(_now(view.now) if view.now is not None else [])]


def _capacity(answer: AnswerRecord, *, ended: bool) -> FigureTile | None:
    found = answer.state == "found"
    value = answer.capacity.value if found or answer.capacity.low is None else answer.capacity.low
    if answer.state == "never-met" or value is None:
        return None
    number, unit = METRICS["iops" if answer.unit == "iops" else "bandwidth"].split(value)
    if answer.state == "met-at-full-load":
        return FigureTile("full load", number, unit, VALUE, "meets the limits")
    word = "at least" if not found else "" if ended else "so far"
    ends = ends_text(answer.capacity, answer.unit) if found else ""
    aside = ", ".join(filter(None, (word, ends and f"95 %: {ends}")))
    return FigureTile("capacity", number, unit, VALUE, aside, short="capacity")


def _now(now: PointNow) -> list[FigureTile]:
    """Return tiles with the current rate, and with its limited latencies in the colour of their
    limits.
    """
    number, unit = METRICS["iops"].split(now.iops)
    tiles = [FigureTile(ACHIEVED, number, unit, TEXT, drop=2)]
    for each in now.latencies:
        if each.most_ns is not None:
            aside = f"limit {latency(each.most_ns)}"
            parts = latency_parts(each.value_ns)
            tiles.append(FigureTile(_title_of(each), *parts, _role_of(each), aside, drop=1))
    return tiles


def live_matrix_lines(tables: Sequence[MatrixTable], width: int, height: int) -> list[Line]:
    """Return the best points so far, and the legend of the marks, in at most `height` lines.

    The header and the table have the point that is being measured.
    """
    lines: list[list[Run]] = []
    for table in tables:
        single = len(compared(table.cells)) == 1
        best = best_of(table.cells)[0] if single else None
        if best is not None:
            lines.append([("best  ", LABEL), (f"{best.name}  ", TEXT), (_figure(best), VALUE)])
        lines += [] if single else [[(text, TEXT)] for text in block_texts(table.cells)]
    lines.append(legend_runs(tables))
    return [Line.of(*clip(runs, width)) for runs in lines][:height]


def legend_runs(tables: Sequence[MatrixTable]) -> list[Run]:
    """Return the legend of the marks, including knees if there are any."""
    knee: list[Run] = (
        [(KNEE, GOOD), (" knee  ", LABEL)] if any(table.knee_keys for table in tables) else []
    )
    return [*knee, (legend(tables), LABEL)]


def is_running(cell: Cell) -> bool:
    """Return whether a cell of the matrix is being measured."""
    return cell.state == "running"


def _figure(cell: Cell) -> str:
    return BY_UNIT[cell.unit].with_unit(cell.value) if cell.value is not None else ""

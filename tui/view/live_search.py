"""A running search as tiles: the answer so far, and the current point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics.registry import METRICS
from tui.metrics.units import latency
from tui.text.digits import FigureTile
from tui.text.line import BAD, GOOD, VALUE

if TYPE_CHECKING:
    from tui.model.search_record import AnswerRecord
    from tui.record.search import SearchView
    from tui.record.search_figures import PointNow


def search_tiles(view: SearchView) -> list[FigureTile]:
    """Return a tile of the capacity so far, and one of the current point."""
    answer = view.record.answer
    tiles = [_capacity(answer, ended=view.ended)] if answer is not None else []
    tiles += [_now(view.now)] if view.now is not None else []
    return [tile for tile in tiles if tile is not None]


def _capacity(answer: AnswerRecord, *, ended: bool) -> FigureTile | None:
    found = answer.state == "found"
    value = answer.capacity.value if found or answer.capacity.low is None else answer.capacity.low
    if answer.state == "never-met" or value is None:
        return None
    number, unit = METRICS["iops" if answer.unit == "iops" else "bandwidth"].split(value)
    return FigureTile(
        "capacity", number, unit, VALUE, ("" if ended else "so far") if found else "at least"
    )


def _now(now: PointNow) -> FigureTile:
    """Return the current rate, in the colour of its limits."""
    limited = [each for each in now.latencies if each.most_ns is not None]
    broken = any(each.most_ns is not None and each.value_ns >= each.most_ns for each in limited)
    role = BAD if broken else GOOD if limited else VALUE
    number, unit = METRICS["iops"].split(now.iops)
    aside = f"{limited[0].name} {latency(limited[0].value_ns)}" if limited else ""
    return FigureTile("now", number, unit, role, aside, drop=1)

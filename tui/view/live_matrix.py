"""The text next to a running matrix: current point, best point so far, legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.metrics.registry import BY_UNIT
from tui.record.matrix import best_of, block_texts, compared
from tui.text.line import ACCENT, GOOD, LABEL, TEXT, VALUE, Line, Run, clip
from tui.view.matrix import KNEE, legend

if TYPE_CHECKING:
    from tui.record.cells import Cell
    from tui.record.matrix import MatrixTable


def side_lines(tables: Sequence[MatrixTable], width: int, height: int) -> list[Line]:
    """Return at most `height` lines of at most `width` cells, the most important first."""
    cells = [cell for table in tables for cell in table.cells]
    lines: list[list[Run]] = [
        [("now   ", LABEL), (f"{cell.name}  ", ACCENT), (_figure(cell), VALUE)]
        for cell in cells
        if is_running(cell)
    ]
    for table in tables:
        single = len(compared(table.cells)) == 1
        best = best_of(table.cells)[0] if single else None
        if best is not None:
            lines.append([("best  ", LABEL), (f"{best.name}  ", TEXT), (_figure(best), VALUE)])
        lines += [] if single else [[(text, TEXT)] for text in block_texts(table.cells)]
    knee: list[Run] = (
        [(KNEE, GOOD), (" knee  ", LABEL)] if any(table.knee_keys for table in tables) else []
    )
    lines.append([*knee, (legend(tables), LABEL)])
    return [Line.of(*clip(runs, width)) for runs in lines][:height]


def is_running(cell: Cell) -> bool:
    """Tell whether a point is being measured."""
    return cell.state == "running"


def _figure(cell: Cell) -> str:
    return BY_UNIT[cell.unit].with_unit(cell.value) if cell.value is not None else ""

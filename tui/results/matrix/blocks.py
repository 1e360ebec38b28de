"""Points whose I/Os differ in size: the smallest do the most IOPS at the least latency by nature. Pure.

The size is that of the I/Os that were made, bytes over I/Os, so it holds whatever the load generator and the parameter
that changes it are called.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.results.matrix.spread import best_of
from tui.results.record.cells import Cell

SAME = 1.1  # a mixture of sizes comes out a little otherwise each time
BY_NATURE = ("iops", "ns")  # units whose best point is that of the smallest blocks
LINE = 78


def by_block(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the points by the size of their I/Os, ascending; in one group where all are alike."""
    groups: list[list[Cell]] = []
    for cell in sorted((cell for cell in cells if cell.io_bytes), key=lambda cell: cell.io_bytes or 0.0):
        if not groups or (cell.io_bytes or 0.0) > SAME * (groups[-1][0].io_bytes or 0.0):
            groups.append([])
        groups[-1].append(cell)
    return groups if len(groups) > 1 else [list(cells)]


def of_which(cells: Sequence[Cell], step: int | None, unit: str) -> str:
    """Return what the point of a step is the best of: ``best of 6``, ``best of 3 with 4 KiB blocks``.

    `unit` is that of the figure by which it is the best.
    """
    groups = by_block(cells) if unit in BY_NATURE else []
    own = next((group for group in groups if any(step in cell.steps for cell in group)), cells)
    if len(groups) < 2 or own is cells:
        return f"best of {len(cells)}"
    blocks = f"{units.size(own[0].io_bytes)} blocks"
    return f"best of {len(own)} with {blocks}" if len(own) > 1 else f"with {blocks}, one of {len(groups)} sizes"


def compared(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the points that are held against each other: those of one block size, where that decides the figure."""
    alike = {cell.unit for cell in cells} if cells else set()
    return by_block(cells) if len(alike) == 1 and alike <= {*BY_NATURE} else [list(cells)]


def block_texts(cells: Sequence[Cell]) -> list[str]:
    """Return the best point of each block size, and the one with the most bandwidth; nothing where sizes are alike."""
    groups = compared(cells)
    if len(groups) < 2:
        return []
    what = "IOPS" if cells[0].unit == "iops" else "latencies"
    bests = [text for group in groups if len(group) > 1 and (text := _best_text(group))]
    told = _in_lines(bests) if bests else [f"{what} of different block sizes do not compare"]
    moved = [cell for cell in cells if cell.fit and cell.bytes_per_s]
    if cells[0].unit == "iops" and moved:
        most = max(moved, key=lambda cell: cell.bytes_per_s or 0.0)
        told.append(f"most bandwidth: {most.name} with {units.bandwidth(most.bytes_per_s)}")
    return told


def _best_text(group: Sequence[Cell]) -> str:
    best, equal = best_of(group)
    as_good = f" ({len(equal)} as good)" if equal else ""
    return f"{best.name}{as_good}" if best is not None else ""


def _in_lines(bests: Sequence[str]) -> list[str]:
    """Return points in as many lines as they need, each of which can be read by itself."""
    lines = [f"best of each block size: {bests[0]}"]
    for text in bests[1:]:
        if len(lines[-1]) + len(text) + 2 > LINE:
            lines.append(f"of larger blocks: {text}")
        else:
            lines[-1] += f"; {text}"
    return lines

"""How the figures of a table are written: in one unit, so that they can be compared at a glance. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from tui.metrics import units
from tui.metrics.registry import BY_UNIT, METRICS
from tui.results.record.cells import Cell

BINARY = (("GiB/s", 2.0**30), ("MiB/s", 2.0**20), ("KiB/s", 2.0**10), ("B/s", 1.0))
LARGEST = 100_000  # of figures in a common unit; larger ones cannot be compared at a glance


class Scale(Struct, frozen=True):
    """How the figures of a table are written: their unit in its heading (may be empty), and each figure."""

    unit: str
    text: Callable[[float | None], str]


def scale_of(cells: Sequence[Cell]) -> Scale:
    """Return a common way to write figures: bandwidths in one unit, so that a column can be compared."""
    found = {cell.unit for cell in cells}
    if len(found) != 1:
        return Scale("", METRICS["iops"].text)
    unit = found.pop()
    if unit == "bytes_per_s":
        return _bandwidth_scale([cell.value for cell in cells if cell.value])
    metric = BY_UNIT[unit]
    return Scale(metric.counted, lambda value: metric.text(value).replace(" ", ""))


def _bandwidth_scale(values: Sequence[float]) -> Scale:
    low, high = min(values, default=0.0), max(values, default=0.0)
    place = next((index for index, (_, factor) in enumerate(BINARY) if high >= factor), len(BINARY) - 1)
    while place < len(BINARY) - 1 and low < 0.1 * BINARY[place][1] and high / BINARY[place + 1][1] < LARGEST:
        place += 1
    name, factor = BINARY[place]

    def text(value: float | None) -> str:
        return units.UNKNOWN if value is None else units.three_digits(value / factor)

    return Scale(name, text)

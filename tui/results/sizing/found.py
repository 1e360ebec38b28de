"""Every figure that a search found, one after the other: for tables, gauges and whoever holds two searches together."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tui.metrics import units
from tui.model.search_record import IntervalRecord, SearchRecord
from tui.results.sizing.words import known, term

UNKNOWN = IntervalRecord(value=None, low=None, high=None)


class Found(Struct, frozen=True):
    """A figure with its interval; `unit`: iops, bytes_per_s, hosts, empty of a plain number; `text`: what it says."""

    name: str  # capacity, full_load, knee; one_host, contention, coherence, best_hosts of the scaling law
    unit: str
    figure: IntervalRecord
    text: str = ""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ")


def found_figures(search: SearchRecord) -> list[Found]:
    """Return the figures that are known; an answer without a number tells its bounds, or its words alone."""
    return [each for each in _figures(search) if each.figure != UNKNOWN or each.text]


def _figures(search: SearchRecord) -> Iterator[Found]:
    if (answer := search.answer) is not None:
        yield Found("capacity", answer.unit, answer.capacity, answer.text)
    if search.maximum_iops is not None:
        yield Found("full_load", "iops", search.maximum_iops)
    if (knee := search.knee) is not None:
        yield Found("knee", "iops", knee.iops, knee.remark or f"of {knee.percentile}")
    if (law := search.scaling) is not None:
        parts = (("one_host", "iops", law.rate), ("contention", "", law.contention), ("coherence", "", law.coherence),
                 ("best_hosts", "hosts", law.best_hosts))  # fmt: skip
        yield from (Found(name, unit, figure) for name, unit, figure in parts if figure is not None)


def figure_text(found: Found) -> str:
    """Return a figure with its interval: ``48.2k IOPS ± 2 %``, ``0.041 (0.035 to 0.047)``."""
    if found.figure.value is None:
        return units.UNKNOWN
    return known(found.figure, found.unit) if found.unit in ("iops", "bytes_per_s") else term(found.figure)

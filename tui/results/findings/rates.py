"""The rate of a whole cluster by second, for all that judges how steady it is. Pure."""

from __future__ import annotations

from tui.metrics.registry import MIXED, direction
from tui.model.step_record import SeriesRecord
from tui.results.findings.unknown import UnknownError


def cluster_rates(series: SeriesRecord | None) -> list[float]:
    """Return IOPS of all hosts and directions by second, without the seconds of which nothing is known."""
    if series is None:
        raise UnknownError("there are no samples")
    columns = [each for each in series.columns if each.host is None and direction(each.direction).in_total]
    columns = [each for each in columns if each.direction == MIXED] or columns
    rows = zip(*(column.iops for column in columns), strict=True)
    return [sum(value or 0.0 for value in row) for row in rows if any(value is not None for value in row)]

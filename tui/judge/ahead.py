"""Bounds on the final figures of a running load, and which conditions last long enough to count."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from tui.metrics.registry import direction
from tui.metrics.steady import ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.judge.check import StepEvidence
    from tui.model.figure_record import SeriesRecord


MOST = 0.5  # of the measured time
SPARE_S = 2.0  # a load may begin and end a second off its plan


def most_of_time(at: StepEvidence, seconds: float, whole_s: float) -> bool:
    """Return whether something that applied for so many seconds applied for most of the measured
    time, `whole_s`; for a running load, whether that is certain by its end.
    """
    planned_s = at.step.runtime_s
    if at.record.state == "running":
        return planned_s is not None and seconds > MOST * planned_s + SPARE_S
    return seconds > MOST * (whole_s if planned_s is None else min(whole_s, planned_s))


def zeros_to_come(at: StepEvidence, kept: int) -> int | None:
    """Return how many seconds of a running load, besides the `kept` ones, may be without I/O; None
    if unknown.
    """
    if at.record.state != "running":
        return 0
    planned_s = at.step.runtime_s
    return None if planned_s is None else max(round(planned_s + SPARE_S) - kept, int(SPARE_S))


def recovered(at: StepEvidence, name: str, rates: Mapping[str, float]) -> dict[str, float]:
    """Return each host's mean rate over the whole step if slow hosts recover; the unchanged rates
    if the step is over.

    Assumes that for the rest of the step a host runs at the median host's rate, plus the amount by
    which its best fifth so far, relative to the median host, exceeds its own mean. With an offered
    rate it catches up as fast as it fell behind.
    """
    middle = median(rates.values()) if rates else 0.0
    if at.passed == 1.0 or not middle:
        return dict(rates)
    if any(job.paced for job in at.step.jobs):
        return {host: at.at_end(rate, 2 * middle - rate) for host, rate in rates.items()}
    best = _best_parts(at.record.series, name)
    return {
        host: at.at_end(rate, middle + max(best.get(host, 0.0) * middle - rate, 0.0))
        for host, rate in rates.items()
    }


def _best_parts(series: SeriesRecord | None, name: str) -> dict[str, float]:
    """Return each host's rate in its best of several equal parts of the time so far, relative to
    the median host's rate in the same part.
    """
    columns = [each for each in series.columns if each.host is not None] if series else []
    own = [each for each in columns if each.direction == name]
    known: dict[str, list[Sequence[float | None]]] = {}
    for each in own or [each for each in columns if direction(each.direction).in_total]:
        known.setdefault(each.host or "", []).append(each.iops)
    best = dict.fromkeys(known, 0.0)
    length = len(columns[0].iops) if columns else 0
    for part in range(ROUNDS):
        begin, end = length * part // ROUNDS, length * (part + 1) // ROUNDS
        rates = {host: _mean_sum(rows, begin, end) for host, rows in known.items()}
        middle = median(rates.values()) if rates else 0.0
        if middle:
            best = {host: max(best[host], rate / middle) for host, rate in rates.items()}
    return best


def _mean_sum(rows: Sequence[Sequence[float | None]], begin: int, end: int) -> float:
    """Return the sum of the means of several columns between two seconds."""
    known = [[value for value in row[begin:end] if value is not None] for row in rows]
    return sum(fmean(values) for values in known if values)

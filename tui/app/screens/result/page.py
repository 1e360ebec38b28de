"""What the Result screen shows: the record, which tab, step and job of it, and how rows of figures are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.screens.result.matrix import Matrix
from tui.metrics import registry, units
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.sparkline import Symbols, spark
from tui.text.timeaxis import merged

if TYPE_CHECKING:
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.step_record import AggregateRecord, DirectionRecord, StepRecord
    from tui.results.baselines.text import View
    from tui.results.objections.answers import ObjectionAnswer
    from tui.results.text.chart import ChartMetric

NARROW = 100
LATENCIES = (("50", "p50"), ("95", "p95"), ("99", "p99"), ("99.5", "p99.5"), ("99.9", "p99.9"))


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown: the record, where it is, which step and which chart."""

    record: RunRecord
    path: Path
    step: int = 0
    metric: ChartMetric = "iops"
    big: bool = True  # the terminal can show box characters
    published: View | None = None  # the run beside published figures, when its profile has some
    tab: str = "summary"  # which of the tabs is shown
    matrix: Matrix | None = None  # of sweeps, suites, repetitions
    inside: bool = True  # show one step; else the matrix
    job: str | None = None  # that was chosen; steps that have no such job show all
    colors: bool = True  # the terminal tells curves apart by colour
    symbols: Symbols = "braille"
    answers: tuple[ObjectionAnswer, ...] = ()  # to each objection

    @property
    def shown_step(self) -> StepRecord | None:
        """The step whose figures are shown."""
        steps = self.record.steps
        return steps[min(self.step, len(steps) - 1)] if steps else None

    @property
    def jobs(self) -> list[str]:
        """The jobs of the shown step, where there are several."""
        step = self.shown_step
        return list(step.results.jobs or ()) if step is not None and self.shown_matrix is None else []

    @property
    def shown_job(self) -> str | None:
        """The job that is shown alone; None: all together."""
        return self.job if self.job in self.jobs else None

    @property
    def all_hosts(self) -> Mapping[str, AggregateRecord]:
        """What is shown over all hosts, by direction: of all jobs or one."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        return results.aggregate if self.shown_job is None else (results.jobs or {})[self.shown_job]

    @property
    def by_host(self) -> Mapping[str, Mapping[str, DirectionRecord]]:
        """What is shown of each host, by direction: of all jobs or one."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        if self.shown_job is None:
            return results.per_host
        return {host: dirs for host, jobs in (results.per_job or {}).items() if (dirs := jobs.get(self.shown_job))}

    @property
    def shown_matrix(self) -> Matrix | None:
        """The matrix, when that is what the page shows."""
        return None if self.inside or self.tab != "summary" else self.matrix

    @property
    def shown_headline(self) -> HeadlineRecord | None:
        """The run's headline; of a step of a matrix, its cell's; none of a suite."""
        matrix, step = self.record.matrix, self.shown_step
        if matrix is None or self.matrix is None or not self.inside or step is None:
            return self.record.headline
        return next((cell.headline for cell in matrix.cells if step.index in cell.steps), self.record.headline)


def columns(width: int) -> tuple[int, str]:
    """Return the width of a latency column, and the titles of all columns."""
    cell = 9 if width >= NARROW else 7
    titles = "".join(f"{title:>{cell}}" for title in ("mean", *(title for _, title in LATENCIES), "max"))
    return cell, f"{'IOPS':>6}{'BW':>{12 if width >= NARROW else 11}}{titles}"


def row(result: DirectionRecord, direction: str, kind: str, width: int) -> str:
    """Return the figures of one direction in fixed columns."""
    cell, _ = columns(width)
    latency = latency_of(result, direction, kind)
    values: list[float | None] = [None] * (len(LATENCIES) + 2)
    if latency is not None:
        values = [latency.mean_ns, *(shown_percentile(latency, float(key)) for key, _ in LATENCIES), latency.max_ns]
    joint = " " if cell == 9 else ""
    cells = "".join(f"{joint.join(units.latency_parts(value)).rstrip():>{cell}}" for value in values)
    rate = units.bandwidth(result.bw_bytes_per_s) if registry.direction(direction).moves_data else ""
    return f"{units.iops(result.iops):>6}{rate:>{12 if cell == 9 else 11}}{cells}"


def course(values: Sequence[float | None], width: int, symbols: Symbols, top: float, *, peaks: bool = False) -> str:
    """Return a series as one line from its first to its last value; a short one is stretched.

    Of a long one each mark is the mean of its seconds; of percentiles, which have no mean, the largest (`peaks`).
    """
    count, least = len(values), 2 * width
    wide: Sequence[float | None] = values
    if 0 < count < least:
        wide = [values[at * count // least] for at in range(least)]
    elif peaks:
        wide = [merged(values[at * count // least : (at + 1) * count // least], peaks=True) for at in range(least)]
    return spark(wide, width, symbols, high=top).replace("\u2800", " ")

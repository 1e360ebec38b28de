"""Checks of steadiness and repeatability: SNIA window, warm-up, missing seconds, repetitions."""

from __future__ import annotations

from collections import defaultdict
from itertools import cycle, islice
from statistics import fmean, pstdev, stdev
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui.judge.chance import steady_limits
from tui.judge.check import (
    CheckResult,
    Moot,
    RunEvidence,
    StepEvidence,
    UnknownError,
    run_check,
    step_check,
)
from tui.judge.proof import cluster_rates
from tui.metrics import units
from tui.metrics.repeat import LEAST_RANKED_REPETITIONS
from tui.metrics.steady import (
    APART,
    APART_TRIMMED,
    CHANGE_S,
    RANGE,
    ROUND_S,
    ROUNDS,
    SLOPE,
    TRIMMED_S,
    SteadyWindow,
    change_in,
    window_across,
)
from tui.model.criteria import default
from tui.model.operands import Operands, clause
from tui.model.plan import Headline
from tui.record.cells import Cell, CellRepetition, by_point, cell_of, moved_by, shortest
from tui.record.headline import iteration_values
from tui.record.matrix import APART as POINTS_APART
from tui.record.matrix import MatrixTable, best_of, compared, noise_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.figure_record import SeriesRecord
    from tui.model.step_record import StepRecord

# first part of the series, allowed difference, least seconds
WARM_SHARE, WARM_OFF, WARM_S = 0.1, 0.10, 20
MISSING = default("missing-samples.missing")
ENDED = ("done", "cut")


@step_check(
    "steady-state",
    "Steady state",
    rule=(
        f"five equal windows have a range of at most {units.share(RANGE)} of their mean and a drift"
        f" of at most {units.share(SLOPE)}; with Poisson arrivals and split block sizes, chance is"
        f" allowed for; in loads of {CHANGE_S} to {ROUNDS * ROUND_S - 1} whole seconds,"
        " the rate does not jump by more than"
        f" {units.share(RANGE)} of the higher rate and {APART:g} standard deviations of"
        f" the seconds before and after (or, in {TRIMMED_S} seconds or more, {APART_TRIMMED:g}"
        " without the most different second of each part)"
    ),
    advice=(
        "Fill the device, measure longer, or let the profile precondition. Usual causes: a cache or"
        " fresh flash that is filling up (falling rate), a cache that is warming up (rising rate),"
        " a limit or another load that began or ended, or spent burst credits (sudden change)."
    ),
    source="SNIA SSS PTS 2.0",
)
def steady_state(at: StepEvidence) -> Iterator[CheckResult]:
    """While the rate still moves, its mean depends on how long you measure."""
    values = cluster_rates(at.record.series)
    window = window_across(values)
    if at.step.runtime_s is None:
        raise UnknownError("size-bound")
    if window is None:
        yield from _change(at, values)
        return
    most_range, most_slope = steady_limits(values, at.step.jobs)
    if not window.within(most_range, most_slope) and not _may_settle(at, values, window):
        operands: Operands = {"range": window.range, "slope": window.slope}
        slow = window.range <= most_range
        measured, threshold = (window.slope, most_slope) if slow else (window.range, most_range)
        figures = round(measured, 4), round(threshold, 4)
        yield CheckResult("warning", "windows", *figures, operands=operands)


def _may_settle(at: StepEvidence, values: Sequence[float], window: SteadyWindow) -> bool:
    """Return whether a running load is steady at its end if it keeps the rate of one of the windows
    so far from now on. Seconds that are no longer kept had that rate too.
    """
    left_s = at.left_s
    before_s = max(round(at.record.measured_s or 0.0) - len(values), 0) if left_s else 0
    for rate in window.means if left_s else ():
        whole = [*[rate] * before_s, *values, *[rate] * left_s]
        whole_window = window_across(whole)
        if whole_window is None or whole_window.within(*steady_limits(whole, at.step.jobs)):
            return True
    return False


def _change(at: StepEvidence, values: Sequence[float]) -> Iterator[CheckResult]:
    """Yield a jump of the rate in a run that is too short for windows. Raises UnknownError if
    there is none: steadiness remains unknown.
    """
    # of a running load it may be a short disturbance
    change = change_in(values) if at.record.state in ENDED else None
    if change is None:
        if len(values) < CHANGE_S or at.record.state not in ENDED:
            raise UnknownError("too-short", least_s=ROUNDS * ROUND_S)
        raise UnknownError("no-jump", least_s=ROUNDS * ROUND_S)
    operands: Operands = {
        "before": change.before,
        "seconds": change.after_s,
        "after": change.after,
        "share": change.share,
    }
    code = "lower" if change.after < change.before else "higher"
    yield CheckResult("warning", code, round(change.share, 4), RANGE, operands=operands)


@step_check(
    "warm-up",
    "Warm-up included in the figure",
    rule=(
        f"without ramp_time, the mean rate in the first {units.share(WARM_SHARE)} of the time is"
        f" within {units.share(WARM_OFF)} of the mean of the rest, or within noise"
    ),
    advice="Give the profile a ramp_time that covers the warm-up.",
    source="mean of the first tenth, compared with the rest",
)
def warm_up(at: StepEvidence) -> Iterator[CheckResult]:
    """Caches, connections and clocks take time to settle.

    Without a ramp, that time is part of the figure.
    """
    values = cluster_rates(at.record.series)
    if at.step.ramp_s:
        raise UnknownError(Moot.RAMP)
    if not at.run.from_begin:
        raise UnknownError("samples")
    if len(values) < WARM_S:
        raise UnknownError("too-short", least_s=WARM_S)
    # of a running load, the rest of the time is like the seconds after its first tenth so far
    after = values[_first(values) :]
    values = [*values, *islice(cycle(after), at.left_s)]
    count = _first(values)
    first, rest = values[:count], values[count:]
    mean, noise = fmean(rest), pstdev(rest)
    off = fmean(first) / mean - 1 if mean else 0.0
    if abs(off) > WARM_OFF and abs(off) * mean > 3 * noise:
        operands: Operands = {"seconds": count, "off": abs(off)}
        code = "above" if off > 0 else "below"
        yield CheckResult("warning", code, round(off, 4), WARM_OFF, operands=operands)


def _first(values: Sequence[float]) -> int:
    """Return the seconds of the first tenth."""
    return max(2, round(len(values) * WARM_SHARE))


@step_check(
    "missing-samples",
    "Seconds without samples",
    rule=(
        f"at most {units.share(MISSING)} of the seconds between a host's first and last sample (or"
        " one second, if that is more) have no sample"
    ),
    advice=(
        "Check the connection to the host and its load. Totals are complete (except where"
        " they were rebuilt from samples); the time series is not."
    ),
    source="samples of each host",
)
def missing_seconds(at: StepEvidence) -> Iterator[CheckResult]:
    """Charts and percentiles over time have gaps where no samples arrived.

    The result itself is not affected, unless it was rebuilt from samples because a host was lost.
    """
    series = at.record.series
    if series is None:
        raise UnknownError("samples")
    seconds = len(series.columns[0].iops) + at.left_s
    allowed = max(1, at.limit("missing-samples.missing") * seconds)
    gaps = {host: gap for host, gap in _gaps(series).items() if gap > allowed}
    if gaps:
        worst = max(gaps, key=lambda host: gaps[host])
        yield CheckResult(
            "warning",
            "missing",
            gaps[worst],
            at.limit("missing-samples.missing"),
            {"hosts": " ".join(gaps)},
            {"host": worst, "seconds": gaps[worst], "of_s": len(series.columns[0].iops)},
        )


def _gaps(series: SeriesRecord) -> dict[str, int]:
    """Return, by host, the number of seconds without a sample between the first and the last
    sample.
    """
    found: dict[str, int] = {}
    for column in series.columns:
        known = [second for second, value in enumerate(column.iops) if value is not None]
        if column.host is not None and known:
            gap = known[-1] - known[0] + 1 - len(known)
            found[column.host] = min(found.get(column.host, gap), gap)
    return found


STEADINESS_CHECKS = (steady_state, warm_up, missing_seconds)


ENOUGH = int(default("repetitions.repetitions"))
SPREAD = default("repetitions.spread")


@run_check(
    "repetitions",
    "Repetitions",
    rule=(
        f"at least {ENOUGH} repetitions (otherwise a note), with a standard deviation of at"
        f" most {units.share(SPREAD)} of their mean (otherwise a warning); for a single run of"
        " a metadata benchmark, iterations count as repetitions"
    ),
    advice=(
        "Repeat the measurement (repeat on Review, run --repeat"
        f" {LEAST_RANKED_REPETITIONS}): a single figure does not show repeatability, and"
        f" comparing runs takes {LEAST_RANKED_REPETITIONS} of each."
    ),
    source="coefficient of variation of the repetitions",
    when="ended",
)
def repetitions(evidence: RunEvidence) -> Iterator[CheckResult]:
    """One run shows what happened once. If repetitions are far apart, the figure is uncertain."""
    if evidence.plan.proves is not None:
        raise UnknownError(Moot.PROOF)
    cells = _values(evidence)
    if not cells:
        raise UnknownError("nothing-measured")
    enough = int(evidence.limit("repetitions.repetitions"))
    most = evidence.limit("repetitions.spread")
    few = {}
    for key, steps in cells.items():
        again, what = _iterations(evidence, steps), "iterations"
        if len(again) < 2:
            again, what = [step.headline or 0.0 for step in steps], "repetitions"
        if len(again) < enough:
            few[key] = len(again)
        deviation = stdev(again) / fmean(again) if len(again) > 1 and fmean(again) else 0.0
        if deviation > most:
            headline = _headline(evidence, key)
            operands: Operands = {
                "point": key,
                "deviation": deviation,
                "metric": headline.metric,
                "direction": headline.direction,
                "percentile": headline.percentile,
                "values": again[:5],
            }
            yield CheckResult("warning", what, round(deviation, 4), most, operands=operands)
    if few:
        least = min(few.values())
        operands = {"count": least}
        yield CheckResult("info", "once" if least == 1 else "few", least, enough, operands=operands)


def _values(evidence: RunEvidence) -> dict[str, list[StepRecord]]:
    """Return the repetitions with a headline figure, by point."""
    found: dict[str, list[StepRecord]] = defaultdict(list)
    for record in evidence.steps:
        if record.headline is not None and not record.warmup and record.state == "done":
            found[record.cell_key].append(record)
    return found


def _iterations(evidence: RunEvidence, steps: Sequence[StepRecord]) -> list[float]:
    """Return the iterations of a metadata benchmark that ran once; they count as repetitions."""
    metadata = steps[0].metadata if len(steps) == 1 else None
    headline = _headline(evidence, steps[0].cell_key)
    operation = metadata.operations.get(headline.direction) if metadata is not None else None
    return iteration_values(operation, headline.metric)


def _headline(evidence: RunEvidence, key: str) -> Headline:
    step = next(step for step in evidence.plan.steps if step.cell_key == key)
    return evidence.plan.headline_of(step) or Headline("iops", "read")


@run_check(
    "sweep",
    "Best point of a sweep",
    rule=(
        "for each block size, no other point overlaps the range of the best point's"
        f" repetitions or, if measured once, is within {units.share(POINTS_APART)} of it"
        " (otherwise a note); points that ended early do not count"
    ),
    advice=(
        f"Repeat the sweep (repeat on Review, run --repeat {ENOUGH}), or report all equally good"
        " points and choose the cheapest one."
    ),
    source="lowest and highest repetition of each point",
    when="ended",
)
def sweep(evidence: RunEvidence) -> Iterator[CheckResult]:
    """The highest point of a sweep is the best only by chance if others reach the same value when
    measured again.
    """
    if evidence.plan.proves is not None:
        raise UnknownError(Moot.PROOF)
    tables = [table for table in tables_of(_cells(evidence)) if table.axes and len(table.cells) > 1]
    if not tables or evidence.plan.search is not None:
        raise UnknownError(Moot.SWEPT)
    for table in tables:
        yield from _within_noise(table)
        short = [(cell.name, cell.short) for cell in table.cells if cell.short]
        if short:
            operands: Operands = {"profile": table.profile, "points": short}
            yield CheckResult("info", "short", len(short), 0, operands=operands)


def _within_noise(table: MatrixTable) -> Iterator[CheckResult]:
    """Yield the best point of a table if others are within noise; with several block sizes, the
    best of each.
    """
    groups = compared(table.cells)
    found = [(best, equal) for best, equal in map(best_of, groups) if best is not None and equal]
    if not found:
        return
    every = [cell for best, equal in found for cell in (best, *equal)]
    best, equal = found[0]
    operands: Operands = {
        "profile": table.profile,
        "by": clause(noise_of(every), apart=POINTS_APART),
    }
    if len(groups) < 2:
        operands |= {"best": best.name, "equal": [cell.name for cell in equal]}
    else:
        operands["best"] = [(best.name, len(equal)) for best, equal in found]
    code = "within-noise" if len(groups) < 2 else "each-within-noise"
    yield CheckResult("info", code, len(every) - len(found), 0, operands=operands)


def _cells(evidence: RunEvidence) -> list[Cell]:
    """Return the points with their measured figures."""
    cells = []
    for key, steps in by_point(evidence.steps).items():
        attempts = [
            CellRepetition(step.index, step.state or "done", step.headline) for step in steps
        ]
        profile = steps[0].part or evidence.plan.profile.tag
        headline = evidence.plan.headline_of(evidence.plan.steps[steps[0].index])
        cell = replace(
            cell_of(key, profile, steps[0].point, headline, attempts), short=shortest(steps)
        )
        cells.append(moved_by(cell, steps[0], headline.direction if headline else ""))
    return cells


REPETITION_CHECKS = (repetitions, sweep)

"""Whether a figure would come out again: repetitions, and differences between points that are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from msgspec.structs import replace

from tui.journal.loss import names_of
from tui.metrics import units
from tui.metrics.registry import headline_text
from tui.model.plan import Headline
from tui.model.step_record import StepRecord
from tui.model.thresholds import default
from tui.results.findings.check import Evidence, Found, Moot, UnknownError, run_check
from tui.results.matrix.blocks import compared
from tui.results.matrix.spread import APART, best_of, known_by
from tui.results.matrix.table import MatrixTable, tables_of
from tui.results.record.cells import Attempt, Cell, by_point, cell_of, moved_by, shortest

ENOUGH = int(default("V28.repetitions"))
SPREAD = default("V28.spread")


@run_check(
    "V28",
    "Repetitions",
    rule=f"{ENOUGH} repetitions or more (a remark), with a deviation of {units.share(SPREAD)} of their mean at most "
    "(a warning); of a metadata benchmark that ran once its iterations are the repetitions",
    advice="Repeat the measurement (repeat on Review, run --repeat 5): one figure says nothing of how well it is "
    "repeatable.",
    source="coefficient of variation of the repetitions",
    live=False,
)
def repetitions(evidence: Evidence) -> Iterator[Found]:
    """One run says what happened once. Repetitions that are far apart say that the figure is not known."""
    if evidence.plan.proves is not None:
        raise UnknownError(Moot.PROOF)
    cells = _values(evidence)
    if not cells:
        raise UnknownError("no headline was measured")
    enough = int(evidence.limit("V28.repetitions"))
    most = evidence.limit("V28.spread")
    few = {}
    for key, steps in cells.items():
        again, what = _iterations(evidence, steps), "iterations"
        if len(again) < 2:
            again, what = [step.headline or 0.0 for step in steps], "repetitions"
        if len(again) < enough:
            few[key] = len(again)
        deviation = stdev(again) / fmean(again) if len(again) > 1 and fmean(again) else 0.0
        if deviation > most:
            said = ", ".join(headline_text(_headline(evidence, key), value) for value in again[:5])
            text = f"{key}: {what} deviate by {units.share(deviation)} of their mean ({said})"
            yield Found("warning", text, round(deviation, 4), most)
    if few:
        least = min(few.values())
        one = "measured once: nothing is known of how well it is repeatable"
        yield Found("info", one if least == 1 else f"{least} repetitions only", least, enough)


def _values(evidence: Evidence) -> dict[str, list[StepRecord]]:
    """Return the repetitions that have a headline, by point."""
    found: dict[str, list[StepRecord]] = defaultdict(list)
    for record in evidence.steps:
        if record.headline is not None and not record.warmup and record.state == "done":
            found[record.cell_key].append(record)
    return found


def _iterations(evidence: Evidence, steps: Sequence[StepRecord]) -> list[float]:
    """Return the iterations of a metadata benchmark that ran once: it repeats itself."""
    metadata = steps[0].metadata if len(steps) == 1 else None
    headline = _headline(evidence, steps[0].cell_key)
    operation = metadata.operations.get(headline.direction) if metadata is not None else None
    return operation.iterations if operation is not None else []


def _headline(evidence: Evidence, key: str) -> Headline:
    step = next(step for step in evidence.plan.steps if step.cell_key == key)
    return evidence.plan.headline_of(step) or Headline("iops", "read")


@run_check(
    "sweep",
    "Points that differ",
    rule="a point is the best of its block size when no other reaches into its repetitions, or, measured once, "
    f"into {units.share(APART)} of it (a remark); points that ended early are not counted",
    advice="Repeat the sweep (repeat on Review, run --repeat 3), or "
    "name the points that are equal together: the cheapest of them will do.",
    source="lowest and highest repetition of each point",
    live=False,
)
def sweep(evidence: Evidence) -> Iterator[Found]:
    """The highest point of a sweep is the best by chance when others come as high when they are measured again."""
    if evidence.plan.proves is not None:
        raise UnknownError(Moot.PROOF)
    tables = [table for table in tables_of(_cells(evidence)) if table.axes and len(table.cells) > 1]
    if not tables or evidence.plan.search is not None:
        raise UnknownError(Moot.SWEPT)
    for table in tables:
        yield from _not_told_apart(table)
        short = [f"{cell.name} ({cell.short})" for cell in table.cells if cell.short]
        if short:
            message = f"{table.profile}: ended early, and neither the best nor a knee: {names_of(short)}"
            yield Found("info", message, len(short), 0)


def _not_told_apart(table: MatrixTable) -> Iterator[Found]:
    """Yield the best of a table that others are as good as; of several block sizes the best of each, together."""
    groups = compared(table.cells)
    found = [(best, equal) for best, equal in map(best_of, groups) if best is not None and equal]
    if not found:
        return
    every = [cell for best, equal in found for cell in (best, *equal)]
    best, equal = found[0]
    if len(groups) < 2:
        told = f"{best.name} is the best, but not told apart from {names_of([cell.name for cell in equal])}"
    else:
        each = names_of([f"{best.name} ({len(equal)} as good)" for best, equal in found])
        told = f"the best of a block size is not told apart from others: {each}"
    yield Found("info", f"{table.profile}: {told} (by {known_by(every)})", len(every) - len(found), 0)


def _cells(evidence: Evidence) -> list[Cell]:
    """Return the points as they were measured."""
    cells = []
    for key, steps in by_point(evidence.steps).items():
        attempts = [Attempt(step.index, step.state or "done", step.headline) for step in steps]
        profile = steps[0].profile or evidence.plan.profile.tag
        headline = evidence.plan.headline_of(evidence.plan.steps[steps[0].index])
        cell = replace(cell_of(key, profile, steps[0].point, headline, attempts), short=shortest(steps))
        cells.append(moved_by(cell, steps[0], headline.direction if headline else ""))
    return cells


CHECKS = (repetitions, sweep)

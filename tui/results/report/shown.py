"""Which steps of a run a report shows in detail, and what their parts are called. Pure."""

from __future__ import annotations

from tui.metrics.registry import in_order
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.text.conditions import step_label

IN_FULL = 4  # more steps are a matrix: its tables hold them all
MEMBERS = 6


def measured_steps(record: RunRecord) -> list[StepRecord]:
    """Return the steps that measured something and count."""
    return [step for step in record.steps if not step.warmup and (step.results.aggregate or step.metadata)]


def detailed_steps(record: RunRecord) -> list[StepRecord]:
    """Return the steps that are shown with charts and hosts: all of a few, of a matrix what the headlines are from."""
    measured = measured_steps(record)
    if len(measured) <= IN_FULL:
        return measured
    cells = record.matrix.cells if record.matrix is not None else []
    headlines = [record.headline] if record.headline is not None else [cell.headline for cell in cells]
    wanted = [found.step for found in headlines if found is not None and found.step is not None]
    found = [step for step in measured if step.index in wanted[:MEMBERS]]
    return found or measured[:1]


def name_of(record: RunRecord, step: StepRecord) -> str:
    """Return what a step is called beside the others; empty where it is the only one."""
    if len(record.steps) == 1:
        return ""
    name = step.name.removeprefix(record.profile.tag).strip() or step.name
    return " ".join(part for part in (name, step_label(record, step)) if part)


def directions_of(step: StepRecord) -> list[str]:
    """Return the directions of a step as they are shown; `mixed` beside reads and writes is in tables alone."""
    found = in_order(step.results.aggregate)
    return [name for name in found if name != "mixed" or len(found) == 1]

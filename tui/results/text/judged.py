"""What is said of a measurement beside its figures: how long it lasted, and what was checked about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.metrics.repeat import ci_tells
from tui.metrics.units import plural
from tui.model.thresholds import THRESHOLDS
from tui.results.findings.weight import submission_waits

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.model.step_record import StepRecord  # pydantic: not while a run goes on

VERDICTS: dict[str, str] = {
    "valid": "valid",
    "valid-with-warnings": "valid with warnings",
    "invalid": "INVALID",
}


def submission_text(step: StepRecord, kind: str) -> str:
    """Return how much of the latency is the wait in the submission, where it is worth telling; else nothing."""
    said = "lat holds" if kind == "lat" else "clat leaves out"
    waits = (
        f"{said} the wait in the submission: {name} slat mean {units.latency(slat)} of {units.latency(lat)}"
        for name, slat, lat in submission_waits(step)
    )
    return next(waits, "")


def checks_text(record: RunRecord) -> str:
    """Return the verdict, what was found and how much was checked; empty when nothing was judged.

    ``valid: nothing found; 21 checks made, 9 could not be``. A record of an older version has no verdict to go by.
    """
    if record.verdict is None:
        return ""
    found = found_text([finding.severity for finding in record.findings])
    if record.checks is None:
        return found if record.findings else "no finding"
    made = f"{plural(len(record.checks), 'check')} made"
    if record.checks_not_made is None:
        return f"{made}, {found}"
    missed = f", {len(record.checks_not_made)} could not be" if record.checks_not_made else ""
    changed = [f"{name} {value:g} in place of {_usual(name)}" for name, value in record.thresholds.items()]
    otherwise = f"; by other thresholds: {', '.join(changed)}" if changed else ""
    return f"{VERDICTS[record.verdict]}: {found}; {made}{missed}{otherwise}"


def _usual(name: str) -> str:
    known = THRESHOLDS.get(name)
    return f"{known.value:g}" if known is not None else "?"


def found_text(severities: Sequence[str]) -> str:
    """Return how much was found of what weight: ``1 error, 2 warnings, 1 remark``."""
    words = (("error", "error"), ("warning", "warning"), ("info", "remark"))
    counts = [(severities.count(severity), word) for severity, word in words]
    return ", ".join(plural(count, word) for count, word in counts if count) or "nothing found"


def repeated_text(record: RunRecord) -> str:
    """Return how well the headline is known: of how many repetitions it is the median; empty for a single one."""
    found, matrix = record.headline, record.matrix
    if found is None or found.step is None or matrix is None:
        return ""
    cell = next((cell for cell in matrix.cells if found.step in cell.steps), None)
    values = [value for value in cell.values if value is not None] if cell is not None else []
    if cell is None or len(values) < 2:
        return ""
    text = METRICS[found.metric].text
    if ci_tells(values, cell.ci_relative):
        return f"median of {len(values)}; mean {text(fmean(values))} ± {(cell.ci_relative or 0.0) * 100:.1f} % (95 %)"
    return f"median of {len(values)}, from {text(min(values))} to {text(max(values))}"

"""What is said of a measurement beside its figures: how long it lasted, and what was checked about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.metrics import units
from tui.model.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from tui.model.record import Finding, RunRecord
    from tui.model.step_record import StepRecord  # pydantic: not while a run goes on

VERDICTS: dict[str, str] = {
    "valid": "valid",
    "valid-with-warnings": "valid with warnings",
    "invalid": "INVALID",
}
WEIGHTS = ("error", "warning", "info")
SHORT_SHARE = 0.95  # of the runtime that was asked for
SUBMISSION_SHARE = 0.1  # of the whole latency
SHORT_S = 1.0  # what lasts less is no measurement, whatever was asked for


def ended_early(measured_s: float | None, runtime_s: float | None) -> bool:
    """Tell whether a measurement lasted less than was asked for; False when either is not known."""
    return measured_s is not None and runtime_s is not None and measured_s < SHORT_SHARE * runtime_s


def is_short(step: StepRecord) -> bool:
    """Tell whether a step measured less than was asked for, or too little to say anything."""
    seconds = step.measured_s
    return seconds is not None and (seconds < SHORT_S or ended_early(seconds, step.runtime_s))


def length_text(measured_s: float | None, runtime_s: float | None) -> str:
    """Return how long was measured: ``measured 30.0 s``, ``ended after 0.2 s of 30 s``; empty when it is not known."""
    if measured_s is None:
        return ""
    if ended_early(measured_s, runtime_s):
        return f"ended after {units.seconds(measured_s)} of {units.seconds(runtime_s)}"
    return f"measured {units.seconds(measured_s)}"


def submission_waits(step: StepRecord) -> Iterator[tuple[str, float, float]]:
    """Yield each direction whose wait in the submission is worth telling, with the means of slat and lat in ns."""
    for name, result in step.results.aggregate.items():
        slat, lat = (latency.mean_ns if latency is not None else None for latency in (result.slat, result.lat))
        if slat and lat and slat > SUBMISSION_SHARE * lat:
            yield name, slat, lat


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


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings, the worst first."""
    return sorted(findings, key=lambda finding: WEIGHTS.index(finding.severity))


def found_text(severities: Sequence[str]) -> str:
    """Return how much was found of what weight: ``1 error, 2 warnings, 1 remark``."""
    words = (("error", "error"), ("warning", "warning"), ("info", "remark"))
    counts = [(severities.count(severity), word) for severity, word in words]
    return ", ".join(plural(count, word) for count, word in counts if count) or "nothing found"


def plural(count: int, word: str) -> str:
    """Return a number of things."""
    return f"{count} {word}{'' if count == 1 else 's'}"

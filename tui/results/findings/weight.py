"""How heavy findings are, and waits too long to pass over, apart from the checks: texts need these alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.record import Finding
    from tui.model.step_record import StepRecord

WEIGHTS = ("error", "warning", "info")
SUBMISSION_SHARE = 0.1  # of the whole latency


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings, the worst first."""
    return sorted(findings, key=lambda finding: WEIGHTS.index(finding.severity))


def submission_waits(step: StepRecord) -> Iterator[tuple[str, float, float]]:
    """Yield each direction whose wait in the submission is worth telling, with the means of slat and lat in ns."""
    for name, result in step.results.aggregate.items():
        slat, lat = (latency.mean_ns if latency is not None else None for latency in (result.slat, result.lat))
        if slat and lat and slat > SUBMISSION_SHARE * lat:
            yield name, slat, lat

"""Severity of findings, reasons why a check has no data, and bottlenecks of the clients.

A module without the checks, so that it loads quickly.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from tui.metrics.figures import has_completed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.record import Finding
    from tui.model.step_record import StepRecord


class UnknownError(Exception):
    """Raised when a check cannot run: a code of `texts/reasons.py`, and operands of its text."""

    def __init__(self, code: str, **operands: Any) -> None:
        super().__init__(code)
        self.code, self.operands = code, operands


class Moot(StrEnum):
    """Codes of reasons why a check does not apply."""

    READS = "no-reads"
    WRITES = "no-writes"
    RANDOM = "no-random"
    SHARED = "one-host"
    DROPPED = "no-cache-drop"
    RAMP = "has-ramp"
    ROUNDS = "no-rounds"
    ASKED = "no-conditions"
    SHIFT = "no-rank-shift"
    SWEPT = "no-sweep"
    ALONE = "no-other-profile"
    PROOF = "counter-experiment"
    RATE = "no-rate"
    PACED = "paced"
    OBJECTS = "objects"
    NO_OBJECTS = "no-objects"
    DATA = "no-data"
    DIRECT = "direct"
    NETWORK = "no-network"
    SUBMISSION = "no-submission"
    SYNCS = "no-syncs"
    VERDICT = "no-own-verdict"
    ITERATIONS = "one-iteration"


MOOT = frozenset[str](Moot)
WEIGHTS = ("error", "warning", "info")
SUBMISSION_SHARE = 0.1  # of the whole latency
# bottlenecks of the clients, and all with which a figure does not describe the storage
AT_CLIENT = ("client-cpu", "network", "client-device")
OUTSIDE_STORAGE = ("rate", *AT_CLIENT)


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings sorted by severity, the worst first."""
    return sorted(findings, key=lambda finding: WEIGHTS.index(finding.severity))


def did_no_io(step: StepRecord) -> bool:
    """Return whether a step ended with results but without a completed I/O.

    Load generators count I/Os that failed, but these have no bytes, no rate and no latency.
    """
    if step.state == "running" or step.metadata is not None or not step.results.aggregate:
        return False
    return not any(map(has_completed, step.results.aggregate.values()))


def submission_waits(step: StepRecord) -> Iterator[tuple[str, float, float]]:
    """Yield directions with significant submission latency, and their mean slat and lat in ns."""
    for name, result in step.results.aggregate.items():
        slat, lat = (
            latency.mean_ns if latency is not None else None
            for latency in (result.slat, result.lat)
        )
        if slat and lat and slat > SUBMISSION_SHARE * lat:
            yield name, slat, lat

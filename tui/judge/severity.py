"""Severity of findings, and reasons why a check has no data.

A module without the checks, so that it loads quickly.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.record import Finding
    from tui.model.step_record import StepRecord


class UnknownError(Exception):
    """Raised when a check cannot run; the text is the reason."""


class Moot(StrEnum):
    """Reasons why a check does not apply."""

    READS = "nothing is read"
    WRITES = "nothing is written"
    RANDOM = "no random I/O"
    SHARED = "only one host"
    DROPPED = "dropping caches was not requested"
    RAMP = "the load has a ramp"
    ROUNDS = "no rounds were requested"
    ASKED = "the profile has no conditions to attest"
    SHIFT = "no ranks were shifted"
    SWEPT = "no sweep"
    ALONE = "no other profile ran at the same time"
    PROOF = "a counter-experiment compares loads that differ on purpose"
    RATE = "no rate was requested"
    PACED = "the load is limited by a rate or think time"
    OBJECTS = "objects do not use files, devices or the page cache of the hosts"
    NO_OBJECTS = "no objects are read or written"
    DATA = "the load moves no data"
    NETWORK = "the load does not go over the network"
    SUBMISSION = "the engine has no submission latency"
    SYNCS = "no syncs were measured"
    VERDICT = "the load generator does not judge its own result"
    ITERATIONS = "no operation has more than one iteration"


WEIGHTS = ("error", "warning", "info")
SUBMISSION_SHARE = 0.1  # of the whole latency


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings sorted by severity, the worst first."""
    return sorted(findings, key=lambda finding: WEIGHTS.index(finding.severity))


def submission_waits(step: StepRecord) -> Iterator[tuple[str, float, float]]:
    """Yield directions with significant submission latency, and their mean slat and lat in ns."""
    for name, result in step.results.aggregate.items():
        slat, lat = (
            latency.mean_ns if latency is not None else None
            for latency in (result.slat, result.lat)
        )
        if slat and lat and slat > SUBMISSION_SHARE * lat:
            yield name, slat, lat

"""Names of checks, and their former numbers, which input and files may still contain."""

from __future__ import annotations

from collections.abc import Mapping

FORMER = {
    "V01": "tool-errors",
    "V02": "concurrency",
    "V03": "storage-traffic",
    "V04": "unwritten-data",
    "V05": "direct-io",
    "V06": "working-set",
    "V07": "page-cache",
    "V08": "target-full",
    "V09": "runtime",
    "V10": "steady-state",
    "V11": "warm-up",
    "V12": "start-skew",
    "V13": "clock-offset",
    "V14": "straggler",
    "V15": "client-cpu",
    "V16": "network",
    "V17": "background-load",
    "V18": "raid-rebuild",
    "V19": "cpu-frequency",
    "V20": "host-differences",
    "V21": "same-offsets",
    "V22": "reducible-data",
    "V23": "few-samples",
    "V24": "offered-rate",
    "V25": "no-flush",
    "V28": "repetitions",
    "V29": "host-restart",
    "V30": "missing-samples",
}
# reasons why a check does not apply, in records of versions before 2026-11-29
FORMER_REASONS = {
    "nothing is read": "no-reads",
    "nothing is written": "no-writes",
    "no random I/O": "no-random",
    "only one host": "one-host",
    "dropping caches was not requested": "no-cache-drop",
    "the load has a ramp": "has-ramp",
    "no rounds were requested": "no-rounds",
    "the profile has no conditions to attest": "no-conditions",
    "no ranks were shifted": "no-rank-shift",
    "no sweep": "no-sweep",
    "no other profile ran at the same time": "no-other-profile",
    "a counter-experiment compares loads that differ on purpose": "counter-experiment",
    "no rate was requested": "no-rate",
    "the load is limited by a rate or think time": "paced",
    "objects do not use files, devices or the page cache of the hosts": "objects",
    "no objects are read or written": "no-objects",
    "the load moves no data": "no-data",
    "the load does not go over the network": "no-network",
    "the engine has no submission latency": "no-submission",
    "no syncs were measured": "no-syncs",
    "the load generator does not judge its own result": "no-own-verdict",
    "no operation has more than one iteration": "one-iteration",
}
FORMER_THRESHOLDS = {"V09.remark_s": "runtime.note_s"}


def check_name(name: str) -> str:
    """Return the current name of a check, given its name or former number."""
    return FORMER.get(name.upper(), name)


def reason_why(reason: object) -> object:
    """Return ``{"code": ...}`` for a reason that older records have as text; other reasons
    unchanged.
    """
    code = FORMER_REASONS.get(reason) if isinstance(reason, str) else None
    return reason if code is None else {"code": code}


def threshold_name(name: str) -> str:
    """Return the current name of a threshold, such as ``straggler.rate``."""
    check, dot, rest = name.partition(".")
    return FORMER_THRESHOLDS.get(name, f"{check_name(check)}{dot}{rest}")


def with_current_names(thresholds: Mapping[str, float]) -> dict[str, float]:
    """Return the thresholds with current names as keys."""
    return {threshold_name(name): value for name, value in thresholds.items()}

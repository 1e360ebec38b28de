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
FORMER_THRESHOLDS = {"V09.remark_s": "runtime.note_s"}


def check_name(name: str) -> str:
    """Return the current name of a check, given its name or former number."""
    return FORMER.get(name.upper(), name)


def threshold_name(name: str) -> str:
    """Return the current name of a threshold, such as ``straggler.rate``."""
    check, dot, rest = name.partition(".")
    return FORMER_THRESHOLDS.get(name, f"{check_name(check)}{dot}{rest}")


def with_current_names(thresholds: Mapping[str, float]) -> dict[str, float]:
    """Return the thresholds with current names as keys."""
    return {threshold_name(name): value for name, value in thresholds.items()}

"""Criteria that a run fails by: ``read.p99 > 2ms``, ``iops < -5%`` (against another run). Pure."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tui.model.operations import OPERATIONS
from tui.model.problem import did_you_mean

MetricName = Literal["iops", "bandwidth", "latency", "ops"]
Order = Literal["<", "<=", ">", ">="]

FORM = re.compile(
    r"\s*(?:(?P<direction>[a-z-]+)\.)?(?P<metric>p\d{1,2}(?:\.\d+)?|[a-z-]+)\s*(?P<order><=|>=|<|>)\s*"
    r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*"
)
DIRECTIONS = ("read", "write", "trim", "sync", "mixed", "both")
WHOLE = 100.0  # the percentile that is the maximum
METRICS: dict[str, MetricName] = {"iops": "iops", "bw": "bandwidth", "bandwidth": "bandwidth", "mean": "latency",
                                  "latency": "latency", "max": "latency", "ops": "ops"}  # fmt: skip
UNITS: dict[MetricName, dict[str, float]] = {
    "iops": {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9},
    "ops": {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9},
    "latency": {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "bandwidth": {
        **{f"{letter}B/s": 1000.0**power for power, letter in enumerate(("", "k", "M", "G", "T"))},
        **{f"{letter}iB/s": 1024.0**power for power, letter in enumerate(("K", "M", "G", "T"), 1)},
    },
}
EXAMPLES = "such as 'read.p99 > 2ms', 'write.bandwidth < 1GiB/s', 'iops < -5%'"


class Criterion(Struct, frozen=True):
    """What must not be. `value` is in the unit of records, or with `relative` a share that B may have changed by.

    `direction` is empty where none is named: then it holds for each that was measured.
    """

    text: str
    direction: str
    metric: MetricName
    percentile: float | None
    order: Order
    value: float
    relative: bool

    def broken_by(self, value: float) -> bool:
        """Tell whether a figure, or a change, is what must not be."""
        return {"<": value < self.value, "<=": value <= self.value,
                ">": value > self.value, ">=": value >= self.value}[self.order]  # fmt: skip


def parse_criterion(text: str) -> Criterion:
    """Return a criterion. Raises ValueError with what is allowed."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no criterion: [DIRECTION.]METRIC < or > NUMBER UNIT, {EXAMPLES}")
    direction, word = found["direction"] or "", found["metric"]
    metric = _metric(text, direction, word)
    if not direction and metric == "ops" and word != "ops":
        direction = word
    percentile = float(word[1:]) if re.fullmatch(r"p\d.*", word) else WHOLE if word == "max" else None
    value, relative = _value(text, metric, float(found["number"]), found["unit"])
    order: Order = found["order"]  # type: ignore[assignment]
    return Criterion(text.strip(), direction, metric, percentile, order, value, relative)


def _metric(text: str, direction: str, word: str) -> MetricName:
    if re.fullmatch(r"p\d.*", word):
        metric: MetricName | None = "latency"
    else:
        metric = METRICS.get(word) or ("ops" if not direction and word in OPERATIONS else None)
    if metric is None:
        known = (*METRICS, "p99", *OPERATIONS)
        raise ValueError(f"'{text}': no metric '{word}'{did_you_mean(word, known)}; allowed are {', '.join(known)}")
    if direction and direction not in (allowed := OPERATIONS if metric == "ops" else DIRECTIONS):
        meant = did_you_mean(direction, allowed)
        raise ValueError(f"'{text}': no direction '{direction}'{meant}; allowed are {', '.join(allowed)}")
    return metric


def _value(text: str, metric: MetricName, number: float, unit: str) -> tuple[float, bool]:
    if unit == "%":
        return number / 100, True
    factor = UNITS[metric].get(unit)
    if factor is None:
        allowed = ", ".join(f"'{each}'" if each else "none" for each in UNITS[metric])
        raise ValueError(f"'{text}': '{unit}' is no unit of it; allowed are {allowed}, and % against another run")
    return number * factor, False


def known_criterion(text: str) -> str:
    """Return the text of a criterion. Raises ValueError when it is none."""
    parse_criterion(text)
    return text

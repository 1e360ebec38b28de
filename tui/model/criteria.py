"""Fail criteria such as `read.p99 > 2ms`, check thresholds that a profile may change, and
conditions that checks know.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tui.model.check_names import threshold_name
from tui.model.plain import OPERATIONS
from tui.model.problem import did_you_mean

MetricName = Literal["iops", "bandwidth", "latency", "ops"]
Order = Literal["<", "<=", ">", ">="]

DURABLE = ("cache-off", "cache-protected")  # conditions: writes survive a power cut

FORM = re.compile(
    r"\s*(?:(?P<direction>[a-z-]+)\.)?(?P<metric>p\d{1,2}(?:\.\d+)?|[a-z-]+)\s*(?P<order><=|>=|<|>)\s*"
    r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*"
)
DIRECTIONS = ("read", "write", "trim", "sync", "mixed", "both")
WHOLE = 100.0  # the percentile that is the maximum
METRICS: dict[str, MetricName] = {"iops": "iops", "bw": "bandwidth", "bandwidth": "bandwidth",
    "mean": "latency",
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
    """A condition that fails a run if true.

    `value` is in the unit of records; with `relative` it is the change from run A to run B, as a
    share of A. If `direction` is empty, the condition applies to every measured direction.
    """

    text: str
    direction: str
    metric: MetricName
    percentile: float | None
    order: Order
    value: float
    relative: bool

    def broken_by(self, value: float) -> bool:
        """Return whether a figure, or a change, makes the condition true."""
        return {"<": value < self.value, "<=": value <= self.value,
                ">": value > self.value, ">=": value >= self.value}[self.order]  # fmt: skip


def parse_criterion(text: str) -> Criterion:
    """Parse a criterion. Raises ValueError with the allowed forms."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(
            f"'{text}' is not a criterion; expected [DIRECTION.]METRIC, one of < <= > >=, NUMBER"
            f" UNIT, {EXAMPLES}"
        )
    direction, word = found["direction"] or "", found["metric"]
    metric = _metric(text, direction, word)
    if not direction and metric == "ops" and word != "ops":
        direction = word
    percentile = (
        float(word[1:]) if re.fullmatch(r"p\d.*", word) else WHOLE if word == "max" else None
    )
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
        raise ValueError(
            f"'{text}': unknown metric '{word}'{did_you_mean(word, known)}; allowed:"
            f" {', '.join(known)}"
        )
    if direction and direction not in (allowed := OPERATIONS if metric == "ops" else DIRECTIONS):
        meant = did_you_mean(direction, allowed)
        raise ValueError(
            f"'{text}': unknown direction '{direction}'{meant}; allowed: {', '.join(allowed)}"
        )
    return metric


def _value(text: str, metric: MetricName, number: float, unit: str) -> tuple[float, bool]:
    if unit == "%":
        return number / 100, True
    factor = UNITS[metric].get(unit)
    if factor is None:
        allowed = ", ".join(f"'{each}'" if each else "none" for each in UNITS[metric])
        raise ValueError(
            f"'{text}': unknown unit '{unit}'; allowed: {allowed}, and % to compare with "
            f"another run"
        )
    return number * factor, False


def known_criterion(text: str) -> str:
    """Return a criterion's text unchanged. Raises ValueError if it is invalid."""
    parse_criterion(text)
    return text


class Threshold(Struct, frozen=True):
    """A threshold of a check: its default and its meaning."""

    value: float
    what: str


THRESHOLDS: dict[str, Threshold] = {
    "concurrency.off": Threshold(
        0.02, "allowed deviation of the I/Os in flight from the queue depth, as a share"
    ),
    "storage-traffic.moved": Threshold(
        0.95, "minimum share of the load's bytes counted on the layers below"
    ),
    "object-traffic.moved": Threshold(
        0.95, "minimum share of the objects' bytes counted on the hosts' links"
    ),
    "unwritten-data.written": Threshold(
        0.99, "minimum share of the data read that must have been written before"
    ),
    "working-set.memory": Threshold(
        2.0, "minimum size of files without direct I/O, in multiples of the host's memory"
    ),
    "hot-set.drive": Threshold(
        32.0 * 2**20, "bytes; smaller working sets can fit in a drive's buffer"
    ),
    "hot-set.array": Threshold(
        2.0**30, "bytes; smaller working sets can fit in a typical controller's cache"
    ),
    "target-full.full": Threshold(0.8, "maximum fill level of the target, as a share"),
    "runtime.warning_s": Threshold(10.0, "shortest measurement without a warning, in seconds"),
    "runtime.note_s": Threshold(60.0, "shortest measurement without a note, in seconds"),
    "start-skew.skew_s": Threshold(1.0, "allowed start skew, in seconds"),
    "end-skew.skew_s": Threshold(
        1.0, "seconds by which a host may stop before the longest-running one"
    ),
    "clock-offset.offset_s": Threshold(0.1, "allowed clock offset, in seconds"),
    "straggler.rate": Threshold(0.8, "minimum host rate, as a share of the median host's"),
    "straggler.tail": Threshold(3.0, "maximum host p99, in multiples of the median host's"),
    "client-cpu.host": Threshold(
        85.0, "maximum CPU use of a client or server, all cores, in per cent"
    ),
    "client-cpu.core": Threshold(
        95.0, "maximum use of one core of a client or server, in per cent"
    ),
    "client-cpu.thread": Threshold(
        95.0, "maximum CPU use of one load thread, in per cent of a core"
    ),
    "client-cpu.steal": Threshold(1.0, "maximum CPU steal by the hypervisor, in per cent"),
    "client-cpu.throttled": Threshold(
        5.0, "maximum share of periods in which the control group is throttled, in per cent"
    ),
    "io-limit.reached": Threshold(
        0.95, "maximum share of the control group's I/O limit that the load may use"
    ),
    "background-load.cpu": Threshold(20.0, "maximum CPU use before the load starts, in per cent"),
    "offered-rate.reached": Threshold(0.99, "minimum achieved share of an offered rate"),
    "repetitions.repetitions": Threshold(3.0, "repetitions required to call a figure repeatable"),
    "repetitions.spread": Threshold(
        0.05, "allowed deviation of repetitions, as a share of the mean"
    ),
    "missing-samples.missing": Threshold(0.01, "allowed share of seconds without samples"),
}


def known(name: str) -> str:
    """Return the current name of a threshold. Raises ValueError if it does not exist."""
    if (name := threshold_name(name)) not in THRESHOLDS:
        raise ValueError(f"unknown threshold{did_you_mean(name, THRESHOLDS)}; see docs/findings.md")
    return name


def default(name: str) -> float:
    """Return the default of a threshold.

    Raises KeyError if it does not exist.
    """
    return THRESHOLDS[name].value

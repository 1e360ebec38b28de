"""Pass criteria (`read.p99 > 2ms`) and the thresholds of checks that a profile may change."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tui.model.check_names import threshold_name
from tui.model.plain import OPERATIONS
from tui.model.problem import did_you_mean

MetricName = Literal["iops", "bandwidth", "latency", "ops"]
Order = Literal["<", "<=", ">", ">="]

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
    """What must not be. `value` is in the unit of records, or with `relative` a share that B may
    have changed by.

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
        raise ValueError(
            f"'{text}' is no criterion: [DIRECTION.]METRIC < or > NUMBER UNIT, {EXAMPLES}"
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
            f"'{text}': no metric '{word}'{did_you_mean(word, known)}; allowed are"
            f" {', '.join(known)}"
        )
    if direction and direction not in (allowed := OPERATIONS if metric == "ops" else DIRECTIONS):
        meant = did_you_mean(direction, allowed)
        raise ValueError(
            f"'{text}': no direction '{direction}'{meant}; allowed are {', '.join(allowed)}"
        )
    return metric


def _value(text: str, metric: MetricName, number: float, unit: str) -> tuple[float, bool]:
    if unit == "%":
        return number / 100, True
    factor = UNITS[metric].get(unit)
    if factor is None:
        allowed = ", ".join(f"'{each}'" if each else "none" for each in UNITS[metric])
        raise ValueError(
            f"'{text}': '{unit}' is no unit of it; allowed are {allowed}, and % against another run"
        )
    return number * factor, False


def known_criterion(text: str) -> str:
    """Return the text of a criterion. Raises ValueError when it is none."""
    parse_criterion(text)
    return text


class Threshold(Struct, frozen=True):
    """A threshold: what it is when nobody says otherwise, and what it means."""

    value: float
    what: str


THRESHOLDS: dict[str, Threshold] = {
    "concurrency.off": Threshold(
        0.02, "how far the I/Os in flight may be from those that are kept, as a share"
    ),
    "storage-traffic.moved": Threshold(0.95, "least share of the load's bytes that moves below it"),
    "object-traffic.moved": Threshold(
        0.95, "least share of the objects' bytes that the hosts' links carry"
    ),
    "unwritten-data.written": Threshold(
        0.99, "least share of what is read that was written before"
    ),
    "working-set.memory": Threshold(
        2.0, "least size of the files without direct I/O, in memories of the host"
    ),
    "hot-set.drive": Threshold(
        32.0 * 2**20, "bytes below which the buffer of any drive holds what is touched again"
    ),
    "hot-set.array": Threshold(
        2.0**30, "bytes below which the cache of a usual controller holds it"
    ),
    "target-full.full": Threshold(0.8, "how full the target may be, as a share"),
    "runtime.warning_s": Threshold(10.0, "seconds below which a measurement is a warning"),
    "runtime.note_s": Threshold(60.0, "seconds below which a short measurement is a note"),
    "start-skew.skew_s": Threshold(1.0, "seconds that hosts may start apart"),
    "end-skew.skew_s": Threshold(1.0, "seconds that a host may run shorter than the longest one"),
    "clock-offset.offset_s": Threshold(0.1, "seconds that a clock may be off"),
    "straggler.rate": Threshold(0.8, "least share of the median host's rate"),
    "straggler.tail": Threshold(3.0, "largest p99 of a host, in those of the median host"),
    "client-cpu.host": Threshold(85.0, "per cent that all CPUs of a client or server may be busy"),
    "client-cpu.core": Threshold(95.0, "per cent that one core of a client or server may be busy"),
    "client-cpu.thread": Threshold(95.0, "per cent of a core that one thread of the load may use"),
    "client-cpu.steal": Threshold(1.0, "per cent of the CPU that the hypervisor may take"),
    "client-cpu.throttled": Threshold(
        5.0, "per cent of periods in which the control group may run out of CPU time"
    ),
    "io-limit.reached": Threshold(
        0.95, "share of the I/O limit of its control group that a load may reach"
    ),
    "background-load.cpu": Threshold(20.0, "per cent that CPUs may be busy before the load"),
    "offered-rate.reached": Threshold(0.99, "least share of an offered rate"),
    "repetitions.repetitions": Threshold(3.0, "how many repetitions make a figure repeatable"),
    "repetitions.spread": Threshold(
        0.05, "how far apart repetitions may be: their deviation as a share of the mean"
    ),
    "missing-samples.missing": Threshold(
        0.01, "share of the seconds that samples may be missing for"
    ),
}


def known(name: str) -> str:
    """Return the name that a threshold has now. Raises ValueError when there is none."""
    if (name := threshold_name(name)) not in THRESHOLDS:
        raise ValueError(
            f"no threshold is called that{did_you_mean(name, THRESHOLDS)}; docs/findings.md has"
            " them all"
        )
    return name


def default(name: str) -> float:
    """Return what a threshold is when nobody says otherwise.

    Raises KeyError for one that there is not.
    """
    return THRESHOLDS[name].value

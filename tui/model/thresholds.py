"""Thresholds of checks that a profile may change (`findings:`). Checks ask for them by name; nobody else knows them."""

from __future__ import annotations

from msgspec import Struct

from tui.model.problem import did_you_mean


class Threshold(Struct, frozen=True):
    """A threshold: what it is when nobody says otherwise, and what it means."""

    value: float
    what: str


THRESHOLDS: dict[str, Threshold] = {
    "V02.off": Threshold(0.02, "how far the I/Os in flight may be from those that are kept, as a share"),
    "V03.moved": Threshold(0.95, "least share of the load's bytes that moves below it"),
    "V04.written": Threshold(0.99, "least share of what is read that was written before"),
    "V06.memory": Threshold(2.0, "least size of the files without direct I/O, in memories of the host"),
    "V08.full": Threshold(0.8, "how full the target may be, as a share"),
    "V09.warning_s": Threshold(10.0, "seconds below which a measurement is a warning"),
    "V09.remark_s": Threshold(60.0, "seconds below which a measurement is a remark"),
    "V12.skew_s": Threshold(1.0, "seconds that hosts may start apart"),
    "V13.offset_s": Threshold(0.1, "seconds that a clock may be off"),
    "V14.rate": Threshold(0.8, "least share of the median host's rate"),
    "V14.tail": Threshold(3.0, "largest p99 of a host, in those of the median host"),
    "V15.host": Threshold(85.0, "per cent that all CPUs of a client or server may be busy"),
    "V15.core": Threshold(95.0, "per cent that one core of a client or server may be busy"),
    "V15.thread": Threshold(95.0, "per cent of a core that one thread of the load may use"),
    "V15.steal": Threshold(1.0, "per cent of the CPU that the hypervisor may take"),
    "V17.cpu": Threshold(20.0, "per cent that CPUs may be busy before the load"),
    "V24.reached": Threshold(0.99, "least share of an offered rate"),
    "V28.repetitions": Threshold(3.0, "how many repetitions make a figure repeatable"),
    "V28.spread": Threshold(0.05, "how far apart repetitions may be: their deviation as a share of the mean"),
    "V30.missing": Threshold(0.01, "share of the seconds that samples may be missing for"),
}


def known(name: str) -> str:
    """Return the name of a threshold. Raises ValueError when there is none."""
    if name not in THRESHOLDS:
        raise ValueError(f"no threshold is called that{did_you_mean(name, THRESHOLDS)}; docs/findings.md has them all")
    return name


def default(name: str) -> float:
    """Return what a threshold is when nobody says otherwise. Raises KeyError for one that there is not."""
    return THRESHOLDS[name].value

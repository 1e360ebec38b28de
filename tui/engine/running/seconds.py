"""What all hosts together did in each second of a measurement, from their samples as they arrive. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tui.metrics.histogram import Histogram
from tui.model.event import DirectionSample, Sample
from tui.sizing.points import Second

LATE_S = 0.2  # what a second may lack to be a whole one


class Seconds:
    """Seconds of one step, counted on each host from where its measurement began: hosts are released together."""

    def __init__(self, step: int = -1, hosts: int = 0) -> None:
        self.step = step
        self.hosts = hosts
        self._lengths: dict[str, float] = {}  # seconds told so far, by host
        self._parts: dict[str, dict[int, dict[str, DirectionSample]]] = {}

    def add(self, sample: Sample) -> bool:
        """Take a sample; tell whether all hosts have told another whole second by now."""
        if sample.step != self.step or sample.phase != "measure" or sample.ramp:
            return False
        if sample.restart:
            self._lengths.pop(sample.host, None)
            self._parts.pop(sample.host, None)
        before = self.whole
        begin = self._lengths.get(sample.host, 0.0)
        self._lengths[sample.host] = begin + sample.interval_s
        parts = self._parts.setdefault(sample.host, {})
        parts[round(begin)] = sample.dirs if round(begin) not in parts else added(parts[round(begin)], sample.dirs)
        return self.whole > before

    @property
    def whole(self) -> int:
        """Seconds that all hosts have told."""
        if len(self._lengths) < self.hosts or not self._lengths:
            return 0
        return int(min(self._lengths.values()) + LATE_S)

    def totals(self) -> list[Second]:
        """Return the seconds that all hosts have told, over all of them."""
        return [_second([parts.get(at, {}) for parts in self._parts.values()]) for at in range(self.whole)]


def added(one: Mapping[str, DirectionSample], other: Mapping[str, DirectionSample]) -> dict[str, DirectionSample]:
    """Return two parts of one second as one."""
    found = dict(one)
    for name, more in other.items():
        have = found.get(name)
        found[name] = more if have is None else _sum(have, more)
    return found


def _sum(one: DirectionSample, other: DirectionSample) -> DirectionSample:
    both = Histogram()
    both.add(one.lat)
    both.add(other.lat)
    return DirectionSample(one.ios + other.ios, one.bytes + other.bytes, lat=both.buckets)


def _second(hosts: list[dict[str, DirectionSample]]) -> Second:
    ios: dict[str, int] = {}
    lat: dict[str, Histogram] = {}
    for dirs in hosts:
        for name, part in dirs.items():
            ios[name] = ios.get(name, 0) + part.ios
            lat.setdefault(name, Histogram()).add(part.lat)
    return Second(ios, {name: each.buckets for name, each in lat.items()})

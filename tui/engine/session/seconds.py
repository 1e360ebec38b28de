"""What all hosts together did in each second of a measurement, from their samples as they arrive. Pure."""

from __future__ import annotations

import msgspec

from tui.metrics.histogram import Histogram
from tui.model.event import Buckets, DirectionSample, Sample
from tui.sizing.points import Second

LATE_S = 0.2  # what a second may lack to be a whole one
_unpack = msgspec.msgpack.Decoder(dict[str, DirectionSample]).decode
_pack = msgspec.msgpack.Encoder().encode


class _Sum(msgspec.Struct):
    """What all hosts did in one direction of one second."""

    ios: int = 0
    lat: Histogram = msgspec.field(default_factory=Histogram)

    def add(self, part: DirectionSample) -> None:
        self.ios += part.ios
        self.lat.add(part.lat)

    def take_back(self, part: DirectionSample) -> None:
        self.ios -= part.ios
        self.lat.add(Buckets(idx=part.lat.idx, n=[-count for count in part.lat.n]))


class Seconds:
    """Seconds of one step, counted on each host from where its measurement began: hosts are released together.

    Each sample is added once, and kept packed for a host that begins anew: 256 hosts tell 15,000 samples a minute.
    """

    def __init__(self, step: int = -1, hosts: int = 0) -> None:
        self.step = step
        self.hosts = hosts
        self._lengths: dict[str, float] = {}  # seconds told so far, by host
        self._told: dict[str, list[tuple[int, bytes]]] = {}  # what a host has added to which second
        self._sums: dict[int, dict[str, _Sum]] = {}

    def add(self, sample: Sample) -> bool:
        """Take a sample; tell whether all hosts have told another whole second by now."""
        if sample.step != self.step or sample.phase != "measure" or sample.ramp:
            return False
        if sample.restart:
            self._take_back(sample.host)
        before = self.whole
        begin = self._lengths.get(sample.host, 0.0)
        self._lengths[sample.host] = begin + sample.interval_s
        second = self._sums.setdefault(round(begin), {})
        for name, part in sample.dirs.items():
            second.setdefault(name, _Sum()).add(part)
        self._told.setdefault(sample.host, []).append((round(begin), _pack(sample.dirs)))
        return self.whole > before

    def _take_back(self, host: str) -> None:
        """What a host did before it began anew counts for nothing."""
        self._lengths.pop(host, None)
        for at, packed in self._told.pop(host, []):
            for name, part in _unpack(packed).items():
                self._sums[at][name].take_back(part)

    @property
    def whole(self) -> int:
        """Seconds that all hosts have told."""
        if len(self._lengths) < self.hosts or not self._lengths:
            return 0
        return int(min(self._lengths.values()) + LATE_S)

    def totals(self) -> list[Second]:
        """Return the seconds that all hosts have told, over all of them."""
        return [_second(self._sums.get(at, {})) for at in range(self.whole)]


def _second(sums: dict[str, _Sum]) -> Second:
    ios = {name: each.ios for name, each in sums.items()}
    return Second(ios, {name: each.lat.buckets for name, each in sums.items()})

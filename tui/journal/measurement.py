"""Data of one phase of a step: figures by host and direction, and p99 of each second."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

import msgspec
from msgspec import Struct

from tui.journal.views import (
    NOTHING,
    Amounts,
    Arrival,
    Changes,
    Clock,
    DirectionView,
    Group,
    Leaf,
    SeriesSet,
)
from tui.metrics.buckets import index_to_value, rank
from tui.metrics.histogram import Histogram, PackedBuckets
from tui.metrics.registry import BOTH
from tui.metrics.registry import direction as known_direction
from tui.metrics.series import HeatBins, parts_of
from tui.model.dense import listed
from tui.model.event import Buckets, PhaseName, Sample

HOST_OPEN_S = 3  # samples of one host are in order
CLUSTER_OPEN_S = 90  # but a host may lag behind the others by the time of a reconnect


def p99_of(buckets: Buckets) -> int:
    """Return the 99th percentile of a non-empty histogram, by fio's rule; scans only its upper
    end.
    """
    total = sum(buckets.n)
    beyond, wanted = total, rank(99, total)
    for index, count in zip(reversed(buckets.idx), reversed(buckets.n), strict=True):
        beyond -= count
        if beyond < wanted:
            return index_to_value(index)
    return index_to_value(buckets.idx[0])


def seconds_of(t0: float, t1: float) -> range:
    """Return the seconds whose middle lies in (t0, t1]; empty if the interval covers no middle.

    Consecutive intervals cover the middle of each second exactly once.
    """
    return range(floor(t0 - 0.5) + 1, floor(t1 - 0.5) + 1)


Counts = Buckets | PackedBuckets | Histogram
"""Latency counts of one second: those of a single interval, until another one covers the second,
too.
"""


class PercentileBins:
    """99th percentile of each second, merged over the intervals that cover its middle.

    If none does, over the intervals that end in it. Seconds older than `open_s` are final, so
    memory stays constant.
    """

    __slots__ = ("_known", "_middle", "_newest", "_open_s", "_settled", "_short")

    def __init__(self, open_s: int) -> None:
        # by second, from intervals that cover its middle
        self._middle: dict[int, Counts] = {}
        # from intervals that end in it and cover no middle
        self._short: dict[int, Counts] = {}
        # computed of seconds that are open, until something comes to them
        self._known: dict[int, int] = {}
        self._settled: dict[int, int] = {}
        self._open_s = open_s
        self._newest = 0

    def add(self, t0: float, t1: float, buckets: Buckets | PackedBuckets) -> None:
        """Add the histogram of the interval (t0, t1]."""
        seconds = seconds_of(t0, t1)
        held = self._middle if seconds else self._short
        for second in seconds or (floor(t1),):
            if second not in self._settled:
                self._put(held, second, buckets)
        if t1 >= self._newest + 1:
            self._newest = floor(t1)
            self._settle(self._newest - self._open_s)

    def _settle(self, before: int) -> None:
        for second in [second for second in self._open() if second < before]:
            self._settled[second] = self._p99(second)
            for each in (self._middle, self._short, self._known):
                each.pop(second, None)

    def _put(self, held: dict[int, Counts], second: int, buckets: Buckets | PackedBuckets) -> None:
        if self._known:
            self._known.pop(second, None)
        before = held.get(second)
        if before is None:
            held[second] = buckets
        elif isinstance(before, Histogram):
            before.add(buckets)
        else:
            whole = held[second] = Histogram()
            whole.add(before)
            whole.add(buckets)

    def _open(self) -> set[int]:
        return self._middle.keys() | self._short.keys()

    def _p99(self, second: int) -> int:
        value = self._known.get(second)
        if value is None:
            held = self._middle[second] if second in self._middle else self._short[second]
            value = self._known[second] = p99_of(
                held if isinstance(held, Buckets) else held.buckets
            )
        return value

    @property
    def by_second(self) -> dict[int, int]:
        """99th percentiles so far, in ns by second of the run."""
        return self._settled | {second: self._p99(second) for second in self._open()}

    def values(self, start_s: int, end_s: int) -> list[int | None]:
        """Return one value per second; None if unknown."""
        known = self.by_second
        return [known.get(second) for second in range(start_s, end_s)]


class MeasuringWindow(Struct):
    """Time in which one host was measuring, in run time: from the start of its first sample to the
    end of its last.

    `io_t0` and `io_t1` delimit the last sample with I/O: the load ended in it, or later if samples
    are missing. `lat_max_s` is the longest I/O in the first sample.
    """

    start_t: float
    end_t: float
    io_t0: float
    io_t1: float
    lat_max_s: float


class Measurement:
    """Data of one phase of one step.

    `for_record`: exclude unmeasured load from the hosts' series, and keep p99 per second of each
    host instead of cluster series. `tails_open_s`: how late a sample may arrive for p99 per second;
    None if p99 is not needed.
    """

    def __init__(
        self,
        clock: Clock,
        phase: PhaseName | None,
        step: int | None,
        started_t: float,
        *,
        for_record: bool = False,
        tails_open_s: int | None = None,
    ) -> None:
        self.clock = clock
        self.started_t = started_t
        self.phase = phase
        self.step = step
        self.for_record = for_record
        self.tails_open_s = tails_open_s
        # by host (None: all together) and direction
        self.tails: dict[tuple[str | None, str], PercentileBins] = {}
        # latencies over time of all hosts together, by direction; for screens
        self.heat: dict[str, HeatBins] = {}
        self._changes = Changes()
        self._host_changes: dict[str, Changes] = {}
        self.total = Group(clock, self._changes)
        self.cluster: dict[str, Group] = {}
        self.hosts: dict[str, dict[str, Leaf]] = {}
        self.host_totals: dict[str, Group] = {}
        self.windows: dict[str, MeasuringWindow] = {}
        self.dropped: dict[str, float] = {}  # lost hosts, and until when they measured
        self.has_result: Collection[str] = ()  # hosts with latencies only at the end
        self.jobs: dict[str, Measurement] = {}  # by name, if more than one
        self._series: dict[str, SeriesSet] = {}
        self._joint: dict[str, Histogram] = {}  # latencies of all hosts, by direction

    @property
    def whole(self) -> DirectionView:
        """View of all hosts and directions together; if there is one direction, its own view."""
        return next(iter(self.cluster.values())) if len(self.cluster) == 1 else self.total

    def is_of(self, phase: PhaseName, step: int | None) -> bool:
        """Return whether this measurement belongs to this phase of this step."""
        return (self.phase, self.step) == (phase, step)

    def holds(self, sample: Sample) -> bool:
        """Return whether a sample belongs to this measurement."""
        return sample.phase == self.phase and (self.step is None or sample.step == self.step)

    def dirs_of(self, host: str) -> dict[str, Leaf]:
        """Return the leaves of a host by direction; the returned dict is updated as leaves are
        added.
        """
        return self.hosts.setdefault(host, {})

    def total_of(self, host: str) -> Group:
        """Return the group of all directions of a host."""
        total = self.host_totals.get(host)
        if total is None:
            total = self.host_totals[host] = Group(self.clock, self._changes_of(host))
        return total

    def _changes_of(self, host: str) -> Changes:
        return self._host_changes.setdefault(host, Changes())

    def add(self, sample: Sample, t0: float, t1: float) -> None:
        """Add a sample that covers (t0, t1] in run time."""
        self._add_jobs(sample, t0, t1)
        leaves = self.dirs_of(sample.host)
        if sample.restart:
            self._restart(sample.host)
        for direction, part in sample.dirs.items():
            if part.ios and direction not in leaves:  # tools also list unused directions
                leaves[direction] = self._new_leaf(sample.host, direction)
        self._changed(sample.host)
        at = Arrival(sample.t, t0, t1, parts_of(t0, t1))
        own = at._replace(parts=[]) if self.for_record and sample.ramp else at
        did = {direction: Amounts.of(part) for direction, part in sample.dirs.items()}
        for direction, leaf in leaves.items():
            amounts = did.get(direction, NOTHING)
            leaf.add(own, amounts, counts=not sample.ramp)
            if not self.for_record:
                self._series[direction].add(t0, t1, amounts, at.parts)
        if sample.ramp:
            return
        if sample.host in self.windows or any(leaf.ios for leaf in leaves.values()):
            self._extend_window(sample, t0, t1)
        if (
            self.tails_open_s is not None and self.phase != "layout"
        ):  # its writes are not the load's
            self._add_tails(sample, t0, t1, self.tails_open_s, did)

    def _changed(self, host: str) -> None:
        self._changes.count += 1
        self._changes_of(host).count += 1

    def _add_jobs(self, sample: Sample, t0: float, t1: float) -> None:
        if not sample.jobs or sample.host in self.has_result:  # its tool tells them
            return
        for job, dirs in sample.of_jobs().items():
            if job not in self.jobs:
                self.jobs[job] = Measurement(
                    self.clock,
                    self.phase,
                    self.step,
                    self.started_t,
                    tails_open_s=self.tails_open_s,
                )
            self.jobs[job].add(msgspec.structs.replace(sample, dirs=dirs, jobs={}), t0, t1)

    def _add_tails(
        self, sample: Sample, t0: float, t1: float, open_s: int, did: dict[str, Amounts]
    ) -> None:
        for direction, amounts in did.items():
            if not amounts.lat.total:
                continue
            self._tail(None, direction, open_s).add(t0, t1, amounts.lat)
            if self.for_record:
                # alone in its second: never packed out again
                lat = listed(sample.dirs[direction].lat)
                self._tail(sample.host, direction, HOST_OPEN_S).add(t0, t1, lat)
            else:
                self._heat(direction).add(t0, t1, amounts.lat)

    def _heat(self, direction: str) -> HeatBins:
        bins = self.heat.get(direction)
        if bins is None:
            bins = self.heat[direction] = HeatBins(self.started_t)
        return bins

    def _tail(self, host: str | None, direction: str, open_s: int) -> PercentileBins:
        bins = self.tails.get((host, direction))
        if bins is None:
            bins = self.tails[host, direction] = PercentileBins(open_s)
        return bins

    @property
    def cluster_tails(self) -> dict[str, dict[int, int]]:
        """99th percentile over all hosts in ns, by direction and second of the run."""
        return {
            direction: bins.by_second
            for (host, direction), bins in self.tails.items()
            if host is None
        }

    def _new_leaf(self, host: str, direction: str) -> Leaf:
        joint = self._joint.setdefault(direction, Histogram())
        leaf = Leaf(joint, self._changes_of(host), keeps_latencies=host not in self.has_result)
        totals = [self.total, self.total_of(host)] if known_direction(direction).in_total else []
        if direction not in self.cluster:
            self.cluster[direction] = Group(self.clock, self._changes)
            self._series[direction] = SeriesSet()
            for group in (self.cluster[direction], *totals[:1]):
                group.over_time.append(self._series[direction])
                group.latencies.append(joint)
        for group in totals[1:]:
            group.over_time.append(leaf.over_time)
            group.latencies.append(leaf.so_far)
        for group in (self.cluster[direction], *totals):
            group.leaves.append(leaf)
        if direction == BOTH:
            self._join(leaf, host, joint)
        return leaf

    def _join(self, leaf: Leaf, host: str, joint: Histogram) -> None:
        """Use the joint latencies of reads and writes in the totals, whose I/Os other leaves
        count.
        """
        for group, histogram in ((self.total, joint), (self.total_of(host), leaf.so_far)):
            if not any(each is histogram for each in group.latencies):
                group.latencies.append(histogram)
            group.joint.append(leaf)

    def _restart(self, host: str) -> None:
        self.windows.pop(host, None)
        for leaf in self.hosts[host].values():
            leaf.restart()
            if self.for_record:
                leaf.over_time.clear()
                leaf.printed.clear()

    def _extend_window(self, sample: Sample, t0: float, t1: float) -> None:
        window = self.windows.get(sample.host)
        if window is None:
            lat_max_ns = max((part.lat_max_ns for part in sample.dirs.values()), default=0)
            window = self.windows[sample.host] = MeasuringWindow(t0, t1, t0, t1, lat_max_ns / 1e9)
        window.end_t = max(window.end_t, t1)
        for part in sample.dirs.values():
            if part.ios:
                window.io_t0, window.io_t1 = max(window.io_t0, t0), max(window.io_t1, t1)
                return

    def silence(self, host: str | None = None) -> None:
        """Mark the load on a host, or on all hosts, as over; no figures are current any more."""
        for name, leaves in self.hosts.items():
            if host is None or name == host:
                for leaf in leaves.values():
                    leaf.silence()
                self._changed(name)
        for job in self.jobs.values():
            job.silence(host)

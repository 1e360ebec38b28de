"""Data of one phase of a step: figures by host and direction."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from tui.journal.intervals import NOTHING, Amounts, Clock
from tui.journal.latencies import HOST_OPEN_S, Covered, JointLatencies, PercentileBins
from tui.journal.views import (
    Arrival,
    Changes,
    DirectionView,
    Group,
    HasLatencies,
    Leaf,
    SeriesSet,
)
from tui.metrics.registry import BOTH
from tui.metrics.registry import direction as known_direction
from tui.metrics.series import HeatBins, parts_of
from tui.model.dense import listed
from tui.model.event import PhaseName, Sample


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
        self._host_tails: dict[tuple[str, str], PercentileBins] = {}  # by host and direction
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
        self._joint: dict[str, JointLatencies] = {}  # by direction

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
        self._add_latencies(sample, Covered.of(t0, t1), did)

    def _changed(self, host: str) -> None:
        self._changes.count += 1
        self._changes_of(host).count += 1

    def _add_jobs(self, sample: Sample, t0: float, t1: float) -> None:
        if not sample.jobs or sample.host in self.has_result:  # the result has them
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

    def _add_latencies(self, sample: Sample, at: Covered, did: dict[str, Amounts]) -> None:
        leaves = self.hosts[sample.host]
        for direction, amounts in did.items():
            if not amounts.lat.total:
                continue
            leaf = leaves.get(direction)
            in_total = leaf is not None and leaf.keeps_latencies
            self._joint_of(direction).add(at, amounts.lat, in_total=in_total)
            if self.for_record and self._keeps_seconds:
                # mostly alone in its second, then never unpacked again
                lat = listed(sample.dirs[direction].lat)
                self._tails_of(sample.host, direction).add(at.t0, at.t1, lat)

    @property
    def _keeps_seconds(self) -> bool:
        # writes of the layout are not the load's
        return self.tails_open_s is not None and self.phase != "layout"

    def _joint_of(self, direction: str) -> JointLatencies:
        joint = self._joint.get(direction)
        if joint is None:
            open_s = self.tails_open_s if self._keeps_seconds else None
            kept = HeatBins(self.started_t) if open_s is not None and not self.for_record else None
            joint = self._joint[direction] = JointLatencies(open_s, kept)
        return joint

    def _tails_of(self, host: str, direction: str) -> PercentileBins:
        bins = self._host_tails.get((host, direction))
        if bins is None:
            bins = self._host_tails[host, direction] = PercentileBins(HOST_OPEN_S)
        return bins

    def tails(self, host: str | None, direction: str) -> PercentileBins | None:
        """Return the p99 per second of a host, or of all hosts together; None if not kept."""
        if host is not None:
            return self._host_tails.get((host, direction))
        joint = self._joint.get(direction)
        return joint.tails if joint is not None else None

    @property
    def cluster_tails(self) -> dict[str, dict[int, int]]:
        """99th percentile over all hosts in ns, by direction and second of the run."""
        found = {
            direction: bins.by_second
            for direction, joint in self._joint.items()
            if (bins := joint.tails) is not None
        }
        return {direction: seconds for direction, seconds in found.items() if seconds}

    @property
    def heat(self) -> dict[str, HeatBins]:
        """Latencies over time of all hosts together, by direction; empty for a record."""
        found = {direction: joint.heat for direction, joint in self._joint.items()}
        return {direction: heat for direction, heat in found.items() if heat and heat.version}

    def _new_leaf(self, host: str, direction: str) -> Leaf:
        joint = self._joint_of(direction)
        keeps = host not in self.has_result
        leaf = Leaf(self.clock, joint, self._changes_of(host), keeps_latencies=keeps)
        totals = [self.total, self.total_of(host)] if known_direction(direction).in_total else []
        if direction not in self.cluster:
            self.cluster[direction] = Group(self.clock, self._changes)
            self._series[direction] = SeriesSet()
            for group in (self.cluster[direction], *totals[:1]):
                group.over_time.append(self._series[direction])
                group.latencies.append(joint)
        for group in totals[1:]:
            group.over_time.append(leaf.over_time)
            group.latencies.append(leaf)
        for group in (self.cluster[direction], *totals):
            group.leaves.append(leaf)
        if direction == BOTH:
            self._join(leaf, host, joint)
        return leaf

    def _join(self, leaf: Leaf, host: str, joint: JointLatencies) -> None:
        """Use the joint latencies of reads and writes in the totals; other leaves count their I/Os.
        """
        pairs: tuple[tuple[Group, HasLatencies], ...]
        pairs = (self.total, joint), (self.total_of(host), leaf)
        for group, part in pairs:
            if not any(each is part for each in group.latencies):
                group.latencies.append(part)
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

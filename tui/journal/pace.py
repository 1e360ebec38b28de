"""Pace of a load's samples: how its clock runs against the jump host's, and late samples."""

from __future__ import annotations

from math import sqrt

from msgspec import Struct, field

from tui.model.event import Sample, TelemetrySample

LATE_S = 1.4  # samples are due every second


class Ticks(Struct):
    """Sums for the regression line of arrival times over durations counted by a sender's clock."""

    first_t: float | None = None
    count: int = 0
    x: float = 0.0  # seconds by the sender's clock
    _sum_x: float = 0.0
    _sum_y: float = 0.0
    _sum_xx: float = 0.0
    _sum_xy: float = 0.0
    _sum_yy: float = 0.0

    def add(self, arrival_t: float, interval_s: float) -> None:
        """Add the arrival of a sample; the first one starts the count."""
        if self.first_t is None:
            self.first_t = arrival_t
        else:
            self.x += interval_s
        x, y = self.x, arrival_t - self.first_t
        self.count += 1
        self._sum_x, self._sum_y = self._sum_x + x, self._sum_y + y
        self._sum_xx, self._sum_xy = self._sum_xx + x * x, self._sum_xy + x * y
        self._sum_yy += y * y

    def line(self) -> tuple[float, float] | None:
        """Return seconds of the jump host per second of the sender, and the root mean square of the
        arrivals' distances from that line, in seconds; None if unknown.
        """
        n = self.count
        if n < 3:
            return None
        xx = self._sum_xx - self._sum_x * self._sum_x / n
        xy = self._sum_xy - self._sum_x * self._sum_y / n
        yy = self._sum_yy - self._sum_y * self._sum_y / n
        if xx <= 0:
            return None
        slope = xy / xx
        return slope, sqrt(max(yy - slope * xy, 0.0) / n)


class Late(Struct, frozen=True):
    """A sample that came late: its place among the host's samples, when it began, its length, and
    its I/Os.

    `from_s` counts from the beginning of the first sample, by the load's clock.
    """

    place: int
    from_s: float
    interval_s: float
    end_ms: int  # host time
    ios: int


class Pace(Struct):
    """Samples of one host's load, and of its agent's telemetry meanwhile."""

    load: Ticks = field(default_factory=Ticks)
    agent: Ticks = field(default_factory=Ticks)
    late: list[Late] = field(default_factory=list)
    begun_s: float = 0.0  # length of the first sample
    agent_late: list[tuple[int, float]] = field(default_factory=list)  # host time, length
    _agent_ms: int = 0

    def take(self, event: Sample) -> None:
        """Add a sample of the load; ramp samples and a restart discard those before."""
        if event.ramp or event.restart:
            self.load, self.agent, self.late = Ticks(), Ticks(), []
        if event.ramp:
            return
        if not self.load.count:
            self.begun_s = event.interval_s
        self.load.add(event.t, event.interval_s)
        if event.interval_s > LATE_S and not event.restart:
            ios = sum(part.ios for part in event.dirs.values())
            place = self.load.count - 1
            from_s = self.begun_s + self.load.x - event.interval_s
            self.late.append(Late(place, from_s, event.interval_s, event.host_time_ms, ios))

    def take_telemetry(self, event: TelemetrySample) -> None:
        """Add an interval of the host's telemetry; its stamps count uptime."""
        if self.load.count:
            self.agent.add(event.t, (event.host_time_ms - self._agent_ms) / 1000)
        self._agent_ms = event.host_time_ms
        if event.interval_s > LATE_S:
            self.agent_late.append((event.host_time_ms, event.interval_s))

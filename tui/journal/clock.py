"""Map host clocks to run time; describe hosts lost during a measurement."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from tui.model.event import HostClock, TaskEnded

# faster than all previous samples by this much: the host's clock was set forward
STEP_S = 300.0
LATE_S = 1.0  # all samples later than this: the clock was set back after it was compared
LATE_SAMPLES = 5
APART_S = 0.5  # samples that arrive in a burst are one piece of evidence
BACK_S = 1.0  # time stamps that go back by more: the clock was set
AGREES_S = 0.05  # tolerance for stamps in the future: rounding, and a busy jump host
DRIFT = 5e-4  # maximum rate of NTP slew (ntp_adjtime(2): 500 ppm)


class ClockReading(Struct, frozen=True):
    """Offset of a host's clock: `offset_s` is run time minus host time.

    `uncertainty_s` is None if the clocks were not compared; times then include the shortest delay
    of a sample.
    """

    offset_s: float
    uncertainty_s: float | None


class ClockStep(Struct, frozen=True):
    """A clock, the host's or the jump host's, was set by about `size_s` after the comparison;
    noticed at `t`.
    """

    t: float
    size_s: float


class HostTime:
    """Converts a host's wall clock to run time.

    With a `HostClock` event the offset comes from an exchange of messages. Without one, or if
    arrivals contradict it, the offset is estimated from the sample with the shortest delay.
    """

    __slots__ = (
        "_arrivals",
        "_last",
        "_last_t",
        "_least_delay",
        "_stamp",
        "compared",
        "jumps",
        "offset_s",
        "step",
    )

    def __init__(self, offset_s: float | None = None) -> None:
        self.offset_s = offset_s  # run time minus host time
        self.compared: HostClock | None = None
        self.step: ClockStep | None = None
        self.jumps = 0
        self._stamp: tuple[float, int] | None = None  # arrival and host time of the newest sample
        self._last = (0.0, 0.0)  # its interval in run time
        self._arrivals, self._least_delay, self._last_t = 0, float("inf"), float("-inf")

    def compare(self, event: HostClock) -> None:
        """Use the offset from this exchange from now on."""
        self.offset_s = -(event.run_zero_ms / 1000 + event.offset_s)
        self.compared = event
        self._arrivals, self._least_delay, self._last_t = 0, float("inf"), float("-inf")

    def expect_late(self) -> None:
        """Accept late samples, which were spooled while no engine read them."""
        self._arrivals = -(1 << 62)

    def interval(
        self, arrival_t: float, host_time_ms: int, interval_s: float
    ) -> tuple[float, float]:
        """Return the interval of a sample in run time.

        Repeating the call for the last sample gives the same result.
        """
        if self._stamp == (arrival_t, host_time_ms):
            return self._last
        known, jumps = self._stamp is not None, self.jumps
        t1 = self.run_time(arrival_t, host_time_ms)
        t0 = t1 - interval_s
        # the tool measured the interval by a clock that was set meanwhile
        if known and self.jumps > jumps:
            t0 = max(t0, min(self._last[1], t1))
        self._last = max(0.0, t0), max(0.0, t1)
        return self._last

    def run_time(self, arrival_t: float, host_time_ms: int) -> float:
        """Return the run time, in seconds, of a host's time stamp; never after its arrival.

        Each arrival also corrects the offset.
        """
        host_s = host_time_ms / 1000
        arrived = arrival_t - host_s
        went_back = self._stamp is not None and self._stamp[1] / 1000 - host_s > BACK_S
        self._stamp = arrival_t, host_time_ms
        if self.offset_s is None:
            self.offset_s = arrived
        elif went_back:
            self._set_by(arrival_t, self.offset_s - arrived, arrived)
        elif self.compared is not None:
            self._check(self.compared, self.offset_s, arrival_t, arrived)
        elif arrived < self.offset_s:
            self.jumps += self.offset_s - arrived > STEP_S
            self.offset_s = arrived
        return host_s + self.offset_s

    def _check(
        self, compared: HostClock, offset_s: float, arrival_t: float, arrived: float
    ) -> None:
        """Check a compared offset against an arrival time, which wins if the two contradict."""
        delay = arrived - offset_s
        if arrival_t - self._last_t >= APART_S:
            self._arrivals, self._last_t = self._arrivals + 1, arrival_t
        self._least_delay = min(self._least_delay, delay)
        allowed = AGREES_S + compared.uncertainty_s + DRIFT * max(0.0, arrival_t - compared.t)
        if delay < -allowed:
            self._set_by(arrival_t, -delay, arrived)
        elif self._arrivals >= LATE_SAMPLES and self._least_delay > LATE_S + allowed:
            self._set_by(arrival_t, -self._least_delay, offset_s + self._least_delay)
        elif delay < 0:
            self.offset_s = arrived  # drift

    def _set_by(self, arrival_t: float, size_s: float, offset_s: float) -> None:
        if self.compared is not None:
            self.step = ClockStep(arrival_t, size_s)
        self.offset_s, self.compared = offset_s, None
        self.jumps += 1

    @property
    def reading(self) -> ClockReading | None:
        """Current offset of the clock; None if unknown."""
        if self.offset_s is None:
            return None
        if self.compared is None:
            return ClockReading(self.offset_s, None)
        moved = abs(self.offset_s + self.compared.run_zero_ms / 1000 + self.compared.offset_s)
        return ClockReading(self.offset_s, self.compared.uncertainty_s + moved)


ASKED_TO_END = ("stop", "abort")


class HostClocks:
    """Clocks of all hosts.

    `offsets` (run time minus host time) are initial values; events update them. Comparisons of
    `distrusted` hosts are ignored.
    """

    __slots__ = ("by_host", "compared", "distrusted")

    def __init__(
        self, offsets: Mapping[str, float] | None = None, distrusted: Collection[str] = ()
    ) -> None:
        self.by_host = {host: HostTime(offset) for host, offset in (offsets or {}).items()}
        self.compared: dict[str, HostClock] = {}  # the newest comparison of each host's clock
        self.distrusted = distrusted

    def of(self, host: str) -> HostTime:
        """Return the clock of a host, creating it on first use."""
        clock = self.by_host.get(host)
        if clock is None:
            clock = self.by_host[host] = HostTime()
        return clock

    def take(self, event: HostClock) -> None:
        """Record a clock comparison and, unless the host is distrusted, apply it to the host's
        offset.
        """
        self.compared[event.host] = event
        if event.host not in self.distrusted:
            self.of(event.host).compare(event)

    def offset_of(self, host: str) -> float | None:
        """Return run time minus host time; None if unknown."""
        clock = self.by_host.get(host)
        return clock.offset_s if clock is not None else None

    def reading_of(self, host: str) -> ClockReading | None:
        """Return the current offset of a host's clock; None if unknown."""
        clock = self.by_host.get(host)
        return clock.reading if clock is not None else None

    def steps(self) -> dict[str, ClockStep]:
        """Return, by host, the last time that its clock was set during the run."""
        return {host: clock.step for host, clock in self.by_host.items() if clock.step is not None}


def ended_badly(event: TaskEnded) -> bool:
    """Return whether a command failed, was killed, or was not collected completely.

    An unknown exit code is a failure, a requested stop or abort is not.
    """
    if not event.collected:
        return True
    if event.reason in ASKED_TO_END:
        return False
    return event.reason != "exit" or event.exit_code != 0



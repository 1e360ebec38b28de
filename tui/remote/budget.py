"""How much a host may print: more is a flood, which is cut off before it takes the jump host's time and disk.

fio's snapshots are 45 kB for each group and direction; the most that was measured is 2 MB a second, of 100 jobs that
do not report as a group. The agent has the same bounds, and ends the load on the host: remote/sh/supervise.sh.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tui.remote.transport import HostError

FLOODED = "flooded"  # the code of a host that printed too much
RATE = {"out": 4_000_000.0, "err": 250_000.0}  # bytes a second that a stream may bring
BURST = {"out": 16_000_000.0, "err": 2_000_000.0}  # bytes beyond that, at once
CPU_SHARE = 0.2  # of the jump host's one core for the engine, that reading one host may take
CPU_BURST_S = 1.0
NAMES = {"out": "stdout", "err": "stderr"}


class Budget:
    """What one task of one host may bring, as a bucket for each stream and one for the time that reading it takes.

    A bucket holds a burst; for the time since the last piece it gets all of its rate, so that what was held back by a
    broken connection, or by an engine that slept, is no flood.
    """

    def __init__(self, host: str, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._host, self._what, self._clock = host, what, clock
        self._last = clock()
        self._rates = {**RATE, "cpu": CPU_SHARE}
        self._bursts = {**BURST, "cpu": CPU_BURST_S}
        self._granted = dict.fromkeys(self._rates, 0.0)
        self._left = dict(self._bursts)
        self._taken = dict.fromkeys(self._left, 0.0)

    def grant(self, seconds: float) -> None:
        """Expect what a host has kept for us for so long."""
        for name, rate in self._rates.items():
            self._granted[name] += rate * seconds

    def take(self, kind: str, size: int, cpu_s: float) -> None:
        """Count bytes of a stream, and the time that reading them took. Raises HostError, code flooded."""
        now = self._clock()
        gap, self._last = now - self._last, now
        for name, rate in self._rates.items():
            self._left[name] = min(self._left[name], self._bursts[name]) + rate * gap
        for name, amount in ((kind, float(size)), ("cpu", cpu_s)):
            paid = min(self._granted[name], amount)
            self._granted[name] -= paid
            self._left[name] -= amount - paid
            self._taken[name] += amount
        if self._left[kind] < 0:
            raise self._flooded(kind, bounds(kind))
        if self._left["cpu"] < 0:
            raise self._flooded(kind, f"parsing it takes more than {CPU_SHARE * 100:.0f} % of a CPU core here")

    def _flooded(self, kind: str, why: str) -> HostError:
        amount = self._taken[kind] / 1e6
        return HostError(FLOODED, self._host, f"{self._what} floods {NAMES[kind]} ({amount:.1f} MB so far): {why}")


def bounds(kind: str) -> str:
    """Return what a stream may bring."""
    return f"limit {RATE[kind] / 1e6:g} MB/s and {BURST[kind] / 1e6:g} MB at once"


def flood_text(what: str, flood: str) -> str:
    """Return what the agent says of a flood: stream, kB, seconds."""
    stream, _, rest = flood.partition(" ")
    kb, _, seconds = rest.partition(" ")
    if not (kb.isdigit() and seconds.isdigit()):
        return f"{what} printed more than it may; the agent killed it on the host"
    kind = "err" if stream == "stderr" else "out"
    took = f"the last {seconds} s" if seconds != "0" else "less than 1 s"
    return (
        f"{what} flooded {stream}: {int(kb) / 1000:,.1f} MB in {took}, {bounds(kind)}; the agent killed it on the host"
    )

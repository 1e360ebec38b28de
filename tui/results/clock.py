"""Times of hosts on the clock of the run."""

from __future__ import annotations

from pathlib import Path

import msgspec

STEP_S = 300.0  # a sample that seems later than this: the host's clock was set, the sample was not under way so long


class HostClock:
    """Turns a host's wall clock into run time.

    A sample arrives some time after the host stamped it. The least delay seen, plus the difference of the clocks, is
    the best offset known: it is kept, and gets better with every sample that was quicker.
    """

    __slots__ = ("offset_s",)

    def __init__(self, offset_s: float | None = None) -> None:
        self.offset_s = offset_s  # run time minus host time

    def run_time(self, arrival_t: float, host_time_ms: int) -> float:
        """Return when the host stamped this, in seconds of the run; never after its arrival."""
        host_s = host_time_ms / 1000
        offset = arrival_t - host_s
        if self.offset_s is None or offset < self.offset_s or offset - self.offset_s > STEP_S:
            self.offset_s = offset
        return host_s + self.offset_s


class _Stamp(msgspec.Struct, tag_field="type", tag="sample"):
    """The part of a sample that tells about clocks; the rest is skipped, which is several times quicker."""

    t: float
    host: str
    host_time_ms: int


_stamp = msgspec.json.Decoder(_Stamp)


def best_offsets(journal: Path) -> dict[str, float]:
    """Return run time minus host time in seconds by host, from the least delayed sample of a whole journal."""
    clocks: dict[str, HostClock] = {}
    with journal.open("rb") as file:
        for line in file:
            if not line.startswith(b'{"type":"sample"'):
                continue
            try:
                stamp = _stamp.decode(line)
            except msgspec.DecodeError:
                break
            clocks.setdefault(stamp.host, HostClock()).run_time(stamp.t, stamp.host_time_ms)
    return {host: clock.offset_s for host, clock in clocks.items() if clock.offset_s is not None}

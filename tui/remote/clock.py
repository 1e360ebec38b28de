"""A host's clock against ours, over one open channel: the exchange with the shortest round trip counts (RFC 5905)."""

from __future__ import annotations

import re
import time

from msgspec import Struct

from tui.remote.transport import Channel, HostError, place_of

EXCHANGES = 8
STAMP = re.compile(rb"(\d{9,12})\.(\d{3,9})\n")


class ClockOffset(Struct, frozen=True):
    """`offset_s` is the host's clock minus ours, true within `uncertainty_s` (half the round trip)."""

    offset_s: float
    uncertainty_s: float
    rtt_s: float


async def measure_clock(channel: Channel, token: str, host: str) -> ClockOffset | None:
    """Return the clock of a host that runs the agent's `clock`; None when it does not print fractions."""
    await _until(channel, f"BT-CLOCK {token}\n".encode(), host)
    found: list[ClockOffset] = []
    for _ in range(EXCHANGES):
        before_ns, start = time.time_ns(), time.monotonic()
        await channel.write(b"?\n")
        line = await _until(channel, b"\n", host)
        rtt = time.monotonic() - start
        match = STAMP.search(line)
        if match is None:
            return None
        remote_ns = int(match[1]) * 10**9 + int(match[2].ljust(9, b"0"))
        offset = (remote_ns - before_ns) / 1e9 - rtt / 2
        found.append(ClockOffset(round(offset, 6), round(rtt / 2, 6), round(rtt, 6)))
    return min(found, key=lambda one: one.rtt_s)


async def _until(channel: Channel, mark: bytes, host: str) -> bytes:
    seen = bytearray()
    if await place_of(mark, seen, channel.read, host) < 0:
        raise HostError("agent-failed", host, "the clock stopped answering")
    return bytes(seen)

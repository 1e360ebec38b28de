"""Texts of bottlenecks, by code."""

from __future__ import annotations

from collections.abc import Sequence

from tui.judge.texts.observed import LEFT, limit_text
from tui.metrics import units
from tui.text.form import Text

DEFAULT = "storage or queue depth"
NO_OTHER = f"{DEFAULT} (no client limit found)"


def offered(rates: Sequence[tuple[str, str, float]]) -> str:
    """Return the offered rate of each direction."""
    offers = (
        f"{name} {units.iops(rate)} IOPS" if unit == "iops" else f"{name} {units.bandwidth(rate)}"
        for name, unit, rate in rates
    )
    return f"the offered rate: {', '.join(offers)}"


def group(group: str, percent: float, processes: float, stolen: bool) -> str:
    """Return how much CPU the processes of a group on a server use."""
    each = "its only process" if processes == 1 else f"each of {processes:.0f} processes on average"
    return f"{group} uses {percent:.0f} % of a core in {each}{LEFT if stolen else ''}"


def latency_bound(held: int, of_objects: bool) -> str:
    """Return how few I/Os are in flight, and what to do."""
    give = "use more connections" if of_objects else "raise the queue depth"
    return f"concurrency: latency-bound with {units.plural(held, 'I/O')} in flight; {give}"


BOTTLENECK: dict[str, Text] = {
    "no-other": NO_OTHER,
    "no-other-but-links-unknown": f"{NO_OTHER}; link speeds are unknown",
    "no-other-but-some-cpus": f"{DEFAULT} (client CPU on {{held}} of {{of}} hosts)",
    "no-other-but-busy-cpus": f"{DEFAULT} (client CPUs are busy, mostly with other work)",
    "offered-rate": offered,
    "own-pauses": (
        "the load itself: its workers spend {share:share} of the time in think time, the rest in"
        " one I/O at a time; use more workers"
    ),
    "on-client-cpu": "client CPU: {hosts:range}",
    "on-network": "network: {hosts:range}",
    "on-client-device": "client device: {hosts:range}",
    "on-server-cpu": "server CPU: {hosts:merged}",
    "latency-bound": latency_bound,
    "think-time": (
        "concurrency: workers spend {share:share} of the time in think time; use more workers"
    ),
    "at-full-load": "{bottleneck} (at full load)",
    # parts
    "io-limit": lambda what, limit: f"limited by its control group to {limit_text(what, limit)}",
    "device": "{device} {percent:.0f} % busy, {queue:.0f} requests in flight",
    "server": "{busy:lines}",
    "group": group,
    "cpu": "CPU {percent:.0f} % busy",
}

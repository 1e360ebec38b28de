"""Checks of loads on objects in a store, which use no file or device of the hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Moot,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
)
from tui.judge.observed import client_of, clients_of
from tui.judge.traffic import HALF, LEAST_S, fell_short
from tui.metrics import units
from tui.metrics.telemetry import parse_column
from tui.model.criteria import default

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.model.step_record import HostTelemetryRecord

MOVED = default("object-traffic.moved")
WAYS = {"read": "rx", "write": "tx"}  # GETs are received, PUTs are sent


def _uncounted(at: StepEvidence, name: str) -> str:
    """Return why the traffic of a host's links is unknown, as a code; empty if it is known."""
    host = client_of(at, name)
    return "" if host is not None and any(_shares(at, host)) else "byte-counters"


@of_hosts_in_step(lambda at, host: _uncounted(at, host.name))
@step_check(
    "object-traffic",
    "Objects cross the network",
    rule=(
        f"the links of each host carry at least {units.share(MOVED)} of the bytes of its"
        f" objects (less one second); error below {units.share(HALF)}"
    ),
    advice=(
        "Check whether objects were deleted during the run, and check the store's log: a load"
        " generator may count a GET answered with 404 as successful."
    ),
    source="/proc/net/dev of the hosts; bytes counted by the load generator",
)
def object_traffic(at: StepEvidence) -> Iterator[CheckResult]:
    """A load that counted more bytes than the hosts' links carried did not transfer all
    of its objects.
    """
    moving = {
        name for job in at.step.jobs if job.objects for name in job.directions if name in WAYS
    }
    if not moving:
        raise UnknownError(Moot.NO_OBJECTS)
    if (at.record.measured_s or 0.0) < LEAST_S:
        raise UnknownError("too-short", least_s=LEAST_S)
    shares = {
        (each.host, name): share for each in clients_of(at) for name, share in _shares(at, each)
    }
    if not shares:
        raise UnknownError("byte-counters")
    moved = {(host, name): share for (host, name), share in shares.items() if name in moving}
    for each in fell_short(at, moved, "object-traffic.moved"):
        yield each.result("carried")


def _shares(at: StepEvidence, host: HostTelemetryRecord) -> Iterator[tuple[str, float]]:
    """Yield the share of each direction's bytes that a host's links carried."""
    links = [name for name in host.names if parse_column(name).family == "nic"]
    for name, way in WAYS.items():
        result = at.record.results.per_host.get(host.host, {}).get(name)
        carried = [
            value
            for link in links
            if link.endswith(f".{way}") and (value := host.mean_of(link)) is not None
        ]
        if result is not None and result.bw_bytes_per_s and carried:
            yield name, sum(carried) / result.bw_bytes_per_s


OBJECT_CHECKS = (object_traffic,)

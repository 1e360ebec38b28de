"""Speeds of a host's network links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model.host_tables import Nic, RdmaLink, rows

if TYPE_CHECKING:
    from tui.model.host_record import HostRecord

LINKS = ("nic", "rdma")  # families of columns
LINK = 0.90  # of its speed: a link that carries more is full
CODED = ("SDR", "DDR", "QDR")  # of the rate of these, eight of ten bits are data


def link_speeds(record: HostRecord | None) -> dict[str, float]:
    """Return the speed in bytes per second of each link where known, by column prefix."""
    if record is None:
        return {}
    speeds = {f"nic.{nic.name}": (nic.speed_mbit or 0) * 1e6 for nic in rows(record.facts, Nic)}
    for port in rows(record.facts, RdmaLink):
        data = 0.8 if any(word in port.rate for word in CODED) else 1.0
        speeds[f"rdma.{port.device}:{port.port}"] = (port.rate_gbit or 0.0) * 1e9 * data
    return {name: bits / 8 for name, bits in speeds.items() if bits}

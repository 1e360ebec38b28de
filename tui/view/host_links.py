"""Traffic of a host's busiest link, and its share of the link's speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tui.judge.links import LINKS, link_speeds
from tui.metrics import units
from tui.metrics.telemetry import parse_column
from tui.model.host_record import HostRecord
from tui.model.step_record import HostTelemetryRecord

LinkSpeeds = Mapping[str, Mapping[str, float]]
"""Speed in bytes per second of each link where known: by host, by column prefix (``nic.eth0``)."""
WAYS = ("rx", "tx")
SPEED_UNKNOWN = "speed unknown"


class LinkLoad(Struct, frozen=True):
    """The busiest link of a host, with its speed and the traffic of its busier direction."""

    name: str  # prefix of its columns
    bytes_per_s: float
    speed: float | None

    @property
    def share(self) -> float | None:
        """Share of the link's speed; None if the speed is unknown."""
        return self.bytes_per_s / self.speed if self.speed else None

    def text(self, *, named: bool) -> str:
        """Return traffic and share: ``eth0 92.9 MiB/s (3 %)``; `named`: with the speed."""
        text = f"{self.name.partition('.')[2]} {units.bandwidth(self.bytes_per_s)}"
        if self.share is None or self.speed is None:
            return f"{text} ({SPEED_UNKNOWN})" if named else text
        of = f" of {speed_text(self.speed)}" if named else ""
        return f"{text} ({units.share(self.share)}{of})"


def speeds_of(hosts: Sequence[HostRecord]) -> LinkSpeeds:
    """Return the known speeds of the hosts' links."""
    return {host.name: link_speeds(host) for host in hosts}


def link_load(host: HostTelemetryRecord, speeds: LinkSpeeds) -> LinkLoad | None:
    """Return the load of the host's link with the most traffic; None without links."""
    columns = map(parse_column, host.names)
    links = dict.fromkeys(
        f"{each.family}.{each.subject}"
        for each in columns
        if each.family in LINKS and each.subject != "others"
    )
    rates = {name: [host.mean_of(f"{name}.{way}") or 0.0 for way in WAYS] for name in links}
    most = max(rates, key=lambda name: sum(rates[name]), default=None)
    if most is None:
        return None
    return LinkLoad(most, max(rates[most]), speeds.get(host.host, {}).get(most))


def common_speed(hosts: Sequence[HostTelemetryRecord], speeds: LinkSpeeds) -> float | None:
    """Return the speed of the hosts' busiest links; None if they differ or one is unknown."""
    found = {load.speed for host in hosts if (load := link_load(host, speeds)) is not None}
    return found.pop() if len(found) == 1 else None


def link_title(hosts: Sequence[HostTelemetryRecord], speeds: LinkSpeeds) -> str:
    """Return the title above the loads of links: ``NIC of 25 Gbit/s``; empty without links."""
    loads = [load for host in hosts if (load := link_load(host, speeds)) is not None]
    if not loads:
        return ""
    if speed := common_speed(hosts, speeds):
        return f"NIC of {speed_text(speed)}"
    return f"NIC ({SPEED_UNKNOWN})" if all(each.speed is None for each in loads) else "NIC"


def is_alike(hosts: Sequence[HostTelemetryRecord], speeds: LinkSpeeds) -> bool:
    """Return whether `link_title` covers every link: all have the same speed, or none is known."""
    return link_title(hosts, speeds) != "NIC"


def speed_text(bytes_per_s: float) -> str:
    """Return the speed of a link: ``25 Gbit/s``."""
    mbit = bytes_per_s * 8 / 1e6
    return f"{mbit / 1000:g} Gbit/s" if mbit >= 1000 else f"{mbit:g} Mbit/s"

"""What the hosts of a run do, counted, and which of them a load that is nearly over waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tui.journal.host import Activity, HostView
from tui.journal.loss import NAMED, names_of

OVER: tuple[Activity, ...] = ("finished", "ended early", "failed", "lost")


def activities(hosts: Iterable[HostView], now_t: float) -> dict[Activity, list[HostView]]:
    """Return the hosts by what they do."""
    found: dict[Activity, list[HostView]] = {}
    for host in hosts:
        found.setdefault(host.activity(now_t), []).append(host)
    return found


def silent_text(host: HostView, now_t: float) -> str:
    """Return for how long a host has been silent: ``silent for 18 s``; empty: it is not."""
    silent_s = host.stale_s(now_t)
    return "" if silent_s is None else f"silent for {silent_s:.0f} s"


def silent_hosts_text(hosts: Iterable[HostView], now_t: float) -> str:
    """Return which hosts are silent: ``h7: silent for 18 s``, of several the longest; empty: none."""
    silent = sorted(activities(hosts, now_t).get("silent", []), key=lambda host: -(host.stale_s(now_t) or 0.0))
    if len(silent) > 1:
        return f"{len(silent)} hosts {silent_text(silent[0], now_t)}: {names_of([host.name for host in silent])}"
    return f"{silent[0].name} {silent_text(silent[0], now_t)}" if silent else ""


def waiting_text(hosts: Iterable[HostView], now_t: float) -> str:
    """Return what a load waits for once hosts have finished: ``11 of 12 finished, waiting for h7 (silent for 18 s)``.

    Empty while no host has finished, and when all hosts are done.
    """
    hosts = list(hosts)
    found = activities(hosts, now_t)
    rest = [*found.get("silent", []), *found.get("running", [])]
    if "finished" not in found or not rest:
        return ""
    over = [f"{len(found[name])} {name}" for name in OVER[1:] if name in found]
    parts = [f"{len(found['finished'])} of {len(hosts)} finished", *over]
    return f"{', '.join(parts)}, waiting for {_named(rest, now_t)}"


def _named(rest: list[HostView], now_t: float) -> str:
    if len(rest) > NAMED + 1:
        return names_of([host.name for host in rest])
    return ", ".join(f"{host.name} ({silent})" if (silent := silent_text(host, now_t)) else host.name for host in rest)

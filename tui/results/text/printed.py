"""Percentiles of each second that a load generator printed itself: each holds for its host alone."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_high

from tui.metrics import units
from tui.metrics.registry import in_order
from tui.model.step_record import StepRecord

NOT_MERGEABLE = "printed by the tool each second; not mergeable over hosts"


def printed_lines(step: StepRecord) -> list[tuple[str, str]]:
    """Return what was printed on each host, as (host and direction, percentiles); empty: nothing was."""
    found = {}
    for column in step.series.columns if step.series is not None else ():
        if column.host is not None and (text := _told(column.printed_ns)):
            found[column.host, column.direction] = text
    names = in_order({name for _, name in found})
    hosts = dict.fromkeys(host for host, _ in found)
    return [(f"{host} {name}", found[host, name]) for host in hosts for name in names if (host, name) in found]


def _told(printed: Mapping[str, list[int | None]]) -> str:
    parts = []
    for name in sorted(printed, key=float):
        if values := [value for value in printed[name] if value is not None]:
            parts.append(f"p{name} median {units.latency(median_high(values))}, max {units.latency(max(values))}")
    return "; ".join(parts)


def now_text(printed_ns: Mapping[str, int]) -> str:
    """Return what was printed for one interval: ``p99 1.20 ms, p99.9 3.10 ms``; empty: nothing was."""
    return ", ".join(f"p{name} {units.latency(printed_ns[name])}" for name in sorted(printed_ns, key=float))

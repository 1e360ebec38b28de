"""Test files that a plan writes before its load, in words: bytes, time, free space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.metrics import units
from tui.model.plan import Plan

if TYPE_CHECKING:
    from tui.library.layout_rates import LayoutRate


class LayoutAhead(Struct, frozen=True):
    """What is known of a layout that is ahead.

    `missing_bytes` are still to be written, by the preflight. `bytes_per_s` is the rate that all
    hosts reached together on the day `when`. `searched`: earlier runs were searched for a rate.
    """

    missing_bytes: int | None = None
    free: str = ""  # free space at the target
    bytes_per_s: float | None = None
    when: str = ""
    searched: bool = False


NOTHING_KNOWN = LayoutAhead()
NO_RATE = "write time not known yet"


def with_rate(ahead: LayoutAhead, rate: LayoutRate | None) -> LayoutAhead:
    """Return what is known, with the rate of an earlier layout; None: there was none."""
    if rate is None:
        return replace(ahead, searched=True)
    return replace(ahead, bytes_per_s=rate.bytes_per_s, when=rate.utc, searched=True)


def layout_bytes(plan: Plan) -> dict[str, int]:
    """Return the bytes of test files that must exist before the measurement, by host."""
    files: dict[tuple[str, str], int] = {}
    for step in plan.steps:
        for task in step.tasks:
            for spec in task.files if task.layout else ():
                key = (task.host, spec.path)
                files[key] = max(files.get(key, 0), spec.size_bytes)
    totals = {host.name: 0 for host in plan.hosts}
    for (host, _), size in files.items():
        totals[host] += size
    return totals


def bytes_ahead(plan: Plan, ahead: LayoutAhead) -> int:
    """Return the bytes that all hosts write before the load; an upper bound without a preflight."""
    planned = sum(layout_bytes(plan).values())
    return planned if ahead.missing_bytes is None else min(planned, ahead.missing_bytes)


def writing_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return what is written before the load: ``writing 6 TiB first``; empty if nothing is."""
    size = bytes_ahead(plan, ahead)
    return f"writing {units.size(size)} first" if size else ""


def writing_time_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return how long the writing may take: ``about 22 min``; empty if unknown, or under 10 s."""
    if not ahead.bytes_per_s:
        return ""
    seconds = bytes_ahead(plan, ahead) / ahead.bytes_per_s
    whole = round(seconds / 60) * 60 if seconds >= 600 else seconds
    return f"about {units.span(whole)}" if seconds >= 10 else ""


def pace_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return the expected time of the writing with its reason, or why it is unknown."""
    if not bytes_ahead(plan, ahead):
        return ""
    if ahead.bytes_per_s is None:
        return NO_RATE if ahead.searched else ""
    takes = writing_time_text(plan, ahead) or "under 10 s"
    rate = units.bandwidth(ahead.bytes_per_s)
    return f"writing takes {takes} ({rate} on {ahead.when[:10]})"


def layout_texts(plan: Plan, ahead: LayoutAhead) -> tuple[str, str]:
    """Return the bytes of test files as main text, what is missing and free as secondary text."""
    missing = ahead.missing_bytes
    when = (
        "where missing"
        if missing is None
        else f"{units.size(missing)} missing"
        if missing
        else "all written already"
    )
    text, more = each_and_all(layout_bytes(plan), "no layout", when)
    return text, more + (f"; {ahead.free}" if more and ahead.free else "")


def each_and_all(by_host: Mapping[str, int | None], none: str, when: str) -> tuple[str, str]:
    """Return the bytes of all hosts and of each as main text.

    `none`: text if there are none; `when`: the secondary text.
    """
    values = list(by_host.values())
    if any(value is None for value in values):
        return "unlimited", f" {when}"
    known = [value or 0 for value in values]
    if not any(known):
        return none, ""
    low, high = min(known), max(known)
    each = units.size(high) if low == high else f"{units.size(low)} to {units.size(high)}"
    if len(known) == 1:
        return each, f" {when}"
    return f"{units.size(sum(known))} ({each} per host)", f" {when}"

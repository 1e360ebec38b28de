"""Test files that a plan writes before its load, in words: bytes, time, free space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.metrics import units
from tui.model.plan import FileSpec, Plan

if TYPE_CHECKING:
    from tui.library.layout_rates import LayoutRate


class LayoutAhead(Struct, frozen=True):
    """What is known about a layout before it starts.

    `missing_bytes` are still to be written, according to the preflight. `bytes_per_s` is the rate
    that all hosts reached together at the time `when`. `searched`: earlier runs were searched for a
    rate. `per_host`: the plan is for one host, which stands for any number.
    """

    missing_bytes: int | None = None
    free: str = ""  # free space at the target
    free_bytes: int | None = None  # of all hosts together
    bytes_per_s: float | None = None
    when: str = ""
    searched: bool = False
    per_host: bool = False


NOTHING_KNOWN = LayoutAhead()
NO_RATE = "write time not known yet"
LEAST_TOLD_S = 10.0  # of writing; less has no time of its own
LARGE_BYTES = 1 << 40  # of a layout that a person should notice


def with_rate(ahead: LayoutAhead, rate: LayoutRate | None) -> LayoutAhead:
    """Return a copy with the rate of an earlier layout; None: there was none."""
    if rate is None:
        return replace(ahead, searched=True)
    return replace(ahead, bytes_per_s=rate.bytes_per_s, when=rate.utc, searched=True)


_newest: list[tuple[Plan, dict[str, int]]] = []  # a plan may list a million files: added up once


def layout_bytes(plan: Plan) -> Mapping[str, int]:
    """Return the bytes of test files that must exist before the measurement, by host."""
    if not (_newest and _newest[0][0] is plan):
        _newest[:] = [(plan, _bytes_by_host(plan))]
    return _newest[0][1]


def _bytes_by_host(plan: Plan) -> dict[str, int]:
    lists: dict[str, dict[int, list[FileSpec]]] = {host.name: {} for host in plan.hosts}
    for step in plan.steps:
        for task in step.tasks:
            if task.layout:
                lists[task.host][id(task.files)] = task.files
    sums: dict[tuple[int, ...], int] = {}  # hosts may share their lists
    return {
        host: sums[key]
        if (key := tuple(each)) in sums
        else sums.setdefault(key, _sum(each.values()))
        for host, each in lists.items()
    }


def _sum(lists: Iterable[Sequence[FileSpec]]) -> int:
    """Return the bytes of files in several lists, each path once, with its largest size."""
    largest: dict[str, int] = {}
    for spec in chain.from_iterable(lists):
        largest[spec.path] = max(largest.get(spec.path, 0), spec.size_bytes)
    return sum(largest.values())


def bytes_ahead(plan: Plan, ahead: LayoutAhead) -> int:
    """Return the bytes that all hosts write before the load; an upper bound without a preflight."""
    planned = sum(layout_bytes(plan).values())
    return planned if ahead.missing_bytes is None else min(planned, ahead.missing_bytes)


def is_large(plan: Plan, ahead: LayoutAhead) -> bool:
    """Return whether the layout is LARGE_BYTES or more, takes longer than the load and 60 s, or
    may not fit.
    """
    seconds, load_s = writing_s(plan, ahead), plan.expected_s
    longer = seconds is not None and load_s is not None and seconds > max(load_s, 60.0)
    return longer or bytes_ahead(plan, ahead) >= LARGE_BYTES or bool(space_text(plan, ahead))


def space_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return the warning that test files may need more space than is free; empty if they fit."""
    size = bytes_ahead(plan, ahead)
    if ahead.free_bytes is None or size <= ahead.free_bytes:
        return ""
    return f"test files need up to {units.size(size)}, but only {ahead.free}"


def writing_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return what is written before the load: ``writing 6 TiB``; empty if nothing is."""
    size = bytes_ahead(plan, ahead)
    each = " per host" if ahead.per_host else ""
    return f"writing {units.size(size)}{each}" if size else ""


def writing_s(plan: Plan, ahead: LayoutAhead) -> float | None:
    """Return how long the writing may take, in s; None if unknown, or under 10 s."""
    seconds = bytes_ahead(plan, ahead) / ahead.bytes_per_s if ahead.bytes_per_s else 0.0
    return seconds if seconds >= LEAST_TOLD_S else None


def estimate_text(seconds: float) -> str:
    """Return an estimated duration: in whole minutes if it is 10 min or more."""
    return units.span(round(seconds / 60) * 60 if seconds >= 600 else seconds)


def pace_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return the rate that the expected time of the writing is based on, or why it is unknown."""
    if not bytes_ahead(plan, ahead):
        return ""
    if ahead.bytes_per_s is None:
        return NO_RATE if ahead.searched else ""
    takes = "" if writing_s(plan, ahead) is not None else "writing takes under 10 s "
    return f"{takes}at {units.bandwidth(ahead.bytes_per_s)}, as on {ahead.when[:10]}"


def layout_texts(plan: Plan, ahead: LayoutAhead) -> tuple[str, str]:
    """Return the bytes of test files as main text, and missing bytes and free space as secondary
    text.
    """
    missing = ahead.missing_bytes
    when = (
        "where missing"
        if missing is None
        else f"{units.size(missing)} missing"
        if missing
        else "all written already"
    )
    text, more = each_and_all(layout_bytes(plan), "none", when, per_host=ahead.per_host)
    return text, more + (f"; {ahead.free}" if more and ahead.free else "")


def each_and_all(
    by_host: Mapping[str, int | None], none: str, when: str, *, per_host: bool = False
) -> tuple[str, str]:
    """Return the bytes of all hosts and per host as main text.

    `none`: text if there are none; `when`: the secondary text. `per_host`: a single host stands for
    any number.
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
        return each + (" per host" if per_host else ""), f" {when}"
    return f"{units.size(sum(known))} ({each} per host)", f" {when}"

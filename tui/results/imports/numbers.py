"""Numbers that no load generator can have counted, whoever read them from what."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import fields

from tui.model.bounded import MOST_NUMBER, MOST_STAMP_MS
from tui.model.event import HostResult, MetadataResult
from tui.workloads.base import ImportedOutput

MAY_BE_NAN = ("mean_ns", "stddev_ns")  # not told
MAY_BE_LESS = ("shift", "t", "step", "place")  # -1: unknown; places are ours
MOST_OF = {"start_ms": MOST_STAMP_MS, "end_ms": MOST_STAMP_MS, "host_time_ms": MOST_STAMP_MS, "min_ns": 2**64}


def impossible(output: ImportedOutput) -> str:
    """Return the key and the value of the first number of an output that cannot be; empty: all can."""
    parts: list[tuple[str, HostResult | MetadataResult | None]] = [("", output.result), ("", output.metadata)]
    for key, part in parts:
        for name, value in _numbers(part, key):
            if not _can_be(name.rpartition(".")[2], value):
                return f"{name} is {value}"
    for sample in output.samples:
        for name, value in _numbers(sample, "sample"):
            if not _can_be(name.rpartition(".")[2], value):
                return f"{name} is {value}"
    return ""


def _can_be(name: str, value: float) -> bool:
    if value != value:
        return name in MAY_BE_NAN
    if name in MAY_BE_LESS:
        return abs(value) <= MOST_NUMBER
    return 0 <= value <= MOST_OF.get(name, MOST_NUMBER)


def _numbers(value: object, key: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers below a value, each with its path."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield key, value
    elif isinstance(value, Struct):
        for each in fields(value):
            yield from _numbers(getattr(value, each.name), f"{key}.{each.name}" if key else each.name)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _numbers(each, f"{key}.{name}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each, key)

"""Completions of all hosts in one second."""

from __future__ import annotations

from msgspec import Struct, field

from tui.model.event import Buckets


class ClusterSecond(Struct, frozen=True):
    """Completions of all hosts in one second: I/Os by direction, latencies of the judged kind."""

    ios: dict[str, int]
    lat: dict[str, Buckets] = field(default_factory=dict)
    seconds: float = 1.0

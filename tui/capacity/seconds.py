"""What all hosts completed in one second."""

from __future__ import annotations

from msgspec import Struct, field

from tui.model.event import Buckets


class ClusterSecond(Struct, frozen=True):
    """What all hosts completed in one second: I/Os by direction, and their latencies of the kind
    that is judged.
    """

    ios: dict[str, int]
    lat: dict[str, Buckets] = field(default_factory=dict)
    seconds: float = 1.0

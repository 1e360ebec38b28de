"""What the point of a search shows while it is measured: the rate so far, and the latencies that it is about. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tui.journal.measurement import Measurement
from tui.journal.views import DirectionView
from tui.metrics.buckets import label
from tui.metrics.figures import enough_behind
from tui.metrics.registry import MIXED, in_order
from tui.model.search_record import SearchRecord
from tui.results.sizing.curve import MEAN

USUAL = 99.0  # where nothing is limited


class LatencyNow(Struct, frozen=True):
    """A latency of all hosts so far, named as its curve is; `most_ns`: its limit."""

    name: str
    value_ns: float
    most_ns: float | None = None


class PointNow(Struct, frozen=True):
    """A point so far: what was achieved, over all hosts and directions."""

    iops: float
    bw_bytes_per_s: float
    latencies: tuple[LatencyNow, ...] = ()


def point_now(record: SearchRecord, measured: Measurement) -> PointNow | None:
    """Return the point so far, by the seconds that count; None: no I/O counts yet."""
    known = [leaf for leaf in measured.total.leaves if leaf.runtime_s > 0]
    iops = sum(leaf.ios / leaf.runtime_s for leaf in known)
    bandwidth = sum(leaf.bytes / leaf.runtime_s for leaf in known)
    return PointNow(iops, bandwidth, tuple(_latencies(record, measured))) if iops else None


def _latencies(record: SearchRecord, measured: Measurement) -> Iterator[LatencyNow]:
    wanted = _wanted(record, measured)
    several = len({direction for direction, _ in wanted}) > 1
    for (direction, percentile), most in wanted.items():
        view = measured.total if direction == MIXED else measured.cluster.get(direction)
        value = _value(view, percentile) if view is not None else None
        kind = MEAN if percentile is None else f"p{label(percentile)}"
        if value is not None:
            yield LatencyNow(f"{direction} {kind}" if several else kind, value, most)


def _wanted(record: SearchRecord, measured: Measurement) -> dict[tuple[str, float | None], float | None]:
    """Return the limits by direction and percentile, or p99 of all I/O where there is none."""
    names = in_order(measured.cluster)
    limits = [each for each in record.limits if each.metric == "latency"]
    if not limits:
        return {(MIXED if {"read", "write"} <= {*names} else names[0], USUAL): None} if names else {}
    return {
        (name, limit.percentile): limit.most
        for limit in limits
        for name in ([limit.direction] if limit.direction else names)
    }


def _value(view: DirectionView, percentile: float | None) -> float | None:
    """Return a latency so far; None: too few I/Os are slower than that."""
    if percentile is None:
        return view.so_far_mean_ns
    found = view.so_far
    return found.percentile(percentile) if enough_behind(found.total, percentile) else None

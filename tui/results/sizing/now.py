"""What the point of a search shows while it is measured: the rate so far, and the latencies that it is about. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from tui.journal.measurement import Measurement
from tui.journal.views import DirectionView
from tui.metrics.figures import enough_behind
from tui.metrics.registry import MIXED, in_order
from tui.model.search_record import SearchRecord
from tui.results.sizing.curve import MEAN, limits_of

USUAL = "99"  # where nothing is limited


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
    for (direction, kind), most in wanted.items():
        view = measured.total if direction == MIXED else measured.cluster.get(direction)
        value = _value(view, kind) if view is not None else None
        told = MEAN if kind == MEAN else f"p{kind}"
        if value is not None:
            yield LatencyNow(f"{direction} {told}" if several else told, value, most)


def _wanted(record: SearchRecord, measured: Measurement) -> Mapping[tuple[str, str], float | None]:
    """Return the limits by direction and percentile, or p99 of all I/O where there is none."""
    names = in_order(measured.cluster)
    if not names:
        return {}
    usual = MIXED if {"read", "write"} <= {*names} else names[0], USUAL
    return limits_of(record, names) or {usual: None}


def _value(view: DirectionView, kind: str) -> float | None:
    """Return a latency so far; None: too few I/Os are slower than that."""
    if kind == MEAN:
        return view.so_far_mean_ns
    found, percentile = view.so_far, float(kind)
    return found.percentile(percentile) if enough_behind(found.total, percentile) else None

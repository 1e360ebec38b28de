"""The headline figure of one step from its hosts' results, for deciding on more repetitions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics.buckets import label
from tui.metrics.histogram import combine_directions
from tui.model.event import DirectionResult, HostResult
from tui.model.plan import Headline

FIO_OPERATION = "read"  # fio counts the operations of its metadata engines as reads


def figure(headline: Headline, latency_kind: str, results: Sequence[HostResult]) -> float | None:
    """Return IOPS, bytes a second or ns over all hosts; None when it was not measured everywhere."""
    wanted = FIO_OPERATION if headline.metric == "ops" else headline.direction
    parts = [part for result in results if (part := _direction(result, wanted)) is not None]
    if not parts or len(parts) < len(results):
        return None
    both = combine_directions(parts)
    if headline.metric in ("iops", "ops"):
        return both.iops
    if headline.metric == "bandwidth":
        return both.bw_bytes_per_s
    latency = both.lat if latency_kind == "lat" else both.clat
    if latency is None:
        return None
    return latency.mean_ns if headline.percentile is None else latency.percentiles_ns.get(label(headline.percentile))


def _direction(result: HostResult, wanted: str) -> DirectionResult | None:
    """Return what a host did in a direction; reads and writes that fio reports apart are mixed when put together."""
    if wanted in result.dirs:
        return result.dirs[wanted]
    if wanted == "mixed":
        return combine_directions(list(result.dirs.values()))
    return next(iter(result.dirs.values())) if len(result.dirs) == 1 else None

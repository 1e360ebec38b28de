"""Figures of a record in the words of fio's JSON (fio stat.c, show_ddir_status_json and add_ddir_lat_json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

from tui.metrics.buckets import index_to_value
from tui.model.step_record import DirectionRecord, LatencyRecord, SeriesColumns

Json = dict[str, Any]
KINDS = ("slat", "clat", "lat")
NO_LATENCY = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
BOUNDS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)  # of the shares of I/Os by latency, in ns, us and ms


def latency_json(latency: LatencyRecord | None) -> Json:
    """Return one latency kind with percentiles and json+ bins; zeros, as fio prints, where nothing was counted."""
    if latency is None or not latency.n:
        return dict(NO_LATENCY)
    found: Json = {
        "min": latency.min_ns,
        "max": latency.max_ns,
        "mean": latency.mean_ns,
        "stddev": latency.stddev_ns,
        "N": latency.n,
    }
    if latency.percentiles_ns:
        found["percentile"] = {f"{float(name):.6f}": value for name, value in latency.percentiles_ns.items()}
    if latency.histogram is not None:
        counts = zip(latency.histogram.idx, latency.histogram.n, strict=True)
        found["bins"] = {str(index_to_value(index)): count for index, count in counts}
    return found


def direction_json(part: DirectionRecord | None, seconds: SeriesColumns | None) -> Json:
    """Return one direction. `seconds`: its values over time, of which fio prints range, mean and deviation."""
    part = part or DirectionRecord(ios=0, bytes=0)
    bandwidth = part.bw_bytes_per_s or 0.0
    return {
        "io_bytes": part.bytes,
        "io_kbytes": part.bytes // 1024,
        "bw_bytes": round(bandwidth),
        "bw": round(bandwidth / 1024),
        "iops": float(part.iops or 0.0),
        "runtime": round((part.runtime_s or 0.0) * 1000),
        "total_ios": part.ios,
        "short_ios": part.short_ios or 0,
        "drop_ios": part.drop_ios or 0,
        **{f"{kind}_ns": latency_json(getattr(part, kind)) for kind in KINDS},
        **_over_time(seconds, bandwidth=part.bw_bytes_per_s is not None),
    }


def _over_time(seconds: SeriesColumns | None, *, bandwidth: bool) -> Json:
    iops = _spread(seconds.iops if seconds is not None else ())
    bw = _spread([each / 1024 for each in seconds.bw_bytes_per_s if each is not None] if seconds is not None else ())
    return {
        "bw_min": round(bw[0]),
        "bw_max": round(bw[1]),
        "bw_agg": 100.0 if bandwidth else 0.0,
        "bw_mean": bw[2],
        "bw_dev": bw[3],
        "bw_samples": bw[4],
        "iops_min": round(iops[0]),
        "iops_max": round(iops[1]),
        "iops_mean": iops[2],
        "iops_stddev": iops[3],
        "iops_samples": iops[4],
    }


def _spread(values: Iterable[float | None]) -> tuple[float, float, float, float, int]:
    """Return least, most, mean, sample deviation and number of values; zeros without any, as fio prints."""
    known = [value for value in values if value is not None]
    if not known:
        return 0.0, 0.0, 0.0, 0.0, 0
    return min(known), max(known), fmean(known), stdev(known) if len(known) > 1 else 0.0, len(known)


def latency_shares(dirs: Mapping[str, DirectionRecord]) -> Json:
    """Return what share of all I/Os, in per cent, lies below each bound of ``latency_ns``, ``_us`` and ``_ms``."""
    kept = [part.clat or part.lat for name, part in dirs.items() if name in ("read", "write", "trim", "mixed")]
    if "read" in dirs or "write" in dirs:
        kept = [part.clat or part.lat for name, part in dirs.items() if name in ("read", "write", "trim")]
    counts = [
        (index_to_value(index), count)
        for each in kept
        if each is not None and each.histogram is not None
        for index, count in zip(each.histogram.idx, each.histogram.n, strict=True)
    ]
    total = sum(count for _, count in counts)
    return {
        "latency_ns": _shares(counts, 1, BOUNDS, total),
        "latency_us": _shares(counts, 1000, BOUNDS, total),
        "latency_ms": _shares(counts, 1_000_000, (*BOUNDS, 2000, None), total),
    }


def _shares(counts: Sequence[tuple[int, int]], unit_ns: int, bounds: Sequence[int | None], total: int) -> Json:
    """Return the shares by upper bound; the first one of a unit begins where the unit before it ends."""
    found: Json = {}
    for low, high in pairwise((0 if unit_ns == 1 else 1, *bounds)):
        inside = sum(
            count
            for value, count in counts
            if value >= (low or 0) * unit_ns and (high is None or value < high * unit_ns)
        )
        name = f">={low}" if high is None else str(high)
        found[name] = round(100 * inside / total, 6) if total else 0.0
    return found

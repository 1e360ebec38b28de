"""Points of a search, one line each, as progress output prints them."""

from __future__ import annotations

from tui.metrics import units
from tui.metrics.buckets import label
from tui.model.search import RATE, Limit, MeasuredLimit, Offer, Search, SearchPoint
from tui.text.search_texts import search_text

VERDICT_TEXTS = {
    "meets": "meets",
    "breaks": "exceeds",
    "unclear": "unknown",
    "void": "not measured",
}


def point_text(search: Search, point: SearchPoint, number: str) -> str:
    """Return a search point as one line.

    ``point 4/15: offered 12.0k IOPS, achieved 11.9k IOPS, read p99.9 1.31 ms, limit 2 ms: meets``
    """
    limits = {limit.text: limit for limit in search.limits}
    figures = [
        _figure(limits[each.limit], each)
        for each in point.measured
        if each.value is not None and each.limit in limits
    ]
    load = ", ".join((offer_text(point.offer), f"achieved {units.iops(point.iops)} IOPS", *figures))
    cut = ", ended early" if point.cut else ""
    verdict = f": {VERDICT_TEXTS[point.verdict]}" if search.limits else ""
    why = search_text(point.why) if point.verdict in ("void", "unclear") else ""
    return f"point {number}: {load}{cut}{verdict}{f' ({why})' if why else ''}"


def _figure(limit: Limit, found: MeasuredLimit) -> str:
    """Return a measured figure next to its limit: ``read p99.9 1.31 ms, limit 2.00 ms``."""
    if limit.metric == "errors":
        return units.plural(round(found.value or 0.0), "error")
    kind = "mean" if limit.percentile is None else f"p{label(limit.percentile)}"
    return (
        f"{found.direction} {kind} {units.latency(found.value)},"
        f" limit {units.latency(limit.most)}".strip()
    )


def knobs_text(knobs: dict[str, object]) -> str:
    """Return the settings of a point: ``numjobs=4 iodepth=32``."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def offer_text(offer: Offer) -> str:
    """Return the load of a point: ``offered 12.0k IOPS, iodepth=8``; ``full load, hosts=4``."""
    rate = "full load" if offer.rate_iops is None else f"offered {units.iops(offer.rate_iops)} IOPS"
    knobs = knobs_text({name: value for name, value in offer.knobs.items() if name != RATE})
    return f"{rate}, {knobs}" if knobs else rate

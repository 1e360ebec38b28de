"""A comparison as JSON: schema ``benchtui.compare/1``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tui.metrics.units import Few
from tui.model.record import RunRecord
from tui.results.compare.compare import Change, Comparison
from tui.results.compare.criteria import Judged

if TYPE_CHECKING:
    from tui.results.compare.searches import SearchChange

COMPARE_SCHEMA = "benchtui.compare/1"


def as_json(found: Sequence[tuple[Comparison, Sequence[Judged]]]) -> str:
    """Return comparisons and how they stand by their criteria as one JSON object, newline at the end."""
    whole = {"schema": COMPARE_SCHEMA, "comparisons": [as_builtins(*each) for each in found]}
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode() + "\n"


def as_builtins(found: Comparison, judged: Sequence[Judged] = ()) -> dict[str, Any]:
    """Return one comparison as it stands in a document."""
    whole: dict[str, Any] = msgspec.to_builtins(_told(found, judged), enc_hook=_number)
    return whole


def _number(value: object) -> int:
    """Return a percentile that few I/Os are behind as the number it is: its word says that it cannot be judged."""
    if isinstance(value, Few):
        return int(value)
    raise TypeError(f"{type(value).__name__} has no place in a document")


def _told(found: Comparison, judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "a": [_run(record) for record in found.a],
        "b": [_run(record) for record in found.b],
        "word": found.word,
        "comparable": not found.obstacles,
        "undecided": found.undecided,
        "differences": found.gate,
        "criteria": judged,
        "search": _search(found.search),
        "points": [
            {"name": point.name, "figures": [_change(change) for change in point.changes]} for point in found.points
        ],
    }


def _search(found: SearchChange | None) -> dict[str, Any] | None:
    """Return how two searches compare; null of other runs."""
    if found is None:
        return None
    return {
        "figure": found.figure,
        "unit": found.unit,
        "a": found.a.model_dump(),
        "b": found.b.model_dump(),
        "values_a": found.values_a,
        "values_b": found.values_b,
        "ratio": found.ratio,
        "word": found.word,
        "why": found.why,
        "percentile": found.percentile,
        "latency_ratio": found.latency,
        "latency_why": found.latency_why,
        "over": [found.low, found.high],
        "at_equal_load": [{"rate": load, "a_ns": ours, "b_ns": theirs} for load, ours, theirs in found.at],
        "by_hosts": [
            {"hosts": each.hosts, "a": each.a.model_dump(), "b": each.b.model_dump(),
             "ratio": each.ratio,
             "efficiency_a": each.efficiency_a, "efficiency_b": each.efficiency_b}
            for each in found.hosts
        ],
        "fitted": [
            {"name": each.a.name, "unit": each.a.unit, "a": each.a.figure.model_dump(), "b": each.b.figure.model_dump(),
             "ratio": each.ratio,
             "intervals_overlap": None if each.apart is None else not each.apart}
            for each in found.fits
        ],
    }  # fmt: skip


def _run(record: RunRecord) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "profile": record.profile.tag,
        "target": record.target,
        "state": record.state,
        "verdict": record.verdict,
    }


def _change(change: Change) -> dict[str, Any]:
    effect = change.effect
    return {
        "name": change.name,
        "title": change.title,
        "headline": change.headline,
        "unit": change.unit,
        "a": change.a,
        "b": change.b,
        "values_a": change.values_a,
        "values_b": change.values_b,
        "ratio": effect.ratio if effect else None,
        "low": effect.low if effect else None,
        "high": effect.high if effect else None,
        "p": effect.p if effect else None,
        "p_corrected": change.p_corrected,
        "method": effect.method if effect else None,
        "threshold": change.threshold,
        "word": change.word,
        "why": change.why,
    }

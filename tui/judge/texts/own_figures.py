"""Texts of contradictions within an output; those of one load generator are in its package."""

from __future__ import annotations

from collections.abc import Sequence

from tui import workloads
from tui.text.form import Text, formed, where

# of outputs of several hosts or formats
TEXTS = {
    "total-bandwidth": "total {told:bandwidth}, but directions add up to {other:bandwidth}",
    "total-iops": "total {told:iops} IOPS, but directions add up to {other:iops}",
    "hosts": "total {0} is {told:.4g} x the average of the hosts",
    "average-bandwidth": "average {told:bandwidth}, but a host has {other:bandwidth}",
    "average-iops": "average {told:iops} IOPS, but a host has {other:iops}",
    "formats": "{told:.0f} {0} in {1}, but {other:.0f} in {2} of the same measurement",
}
OTHER = "figures contradict each other ({about}): {told:.6g} and {other:.6g}"


def contradiction(
    *, tool: str | None, about: str, names: Sequence[str], told: float, other: float, **place: str
) -> str:
    """Return the text of a contradiction; without a text (another version, or a load generator that
    is not installed) its code and figures.
    """
    own = workloads.find(tool or "")
    text = {**TEXTS, **(own.contradiction_texts() if own is not None else {})}.get(about, "")
    if not text or len(names) < sum(text.count(f"{{{each}}}") for each in range(3)):
        text = OTHER
    figures = {
        "about": about,
        "told": told,
        "other": other,
        "times": told / max(other, 1.0),
        "apart": abs(told - other),
    }
    return f"{where(**place)}: {formed(text, figures, names)}"


GENERATOR: dict[str, Text] = {"by-generator": workloads.text_of}
FIGURES: dict[str, dict[str, Text]] = {
    "own-figures": {"contradiction": contradiction, "earlier": "{host}: {quote}"},
}

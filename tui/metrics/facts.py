"""Facts of hosts as people read them."""

from __future__ import annotations

from collections.abc import Mapping

from tui.metrics import units
from tui.model.hostfacts import HOST_FACTS, Fact, number_of


def fact_text(facts: Mapping[str, Fact], name: str) -> str:
    """Return a fact as text, empty when it is not known."""
    known = HOST_FACTS.get(name)  # load generators bring facts of their own
    if known is not None and known.kind == "bytes":
        size = number_of(facts, name)
        return "" if size is None else units.size(size)
    value = facts.get(name)
    return "" if value is None else str(value)

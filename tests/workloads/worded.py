"""Whether each contradiction has a text for its code, with a name for each place in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Formatter

from tui.model.event import Contradiction

FIGURES = {"told", "other", "times", "apart"}


def are_worded(found: Iterable[Contradiction], texts: Mapping[str, str]) -> bool:
    """Return whether all have a text that uses only figures and names that they have."""
    return all(
        {name for _, name, _, _ in Formatter().parse(texts[each.about]) if name is not None}
        <= FIGURES | {str(at) for at in range(len(each.names))}
        for each in found
    )

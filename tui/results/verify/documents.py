"""Two JSON documents held against each other: where they differ, by the path of the value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tui.model.plain import printable, printable_lines

SAME = 1e-9  # what another machine's floating point may do to a figure
SHOWN = 60


def differences(kept: Any, derived: Any, path: str = "") -> Iterator[str]:
    """Yield ``steps[0].iops: 4 in run.json, 5 when derived`` for each value of `kept` that is another one.

    What only the derived one has is of a newer version.
    """
    if isinstance(kept, dict) and isinstance(derived, dict):
        for name, value in kept.items():
            key = name if name in derived else printable(name)
            place = f"{path}.{key}" if path else key
            if key not in derived:
                yield f"{place}: stands in run.json and is not derived from anything"
            else:
                yield from differences(value, derived[key], place)
    elif isinstance(kept, list) and isinstance(derived, list):
        if len(kept) != len(derived):
            yield f"{path}: {len(kept)} in run.json, {len(derived)} when derived"
        for place, (one, other) in enumerate(zip(kept, derived, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
    elif not _same(kept, derived):
        yield f"{path}: {_shown(kept)} in run.json, {_shown(derived)} when derived"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not isinstance(one, int | float):
        return type(one) is type(other) and (bool(one == other) or _reads_as(one, other))
    return isinstance(other, int | float) and math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)


def _reads_as(kept: Any, derived: Any) -> bool:
    """Tell whether a text that was kept by a version that left control characters in it is shown as the derived one."""
    return isinstance(kept, str) and derived in (printable(kept), printable_lines(kept))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def leaves(document: Any) -> int:
    """Return how many values a document holds."""
    if isinstance(document, dict):
        return sum(map(leaves, document.values()))
    return sum(map(leaves, document)) if isinstance(document, list) else 1

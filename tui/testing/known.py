"""A load generator that is known for a while, as if its package was installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import Any

from tui import workloads
from tui.model import profile_type, tool
from tui.model.entry_points import installed_in


class _Given(EntryPoint):
    """An entry point whose class is at hand: it may stand in a test function."""

    def load(self) -> Any:
        """Return the class."""
        return vars(self)["given"]


@contextmanager
def standing_in(kind: type[Any]) -> Iterator[str]:
    """Have a class be found as a load generator under its own name; yields the name.

    An installed one of the same class stays as it is, with its package; one of another class is hidden meanwhile.
    """
    name, points = kind.name, installed_in(tool.GROUP)
    before = points.get(name)
    if (before is not None and before.value.startswith("tui.")) or _is(before, kind):
        yield name
        return
    point = _Given(name, f"{kind.__module__}:{kind.__qualname__}", tool.GROUP)
    vars(point)["given"] = kind
    points[name] = point
    _forget()
    try:
        yield name
    finally:
        points.pop(name)
        if before is not None:
            points[name] = before
        _forget()


def _is(point: EntryPoint | None, kind: type[Any]) -> bool:
    return point is not None and point.value == f"{kind.__module__}:{kind.__qualname__}" and point.load() is kind


def _forget() -> None:
    """Forget what was looked up by name."""
    for cached in (tool.load, tool.rules, workloads.get, profile_type.whole):
        cached.cache_clear()

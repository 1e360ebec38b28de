"""What packages register under a name: load generators, formats of exports. Ours are found the same way as others'."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tui.model.problem import UsageError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@functools.cache
def installed_in(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in their order; nothing of them is imported."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def is_foreign(point: EntryPoint) -> bool:
    """Tell whether another package brought an entry point."""
    return not point.value.startswith("tui.")


def load_from(group: str, name: str, kind: str, unknown: tuple[str, str], *, made: bool = False) -> Any:
    """Return what stands under a name of a group; `kind` is what it is, `unknown` what is said before the
    nearest name and before the names there are, when there is none. `made`: it is a class, and one of it is wanted.

    Raises UsageError when there is none of this name, or it cannot be imported.
    """
    points = installed_in(group)
    point = points.get(name)
    if point is None:
        known = ", ".join(points) or "none is installed: install benchtui again"
        raise UsageError(f"{unknown[0]}{did_you_mean(name, points)}; {unknown[1]}: {known}")
    try:
        found = point.load()
        return found() if made else found
    except (Exception, SystemExit) as error:  # a package of somebody else's
        from tui.model.provider import provider_of  # msgspec is for those who need it

        whence = provider_of(point).text()
        raise UsageError(f"the {kind} '{name}' ({whence}) cannot be loaded: {error!r}") from error

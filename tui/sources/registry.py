"""Sources of hosts by name: the entry points of the group `benchtui.sources`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model.tool import installed_in, load_from

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tui.sources.base import HostSource

GROUP = "benchtui.sources"


def installed_sources() -> dict[str, EntryPoint]:
    """Return the entry points of all sources by name, without importing them."""
    return installed_in(GROUP)


def load_source(name: str) -> HostSource:
    """Return a source.

    Raises UsageError if the name is unknown, or the import fails.
    """
    told = (f"unknown source '{name}'", "only a port may follow a host name, HOST:22; sources are")
    found: HostSource = load_from(GROUP, name, "source", told, made=True)
    return found

"""Which package brought a load generator: kept with every step that it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Provider(Struct, frozen=True, omit_defaults=True):
    """What brought a load generator: its entry point, and the distribution package and its version; empty: unknown."""

    entry_point: str
    package: str = ""
    version: str = ""

    def text(self) -> str:
        """Return it for people: ``benchtui-other 1.0, entry point benchtui_other.workload:Other``."""
        package = f"{self.package} {self.version}".strip()
        return ", ".join(part for part in (package, f"entry point {self.entry_point}") if part)


def provider_of(point: EntryPoint) -> Provider:
    """Return what an entry point is of."""
    dist = point.dist
    if dist is None:
        return Provider(point.value)
    return Provider(point.value, dist.name or "", dist.version or "")

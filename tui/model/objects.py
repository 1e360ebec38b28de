"""Objects of a store, past any file of the hosts."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ObjectSet(Struct, frozen=True, omit_defaults=True):
    """Objects of a store that a task works on, past any file of the host.

    `store` is host and bucket, by which a person agrees to lose what is in it. In `names`, the key of all of them, `*`
    stands for what is counted.
    """

    store: str
    names: str
    count: int
    size_bytes: int
    does: tuple[Literal["put", "get", "delete"], ...]

    @property
    def key(self) -> tuple[str, str]:
        """What tells these objects from others."""
        return self.store, self.names

    @property
    def changes(self) -> bool:
        """Whether the objects are overwritten or deleted."""
        return self.does != ("get",)

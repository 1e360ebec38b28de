"""Texts about hosts of the inventory."""

from __future__ import annotations

from collections.abc import Sequence

from tui.text.names import names_of

REMOVE_ENTRY = "Remove {entry} from the inventory?"
REMOVE_NONE = "no host under the cursor; move to one, then D removes it from the inventory"
NOT_IN_INVENTORY = "{host} is from {origin}, not from the inventory, and stays in this list"


def removal(names: Sequence[str], path: str) -> str:
    """Return what is removed with an entry, and from which file."""
    hosts = f"its {len(names)} hosts, {names_of(names)}," if len(names) > 1 else "the host"
    return f"{path}\nRemoves {hosts} from this list. Saved runs keep their figures."

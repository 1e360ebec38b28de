"""Changing the inventory file that people keep: comments and order stay, a broken file is left alone."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.engine.user_files import save
from tui.model.bounded import MOST_SMALL_BYTES, read_text
from tui.model.problem import UsageError, unreadable

if TYPE_CHECKING:
    from tui.model.inventory import Inventory


def read_inventory(path: Path, *, pipes: bool = False) -> Inventory | None:
    """Return the inventory of a file, None when there is no file; `pipes`: a person named it. Raises UsageError."""
    try:
        text = read_text(path, MOST_SMALL_BYTES, pipes=pipes)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    from tui.model.inventory import load_inventory  # most of what the first list of hosts would wait for

    return load_inventory(text, str(path))


def add_host(path: Path, name: str, entry: Mapping[str, object]) -> None:
    """Add a host, or change the one of that name; fields that are None are left out.

    Raises UsageError, before anything is written, when the file is broken or would become so.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from tui.model.inventory import load_inventory

    yaml = YAML()
    read_inventory(path)  # a broken file is told with its place, and left alone
    try:
        data: Any = yaml.load(read_text(path, MOST_SMALL_BYTES) if path.exists() else "") or {}
        if data.get("hosts") is None:
            data["hosts"] = {}
        data["hosts"][name] = {key: value for key, value in entry.items() if value}
        out = io.StringIO()
        yaml.dump(data, out)
        load_inventory(out.getvalue(), str(path))
        save(path, out.getvalue())
    except YAMLError as error:
        raise UsageError(f"{path}: {error}") from error

"""Changing the inventory file that people keep: comments and order stay, a broken file is left alone."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui.model.inventory import Inventory, load_inventory
from tui.model.problem import UsageError, unreadable


def read_inventory(path: Path) -> Inventory | None:
    """Return the inventory of a file, None when there is no file. Raises UsageError."""
    try:
        return load_inventory(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def add_host(path: Path, name: str, entry: Mapping[str, object]) -> None:
    """Add a host, or change the one of that name; fields that are None are left out.

    Raises UsageError, before anything is written, when the file is broken or would become so.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    read_inventory(path)  # a broken file is told with its place, and left alone
    try:
        data: Any = yaml.load(path.read_text(encoding="utf-8") if path.exists() else "") or {}
        if data.get("hosts") is None:
            data["hosts"] = {}
        data["hosts"][name] = {key: value for key, value in entry.items() if value}
        out = io.StringIO()
        yaml.dump(data, out)
        load_inventory(out.getvalue(), str(path))
        write_private(path, out.getvalue())
    except YAMLError as error:
        raise UsageError(f"{path}: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def write_private(path: Path, text: str) -> None:
    """Replace a file in one piece; a new one is readable by the user alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)

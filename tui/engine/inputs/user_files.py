"""Write files that users edit (profiles, inventory, settings): atomically, mode 0600."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, read_text
from tui.model.problem import Problem, UsageError, unreadable

PRIVATE = 0o600  # they may name servers, users and, by mistake, more


def write_new(path: Path, text: str) -> None:
    """Create a file with this text, and its directory. Raises UsageError, also if it exists."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w", encoding="utf-8"
        ) as file:
            file.write(text)
    except OSError as error:
        raise UsageError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error


def save(path: Path, text: str) -> None:
    """Replace a file atomically, keeping its mode; follow a symbolic link.

    Raises UsageError.
    """
    import tempfile

    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(Problem(f"cannot be written: {error.strerror}", file=str(path))) from error


def add_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines to a file, creating it if missing. Raises UsageError."""
    try:
        before = read_text(path, MOST_SMALL_BYTES) if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    save(path, "".join(f"{line}\n" for line in [*before.splitlines(), *lines]))

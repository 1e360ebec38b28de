"""The user's `config.yaml`: read, create with comments, change in place."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from tui.engine.inputs.user_files import save
from tui.model.bounded import read_text
from tui.model.problem import UsageError, unreadable
from tui.model.settings import Settings, key_named, new_file, parse_settings


def read_settings(path: Path) -> Settings:
    """Return the settings in a file, or the defaults if it does not exist.

    Raises UsageError.
    """
    return parse_settings(text_of(path), str(path))


def text_of(path: Path) -> str:
    """Return the text of the file, empty if it does not exist. Raises UsageError."""
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def make_file(path: Path) -> bool:
    """Create the file with every key commented out, unless it exists.

    Returns whether it was created. Raises UsageError.
    """
    if path.exists():
        return False
    save(path, new_file())
    return True


def change(path: Path, name: str, value: str) -> None:
    """Set a key to a value, given as YAML; comments and order of the file are kept.

    Raises UsageError, before writing, for a broken file, an unknown key or an invalid value.
    """
    key_named(name)
    line = f"{name}: {value}"
    parse_settings(line, "config set")
    text = text_of(path) or new_file()
    parse_settings(text, str(path))
    changed = _edited(text, name, line) if _lines_of(text, name) else _uncommented(text, name, line)
    parse_settings(changed, str(path))
    save(path, changed)


def comment_out(path: Path, name: str) -> None:
    """Comment a key out. Raises UsageError."""
    key_named(name)
    text = text_of(path)
    parse_settings(text, str(path))
    ours = _lines_of(text, name)
    lines = text.splitlines()
    save(
        path,
        "\n".join([*(f"#{line}" if at in ours else line for at, line in enumerate(lines)), ""]),
    )


def _lines_of(text: str, name: str) -> range:
    """Return the line numbers of a key: its own line, and the indented lines below it."""
    lines = text.splitlines()
    begin = next((at for at, line in enumerate(lines) if line.startswith(f"{name}:")), None)
    if begin is None:
        return range(0)
    end = begin + 1
    while end < len(lines) and lines[end].startswith((" ", "-")):
        end += 1
    return range(begin, end)


def _uncommented(text: str, name: str, line: str) -> str:
    """Return the text with the line of a key inserted.

    The line goes where a new file has the key commented out, otherwise to the end.
    """
    lines = text.splitlines()
    at = next(
        (place for place, found in enumerate(lines) if found.startswith(f"#{name}:")), len(lines)
    )
    return "\n".join([*lines[:at], line, *lines[at + 1 :], ""])


def _edited(text: str, name: str, line: str) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    out = io.StringIO()
    try:
        data: Any = yaml.load(text)
        data[name] = yaml.load(line)[name]
        yaml.dump(data, out)
    except YAMLError as error:
        raise UsageError(f"{name}: {error}") from error
    return out.getvalue()

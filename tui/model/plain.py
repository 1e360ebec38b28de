"""Text that is safe to print, and no longer than people read."""

from __future__ import annotations

from collections.abc import Iterable


def printable(text: str) -> str:
    """Return text without control characters: what a tool, a host or a person wrote must not steer the terminal.

    What was no text at all, bytes of a file name for example, is left out too: no file format takes it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def some(names: Iterable[str], most: int = 6) -> str:
    """Return the first names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def some_in(names: Iterable[str], width: int, least: int = 6) -> str:
    """Return as many names as lines of `width` hold that `least` of them need, and how many more there are."""
    listed = list(names)
    short = some(listed, least)
    width = max(width, 1)
    room = -(-len(short) // width) * width
    most = (room + 2) // 3  # a name and what parts it from the next one are no shorter
    texts = (some(listed, count) for count in range(min(len(listed), most), least, -1))
    return next((text for text in texts if len(text) <= room), short)

"""Text that is safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text without control characters: what a tool, a host or a person wrote must not steer the terminal.

    What was no text at all, bytes of a file name for example, is left out too: no file format takes it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)

"""Text that is safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text without control characters: what a tool or a person wrote must not steer the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)

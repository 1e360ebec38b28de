"""Printable text, and common patterns and names of profiles and operations."""

from __future__ import annotations

import re
from collections.abc import Iterable


def printable(text: str) -> str:
    """Return a text on one line, with every unprintable character replaced by a space.

    This removes control characters, line breaks, bidirectional and invisible characters: text from
    a tool, a host or a person must not control a terminal or break a file format.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def printable_lines(text: str, instead: str = " ") -> str:
    r"""Return multi-line text, such as a job file, without terminal controls; \n and \t stay.

    Other kinds of whitespace, and characters unknown to this Python version, stay too.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or _stays(char) else instead for char in text)


def _stays(char: str) -> bool:
    from unicodedata import category

    return char in "\n\t" or category(char) in ("Zs", "Cn", "Co")


def some(names: Iterable[str], most: int = 6) -> str:
    """Return the first `most` names and the number of remaining ones, as text."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def some_in(names: Iterable[str], width: int, least: int = 6) -> str:
    """Return names as `some` does: as many as fit into the lines that `least` of them take."""
    listed = list(names)
    short = some(listed, least)
    width = max(width, 1)
    room = -(-len(short) // width) * width
    most = (room + 2) // 3  # a name with its separator is at least this long
    texts = (some(listed, count) for count in range(min(len(listed), most), least, -1))
    return next((text for text in texts if len(text) <= room), short)


TAG_PATTERN = r"^[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*$"  # of a profile: family/name
NAME_PATTERN = r"^[a-z][a-z0-9_]*$"  # of a parameter
# syntax of a secret: the environment variable that contains it
SECRET_PATTERN = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
HOSTS_AXIS = "hosts"  # the axis of a sweep that is no parameter
# tags of `benchtui ab` runs: the experiment, its side
AB_TAG, AB_SIDE_TAG = "ab", "ab.side"


OPERATIONS = (
    "create", "create-stonewall", "stat", "read", "rename", "remove",
    "dir-create", "dir-stat", "dir-read", "dir-rename", "dir-remove", "tree-create", "tree-remove",
    "mkdirs", "write-files", "read-files", "rmfiles", "rmdirs",
    "head", "mkbuckets", "rmbuckets", "write-objects", "read-objects",
)  # fmt: skip


NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|sixty|hundred"
_FIGURE = re.compile(rf"\d|\b(?:{NUMBERS})\b", re.IGNORECASE)


def states_figure(title: str) -> bool:
    """Return whether a title contains a figure, which changed parameters may contradict."""
    return _FIGURE.search(title) is not None

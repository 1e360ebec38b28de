"""Groups of presets by purpose: patterns of tags in `groups.txt` next to them."""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase

from tui.model.bounded import read_text
from tui.model.paths import presets_dir

OWN, OTHER = "your own", "other presets"


@functools.cache
def groups() -> dict[str, tuple[str, ...]]:
    """Return the patterns of each group, in the order they are listed."""
    found: dict[str, tuple[str, ...]] = {}
    for line in read_text(presets_dir() / "groups.txt").splitlines():
        if not line.startswith("#"):
            name, _, patterns = line.partition(":")
            found[name] = (*found.get(name, ()), *patterns.split())
    return found


def group_names() -> list[str]:
    """Return all groups, the user's own profiles last."""
    return [*groups(), OTHER, OWN]


def group_of(tag: str, *, preset: bool) -> str:
    """Return the group of a profile."""
    if not preset:
        return OWN
    fitting = (
        name
        for name, patterns in groups().items()
        if any(fnmatchcase(tag, pattern) for pattern in patterns)
    )
    return next(fitting, OTHER)

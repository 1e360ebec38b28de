"""Names of hosts in SSH configurations: light, because a shell that completes a line asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tui.model.paths import from_home

HOST_LINE = re.compile(r"^\s*Host(?:\s+|\s*=\s*)(.+?)\s*$", re.IGNORECASE)
INCLUDE_LINE = re.compile(r"^\s*Include(?:\s+|\s*=\s*)(.+?)\s*$", re.IGNORECASE)
MOST_FILES = 1000  # of files that include each other
PATTERN = set("*?!")


def words_in(path: Path, seen: set[Path] | None = None) -> Iterator[str]:
    """Yield the host names and patterns of an SSH configuration and the files it includes, each file once."""
    seen = set() if seen is None else seen
    seen.add(path)
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if match := HOST_LINE.match(line):
            yield from (word for word in match[1].replace('"', "").split() if word.isprintable())
        elif match := INCLUDE_LINE.match(line):
            for pattern in match[1].replace('"', "").split():
                yield from included(pattern, seen)


def included(pattern: str, seen: set[Path]) -> Iterator[str]:
    """Yield the host names and patterns of the files that an Include names; relative ones lie in ~/.ssh."""
    full = from_home("~/.ssh") / from_home(pattern)
    plain = re.sub(r"\*\*+", "*", str(full.relative_to(full.anchor)))  # glob(7) has no **: it would search everything
    for path in sorted(Path(full.anchor).glob(plain)):
        if path not in seen and len(seen) < MOST_FILES:
            yield from words_in(path, seen)

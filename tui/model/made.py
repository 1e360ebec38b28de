"""What a run made on a host, told by what it is: a name alone may lead to something else by the time it is removed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field


class Place(Struct, frozen=True):
    """A directory: its path without symbolic links, and FILE-SYSTEM INODE STAMP as tui/remote/sh/made.sh tells them."""

    real: str
    mark: str


class Identities(Struct):
    """What was made: INODE STAMP by path, a checksum for numbered files; and the directories they lie in, by path."""

    files: dict[str, str] = field(default_factory=dict)
    directories: dict[str, Place] = field(default_factory=dict)

    def take(self, other: Identities) -> None:
        """Add others; what is known of a path anew replaces what was known before."""
        self.files.update(other.files)
        self.directories.update(other.directories)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop paths that are gone."""
        for path in paths:
            self.files.pop(path, None)

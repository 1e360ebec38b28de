"""Files that a run made on a host, and which of them are gone."""

from __future__ import annotations

from msgspec import Struct, field

from tui.model.event import FileCreated, FilesRemoved
from tui.model.made import Identities


class HostFiles(Struct):
    """Files of one host. `removed` are the events that say what is gone, oldest first."""

    removed: list[FilesRemoved] = field(default_factory=list)
    known: Identities = field(default_factory=Identities)  # what they are
    _groups: list[tuple[dict[str, None], int]] = field(default_factory=list)  # paths made together, and their bytes

    def create(self, event: FileCreated) -> None:
        """Take files that were made; the bytes are those of all of them."""
        self._groups.append((dict.fromkeys(event.paths), event.bytes))
        if event.known is not None:
            self.known.take(event.known)

    def remove(self, event: FilesRemoved) -> None:
        """Take files that are gone."""
        self.removed.append(event)
        self.known.forget(event.paths)
        gone, rest = set(event.paths), event.bytes
        groups, self._groups = self._groups, []
        for paths, size in groups:
            taken = min(rest, size)
            rest -= taken
            left = {path: None for path in paths if path not in gone}
            if left:
                self._groups.append((left, size - taken))

    @property
    def paths(self) -> list[str]:
        """What is there, in the order it was made."""
        return list(dict.fromkeys(path for paths, _ in self._groups for path in paths))

    @property
    def sizes(self) -> dict[str, int]:
        """Each path once; the bytes of files that were made together are put on the first path, the sum counts."""
        sizes: dict[str, int] = {}
        for paths, size in self._groups:
            fresh = [path for path in paths if path not in sizes]
            sizes.update(dict.fromkeys(fresh, 0))
            if fresh:
                sizes[fresh[0]] = size
        return sizes

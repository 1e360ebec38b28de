"""SSH configuration files, each read and split once: of a file, asyncssh's parser is given what can speak of one host.

asyncssh splits every line of every file again for each host. Here the blocks of other hosts become empty lines, so
that Match, Include, tokens and the line numbers of its errors stay its own business.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct

from tui.remote.ssh_library import SSHClientConfig, asyncssh

MOST_FILES = 1000  # of one host: files that include each other multiply
BLOCK = re.compile(rb"(?im)^[ \t]*(?:host|match)(?=[\s=])")
PLAIN = re.compile(rb"(?i)^[ \t]*host[ \t]+([^\s\"'\\=*?!,\[\]]+(?:[ \t]+[^\s\"'\\=*?!,\[\]]+)*)[ \t]*$", re.MULTILINE)
UNSURE = re.compile(rb"[\"'\\]|[^\t\n -~]|^[ \t]*=", re.MULTILINE)  # another line may be a Host line to asyncssh
DEEP = re.compile(rb"(?im)^([ \t]*include\b.*?)\*\*+")  # glob(7) knows no **: it would search whole file systems


class Block(Struct, frozen=True):
    """Lines up to the next Host or Match. `names`: the hosts that alone it can speak of; None: anybody can tell."""

    names: frozenset[bytes] | None
    text: bytes

    def for_host(self, host: bytes) -> bytes:
        """Return the lines, or as many empty ones."""
        return self.text if self.names is None or host in self.names else b"\n" * self.text.count(b"\n")


class ConfigFiles:
    """The configuration files of one process, read once each; for use from several threads."""

    def __init__(self) -> None:
        self._blocks: dict[Path, list[Block]] = {}
        self._lock = Lock()

    def text(self, path: Path, host: str) -> bytes:
        """Return a file as far as it may speak of a host. Raises OSError."""
        with self._lock:
            if path not in self._blocks:
                self._blocks[path] = list(blocks(path.read_bytes()))
            found = self._blocks[path]
        name = os.fsencode(host)
        return b"".join(block.for_host(name) for block in found)


def blocks(text: bytes) -> Iterator[Block]:
    """Yield a file's blocks in order. What may be an error, or is quoted, is left to asyncssh for every host."""
    text = DEEP.sub(rb"\1*", text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")) + b"\n"
    starts = [0, *(match.start() for match in BLOCK.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        part = text[start:end]
        match = PLAIN.match(part)
        yield Block(frozenset(match[1].split()) if match and not UNSURE.search(part) else None, part)


class HostConfig(SSHClientConfig):
    """asyncssh's view of the configuration for one host, from files that are read once."""

    def __init__(self, files: ConfigFiles, local_user: str, user: Any, host: str, port: Any) -> None:
        none: Any = None
        super().__init__(none, False, False, False, local_user, user, host, port)
        self._files = files
        self._open: list[Path] = []
        self._count = 0

    def parse(self, path: Path) -> None:
        """Read a file, or one that it includes. Raises asyncssh.ConfigParseError, OSError, UnicodeDecodeError."""
        self._count += 1
        if path in self._open or self._count > MOST_FILES:
            why = f"{path} includes itself" if path in self._open else "too many files are included"
            raise asyncssh.ConfigParseError(why)
        text = self._files.text(path, self._orig_host)
        self._open.append(path)
        memory = os.memfd_create("ssh_config")
        try:
            os.write(memory, text)
            super().parse(Path(f"/proc/self/fd/{memory}"))
        finally:
            os.close(memory)
            self._open.pop()

    def _error(self, reason: str) -> Any:
        raise asyncssh.ConfigParseError(f"{self._open[-1]} line {self._line_no}: {reason}")

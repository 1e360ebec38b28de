"""Read SSH configuration files and the host names in them, with limits on the number of files,
their total size, and Include patterns.

Imports little, because shell completion reads host names from these files.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tui.model.bounded import read_file, shown_size
from tui.model.hostspec import MOST_KNOWN
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError

MOST_FILES = 1000  # files that include each other multiply
MOST_CONFIG_BYTES = 4 << 20  # of all files together; 4096 hosts with five lines each are 0.6 MiB
MOST_LINES = 100_000  # of all files together
MOST_SCANNED = 50_000  # directory entries that one Include may scan
MAGIC = re.compile(r"[*?\[]")
LINE = re.compile(r"(Host|Include)(?:\s*=\s*|\s+)(\S.*)", re.IGNORECASE)
PATTERN = set("*?!")


class ConfigText:
    """Reads the files of one configuration and limits their total size."""

    def __init__(self) -> None:
        self.bytes = self.lines = 0

    def read(self, path: Path) -> bytes:
        """Return the content of a file. Raises OSError, also if the files read so far exceed a
        total limit (bytes or lines).
        """
        data = read_file(path, MOST_CONFIG_BYTES, pipes=True)
        self.bytes += len(data)
        if self.bytes > MOST_CONFIG_BYTES:
            why = (
                "SSH configuration with its includes is larger than"
                f" {shown_size(MOST_CONFIG_BYTES)}"
            )
            raise OSError(errno.EFBIG, why, str(path))
        self.lines += data.count(b"\n")
        if self.lines > MOST_LINES:
            why = f"SSH configuration with its includes has more than {MOST_LINES} lines"
            raise OSError(errno.EFBIG, why, str(path))
        return data


def matching(pattern: Path) -> list[Path]:
    """Return the files that match an Include's absolute pattern, as in glob(7): ``**`` equals
    ``*``.

    Only files, sorted; /dev/null counts as one. Raises OSError if too many names would have to be
    scanned.
    """
    places, scanned = [pattern.anchor], 0
    for part in pattern.parts[1:]:
        plain = re.sub(r"\*\*+", "*", part)
        if not MAGIC.search(plain):
            places = [os.path.join(place, plain) for place in places]  # noqa: PTH118  (thousands of them)
            continue
        found: list[str] = []
        for place in places:
            for name in _names_in(place):
                scanned += 1
                if scanned > MOST_SCANNED:
                    why = f"Include would scan more than {MOST_SCANNED} names"
                    raise OSError(errno.E2BIG, why, str(pattern))
                if fnmatch.fnmatchcase(name, plain) and (name[0] != "." or plain[0] == "."):
                    found.append(os.path.join(place, name))  # noqa: PTH118
        places = sorted(found)
    return [Path(place) for place in places if os.path.isfile(place) or place == os.devnull]  # noqa: PTH113


def _names_in(place: str) -> Iterator[str]:
    try:
        with os.scandir(place) as entries:
            yield from (entry.name for entry in entries)
    except (OSError, ValueError):  # a name with a NUL byte
        return


def host_words(path: Path) -> Iterator[str]:
    """Yield host names and patterns of an SSH configuration and its includes, each file once.

    Skips unreadable files. Raises UsageError for a configuration that is too large.
    """
    for count, word in enumerate(_words(path, set(), ConfigText())):
        if count >= MOST_KNOWN:
            raise UsageError(Problem(f"names more than {MOST_KNOWN} hosts", file=str(path)))
        yield word


def _words(path: Path, seen: set[Path], text: ConfigText) -> Iterator[str]:
    seen.add(path)
    try:
        lines = text.read(path).decode("utf-8", "replace").splitlines()
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise UsageError(Problem(str(error.strerror), file=str(path))) from error
        return
    for line in lines:
        match = LINE.match(line.strip())
        words = match[2].replace('"', "").split() if match else []
        if match and match[1].lower() == "host":
            yield from (word for word in words if word.isprintable())
        for pattern in words if match and match[1].lower() == "include" else ():
            for found in _included(pattern, path):
                if found not in seen and len(seen) < MOST_FILES:
                    yield from _words(found, seen, text)


def _included(pattern: str, path: Path) -> list[Path]:
    """Return the files matched by an Include; relative paths are relative to ~/.ssh. Raises
    UsageError.
    """
    try:
        return matching(from_home("~/.ssh") / from_home(pattern))
    except OSError as error:
        raise UsageError(Problem(f"{error.strerror}: {pattern[:80]}", file=str(path))) from error

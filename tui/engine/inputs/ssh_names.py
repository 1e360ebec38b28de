"""Host names in SSH configurations for shell completion, without heavy imports."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

from tui.model.hostspec import MOST_KNOWN
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError
from tui.remote.ssh_include import MOST_FILES, ConfigText, matching

LINE = re.compile(r"(Host|Include)(?:\s*=\s*|\s+)(\S.*)", re.IGNORECASE)
PATTERN = set("*?!")


def words_in(path: Path) -> Iterator[str]:
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

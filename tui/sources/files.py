"""`file:PATH`, and `-` for standard input: SPECs, read as if they were typed."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, check_plain, read_text, shown_size
from tui.model.hostspec import STDIN, is_whole
from tui.model.paths import from_home
from tui.model.problem import Problem, UsageError, did_you_mean, unreadable
from tui.sources.base import FoundHosts, HostSource, SourceContext, wrong

MOST_LISTED = 2000  # directory entries compared with a mistyped name


class FileSource(HostSource):
    """A text file of SPECs, one or more per line; ``#`` begins a comment."""

    form = "file:PATH, or - for standard input"
    title = "SPECs from a text file or standard input"
    takes_files = True

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        """Return the SPECs of the file. Raises UsageError."""
        if text == STDIN:
            return FoundHosts(specs=tuple(specs_of(_stdin())), how="standard input")
        path = existing_file(text, self.form, context)
        try:
            content = read_text(path, MOST_SMALL_BYTES, pipes=True)
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from error
        if "\0" in content:
            raise UsageError(Problem("not a text file: it contains NUL characters", file=str(path)))
        return FoundHosts(specs=tuple(specs_of(content)), how=str(path))


def specs_of(content: str) -> Iterator[str]:
    """Yield the SPECs of a text with several lines and comments."""
    for line in content.splitlines():
        words = without_comment(line)
        yield from [words] if is_whole(words) else words_of(words)


def words_of(text: str) -> list[str]:
    """Return the SPECs of a line, split at blanks except next to a comma."""
    return ",".join(part.strip() for part in text.split(",")).split()


def without_comment(line: str) -> str:
    """Return a line without its comment: from a ``#`` at the start or after a blank."""
    for at, character in enumerate(line):
        if character == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at].strip()
    return line.strip()


def existing_file(
    text: str, form: str, context: SourceContext, *, directories: bool = False
) -> Path:
    """Return the path of an existing file or, with `directories`, of a directory.

    Raises UsageError with the nearest name in its folder.
    """
    if not text:
        raise wrong(form, "no file given")
    if "\0" in text:
        raise wrong(form, "a file name cannot contain a NUL character")
    path = context.directory / from_home(text)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = did_you_mean(path.name, _names_beside(path))
        raise UsageError(f"no such file{hint}; allowed: {form}") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from error
    if stat.S_ISDIR(mode) and not directories:
        raise UsageError(f"is a directory; allowed: {form}")
    return path


def _names_beside(path: Path) -> Iterable[str]:
    try:
        with os.scandir(path.parent) as entries:
            return [entry.name for entry, _ in zip(entries, range(MOST_LISTED), strict=False)]
    except OSError:
        return ()


def _stdin() -> str:
    """Return standard input as text.

    Raises UsageError if it is closed, a terminal, too long, or not UTF-8.
    """
    try:
        descriptor = sys.stdin.fileno()
        check_plain(descriptor, "standard input", pipes=True)
    except (AttributeError, ValueError, OSError) as error:
        raise UsageError("standard input is closed; pipe names to it, or use file:PATH") from error
    if os.isatty(descriptor):
        raise UsageError("standard input is a terminal; pipe names to it, or use file:PATH")
    data = bytearray()
    while piece := os.read(descriptor, 1 << 16):
        data += piece
        if len(data) > MOST_SMALL_BYTES:
            raise UsageError(f"standard input has more than {shown_size(MOST_SMALL_BYTES)}")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8 text: invalid byte at offset {error.start}"
        ) from error

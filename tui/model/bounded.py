"""Read files within size limits; list the exceptions that damaged JSON raises."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

MOST_MEMORY_BYTES = 256 << 20  # of the whole process, while it reads other people's files
MOST_CPU_S = 60.0  # of one import, one archive, one inventory
MOST_NUMBER = 2**62 - 1  # larger counts are damage; two of these still fit into 64 bits
MOST_STAMP_MS = 253_402_300_799_000  # end of the year 9999, the last valid date
# of a file that people edit: profile, job file, settings, list of directories
MOST_TEXT_BYTES = 1 << 20
# of a run's file: record, plan. 256 hosts for eight hours are 860 MiB
MOST_DOCUMENT_BYTES = 1 << 30
MOST_LINE_BYTES = 32 << 20  # of a line of a journal: the result of a host with 400 jobs
# of files with a few lines per run: marks, caches, keys; and of an inventory
MOST_SMALL_BYTES = 4 << 20
PIECE_BYTES = 1 << 16


def open_plain(path: Path | str, *, pipes: bool = False) -> io.FileIO:
    """Open a regular file for reading; other kinds of files could block or never end.

    `pipes`: also open pipes and devices, because the user named the file. Raises OSError.
    """
    return io.FileIO(_opened(path, pipes)[0], "rb")


def _opened(path: Path | str, pipes: bool) -> tuple[int, int]:
    """Open a file; return its descriptor and size."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if pipes else os.O_NONBLOCK))
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise _not_plain(path) from None
        raise
    try:
        return descriptor, check_plain(descriptor, path, pipes=pipes)
    except OSError:
        os.close(descriptor)
        raise


def check_plain(descriptor: int, path: Path | str, *, pipes: bool = False) -> int:
    """Return the size of an open file.

    Raises OSError for a directory and, without `pipes`, for anything else but a regular file.
    """
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not (pipes or stat.S_ISREG(found.st_mode)):
        raise _not_plain(path)
    return found.st_size


def _not_plain(path: Path | str) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", str(path))


def read_file(path: Path | str, most: int = MOST_DOCUMENT_BYTES, *, pipes: bool = False) -> bytes:
    """Return the content of a file of at most `most` bytes.

    Raises OSError: see `open_plain`, and EFBIG for a larger file.
    """
    descriptor, size = _opened(path, pipes)
    pieces, left = [], most + 1 if size <= most else 0
    try:
        while left and (piece := os.read(descriptor, min(left, max(size, PIECE_BYTES) + 1))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(descriptor)
    data = b"".join(pieces)
    if size > most or len(data) > most:
        raise OSError(errno.EFBIG, f"larger than the limit of {shown_size(most)}", str(path))
    return data


def read_text(
    path: Path | str,
    most: int = MOST_TEXT_BYTES,
    encoding: str = "utf-8",
    errors: str = "strict",
    *,
    pipes: bool = False,
) -> str:
    """Return the text of a file with universal newlines.

    Raises OSError (see `read_file`) or UnicodeDecodeError.
    """
    text = read_file(path, most, pipes=pipes).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shown_size(count: int) -> str:
    """Return a limit as text: 256 KiB, 64 MiB, 1 GiB."""
    if count >= 1 << 30:
        return f"{count >> 30} GiB"
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


NO_JSON = (ValueError, OverflowError, RecursionError)
"""Exceptions raised for damaged JSON; msgspec's DecodeError is a ValueError."""

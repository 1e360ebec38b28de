"""Limits of what is read from outside, and the one way to read a file whole within them.

Files of other people, and files that were damaged, may hold anything: what is too large is an error before it is in
memory. The one function here that touches the disk is what every room reads files with.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_MEMORY_BYTES = 256 << 20  # of the whole process, while it reads what somebody else wrote
MOST_CPU_S = 60.0  # of one import, one archive, one inventory
MOST_NUMBER = 2**62 - 1  # a larger count is none: two of them add up to one of 64 bits
MOST_STAMP_MS = 253_402_300_799_000  # the end of the year 9999, the last that a date can be of
MOST_TEXT_BYTES = 1 << 20  # of a file that people write: inventory, profile, job file, settings, list of directories
MOST_DOCUMENT_BYTES = 128 << 20  # of a document of a run: record, plan. 64 hosts for an hour are 27 MiB
MOST_SMALL_BYTES = 4 << 20  # of what is a line or a few per run: marks, heads, caches, keys


def read_file(path: Path | str, most: int = MOST_DOCUMENT_BYTES, *, pipes: bool = False) -> bytes:
    """Return the content of a file of at most `most` bytes.

    Raises OSError, also for a larger file (EFBIG) and for anything that is no regular file, which could keep us waiting
    for ever: a FIFO in a directory of runs. `pipes`: a person names the file, and may name a pipe.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if pipes else os.O_NONBLOCK)
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not pipes and not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = bytearray()
        while len(data) <= most and (block := file.read(min(most + 1 - len(data), max(found.st_size, 1 << 16) + 1))):
            data += block
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {shown_size(most)}, the limit for this file", str(path))
    return bytes(data)


def read_text(path: Path | str, most: int = MOST_TEXT_BYTES, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return the text of a file that a person names: lines end as they would in any text file of Python.

    Raises OSError, UnicodeDecodeError.
    """
    text = read_file(path, most, pipes=True).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shown_size(count: int) -> str:
    """Return a limit as people say it: 256 KiB, 64 MiB."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"

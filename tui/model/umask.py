"""Which permissions new files get: ours are for this user alone; what a load makes on this machine is not ours."""

from __future__ import annotations

import os

PRIVATE = 0o077
_given: list[int] = []  # the umask that this process was started with


def keep_private() -> None:
    """Make every file of this process 0600 and every directory 0700 at most."""
    before = os.umask(PRIVATE)
    if not _given:
        _given.append(before)


def given() -> int:
    """Return the umask of whoever started this process, for what it starts in turn; -1: as it is."""
    return _given[0] if _given else -1

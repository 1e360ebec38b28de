"""Import asyncssh without its optional parts, and without starting other programs."""

from __future__ import annotations

import contextlib
import ctypes.util
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ABSENT = "asyncssh.crypto.x509"
FOLDERS = ("/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib")


def find_library(name: str) -> str | None:
    """Return the path of a shared library in the usual directories, the shortest if several match;
    None if there is none.
    """
    several = str(sysconfig.get_config_var("MULTIARCH") or ".")
    places = [place for folder in FOLDERS for place in (Path(folder), Path(folder, several))]
    found = [path for place in places for path in place.glob(f"lib{name}.so*")]
    return str(min(found, key=lambda path: len(path.name))) if found else None


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Let asyncssh be imported without its optional parts, then restore Python's import state.

    Python's own search for a library runs ldconfig and the C compiler.
    """
    theirs, ctypes.util.find_library = ctypes.util.find_library, find_library
    known = sys.modules.get(ABSENT)
    sys.modules[ABSENT] = known  # type: ignore[assignment]  # None: how Python marks what cannot be imported
    try:
        yield
    finally:
        ctypes.util.find_library = theirs
        if known is None:
            del sys.modules[ABSENT]


with lean():
    import asyncssh

__all__ = ["asyncssh", "lean"]

"""asyncssh as it is loaded here: without X.509 certificates, and without programs that look for C libraries.

Both are for few hosts, and every start of an engine paid for them: X.509 is a sixth of the import (OpenSSH knows no
such keys), and `ctypes.util.find_library` runs ldconfig, gcc and ld up to three times for liboqs and nettle.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ABSENT = "asyncssh.crypto.x509"
FOLDERS = ("/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib")


def find_library(name: str) -> str | None:
    """Return the path of a shared library where distributions keep them: of its names the shortest."""
    several = str(sysconfig.get_config_var("MULTIARCH") or ".")
    places = [place for folder in FOLDERS for place in (Path(folder), Path(folder, several))]
    found = [path for place in places for path in place.glob(f"lib{name}.so*")]
    return str(min(found, key=lambda path: len(path.name))) if found else None


@contextlib.contextmanager
def lean() -> Iterator[None]:
    """Let asyncssh be imported lean; what it asks Python for is afterwards as it was."""
    theirs, ctypes.util.find_library = ctypes.util.find_library, find_library
    known = sys.modules.get(ABSENT)
    sys.modules[ABSENT] = known  # type: ignore[assignment]  # None: Python's own word for what cannot be imported
    try:
        yield
    finally:
        ctypes.util.find_library = theirs
        if known is None:
            del sys.modules[ABSENT]


with lean():
    import asyncssh
    from asyncssh.agent import SSHAgentKeyPair
    from asyncssh.encryption import get_encryption_algs
    from asyncssh.kex import get_kex_algs
    from asyncssh.mac import get_mac_algs
    from asyncssh.public_key import get_certificate_algs, get_public_key_algs

# by option of ssh_config(5)
ALGORITHMS: dict[str, Callable[[], Sequence[bytes]]] = {
    "kexalgorithms": get_kex_algs,
    "ciphers": get_encryption_algs,
    "macs": get_mac_algs,
    "hostkeyalgorithms": lambda: [*get_certificate_algs(), *get_public_key_algs()],
    "casignaturealgorithms": get_public_key_algs,
    "pubkeyacceptedalgorithms": lambda: [*get_certificate_algs(), *get_public_key_algs()],
}

__all__ = ["ALGORITHMS", "SSHAgentKeyPair", "asyncssh"]

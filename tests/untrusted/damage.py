"""What may stand in the place of a file: what blocks, what never ends, what is no file, what is no
document.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]


def socket_at(path: Path) -> None:
    """Leave a socket that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as made:
        there = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(there)


NO_FILE: dict[str, Damage] = {
    "FIFO": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": socket_at,
    "directory": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path.name),
}
"""Each of these made a reader wait for ever, fill the memory, or end in a traceback."""

NO_DOCUMENT: dict[str, bytes] = {
    "empty": b"",
    "NULs": b"\0" * 5000,
    "no UTF-8": b'{"run_id": "\xff\xfe"}\n',
    "deep": b"[" * 200_000 + b"\n",
    "huge number": b'{"schema": "x", "t": 1' + b"0" * 5000 + b"}\n",
    "list": b"[]\n",
    "null": b"null\n",
}


def place(path: Path, kind: str) -> None:
    """Put what a kind of damage names in the place of a file, which need not be there."""
    before = path.read_bytes() if path.is_file() else b'{"half of": "something"}'
    if path.is_file():
        path.unlink()
    if kind in NO_FILE:
        NO_FILE[kind](path)
    else:
        path.write_bytes(before[: len(before) // 2] if kind == "cut" else NO_DOCUMENT[kind])


KINDS = (*NO_FILE, *NO_DOCUMENT, "cut")

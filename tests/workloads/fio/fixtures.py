"""Real output of real fio, from tests/data/fio: the text, and how the command ended."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.model.plan import Step
from tui.workloads.fio.snapshot import JsonSplitter, Snapshot, decode

DATA = Path(__file__).parents[2] / "data" / "fio"


@dataclass(frozen=True)
class Recording:
    """One fio command: what it printed on both pipes and its exit code, None when that was not
    recorded.
    """

    name: str
    stdout: bytes
    stderr: bytes
    exit_code: int | None


def read(path: Path) -> bytes:
    packed = path.with_name(path.name + ".gz")
    if packed.exists():
        return gzip.decompress(packed.read_bytes())
    return path.read_bytes() if path.exists() else b""


def recording(name: str) -> Recording:
    command = (DATA / f"{name}.cmd").read_text()
    code = re.search(r"^# exit code: (-?\d+)", command, re.MULTILINE)
    stdout = read(DATA / f"{name}.stdout")
    assert stdout or (DATA / f"{name}.stdout").exists(), f"no recording {name}"
    return Recording(name, stdout, read(DATA / f"{name}.stderr"), int(code[1]) if code else None)


def names(*folders: str) -> list[str]:
    found = [path for folder in folders for path in sorted((DATA / folder).glob("*.cmd"))]
    return [
        f"{path.parent.name}/{path.name.removesuffix('.cmd')}"
        for path in found
        if "normal" not in path.name
    ]


def objects(data: bytes) -> list[bytes]:
    framer = JsonSplitter()
    return [piece for piece in [*framer.feed(data), *framer.close()] if isinstance(piece, bytes)]


def snapshots(name: str) -> list[Snapshot]:
    return [decode(text) for text in objects(recording(name).stdout)]


def step(**changes: Any) -> Step:
    fields: dict[str, Any] = {
        "index": 3,
        "name": "s",
        "tool": "fio",
        "params": {},
        "tasks": [],
        "runtime_s": None,
    }
    return Step(**fields | changes)

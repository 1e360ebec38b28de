"""Files are read in one way, which refuses what blocks or is too large: whoever reads otherwise is
named here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODE = re.compile(r"[rwxabt+U]{1,3}")
READERS = ("read_text", "read_bytes")
OPENERS = ("gzip", "bz2", "lzma", "tarfile", "zipfile", "io", "codecs")
EXCEPTIONS = {
    "tui/model/bounded.py": "the one way",
    "tui/model/schemas/__init__.py": "of the package",
    "tui/workloads/fio/option_table.py": "of the package",
    "tui/view/report/write.py": "of the package",
    "tui/remote/telemetry.py": "of the package",
    "tui/remote/scripts.py": "of the package",
    "tui/remote/way_slurm.py": "of the package",
    "tui/remote/node_relay.py": "/dev/null",
    "tui/app/terminal/actions.py": "a page of the docs, by make",
    "tui/model/tool.py": "what installed packages say of themselves",
    "tui/workloads/reading.py": "/proc",
    "tui/journal/rundir.py": (
        "/proc; the lock of the engine, checked to be a file; a directory to be synced"
    ),
    "tui/engine/preflight/logout.py": "/proc",
    "tui/journal/writer.py": "to append, checked to be a file; a directory to be synced",
    "tui/engine/preflight/made_files.py": "to append, checked to be a file",
    "tui/engine/control.py": "a directory, by whose descriptor a socket is reached; /dev/null",
    "tui/cli/main.py": "/dev/null; a descriptor that is closed",
    "tui/cli/shared/launching.py": "the terminal",
    "tui/library/summary.py": "a directory to be locked",
}


def reads(tree: ast.AST) -> Iterator[int]:
    """Yield the lines with a call that may read a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_read(node):
            yield node.lineno


def is_read(call: ast.Call) -> bool:
    """Tell whether a call reads a file by its name, other than by `tui.model.bounded`."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open" and mode_of(call, 1) in (None, "r")
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if function.attr in READERS:
        return True
    if function.attr != "open":
        return False
    if owner == "os":
        return "O_WRONLY" not in ast.unparse(call)
    if owner in OPENERS:
        return not any(
            isinstance(each, ast.keyword) and each.arg == "fileobj" for each in call.keywords
        )
    plain = [
        each.value
        for each in call.args
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    named = [word.arg for word in call.keywords]
    of_path = not call.args and (not named or "encoding" in named or "mode" in named)
    return (of_path or bool(plain and MODE.fullmatch(plain[0]))) and mode_of(call, 0) in (None, "r")


def mode_of(call: ast.Call, place: int) -> str | None:
    """Return "r" for a mode that reads, "w" for one that writes alone, None where it is not
    said.
    """
    told = [each.value for each in call.keywords if each.arg == "mode"] + call.args[
        place : place + 1
    ]
    text = told[0].value if told and isinstance(told[0], ast.Constant) else None
    if not isinstance(text, str):
        return None
    return "r" if "r" in text or "+" in text else "w"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open(path)", True),
        ("open(path, 'rb')", True),
        ("open(path, 'w')", False),
        ("path.open()", True),
        ("path.open('rb', buffering=0)", True),
        ("path.open(encoding='utf-8')", True),
        ("path.open('wb')", False),
        ("path.open('r+b')", True),
        ("path.read_text()", True),
        ("(folder / name).read_bytes()", True),
        ("gzip.open(path)", True),
        ("os.open(path, os.O_RDONLY)", True),
        ("os.open(path, os.O_WRONLY | os.O_CREAT)", False),
        ("shell.open('live', run)", False),
        ("read_text(path)", False),
    ],
)
def test_a_call_that_reads_is_found(text: str, found: bool) -> None:
    assert bool(list(reads(ast.parse(text)))) == found


def test_files_are_read_in_one_way() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / "tui").rglob("*.py"))
        if (lines := list(reads(ast.parse(path.read_text(encoding="utf-8")))))
    }
    others = {name: lines for name, lines in found.items() if name not in EXCEPTIONS}
    assert others == {}, "read it by tui.model.bounded"
    assert EXCEPTIONS.keys() - found.keys() == set(), "does not read any more: take it off the list"

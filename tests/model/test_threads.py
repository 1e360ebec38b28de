"""msgspec crashes the process when two threads are the first to ask for one type: decoders are made
on import.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TUI = Path(__file__).parents[2] / "tui"
RUN = Path(__file__).parents[1] / "data" / "journals" / "mix"
READERS = """
import sys, threading
from pathlib import Path
from tui.journal.rundir import load_plan
sys.setswitchinterval(1e-6)
ready = threading.Barrier(6)
def read():
    ready.wait()
    load_plan(Path(sys.argv[1]))
readers = [threading.Thread(target=read) for _ in range(6)]
for reader in readers: reader.start()
for reader in readers: reader.join()
"""


def makes_decoders(path: Path) -> Iterator[int]:
    """Yield the lines of functions in which a decoder is made: with `type=` of a class, or by
    Decoder().
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]:
        for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
            name = ast.unparse(call.func)
            kinds = [
                word.value
                for word in call.keywords
                if word.arg == "type" and name.endswith("json.decode")
            ]
            # of PlainDecoder, looked for itself
            is_own = path.name == "plain_data.py" and function.name == "__init__"
            made = name.endswith(("json.Decoder", "PlainDecoder")) and not is_own
            if made or any(isinstance(kind, ast.Name) for kind in kinds):
                yield call.lineno


def test_no_function_makes_a_decoder() -> None:
    found = [
        f"{path.relative_to(TUI)}:{line}"
        for path in TUI.rglob("*.py")
        for line in makes_decoders(path)
    ]
    assert found == []


@pytest.mark.slow
def test_threads_that_read_a_plan_at_once_read_it() -> None:
    for _ in range(10):
        done = subprocess.run(
            [sys.executable, "-c", READERS, str(RUN)], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")

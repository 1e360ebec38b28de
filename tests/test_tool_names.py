"""A load generator is one folder: nothing outside of tui/workloads/TOOL names a tool in code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"fio|mdtest|elbencho|\bior\b|io500", re.IGNORECASE)
# Words of files and of figures, not of what is run: the scheme of histograms, defaults of plans
# made before.
WORDS = {"fio-plat/6x29", "job.fio"}
OLD_PLANS = {"tui/model/plan.py: mdtest"}  # the one MPI program there was when they were made


def names_in(path: Path) -> Iterator[str]:
    """Yield identifiers, modules and texts of a file that name a tool.

    Docstrings and descriptions are no code.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(text) for node in ast.walk(tree) for text in prose_of(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from ([node.value] if node.value not in WORDS else [])
        for field in ("id", "attr", "name", "arg", "module"):
            if isinstance(value := getattr(node, field, None), str):
                yield value


def prose_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings, and the texts of `description=`, `help=` and `source=`."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.keyword) and node.arg in ("description", "help", "source"):
        yield from ast.walk(node.value)


def test_no_module_outside_of_its_folder_names_a_tool() -> None:
    found: set[str] = set()
    for path in sorted((ROOT / "tui").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        own = re.match(r"tui/workloads/\w+/", place)
        if not own:
            found |= {f"{place}: {name}" for name in names_in(path) if NAMED.search(name)}
    assert found == OLD_PLANS


def test_no_function_of_the_agent_names_a_tool() -> None:
    lines = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "tui" / "remote" / "sh").glob("*.sh")
        if path.name != "mpi.sh"
        for line in path.read_text().splitlines()
        # programs that may run there already
        if NAMED.search(line.partition("#")[0]) and "vdbench" not in line
    ]
    assert lines == []

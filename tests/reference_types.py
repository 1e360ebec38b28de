"""The page of the types of the load generators' interface: fields with types and comments as the
code has them.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from tui.model import event, plan, problem, tool
from tui.model.tool import InProfile
from tui.testing.streams import CODES
from tui.workloads import base, mpi, reading

SHOWN: Sequence[type] = (
    base.Requirement, base.Paced, plan.Step, plan.HostTask, plan.FileSpec, plan.JobLoad,
    plan.MpiLaunch,
    event.Sample, event.DirectionSample, event.Buckets, event.HostResult, event.DirectionResult,
    event.LatencyResult,
    event.MetadataPhase, event.MetadataIteration, event.MetadataResult, event.OperationResult,
    base.OperationFinding,
    base.Imported, base.ImportedOutput, base.KeptFile, base.KeptLog, base.KeptRun, problem.Problem,
)  # fmt: skip
ASKED: Sequence[type] = (InProfile, base.Planning, base.OnHost, base.Reading, base.Showing,
    base.Importing,
                         base.Workload, base.FromTerms, reading.Reader, mpi.MpiProgram,
                         mpi.ProgramReader)  # fmt: skip
MODULES = (event, plan, problem, tool, base, mpi, reading)
Table = Callable[[Sequence[str], Iterator[Sequence[object]]], str]


def generator_types(table: Table) -> Iterator[str]:
    """Yield the parts of the page."""
    yield "# Load generator types"
    yield (
        "What each method of a load generator returns, and the type of every field; [how to write"
        " one](../load-generators.md). benchtui checks what a plug-in returns against these types."
        " `Count` is an int from 0 to below 2^62, `BucketIndex` an int from 0 to below 1856,"
        " `MultiLine` a str that may contain line breaks, and `LogLine` is `tuple[Severity, str]`."
    )
    yield "## Methods and attributes"
    for kind in ASKED:
        yield f"### {kind.__name__}"
        yield table(("name", "type"), iter(list(members(kind))))
    yield "## Values"
    for kind in SHOWN:
        yield f"### {kind.__name__}"
        yield first_paragraph(kind)
        yield table(("field", "type", "default", "meaning"), iter(list(fields(kind))))
    yield "## Mistakes that the test kit finds"
    yield table(("code", "mistake"), iter([(f"`{code}`", about) for code, about in CODES.items()]))


def first_paragraph(kind: type) -> str:
    """Return what a class says of itself."""
    return inspect.cleandoc(kind.__doc__ or "")


def tree_of(kind: type) -> tuple[ast.ClassDef, list[str]]:
    """Return the source of a class, parsed, and its lines."""
    text = inspect.getsource(kind)
    (tree,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(tree, ast.ClassDef)
    return tree, textwrap.dedent(text).splitlines()


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield methods with what they take and return, and attributes with their types."""
    for node in tree_of(kind)[0].body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = ", ".join(each.arg for each in (*node.args.args[1:], *node.args.kwonlyargs))
            returns = ast.unparse(node.returns) if node.returns is not None else ""
            is_property = any(
                isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list
            )
            yield (f"`{node.name}`" if is_property else f"`{node.name}({names})`"), f"`{returns}`"
        elif isinstance(node, ast.AnnAssign):
            yield f"`{ast.unparse(node.target)}`", f"`{ast.unparse(node.annotation)}`"


def fields(kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Yield the fields of a struct and of those that it derives from: name, type, default,
    comment.
    """
    for base_kind in reversed(kind.__mro__):
        if base_kind.__module__ not in {module.__name__ for module in MODULES}:
            continue
        tree, lines = tree_of(base_kind)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign):
                default = "" if node.value is None else f"`{default_of(node.value)}`"
                beside = lines[(node.end_lineno or 1) - 1][node.end_col_offset :].strip()
                comment = beside.removeprefix("#").strip() or comment_above(node, lines)
                yield (
                    f"`{ast.unparse(node.target)}`",
                    f"`{ast.unparse(node.annotation)}`",
                    default,
                    comment,
                )


def comment_above(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return what the comment lines right above a field say."""
    above = reversed(lines[: node.lineno - 1])
    comment = list(takewhile(lambda line: line.lstrip().startswith("#"), above))
    return " ".join(line.strip().removeprefix("#").strip() for line in reversed(comment))


def default_of(node: ast.expr) -> str:
    """Return a default; of a factory what it makes."""
    made = re.fullmatch(r"field\(default_factory=(\w+)\)", text := ast.unparse(node))
    return f"{made[1]}()" if made else text

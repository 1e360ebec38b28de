"""No module needs itself over a detour, no package a neighbour that needs it: not for types alone,
nor by name.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
Graph = Mapping[str, set[str]]

EXTENSION_POINTS = {
    "benchtui.workloads": "tui.model.tool",
    "benchtui.exporters": "tui.model.exporter",
    "benchtui.transports": "tui.remote.way_base",
    "benchtui.sources": "tui.sources.base",
}
"""Groups of entry points that other packages add to, and their loaders: a loader needs none of
those it finds.
"""


def circles(needs: Graph) -> set[frozenset[str]]:
    """Return the groups of modules that reach each other (Tarjan's strongly connected components of
    two or more).
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for needed in sorted(needs[module]):
            if needed not in order:
                visit(needed)
            if needed in stack:
                lowest[module] = min(lowest[module], lowest[needed])
        if lowest[module] == order[module]:
            place = stack.index(module)
            group, stack[place:] = frozenset(stack[place:]), []
            found.update({group} if len(group) > 1 else ())

    for module in needs:
        if module not in order:
            visit(module)
    return found


def modules_named(source: str, name: str, modules: Iterable[str]) -> set[str]:
    """Return the modules that the text of module `name` names in strings: whole, or after the start
    of an f-string.

    ``"tui.cli.run"``, ``"tui.app.app:App"``; ``f"tui.cli.{verb}"`` with ``"run"`` anywhere in the
    same text.
    """
    texts, starts = {""}, {""}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)):
                texts.add(text.partition(":")[0])
            case ast.JoinedStr(values=[ast.Constant(value=str(start)), ast.FormattedValue(), *_]):
                starts.add(start)
            case ast.JoinedStr(
                values=[ast.FormattedValue(value=ast.Name("__name__")), ast.Constant(value="."), *_]
            ):
                starts.add(f"{name}.")
    return {start + text for start in starts for text in texts} & set(modules) - {name}


def text_of(module: str) -> str:
    """Return the source of a module of ours."""
    place = ROOT.joinpath(*module.split("."))
    return (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(
        encoding="utf-8"
    )


def entry_points() -> dict[str, set[str]]:
    """Return the modules that this package registers, by group of entry points."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "entry-points"
    ]
    return {
        group: {value.partition(":")[0] for value in points.values()}
        for group, points in groups.items()
    }


@pytest.fixture(scope="module")
def needs() -> Graph:
    """Every module with those that it imports, anywhere in it, or names in a string."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    graph = grimp.build_graph("tui", cache_dir=None)
    packages = {module for module in graph.modules if graph.find_children(module)}
    texts = {module: text_of(module) for module in graph.modules}
    found: dict[str, set[str]] = {}
    for module, text in texts.items():
        named = modules_named(text, module, graph.modules - packages)
        found[module] = graph.find_modules_directly_imported_by(module) | named
    for group, places in entry_points().items():
        loader = next(module for module, text in texts.items() if f'"{group}"' in text)
        assert places <= graph.modules, group
        found[loader] |= places if EXTENSION_POINTS.get(group) != loader else set()
    return found


def of_siblings(needs: Graph) -> Mapping[str, Graph]:
    """Return what the parts of each package need of each other: a part is a module or package right
    in it.
    """
    within: dict[str, dict[str, set[str]]] = {}
    for module, needed in needs.items():
        names = module.split(".")
        for depth in range(1, len(names)):
            parent, part = ".".join(names[:depth]), names[depth]
            others = {other.split(".")[depth] for other in needed if other.startswith(f"{parent}.")}
            within.setdefault(parent, {}).setdefault(part, set()).update(others - {part})
    return within


def of_folders(needs: Graph) -> Graph:
    """Return what the files right in each folder need of other folders.

    The topmost one is left out: it is the door.
    """
    packages = {module.rpartition(".")[0] for module in needs}

    def folder(module: str) -> str:
        return module if module in packages else module.rpartition(".")[0]

    found: dict[str, set[str]] = {}
    for module, needed in needs.items():
        found.setdefault(folder(module), set()).update(map(folder, needed))
    return {
        place: {other for other in others if "." in other} - {place}
        for place, others in found.items()
        if "." in place
    }


def test_modules_that_reach_each_other_are_found() -> None:
    needs = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set[str]()}
    assert circles(needs) == {frozenset("abc")}


def test_modules_named_in_strings_are_found() -> None:
    modules = {"tui.a.run", "tui.a.stop", "tui.a.list", "tui.b"}
    source = 'WARM = "tui.b"\nVERBS = ["run", "stop:Stop"]\nimport_module(f"tui.a.{verb}")'
    assert modules_named(source, "tui.a", modules) == {"tui.b", "tui.a.run", "tui.a.stop"}
    assert modules_named('f"{__name__}.{name}", "list"', "tui.a", modules) == {"tui.a.list"}


def test_parts_of_a_package_that_reach_each_other_are_found_at_every_depth() -> None:
    needs = {"t.a.x": {"t.b.y"}, "t.b.y": set[str](), "t.b.z": {"t.a.x"}, "t.a": {"t.a.x"}}
    assert circles(of_siblings(needs)["t"]) == {frozenset("ab")}
    assert circles(of_siblings(needs)["t.b"]) == set()
    assert circles(of_folders(needs)) == {frozenset({"t.a", "t.b"})}


def ties(needs: Graph, found: Iterable[frozenset[str]]) -> str:
    """Return a line for each arrow of circles: for whoever has to open one of them."""
    return "\n".join(
        f"{a} -> {b}" for circle in found for a in sorted(circle) for b in sorted(needs[a] & circle)
    )


def judge(needs: Graph) -> None:
    """Fail on a circle, with the arrows that make it."""
    found = circles(needs)
    assert found == set(), ties(needs, found)


def test_the_arrows_of_a_circle_are_reported() -> None:
    with pytest.raises(AssertionError, match="a -> b"):
        judge({"a": {"b"}, "b": {"a"}})


def test_no_module_of_benchtui_is_in_a_circle(needs: Graph) -> None:
    assert "tui.engine.run.run" in needs
    judge(needs)


def test_no_parts_of_a_package_are_in_a_circle(needs: Graph) -> None:
    for parts in of_siblings(needs).values():
        judge(parts)


def test_no_folders_are_in_a_circle(needs: Graph) -> None:
    judge(of_folders(needs))

"""No module needs itself over a detour: not inside a function, not for types alone either."""

from __future__ import annotations

import sys

import grimp


def circles(needs: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the groups of modules that reach each other (Tarjan's strongly connected components of two or more)."""
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


def test_modules_that_reach_each_other_are_found() -> None:
    needs = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set[str]()}
    assert circles(needs) == {frozenset("abc")}


def test_no_module_of_ours_is_in_a_circle() -> None:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    graph = grimp.build_graph("tui", cache_dir=None)
    needs = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert "tui.engine.running.run" in needs
    assert circles(needs) == set()

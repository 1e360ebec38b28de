"""Codes with operands, in place of sentences: what a text is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict, TypeGuard, TypeVar

import msgspec

from tui.model.plain import printable

T = TypeVar("T")
Operands = dict[str, Any]
"""By name: numbers in base units, names, quoted texts of hosts and people (`quote`), lists of
these, lists of (name, value), and clauses.
"""


class Clause(TypedDict):
    """A text, or a part of one: its code and operands."""

    code: str
    operands: Operands


Told = Clause | str
"""A text as a code, or as it came from a host, a tool or another package."""


def clause(code: str, /, **operands: Any) -> Clause:
    """Return a text, or a part of one, as its code and operands."""
    return {"code": code, "operands": operands}


def several(*told: Clause | str | None) -> Clause | str:
    """Return texts as one, separated by semicolons; empty if there are none."""
    texts = [each for each in told if each]
    return clause("several", texts=texts) if len(texts) > 1 else texts[0] if texts else ""


def by_generator(tool: str, told: Clause) -> Clause:
    """Wrap a clause whose text a load generator has (`Workload.texts`) in one of benchtui's."""
    return clause("by-generator", **told["operands"] | {"tool": tool, "about": told["code"]})


def of_tool(tool: str, told: Told) -> Told:
    """Mark a load generator's clause with `by_generator`; return a text unchanged."""
    return told if isinstance(told, str) else by_generator(tool, told)


def unique(told: Iterable[T]) -> list[T]:
    """Return clauses and other values, which need not be hashable, each once."""
    found: list[T] = []
    for each in told:
        if each not in found:
            found.append(each)
    return found


def is_clause(value: object) -> TypeGuard[Clause]:
    """Return whether an operand is a clause."""
    return isinstance(value, dict) and value.keys() == {"code", "operands"}


def listed(value: Any) -> Any:
    """Return an operand with tuples as lists, as in JSON."""
    if isinstance(value, dict):
        return {name: listed(each) for name, each in value.items()}
    return [listed(each) for each in value] if isinstance(value, list | tuple) else value


def printed(value: Any) -> Any:
    """Return an operand with printable texts."""
    if isinstance(value, dict):
        return {name: printed(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [printed(each) for each in value]
    return printable(value) if isinstance(value, str) else value


def likeness(operands: Operands) -> bytes:
    """Return a key that is equal for operands whose fractional numbers agree to three digits."""
    return msgspec.json.encode(_rounded(operands))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value

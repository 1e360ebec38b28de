"""Texts of what readers return: their codes in the words of the load generator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tui.model.operands import Told, of_tool
from tui.text.problem_texts import problem_text


def said(tool: str, told: Told) -> str:
    """Return the text of a problem or message of a load generator."""
    return problem_text(of_tool(tool, told))


def texts(tool: str, found: Iterable[tuple[str, Told]]) -> list[tuple[str, str]]:
    """Return problems, or log lines, with their texts."""
    return [(code, said(tool, told)) for code, told in found]


def lines(tool: str, items: Iterable[Any]) -> list[Any]:
    """Return what a reader returned, log lines with their texts."""
    return [(item[0], said(tool, item[1])) if isinstance(item, tuple) else item for item in items]

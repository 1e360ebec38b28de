"""No percentile is averaged, over seconds or hosts, and a mean latency is weighted by the I/Os that
it is of.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import tui
from tui.app.screens.result_page import course
from tui.text.plot import TimeAxis, merged, spread_over
from tui.view.report.step_charts import points_of

AVERAGES = {"mean", "fmean", "merge_values"}
TAILS = re.compile(r"p\d\d|percentile|tail", re.IGNORECASE)
# it says beside the right figure what averaging would have given
MEANT = {"tui/view/objection_evidence.py"}


def averaged(tree: ast.AST) -> list[str]:
    """Return every call of an average over something that is named like a percentile, and every sum
    / len of it.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if name in AVERAGES and TAILS.search(" ".join(map(ast.unparse, node.args))):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            text = ast.unparse(node)
            if re.search(r"^sum\(.*/ len\(", text) and TAILS.search(text):
                found.append(text)
    return found


def test_nowhere_is_a_percentile_averaged() -> None:
    root = Path(tui.__file__).parent
    found = {
        str(path.relative_to(root.parent)): calls
        for path in root.rglob("*.py")
        if (calls := averaged(ast.parse(path.read_text())))
    }
    assert {path: calls for path, calls in found.items() if path not in MEANT} == {}
    assert set(found) == MEANT, "the guard sees what it is to see"


def test_a_mean_latency_over_seconds_is_weighted_by_their_ios() -> None:
    means, ios = [100.0, 900.0, None], [9000.0, 1000.0, None]
    assert merged(means, ios, peaks=False) == pytest.approx(180.0)
    assert spread_over(means, 0, TimeAxis(0, 3), 1, weights=ios) == [pytest.approx(180.0)]
    (point,) = points_of(means, most=1, weights=ios)
    assert point.mean == pytest.approx(180.0)
    assert (point.low, point.high) == (100.0, 900.0)


def test_of_percentiles_a_mark_of_many_seconds_is_the_largest() -> None:
    values = [1.0] * 400
    values[200] = 100.0
    assert "⣇" in course(values, 10, "braille", 100.0, peaks=True)
    assert set(course(values, 10, "braille", 100.0)) == {"⣀"}

"""The table of the combinations that a sweep measures."""

from __future__ import annotations

from tui.view.plan_steps import MarkTable

MEASURED = frozenset({("4k", "1"), ("4k", "8"), ("8k", "1"), ("8k", "8"), ("1M", "1")})
TABLE = MarkTable(("bs", "jobs"), ("4k", "8k", "1M"), ("1", "8"), MEASURED)


def test_values_measured_alike_share_a_row() -> None:
    joined = TABLE.joined(40)
    assert joined.down == ("4k,8k", "1M")
    marks = {label: [on for _, on in cells] for label, cells in joined.rows("x", ".")}
    assert [*marks.values()] == [[True, True], [True, False]]


def test_rows_are_joined_only_as_far_as_their_labels_fit() -> None:
    values = tuple(f"{number}k" for number in range(100, 110))
    wide = MarkTable(("", ""), values, ("1",), frozenset((each, "1") for each in values))
    joined = wide.joined(wide.width + 10)
    assert joined.width <= wide.width + 10
    assert 1 < len(joined.down) < len(values)

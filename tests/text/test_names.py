"""Lists of names as text."""

from __future__ import annotations

import pytest

from tui.text.names import ranges_of


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("weka-01", "weka-02", "weka-03"), "weka-[01-03]"),
        (("h9", "h10", "h12", "nas"), "h[9-10], h12, nas"),
        (("h09", "h10", "x11"), "h[09-10], x11"),
        (("h9", "h09"), "h9, h09"),
        (("a1b", "a2b"), "a1b, a2b"),
    ],
)
def test_numbered_hosts_in_a_row_are_a_range(names: tuple[str, ...], text: str) -> None:
    assert ranges_of(names) == text

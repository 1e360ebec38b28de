"""The heat map of latencies: what stands beside its rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.buckets import value_to_index
from tui.text.heat import OCTAVE, scale


@pytest.mark.parametrize(
    ("octaves", "rows", "labels"),
    [
        (4, 4, {0: "50 µs", 1: "100 µs", 2: "200 µs", 3: "500 µs"}),
        (8, 5, {0: "100 µs", 3: "1 ms"}),
        (8, 12, {2: "100 µs", 4: "300 µs", 7: "1 ms", 9: "3 ms"}),
        (14, 7, {0: "100 µs", 2: "1 ms", 4: "10 ms"}),  # 100 ms would stand next to 10 ms
        (20, 7, {0: "100 µs", 2: "10 ms", 5: "1 s"}),
        (1, 6, {0: "32.8 µs", 2: "44.0 µs", 4: "55.3 µs"}),  # no two round ones keep apart
    ],
)
def test_labels_are_round_where_there_is_room(
    octaves: int, rows: int, labels: dict[int, str]
) -> None:
    assert dict(scale(value_to_index(32768), octaves * OCTAVE, rows)) == labels


@given(st.integers(0, 25), st.integers(1, 20), st.integers(3, 40))
def test_every_map_has_labels_on_rows_of_its_own(first: int, octaves: int, rows: int) -> None:
    found = scale(first * OCTAVE, octaves * OCTAVE, rows)
    assert (
        found and all(0 <= row < rows for row in found) and len(set(found.values())) == len(found)
    )

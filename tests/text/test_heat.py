"""The heat map of latencies: what stands beside its rows."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui.metrics.buckets import value_to_index
from tui.metrics.histogram import PackedBuckets
from tui.metrics.series import HeatBins
from tui.model.event import Buckets
from tui.text.heat import (
    FITTED,
    LINGER,
    OCTAVE,
    HeatCells,
    HeatPaint,
    calm_rows,
    heat_lines,
    scale,
)
from tui.text.plot import TimeAxis


@pytest.mark.parametrize(
    ("octaves", "rows", "labels"),
    [
        (4, 4, {0: "50 µs", 1: "100 µs", 2: "200 µs", 3: "500 µs"}),
        (8, 5, {0: "100 µs", 3: "1 ms"}),
        (8, 12, {2: "100 µs", 4: "300 µs", 7: "1 ms", 9: "3 ms", 11: "10 ms"}),
        (14, 7, {0: "100 µs", 2: "1 ms", 4: "10 ms"}),  # 100 ms would stand next to 10 ms
        (20, 7, {0: "100 µs", 2: "10 ms", 5: "1 s"}),
        (1, 6, {0: "36 µs", 2: "48 µs", 4: "60 µs"}),  # no two round ones keep apart
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


def cells_of(counts: dict[int, int]) -> HeatCells:
    """Return one second with this many I/Os by latency in ns."""
    cells, bins = HeatCells(), HeatBins(0)
    pairs = [(value_to_index(value), count) for value, count in sorted(counts.items())]
    bins.add(0.0, 1.0, Buckets([index for index, _ in pairs], [count for _, count in pairs]))
    cells.show([bins])
    return cells


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(0, 12))
@example([10, 11, 12, 13, 50], 3)
def test_counts_of_seconds_never_change_without_their_stamp(
    indices: list[int], start_s: int
) -> None:
    bins = HeatBins(0, most=4)
    seen = dict[int, object]()
    for second, index in enumerate(indices):
        bins.add(second, second + 1, Buckets([index], [1]))
        now = bins.between(start_s, start_s + 1)
        assert seen.setdefault(bins.stamp(start_s, start_s + 1), now) == now


def test_few_rows_leave_the_rarest_ios_to_the_row_at_the_edge() -> None:
    cells = cells_of({4_000: 1, 80_000: 60_000, 160_000: 700, 320_000: 60, 90_000_000: 1})
    axis = cells.axis(4)
    assert [axis.row_of(value, 4) for value in (80_000, 160_000, 320_000)] == [0, 2, 3]
    assert axis.row_of(90_000_000, 4) == 3 and axis.labels(4)[3][0] == "≥"
    assert axis.row_of(4_000, 4) == 0 and axis.labels(4)[0][0] == "<"
    top = heat_lines(cells, TimeAxis(0, 1), (9, 4), HeatPaint("latency", "ascii"))[0].plain
    assert top[-1] != " ", "what is beyond the axis is drawn"


def test_many_rows_show_every_io_in_its_own_place() -> None:
    axis = cells_of({4_000: 1, 80_000: 60_000, 90_000_000: 1}).axis(FITTED)
    assert {axis.row_of(value, FITTED) for value in (4_000, 90_000_000)} == {0, FITTED - 1}
    assert not any(label[0] in "<≥" for label in axis.labels(FITTED).values())


def test_a_fitted_axis_stays_while_latencies_move_a_little() -> None:
    cells = cells_of({100_000: 10_000, 400_000: 10_000})
    before = cells.axis(4)
    for second, (latency_ns, same) in enumerate([(120_000, True), (700_000, False)], start=1):
        cells.parts[0].add(second, second + 1, Buckets([value_to_index(latency_ns)], [9_000_000]))
        cells.show(cells.parts)
        assert (cells.axis(4) == before) == same


def test_a_map_of_seconds_without_ios_has_an_axis() -> None:
    cells, bins = HeatCells(), HeatBins(0)
    bins.add(0.0, 1.0, PackedBuckets(Buckets([], [])))
    cells.show([bins])
    assert len(heat_lines(cells, TimeAxis(0, 1), (20, 4), HeatPaint("latency", "solid"))) == 4
    assert cells.axis(4).row_of(80_000, 4) in range(4)


@given(st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_a_line_is_in_a_row_close_to_its_value_and_jumps_only_if_it_must(
    places: list[float],
) -> None:
    rows = calm_rows(places)
    assert all(
        row - LINGER - 1e-9 <= place <= row + 1 + LINGER + 1e-9
        for row, place in zip(rows, places, strict=True)
    )
    assert len(set(calm_rows([2.9, 3.1] * 20))) == 1
    assert calm_rows([2.5] * 5 + [4.5] * 5) == [2] * 5 + [4] * 5

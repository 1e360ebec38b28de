"""Points of different block sizes are held against those of their own: the smallest do the most
IOPS by nature.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.samples.matrices import SIZES, cell
from tui.record.cells import Cell
from tui.record.matrix import block_texts, by_block, of_which, tables_of
from tui.view.matrix import table_notes

FIGURES = {"4k": (900.0, 1800.0, 1790.0), "64k": (600.0, 1100.0, 800.0), "1M": (90.0, 95.0, 140.0)}
DEPTHS = ("1", "4", "8")


def sized(
    point: dict[str, str], figure: float, io_bytes: float, step: int = 0, unit: str = "iops"
) -> Cell:
    made = cell(point, figure, unit=unit)
    return replace(made, io_bytes=io_bytes, bytes_per_s=figure * io_bytes, steps=(step,))


def swept(unit: str = "iops") -> list[Cell]:
    places = [(bs, at) for bs in FIGURES for at in range(3)]
    return [
        sized({"bs": bs, "depth": DEPTHS[at]}, FIGURES[bs][at], own(bs), step, unit)
        for step, (bs, at) in enumerate(places)
    ]


def own(bs: str) -> float:
    return float(int(bs[:-1]) * SIZES[bs[-1]])


def test_the_best_is_reported_for_each_block_size_and_the_most_bandwidth() -> None:
    assert block_texts(swept()) == [
        "best of each block size: bs=4k depth=4 (1 equally good); bs=64k depth=4",
        "larger blocks: bs=1M depth=8",
        "most bandwidth: bs=1M depth=8 with 140 MiB/s",
    ]


def test_points_of_one_size_are_ranked_as_ever() -> None:
    cells = [
        sized({"depth": depth}, figure, 4096)
        for depth, figure in zip(DEPTHS, FIGURES["4k"], strict=True)
    ]
    assert block_texts(cells) == []
    assert table_notes(tables_of(cells)) == [
        "within noise of the best, depth=4: depth=8; each measured once, so 5 % counts as noise"
    ]


def test_where_sizes_differ_points_of_another_one_are_not_called_equal() -> None:
    assert not any("within noise" in text for text in table_notes(tables_of(swept())))


def test_a_sweep_over_nothing_but_the_size_has_no_best_of_its_iops() -> None:
    cells = [sized({"bs": bs}, FIGURES[bs][0], own(bs)) for bs in FIGURES]
    assert block_texts(cells) == [
        "IOPS of different block sizes cannot be compared",
        "most bandwidth: bs=1M with 90.0 MiB/s",
    ]
    assert of_which(cells, 0, "iops") == "with 4 KiB blocks, one of 3 sizes"


def test_bandwidth_is_ranked_over_all_sizes() -> None:
    cells = swept("bytes_per_s")
    assert block_texts(cells) == []
    assert of_which(cells, 8, "bytes_per_s") == "best of 9 points"


@pytest.mark.parametrize(("step", "told"), [(1, "4 KiB"), (4, "64 KiB"), (8, "1 MiB")])
def test_a_point_is_the_best_of_those_of_its_size(step: int, told: str) -> None:
    assert of_which(swept(), step, "iops") == f"best of 3 points with {told} blocks"


def test_a_mixture_that_comes_out_a_little_otherwise_is_one_size() -> None:
    mixed = [
        sized({"depth": depth}, 1000.0, size)
        for depth, size in zip(DEPTHS, (9000.0, 9100.0, 8950.0), strict=True)
    ]
    assert len(by_block(mixed)) == 1
    assert of_which(mixed, 0, "iops") == "best of 3 points"


def test_unknown_sizes_change_nothing() -> None:
    cells = [replace(each, io_bytes=None, bytes_per_s=None) for each in swept()]
    assert (block_texts(cells), of_which(cells, 1, "iops")) == ([], "best of 9 points")

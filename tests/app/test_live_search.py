"""A search on Live and on Result: the curve as it fills, what is known so far, what is measured now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.search_maker import SearchMaker, offers, search_in
from tests.app.stage import SMALL, WIDE, app_on, settle
from tui.results.record.build import write_record

Compare = Callable[..., bool]


def half_way(home: Path) -> SearchMaker:
    maker = search_in(home).measure_points(5)
    maker.offer(5, offers()[5]).load(4, offers()[5].rate_iops)
    return maker


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_a_search_half_way(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(half_way(tmp_path)), terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x36"])
def test_the_result_of_a_search(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    maker = search_in(tmp_path).measure_points()
    maker.skip(*range(7, 12)).finish()
    write_record(maker.run_dir)
    assert snap_compare(app_on(maker, "result"), terminal_size=size, run_before=settle)

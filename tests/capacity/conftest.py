"""A capacity search that several files read."""

from __future__ import annotations

import pytest

from tests.app.search_maker import SearchMaker, search_in
from tui.library.build import build_record
from tui.model.record import RunRecord


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SearchMaker:
    """A capacity search that came to its end with 7 of 12 points."""
    maker = search_in(tmp_path_factory.mktemp("found")).measure_points()
    maker.skip(*range(7, 12)).finish()
    return maker


@pytest.fixture(scope="module")
def record(found: SearchMaker) -> RunRecord:
    return build_record(found.run_dir)

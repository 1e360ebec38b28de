"""Which files must be written before they are measured."""

from __future__ import annotations

import pytest

from tui.engine.preflight.destroy import file_need
from tui.model.plan import FileSpec
from tui.remote.answers import FileInfo

WANTED = FileSpec("/data/f", 64 * 2**20)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "missing"),
        (FileInfo(2**20, 2**20), "short"),
        (FileInfo(64 * 2**20, 0), "holes"),
        (FileInfo(64 * 2**20, 63 * 2**20), "holes"),
    ],
)
def test_file_that_is_not_there_whole_is_written(found: FileInfo | None, why: str) -> None:
    need = file_need(WANTED, found)
    assert need is not None
    assert need.why == why


@pytest.mark.parametrize(
    "found",
    [FileInfo(64 * 2**20, 64 * 2**20), FileInfo(64 * 2**20, 65 * 2**20), FileInfo(2**30, 2**30)],
)
def test_file_that_is_there_whole_is_left_alone(found: FileInfo) -> None:
    assert file_need(WANTED, found) is None

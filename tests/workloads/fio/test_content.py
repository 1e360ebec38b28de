"""What jobs write: whether an array can store less than is written."""

from __future__ import annotations

import pytest

from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        ({"refill_buffers": "1"}, ""),
        ({"scramble_buffers": "0"}, "scramble_buffers=0"),
        ({"scramble_buffers": "0", "refill_buffers": "1"}, ""),
        ({"scramble_buffers": "0", "zero_buffers": "1"}, "zero_buffers=1"),
        ({"buffer_compress_percentage": "50"}, "buffer_compress_percentage=50"),
    ],
)
def test_buffers_that_an_array_can_reduce_are_named(options: dict[str, str], said: str) -> None:
    (load,) = job_loads([JobOptions("w", {}, {"rw": "write", "bs": "64k", **options})])
    assert load.reducible == said


@pytest.mark.parametrize(
    ("options", "every"),
    [
        ({}, 0),
        ({"fsync": "1"}, 1),
        ({"fdatasync": "1000"}, 1000),
        ({"fsync": "32", "fdatasync": "8"}, 8),
        ({"sync_file_range": "write:16"}, 16),
        ({"sync": "dsync", "fsync": "32"}, 1),
        ({"fsync": "0"}, 0),
    ],
)
def test_the_number_of_writes_per_sync_is_known(options: dict[str, str], every: int) -> None:
    (load,) = job_loads([JobOptions("w", {}, {"rw": "write", "bs": "64k", **options})])
    assert load.synced_every == every


def test_of_reads_nothing_is_reported() -> None:
    (load,) = job_loads([JobOptions("r", {}, {"rw": "randread", "scramble_buffers": "0"})])
    assert load.reducible == ""

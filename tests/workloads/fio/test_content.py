"""What jobs write: whether an array can store less than is written."""

from __future__ import annotations

import pytest

from tui.workloads.fio.options import JobOptions, job_loads


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


def test_of_reads_nothing_is_reported() -> None:
    (load,) = job_loads([JobOptions("r", {}, {"rw": "randread", "scramble_buffers": "0"})])
    assert load.reducible == ""

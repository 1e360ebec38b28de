from __future__ import annotations

import json
import math
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.quantities import (
    parse_duration,
    parse_size,
    plain_duration,
    plain_size,
    short_duration,
)

SIZES = st.integers(min_value=0, max_value=2**63 - 1)
MICROSECONDS = st.integers(min_value=0, max_value=10**15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (4096, 4096), ("4096", 4096), ("4k", 4096), ("4K", 4096), ("4kb", 4096), ("4KiB", 4096),
        ("4096b", 4096),
        ("1m", 1 << 20), ("128G", 128 << 30), ("1T", 1 << 40), ("2p", 2 << 50), (" 4 k ", 4096),
        ("1.5G", 3 << 29),
        ("0", 0),
    ],
)  # fmt: skip
def test_a_size_is_bytes(text: object, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    "text", ["", "k", "4q", "-4k", "4kk", "0.3k", "4 k 4", "0x10", "٤k", True, 4.5, None, "9e9"]
)
def test_what_is_no_size_is_refused_with_what_was_found(text: object) -> None:
    with pytest.raises(ValueError, match="is not a size; expected "):
        parse_size(text)


def test_a_size_beyond_63_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="0 to 2\\^63-1 bytes"):
        parse_size("8192p")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (300, 300.0), (0.25, 0.25), ("300", 300.0), ("300s", 300.0), ("15m", 900.0), ("1h", 3600.0),
        ("1d", 86400.0),
        ("250ms", 0.25), ("20us", 0.00002), ("1h30m", 5400.0), ("1h 30m", 5400.0), ("1.5h", 5400.0),
        ("15M", 900.0),
    ],
)  # fmt: skip
def test_a_duration_is_seconds(text: object, expected: float) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "s", "5min", "1h30", "-5s", "5 x", "1h,30m", True, None, float("nan"), "0.1us"]
)
def test_what_is_no_duration_is_refused_with_what_was_found(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration; expected "):
        parse_duration(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (4 << 30, "4G"),
        (64 << 20, "64M"),
        (1 << 40, "1T"),
        (4096, "4k"),
        (1000, "1000"),
        (0, "0"),
        (1536, "1536"),
    ],
)
def test_a_size_is_written_as_short_as_exact(size: int, text: str) -> None:
    assert plain_size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(300, "300s"), (300.0, "300s"), (0.25, "250ms"), (0.0015, "1500us"), (0, "0s")],
)
def test_a_duration_is_written_in_one_unit(seconds: float, text: str) -> None:
    assert plain_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3600, "1h"), (5400, "90m"), (1800, "30m"), (90, "90s"), (2.5, "2.5s"), (0, "0s")],
)
def test_a_duration_is_reported_as_people_type_it(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
    assert parse_duration(text) == seconds


@given(SIZES)
def test_a_written_size_reads_back_exactly(size: int) -> None:
    assert parse_size(plain_size(size)) == size


@given(MICROSECONDS)
def test_a_written_duration_reads_back_to_the_microsecond(microseconds: int) -> None:
    seconds = microseconds / 1_000_000
    assert parse_duration(plain_duration(seconds)) == pytest.approx(seconds, abs=5e-7, rel=1e-12)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_clean_refusal(text: str) -> None:
    for parse in (parse_size, parse_duration):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert "is not a" in str(error)


@pytest.mark.parametrize("size", [512, 512_000, 4096, 3 << 20, 1 << 30])
def test_fio_reads_a_written_size_as_the_same_bytes(size: int) -> None:
    block = math.gcd(size, 1 << 20)
    done = _fio(
        "--ioengine=null", "--rw=read", f"--bs={plain_size(block)}", f"--size={plain_size(size)}"
    )
    assert done["read"]["io_bytes"] == size


def test_fio_reads_a_written_duration_as_the_same_time() -> None:
    done = _fio(
        "--ioengine=null",
        "--size=1M",
        "--time_based",
        f"--runtime={plain_duration(0.25)}",
        "--rate_iops=100",
    )
    # ms; 250 taken for seconds or microseconds would be far off
    assert 200 <= done["read"]["runtime"] <= 2000


def _fio(*options: str) -> dict[str, Any]:
    done = subprocess.run(
        ["fio", "--name=a", "--output-format=json", *options], capture_output=True, check=True
    )
    job: dict[str, Any] = json.loads(done.stdout)["jobs"][0]
    return job

"""Figures as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (5, "5"),
        (12.345, "12.3"),
        (999.4, "999"),
        (999.6, "1.00k"),
        (4318, "4.32k"),
        (390494, "390k"),
        (999_500, "1.00M"),
    ],
)
def test_iops(value: float, text: str) -> None:
    assert units.iops(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B/s"),
        (1023, "1023 B/s"),
        (1024, "1.00 KiB/s"),
        (9.17 * 2**30, "9.17 GiB/s"),
        (1023.9 * 2**20, "1.00 GiB/s"),
    ],
)
def test_bandwidth_is_in_binary_units(value: float, text: str) -> None:
    assert units.bandwidth(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (90, "90 ns"),
        (1500, "1.50 µs"),
        (229_000, "229 µs"),
        (999_700, "1.00 ms"),
        (17_354_000_000, "17.4 s"),
        (250e9, "250 s"),
    ],
)
def test_latency(ns: float, text: str) -> None:
    assert units.latency(ns) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (4096, "4 KiB"),
        (4 << 30, "4 GiB"),
        (3 << 29, "1.50 GiB"),
        (768 << 30, "768 GiB"),
    ],
)
def test_size_has_decimals_only_when_it_is_not_whole(size: int, text: str) -> None:
    assert units.size(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (45.9, "0:45"),
        (299, "4:59"),
        (3599, "59:59"),
        (3720, "1h 02m"),
        (183_600, "2d 03h"),
        (-5, "-0:05"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (59.6, "1 min"),
        (305, "5 min 5 s"),
        (1380, "23 min"),
        (3605, "1 h"),
        (3720, "1 h 2 min"),
        (183_600, "2 d 3 h"),
        (-5, "-5 s"),
    ],
)
def test_a_duration_in_text_names_its_units(seconds: float, text: str) -> None:
    assert units.span(seconds) == text


@pytest.mark.parametrize(
    "form",
    [
        units.iops,
        units.bandwidth,
        units.latency,
        units.size,
        units.count,
        units.duration,
        units.span,
        units.percent,
        units.exact,
    ],
)
def test_unknown_is_a_dash(form: object) -> None:
    assert callable(form)
    assert form(None) == "–"


def test_exact_counts_are_grouped() -> None:
    assert units.exact(19_999_616) == "19,999,616"


@given(st.floats(0, 9.9e12) | st.none())
def test_latency_in_a_table_keeps_its_width(value: float | None) -> None:
    assert len(units.latency_fixed(value)) == 7


def test_a_figure_without_a_unit_is_at_the_right_of_its_column() -> None:
    assert units.latency_fixed(units.Few(1e6)) == "   n<10"


def test_number_and_unit_come_apart_for_tables() -> None:
    assert units.latency_parts(229_000) == ("229", "µs")
    assert units.bandwidth_parts(None) == ("–", "")


def test_shares_are_written_in_one_place() -> None:
    of_python = re.compile(r"\{[^{}]*:[^{}]*%\}")  # "25%" where all else says "25 %"
    files = Path(units.__file__).parents[1].rglob("*.py")
    assert [path.name for path in files if of_python.search(path.read_text(encoding="utf-8"))] == []

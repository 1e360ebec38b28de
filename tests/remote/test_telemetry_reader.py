"""Lines of telemetry as a reader takes them: any pieces, any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.remote.telemetry import (
    Columns,
    Stamp,
    TelemetryLine,
    TelemetryLines,
    Values,
    parse_line,
)

NUMBERS = st.floats(0, 1e15).map(lambda value: float(f"{value:.4g}"))
NAMES = st.lists(
    st.from_regex(r"[a-z]{1,6}\.[a-zA-Z0-9:._-]{1,12}", fullmatch=True),
    min_size=1,
    max_size=8,
    unique=True,
)


@given(st.text())
def test_no_line_breaks_the_reader(line: str) -> None:
    found = parse_line(line)
    assert found is None or isinstance(found, TelemetryLine)


@given(st.binary(), st.binary())
def test_no_bytes_break_the_reader(first: bytes, then: bytes) -> None:
    reader = TelemetryLines()
    assert all(
        isinstance(each, TelemetryLine)
        for piece in (first, then, b"\n")
        for each in reader.feed(piece)
    )


@given(NAMES, st.data(), st.integers(1, 40))
def test_lines_come_back_whatever_the_pieces(
    names: list[str], data: st.DataObject, size: int
) -> None:
    count = len(names)
    values = data.draw(
        st.lists(st.lists(st.none() | NUMBERS, min_size=count, max_size=count), max_size=5)
    )
    words = [" ".join("-" if value is None else f"{value:.4g}" for value in row) for row in values]
    text = f"t 1700000000.25 12.50\nc {' '.join(names)}\n" + "".join(
        f"v 13.00 1.01 {row}\n" for row in words
    )
    raw, reader = text.encode(), TelemetryLines()
    found = [
        each
        for place in range(0, len(raw), size)
        for each in reader.feed(raw[place : place + size])
    ]
    assert found[:2] == [Stamp(1700000000250.0, 12.5), Columns(tuple(names))]
    assert [list(each.values) for each in found[2:] if isinstance(each, Values)] == values
    assert reader.damaged == 0


@pytest.mark.parametrize(
    "line",
    ["v 1 1", "v 2 1 x", "v 2 0 1", "v nan 1 1", "c", "c a a", "t x 1", "v 2 1 1_0", "u", "z 1"],
)
def test_what_is_no_line_is_counted(line: str) -> None:
    reader = TelemetryLines()
    assert [
        each for each in reader.feed(f"c a\n{line}\n".encode()) if not isinstance(each, Columns)
    ] == []
    assert reader.damaged == 1


def test_a_date_without_fractions_still_stamps() -> None:
    assert parse_line("t 1700000000.%N 12.50") == Stamp(1700000000000.0, 12.5)

"""Operations of a metadata benchmark as charts."""

from __future__ import annotations

import pytest

from tui.model.step_record import MetadataRecord, OperationRecord
from tui.text.line import plain_lines
from tui.view.operation_chart import operation_charts


def record(**rates: tuple[float, float, float]) -> MetadataRecord:
    return MetadataRecord(
        tool="mdtest",
        iterations=2,
        operations={
            name: OperationRecord(min=low, mean=mean, max=high, iterations=[low, high])
            for name, (low, mean, high) in rates.items()
        },
    )


METADATA = record(create=(10.0, 30.0, 100.0), stat=(1000.0, 5000.0, 10_000.0))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_higher_rate_is_further_right_and_a_mean_is_within_its_range(width: int) -> None:
    lines = {line.split()[0]: line for line in plain_lines(
        operation_charts(METADATA, width, 20, "braille")) if line.strip()}  # fmt: skip
    create, stat = (lines[name].split("   it. ")[0] for name in ("create", "stat"))
    assert create.rindex("━") < stat.index("━")
    assert all(line.index("━") < line.index("●") < line.rindex("━") for line in (create, stat))
    assert all(len(line) <= width for line in lines.values())


def test_iterations_are_next_to_the_ranges_where_there_is_room() -> None:
    wide, narrow = (
        "\n".join(plain_lines(operation_charts(METADATA, width, 20, "braille")))
        for width in (200, 80)
    )
    assert "-90 %" in wide and "it. 2" in wide
    assert "it. 2" not in narrow


@pytest.mark.parametrize("height", range(12))
def test_no_more_lines_than_there_is_room_for(height: int) -> None:
    assert len(operation_charts(METADATA, 200, height, "ascii")) <= height


def test_an_operation_without_a_rate_is_left_out() -> None:
    metadata = record(create=(0.0, 0.0, 0.0), stat=(1.0, 2.0, 3.0))
    text = "\n".join(plain_lines(operation_charts(metadata, 80, 20, "ascii")))
    assert "stat" in text and "create" not in text
    assert not operation_charts(record(create=(0.0, 0.0, 0.0)), 80, 20, "ascii")

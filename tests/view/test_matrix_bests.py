"""The best point of each block size, with its knee, as a table."""

from __future__ import annotations

from msgspec.structs import replace

from tests.samples.matrices import SIZES, cell
from tui.record.cells import Cell
from tui.record.matrix import tables_of
from tui.text.line import plain_lines
from tui.view.document import cell_text
from tui.view.matrix_bests import best_lines, best_table
from tui.view.matrix_chart import table_chart

JOBS = ("1", "2", "4", "8", "16")
FIGURES = {"4k": (31e3, 62e3, 118e3, 201e3, 214e3), "256k": (8.1e3, 11.9e3, 12.3e3, 12.2e3, 12.4e3)}


def swept() -> list[Cell]:
    return [
        replace(
            cell({"bs": bs, "numjobs": jobs}, figure, unit="iops"),
            io_bytes=float(size),
            bytes_per_s=figure * size,
        )
        for bs, figures in FIGURES.items()
        for size in [int(bs[:-1]) * SIZES[bs[-1]]]
        for jobs, figure in zip(JOBS, figures, strict=True)
    ]


def test_each_block_size_has_its_best_point_its_bandwidth_and_its_knee() -> None:
    (table,) = tables_of(swept())
    head, small, large, *notes = plain_lines(best_lines(table, 60))
    assert head.split() == [
        "bs",
        "best",
        "numjobs",
        "IOPS",
        "bandwidth",
        "◆",
        "knee",
        "vs",
        "knee",
    ]
    assert small.split() == ["4k", "16", "214k", "836", "MiB/s", "8", "+6.5", "%"]
    assert large.split() == ["256k", "2–16", "12.4k", "3.03", "GiB/s", "2", "+4.2", "%"]
    assert notes[0].startswith("a range: equally good")


def test_a_report_has_the_same_table() -> None:
    (table,) = tables_of(swept())
    found = best_table(table)
    assert found is not None
    said = [" ".join([column.title for column in found.columns])]
    said += [" ".join(cell_text(cell) for cell in row) for row in found.rows]
    shown = [" ".join(line.split()) for line in plain_lines(best_lines(table, 60))]
    assert [*said, found.note] == shown


def test_a_sweep_over_one_axis_has_no_table_of_best_points() -> None:
    (table,) = tables_of([replace(each, texts={"numjobs": each.texts["numjobs"]},
                                  numbers={"numjobs": each.numbers["numjobs"]})
                          for each in swept()[:5]])  # fmt: skip
    assert best_lines(table, 60) == []


def test_figures_are_drawn_on_a_logarithmic_scale_where_one_curve_is_far_below_another() -> None:
    far, near = (
        "\n".join(plain_lines(table_chart(table, 60, 16)))
        for cells in (swept(), [replace(each, value=(each.value or 0) ** 0.5) for each in swept()])
        for table in tables_of(cells)
    )
    assert "log scale" in far and "160k ┤" in far and "0 ┤" not in far.replace("0k ┤", "")
    assert "log scale" not in near and "0 ┤" in near

"""The workbook as a person meets it in an office program: what openpyxl reads back of it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tui.export.save import export
from tui.export.table_files import PRINTED
from tui.export.tables import scopes, tables_of
from tui.model.exporter import ExportSource
from tui.model.plain_data import parse_utc
from tui.model.record import RunRecord

FORMULAS = ("=1+1", "+49", "-2", "@SUM(1)")


def opened(source: ExportSource, folder: Path) -> Any:
    import openpyxl

    (path,) = export(source, "xlsx", str(folder / "run.xlsx"))
    return openpyxl.load_workbook(path)


def rows_of(sheet: Any) -> list[dict[str, Any]]:
    heading, *rows = sheet.iter_rows()
    return [{title.value: cell for title, cell in zip(heading, row, strict=True)} for row in rows]


def changed(source: ExportSource) -> RunRecord:
    """A copy without the thousands of rows of its series and histograms."""
    record = RunRecord.model_validate(source.record.model_dump(by_alias=True))
    for step in record.steps:
        step.series = None
        for _, dirs in scopes(step):
            for part in dirs.values():
                part.slat = part.clat = part.lat = None
    return record


@pytest.fixture(scope="module")
def book(plain: ExportSource, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return opened(plain, tmp_path_factory.mktemp("book"))


def test_there_is_a_sheet_a_table(book: Any) -> None:
    assert book.sheetnames == ["summary", "hosts", "series", "histogram"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_is_a_formula(text: str, plain: ExportSource, tmp_path: Path) -> None:
    record = changed(plain)
    record.target = text
    row = rows_of(opened(ExportSource(record, plain.run_dir), tmp_path)["summary"])[0]
    assert (row["target"].value, row["target"].data_type, row["target"].quotePrefix) == (
        text,
        "s",
        True,
    )


@pytest.mark.parametrize("text", ["007", "1e5", "2026-01-02", "10.1", "true", "5 µs"])
def test_a_text_that_looks_like_something_else_stays_as_it_is(
    text: str, plain: ExportSource, tmp_path: Path
) -> None:
    record = changed(plain)
    record.steps[0].name = text
    cells = [
        row["step_name"]
        for row in rows_of(opened(ExportSource(record, plain.run_dir), tmp_path)["summary"])
    ]
    assert {(cell.value, cell.data_type) for cell in cells} == {(text, "s")}


def test_every_cell_has_the_type_of_its_column(plain: ExportSource, book: Any) -> None:
    types = {"int": "n", "float": "n", "bool": "b", "text": "s", "time": "d"}
    for table in tables_of(plain.record):
        kinds = {column.name: types[column.kind] for column in table.columns}
        for row in rows_of(book[table.name])[:50]:
            found = {name: cell.data_type for name, cell in row.items() if cell.value is not None}
            assert found == {name: kinds[name] for name in found} and found


def test_figures_and_times_are_those_of_the_record(plain: ExportSource, book: Any) -> None:
    begun = parse_utc(plain.record.created_utc or "")
    assert begun is not None
    for row in rows_of(book["summary"]):
        part = plain.record.steps[0].results.aggregate[row["direction"].value]
        assert part.clat is not None
        assert (row["ios"].value, row["bytes"].value, row["iops"].value) == (
            part.ios,
            part.bytes,
            part.iops,
        )
        assert (row["clat_mean_ns"].value, row["clat_max_ns"].value) == (
            part.clat.mean_ns,
            part.clat.max_ns,
        )
        assert row["created_utc"].value == begun.replace(tzinfo=None)


def test_large_counts_are_shown_digit_by_digit(plain: ExportSource, tmp_path: Path) -> None:
    """The usual format of cells shows 12 digits as a power of ten."""
    record = changed(plain)
    record.steps[0].results.aggregate["read"].bytes = 123_456_789_012_345
    (cell,) = (
        row["bytes"]
        for row in rows_of(opened(ExportSource(record, plain.run_dir), tmp_path)["summary"])
        if row["direction"].value == "read"
    )
    assert (cell.value, cell.number_format) == (123_456_789_012_345, "#,##0")


def test_columns_are_wide_enough_for_what_they_show(book: Any) -> None:
    for sheet in book:
        wide = widths(sheet)
        for place, column in enumerate(sheet.iter_cols(max_row=min(sheet.max_row, 200)), 1):
            heading, *values = column
            assert wide[place] > len(heading.value)
            assert wide[place] > max(
                (len(shown(cell)) for cell in values if cell.value is not None), default=0
            )


def widths(sheet: Any) -> dict[int, float]:
    """Width by column, from 1: neighbours of one width are one entry of the file."""
    entries = sheet.column_dimensions.values()
    return {place: each.width for each in entries for place in range(each.min, each.max + 1)}


def shown(cell: Any) -> str:
    """What an office program shows: digits in groups, times with milliseconds."""
    if isinstance(cell.value, datetime):
        return f"{cell.value:%Y-%m-%d %H:%M:%S.000}"
    return f"{cell.value:,.0f}" if cell.number_format == "#,##0" else str(cell.value)


def test_the_heading_stays_and_filters_also_on_paper(book: Any) -> None:
    for sheet in book:
        assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", sheet.dimensions)
        assert (sheet.print_title_rows, sheet.page_setup.orientation) == ("$1:$1", "landscape")


def test_a_table_that_can_be_read_on_one_page_is_no_wider(book: Any) -> None:
    for sheet in book:
        narrow = sum(widths(sheet).values()) <= PRINTED
        assert (
            bool(sheet.sheet_properties.pageSetUpPr.fitToPage)
            == narrow
            == (sheet.title in ("series", "histogram"))
        )


@pytest.mark.parametrize(
    ("swept", "wanted"),
    [
        ((1, 16), [1, 16]),
        ((0.5, 2), [0.5, 2]),
        ((4096, "1m"), ["4096", "1m"]),
        ((True, False), ["True", "False"]),
    ],
)
def test_swept_numbers_are_numbers_unless_one_is_text(
    swept: tuple[Any, Any], wanted: list[Any], sweep: ExportSource, tmp_path: Path
) -> None:
    record = changed(sweep)
    assert record.matrix is not None and len(record.steps) == 2
    for step, value in zip(record.steps, swept, strict=True):
        step.point = {"bs": value}
    found = dict.fromkeys(
        row["point_bs"].value
        for row in rows_of(opened(ExportSource(record, sweep.run_dir), tmp_path)["summary"])
    )
    assert list(found) == wanted

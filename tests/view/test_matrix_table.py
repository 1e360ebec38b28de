"""Matrices as tables: which point stands where, and what is told of them in text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.matrices import CEPH, MIB, cell, ceph, line
from tui.metrics.registry import BY_UNIT
from tui.record.cells import Cell, value_texts
from tui.record.matrix import MatrixTable, main_axis, tables_of
from tui.text.line import plain_lines
from tui.view.matrix import MatrixStyle, knee_texts, scale_of, table_lines, table_notes, title_of


def text_of(table: MatrixTable, width: int = 80, *, details: bool = True) -> list[str]:
    return plain_lines(table_lines(table, width, MatrixStyle(details)))


def grid(down: list[str], across: list[str], **options: object) -> list[Cell]:
    return [
        cell({"bs": bs, "numjobs": jobs}, 100.0 * (y + 1) * (x + 1), **options)  # type: ignore[arg-type]
        for y, bs in enumerate(down)
        for x, jobs in enumerate(across)
    ]


# -- where points stand


def test_one_axis_is_a_row_a_point() -> None:
    (table,) = tables_of(line("numjobs", ["1", "2", "4"], [10, 20, 30]))
    assert [row.labels for row in table.rows] == [("1",), ("2",), ("4",)]
    assert not table.is_grid


def test_of_two_axes_the_first_goes_down_and_the_last_across() -> None:
    (table,) = tables_of(grid(["4k", "1M"], ["1", "2", "4"]))
    assert (table.down, table.across, table.columns) == (("bs",), "numjobs", ("1", "2", "4"))
    assert [row.labels for row in table.rows] == [("4k",), ("1M",)]
    assert [found.value for found in table.rows[1].cells if found] == [200.0, 400.0, 600.0]


def test_of_more_axes_all_but_the_last_go_down() -> None:
    points = [
        {"rw": rw, "bs": bs, "numjobs": n}
        for rw in ("read", "write")
        for bs in ("4k", "1M")
        for n in "12"
    ]
    (table,) = tables_of([cell(point, 1.0) for point in points])
    assert [row.labels for row in table.rows] == [
        ("read", "4k"),
        ("read", "1M"),
        ("write", "4k"),
        ("write", "1M"),
    ]


def test_points_that_fill_no_grid_are_rows_as_they_were_given() -> None:
    (table,) = tables_of(ceph())
    assert [row.labels for row in table.rows] == [(str(jobs), bs) for jobs, bs, _ in CEPH]


def test_in_few_lines_holes_are_left_open() -> None:
    (table,) = tables_of(ceph(), compact=True)
    assert [row.labels[0] for row in table.rows] == ["1", "2", "4", "8", "16"]
    assert table.columns[:3] == ("4k", "8k", "16k")
    assert table.columns[-1] == "32M"
    assert [found is not None for found in table.rows[1].cells].count(True) == 2


def test_members_of_a_suite_share_a_table_unless_they_are_swept() -> None:
    swept = line("bs", ["4k", "8k"], [1, 2])
    cells = [cell({}, 1.0, profile="a/x"), *swept, cell({}, 2.0, profile="a/y")]
    tables = tables_of(cells)
    assert [[found.profile for found in table.cells] for table in tables] == [
        ["a/x", "a/y"],
        ["test/p", "test/p"],
    ]


def test_a_repetition_alone_is_a_table_of_one_row() -> None:
    (table,) = tables_of([cell({}, 1.0, 2.0, 3.0)])
    assert [row.labels for row in table.rows] == [("test/p",)]


def test_a_chart_goes_along_the_longest_axis_of_numbers() -> None:
    assert main_axis(grid(["4k", "8k", "16k"], ["1", "2"]), ("bs", "numjobs")) == "bs"
    assert main_axis(grid(["4k", "8k"], ["1", "2"]), ("bs", "numjobs")) == "numjobs"
    assert main_axis([cell({"rw": "read"}, 1.0), cell({"rw": "write"}, 1.0)], ("rw",)) is None


# -- knees and scaling


def test_knees_are_marked_along_every_axis_of_a_sweep_that_fills_no_grid() -> None:
    (table,) = tables_of(ceph())
    assert [(found.axis, found.cell.name) for found in table.knees] == [
        ("numjobs", "numjobs=8 bs=1M"),
        ("bs", "numjobs=1 bs=128k"),
        ("bs", "numjobs=16 bs=128k"),
    ]


def test_latencies_have_no_knee() -> None:
    cells = [cell({"n": str(n)}, min(n, 4) * 1.0, unit="ns") for n in (1, 2, 4, 8, 16)]
    assert tables_of(cells)[0].knees == ()


def test_a_point_without_a_figure_is_no_part_of_the_curve() -> None:
    cells = line("n", ["1", "2", "4"], [1, 2, 2])
    assert [found.cell.name for found in tables_of([*cells, *line("n", ["8"], [2])])[0].knees] == [
        "n=2"
    ]
    assert tables_of([*cells, cell({"n": "8"}, state="failed")])[0].knees == ()


def test_hosts_are_judged_by_linear_scaling() -> None:
    (table,) = tables_of(line("hosts", ["1", "2", "4"], [100, 190, 300]))
    assert [round(share, 3) for share in table.scaling.values()] == [1.0, 0.95, 0.75]
    assert "scaling" in text_of(table)[0]
    assert [" ".join(each.split()[2:4]) for each in text_of(table)[1:]] == ["100 %", "95 %", "75 %"]


def test_a_knee_is_reported_with_its_latency_and_what_comes_after() -> None:
    figures = zip("1248", [100.0, 200.0, 300.0, 310.0], strict=True)
    cells = [cell({"numjobs": n, "bs": "1M"}, value, p99_ns=1_200_000.0) for n, value in figures]
    assert knee_texts(tables_of(cells)[0]) == [
        "knee at numjobs=4 with bs=1M (300 IOPS, p99 1.20 ms); 8 gives +3.3 %"
    ]


# -- as text


def test_a_grid_has_both_axes_in_its_heading() -> None:
    assert text_of(tables_of(grid(["4k", "1M"], ["1", "2"]))[0]) == [
        "      numjobs",
        "bs          1        2",
        "4k        100      200",
        "1M        200      400",
    ]


def test_repetitions_show_their_interval_and_their_lowest_and_highest() -> None:
    cells = [
        cell({"bs": bs, "n": n}, 100.0, 90.0, 110.0, ci=0.021) for bs in ("4k", "8k") for n in "12"
    ]
    lines = text_of(tables_of(cells)[0])
    assert lines[2].split() == ["4k", "100", "±2.1", "%", "100", "±2.1", "%"]
    assert lines[3].split() == ["90–110", "90–110"]


def test_states_are_marked_in_grids_and_said_in_rows() -> None:
    states = ["done", "failed", "cut", "running", "missing"]
    grid_cells = [
        cell({"a": a, "b": str(n)}, *([5.0] if s == "done" else []), state=s)  # type: ignore[arg-type]
        for a in "xy"
        for n, s in enumerate(states)
    ]
    (table,) = tables_of(grid_cells)
    assert text_of(table)[2].split() == ["x", "5", "✗", "!", "›", "·"]
    assert table_notes([table])[0] == "✗ failed  ! stopped  › running  · not measured"
    rows = text_of(tables_of([cell({"b": str(n)}, state=s) for n, s in enumerate(states)])[0])  # type: ignore[arg-type]
    assert [each.split()[-1] for each in rows[2:]] == ["failed", "stopped", "running", "measured"]


def test_repetitions_that_were_not_needed_are_not_missed() -> None:
    enough, cut = cell({"b": "1"}, 5.0, 5.0, 5.0, planned=10), cell({"b": "2"}, 5.0, 5.0, planned=3)
    lines = text_of(tables_of([replace_skipped(enough, 7), cut])[0])
    assert lines[0].split()[:4] == ["b", "IOPS", "min–max", "n"]
    assert [each.split()[3] for each in lines[1:]] == ["3", "2/3"]


def replace_skipped(found: Cell, skipped: int) -> Cell:
    from msgspec.structs import replace

    return replace(found, skipped=skipped)


def test_a_suite_shows_each_figure_with_its_own_unit() -> None:
    cells = [
        cell({}, 8745.0, profile="v/read-4k"),
        cell({}, 13 * 2.0**30, unit="bytes_per_s", what="read bandwidth", profile="v/linear-read"),
        cell({}, 41_200.0, unit="ops_per_s", what="creates", profile="v/mdtest"),
    ]
    (table,) = tables_of(cells)
    assert [" ".join(each.split()) for each in text_of(table)[1:]] == [
        "v/read-4k read IOPS 8.74k IOPS",
        "v/linear-read read bandwidth 13.0 GiB/s",
        "v/mdtest creates 41.2k ops/s",
    ]


def test_bandwidths_of_a_table_have_one_unit() -> None:
    (table,) = tables_of(ceph())
    assert title_of(table) == "read bandwidth, MiB/s"
    assert scale_of(table.cells).text(6.0 * MIB) == "6.00"
    assert scale_of(line("n", ["1", "2"], [1, 2])).unit == "IOPS"


def test_columns_that_find_no_room_continue_below() -> None:
    lines = text_of(tables_of(grid(["4k", "8k"], [str(2**n) for n in range(12)]))[0], 60)
    assert max(map(len, lines)) <= 60
    assert [each.partition(" ")[0] for each in lines].count("4k") == 2


@settings(max_examples=40, deadline=None)
@given(
    down=st.integers(1, 6),
    across=st.integers(1, 12),
    width=st.integers(40, 140),
    repeated=st.booleans(),
    details=st.booleans(),
)
def test_every_figure_is_in_the_text_and_no_line_is_too_wide(
    down: int, across: int, width: int, repeated: bool, details: bool
) -> None:
    figures = [100.0, 90.0, 110.0] if repeated else [100.0]
    points = [{"a": f"v{y}", "b": str(x)} for y in range(down) for x in range(across)]
    (table,) = tables_of([cell(point, *figures, ci=0.02 if repeated else None) for point in points])
    lines = text_of(table, width, details=details)
    assert max(map(len, lines)) <= width
    assert sum(each.split().count("100") for each in lines) == down * across


# -- names and figures


def test_values_are_written_as_the_plan_wrote_them() -> None:
    assert value_texts("ceph/randread bs=4k numjobs=2", {"bs": 4096, "numjobs": 2}) == {
        "bs": "4k",
        "numjobs": "2",
    }
    assert value_texts(
        "p/x rw=read mode=a b hosts=2", {"rw": "read", "mode": "a b", "hosts": 2}
    ) == {
        "rw": "read",
        "mode": "a b",
        "hosts": "2",
    }
    assert value_texts("something else", {"bs": 4096}) == {"bs": "4096"}


def test_figures_are_short() -> None:
    assert BY_UNIT["iops"].text(390_494.0) == "390k"
    assert BY_UNIT["bytes_per_s"].text(9_846_000_000.0) == "9.17 GiB/s"
    assert BY_UNIT["ns"].text(229_000.0) == "229 µs"
    assert BY_UNIT["ops_per_s"].text(None) == "–"

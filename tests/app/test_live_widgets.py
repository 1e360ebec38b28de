"""The parts that the Live screen is drawn with."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region

from tui.app.screens.live_layout import HEADS, ROOMY_LINES, Shown, curve_lines, rooms_of
from tui.app.terminal.theme import DARK
from tui.app.widgets.graph import PlotArea, merge_values, painted, with_level
from tui.app.widgets.graph_panels import HeatPanel
from tui.app.widgets.lines import LACKING, Lines, cells, changed_span, merged, shown_as
from tui.app.widgets.run_panels import PercentileRow, PercentileTable, shape_of, shown_columns
from tui.metrics.buckets import CURVE_PERCENTILES
from tui.metrics.series import HeatBins
from tui.metrics.steady import SteadyWindow
from tui.model.event import Buckets
from tui.text.line import Line, Run, diverging, with_cell
from tui.text.plot import TimeAxis, axis_of, spread_over
from tui.text.scale import nice_ceiling
from tui.view.live_health import apart_text, named, with_others


def test_directions_in_the_table_of_latencies_are_distinguished_where_there_is_room() -> None:
    table = PercentileTable()
    names = ("read", "read-objects")
    table.given = tuple(PercentileRow(name, "read", "last 1 s", {}) for name in names)
    starts = {
        width: [line.plain.split()[0] for line in table.build(width, 3)[1:]] for width in (118, 78)
    }
    assert starts == {118: ["read", "read-objects"], 78: ["read", "read…"]}


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "M"]), max_size=30)
RUNS = st.lists(st.tuples(TEXTS, st.sampled_from(["text", "value", "read"])), max_size=5)


WIDE_BEFORE = [("0000000⺀", "text"), ("00⺁", "text")]
WIDE_AFTER = [("0", "text"), ("0", "text"), ("00000000", "text"), ("0⺀", "text")]


@given(RUNS, RUNS)
@example(WIDE_BEFORE, WIDE_AFTER)
@example([("⺀", "text")], [("⺁", "text")])
def test_outside_the_changed_span_two_lines_are_the_same(a: list[Run], b: list[Run]) -> None:
    before, after = Line.of(*a), Line.of(*b)
    span = changed_span(before, after)
    if span is None:
        assert [*_cells(before)] == [*_cells(after)]
    else:
        assert _cells(before)[: span[0]] == _cells(after)[: span[0]]
        if before.width == after.width:
            assert _cells(before)[span[1] :] == _cells(after)[span[1] :]


@given(RUNS, RUNS)
@example(WIDE_BEFORE, WIDE_AFTER)
def test_no_wide_character_is_cut_by_a_changed_span(a: list[Run], b: list[Run]) -> None:
    before, after = Line.of(*a), Line.of(*b)
    for edge in changed_span(before, after) or ():
        for line in (before, after):
            halves = cells(line)[edge - 1 : edge + 1] if 0 < edge < line.width else []
            assert not (
                len(halves) == 2 and halves[1][0].endswith(" 1") and cell_len(halves[0][0]) == 2
            )


def test_a_combining_character_changes_its_own_cell() -> None:
    before, after = Line.of(("cafe 1", "text")), Line.of(("cafe\u0301 1", "text"))
    assert len(cells(after)) == after.width == 6
    assert changed_span(before, after) == (3, 4)


class Padded(Lines):
    """Lines with a frame and padding."""

    DEFAULT_CSS = "Padded { border: round red; padding: 1 3; height: 6; }"
    text = "12345"

    def build(self, width: int, height: int) -> list[Line]:
        return [Line.of(("IOPS ", "label"), (self.text, "value"), (" k", "label"))]


class PaddedApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield Padded()


async def test_the_cells_that_changed_are_repainted_also_inside_of_frame_and_padding() -> None:
    async with PaddedApp().run_test(size=(40, 10)) as pilot:
        widget = pilot.app.query_one(Padded)
        await pilot.pause()
        widget._exchange_repaint_regions()
        widget.text = "12349"
        widget.update_lines()
        assert list(widget._exchange_repaint_regions()) == [Region(4 + 9, 2, 1, 1)]


def _cells(line: Line) -> list[tuple[str, str]]:
    return [
        (character, key)
        for text, key in line.runs
        for character in text
        for _ in range(cell_len(character))
    ]


def test_a_changed_figure_damages_its_own_columns_only() -> None:
    before = Line.of(("● weka-01", "text"), ("  22.2k", "text"), ("  running", "label"))
    after = Line.of(("● weka-01", "text"), ("  22.4k", "text"), ("  running", "label"))
    assert changed_span(before, after) == (14, 15)


def test_a_row_that_gets_the_cursor_is_repainted_whole() -> None:
    line = Line.of(("weka-01", "text"))
    span = changed_span(line, Line(line.runs, "cursor"))
    assert span is not None and span[0] == 0 and span[1] >= 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("46.9k IOPS ± 1.9 % at p99 < 2 ms", "46.9k IOPS +-1.9 % at p99 < 2 ms"),
        ("-8.2 … -4.4 %", "-8.2...-4.4 %"),
        ("p99 ≤ 169 µs", "p99 <=169 us"),
        ("within ±3 %", "within +-3%"),
        ("±100 %", "+-100%"),
        ("known within ±2.1 ms", "known within +-2.1ms"),
        ("48.2k IOPS ±2.1%", "48.2k IOPS+-2.1%"),
        ("governor, l…", "governor, l~"),
    ],
)
def test_spreads_ranges_and_bounds_are_distinguished_from_estimates_in_ascii(
    text: str, shown: str
) -> None:
    assert shown_as(text, LACKING["ascii"]) == shown
    assert len(shown) == len(text), "columns to the right stay where they are"
    assert shown_as(text, LACKING["block"]) == text


def test_blanks_join_their_neighbours_but_not_where_they_would_show() -> None:
    assert [*merged([("a", "read"), ("  ", "text"), ("b", "read")])] == [("a  b", "read")]
    assert [*merged([(" OK ", "badge"), ("  ", "text")])] == [(" OK ", "badge"), ("  ", "text")]
    assert [*merged([("▄", "read~"), ("  ", "text")])] == [("▄", "read~"), ("  ", "text")]
    assert [*merged([("weka-01  ", "text"), (" ", "thumb~")])] == [
        ("weka-01  ", "text"),
        (" ", "thumb~"),
    ]


@given(st.floats(1e-3, 1e15))
def test_the_top_of_a_scale_holds_the_value_with_little_air(value: float) -> None:
    top = nice_ceiling(value)
    assert value * 0.998 <= top <= value * 1.6


@pytest.mark.parametrize(("value", "top"), [(373_000, 400_000), (1.42e9, 1.5e9), (990e6, 1e9)])
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert nice_ceiling(value) == pytest.approx(top)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.integers(1, 400))
def test_peaks_survive_the_spreading_over_columns(values: list[float], columns: int) -> None:
    shown = spread_over(values, 7, TimeAxis(7, len(values)), columns, peaks=True)
    assert len(shown) == columns
    assert max(value for value in shown if value is not None) == max(values)


@given(st.integers(1, 2000), st.integers(1, 300))
def test_every_second_has_one_column_and_every_column_seconds(span: int, columns: int) -> None:
    axis = TimeAxis(5, span)
    for second in range(5, 5 + span, max(1, span // 50)):
        first, end = axis.cell(axis.column_of(second, columns), columns)
        assert first <= second < end
    assert axis.cell(columns - 1, columns)[1] == 5 + span


def test_the_axis_holds_what_has_passed_and_at_most_the_plan() -> None:
    assert [axis_of(3, 300.0, elapsed).span_s for elapsed in (1, 31, 100, 290)] == [
        12,
        35,
        105,
        300,
    ]
    assert [axis_of(0, None, elapsed).span_s for elapsed in (1, 61, 3000, 5000)] == [
        12,
        70,
        3000,
        5400,
    ]
    assert axis_of(0, 60.0, 75.0).span_s == 80
    assert axis_of(0, 10.0, 2.0).span_s == 10
    assert axis_of(0, 60.0, 50.0).labels(60).split() == ["0:00", "0:10", "0:20", "0:30", "0:40"]


def test_a_cell_is_replaced_in_the_run_that_holds_it() -> None:
    runs = [("abc", "read"), ("def", "text")]
    assert with_cell(runs, 3, ("|", "accent")) == [("abc", "read"), ("|", "accent"), ("ef", "text")]
    assert with_cell(runs, 9, ("|", "accent")) == runs


@pytest.mark.parametrize(
    ("share", "bar"),
    [
        (-3, "━━━━│    "),
        (-0.75, " ━━━│    "),
        (-0.1, "   ╺│    "),
        (0.5, "    │━━  "),
        (0, "    │    "),
        (None, " " * 9),
    ],
)
def test_a_bar_goes_to_the_side_of_its_sign(share: float | None, bar: str) -> None:
    drawn = Line.of(*diverging(share, 1.0, "bad", "braille")).plain
    assert drawn == bar


def test_a_heat_map_draws_as_many_rows_as_it_has_room_for_or_none() -> None:
    bins, panel = HeatBins(0), HeatPanel("ascii")
    bins.add(10.0, 11.0, Buckets([500], [20_000]))
    panel.cells.show([bins])
    for width, height in product(range(70), range(12)):
        assert len(panel.build(width, height)) in (0, height)


def test_a_heat_map_that_gets_narrow_keeps_the_time_of_its_cursor_and_p99_longest() -> None:
    bins, panel = HeatBins(0), HeatPanel("braille")
    bins.add(10.0, 11.0, Buckets([500], [20_000]))
    panel.show(
        [bins], "Latency over time · read clat · weka-01", "read", TimeAxis(0, 60, cursor_s=10), {}
    )
    seen: dict[str, str] = {}
    for room in range(120, 20, -1):
        title, legend = panel._heading(room, CURVE_PERCENTILES, [])
        names = (word for text, _ in legend for word in text.split() if word[0] in "ap")
        seen.setdefault(" ".join(names), title)
    assert [*seen] == ["at p50 p99 p99.9", "at p50 p99", "at p99", "at", ""]
    assert [*seen.values()][:2] == [
        "Latency over time · read clat · weka-01",
        "read clat · weka-01",
    ]


def test_the_legend_has_a_mark_for_each_line_that_is_drawn() -> None:
    bins, panel = HeatBins(0), HeatPanel("braille")
    bins.add(0.0, 1.0, Buckets([300, 700], [500_000, 500_000]))
    told = {50.0: 100_000.0, 99.0: 150_000.0, 99.9: 151_000.0}
    panel.cells.show([bins])
    panel.show([bins], "Latency", "read", TimeAxis(0, 1), told)
    drawn = panel.cells.lines(TimeAxis(0, 1), 1, 5)
    marks = [text[0] for text, _ in panel._heading(120, drawn, [])[1]]
    assert drawn == (50.0, 99.0), "p99.9 is in the row of p99"
    assert marks == ["─", "━", "p"], "its value is in the title, without a line"


def test_a_gap_is_not_a_zero() -> None:
    assert merge_values([None, None]) is None and merge_values([None, 4.0, 0.0]) == 2.0


def test_an_area_grows_with_its_values() -> None:
    rows = painted([0.25, 0.5, 1.0], (), "read", PlotArea(3, 2, 1.0, "block"))
    assert ["".join(text for text, _ in row) for row in rows] == ["  █", "▄██"]


def test_a_hanging_area_is_the_same_upside_down() -> None:
    rows = painted([0.25, 0.5, 1.0], (), "read", PlotArea(3, 2, 1.0, "block", hanging=True))
    first, second = rows
    # upper half, in reverse
    assert [(text, key.endswith("~")) for text, key in first] == [("▄", True), ("██", False)]
    assert "".join(text for text, _ in second) == "  █"


def test_a_front_area_stands_on_the_colour_of_the_one_behind() -> None:
    (row,) = painted([1.0], [0.5], "latency", PlotArea(1, 1, 1.0, "block"))
    assert row == (("▄", "latency/latency*45"),)


def test_ascii_areas_are_ascii() -> None:
    rows = painted([0.2, 1.0], [0.1, 0.5], "read", PlotArea(2, 3, 1.0, "ascii", hanging=True))
    assert all(text.isascii() for row in rows for text, _ in row)


def test_the_shape_of_a_distribution_shows_single_outliers() -> None:
    shape = shape_of([(100, 10_000), (150, 500), (900, 1)], (100, 900), 40, "block")
    assert len(shape) == 40 and shape[0] == "▇" and shape[-1] != " " and " " * 10 in shape


def test_narrow_percentile_tables_lose_the_mean_before_the_tail() -> None:
    assert [name for _, name in shown_columns(80)] == [
        "mean",
        "p50",
        "p95",
        "p99",
        "p99.5",
        "p99.9",
        "max",
    ]
    assert [name for _, name in shown_columns(50)] == ["p99", "p99.5", "p99.9", "max"]


def test_a_level_crosses_an_area_and_keeps_its_colour() -> None:
    rows = painted([4.0, 4.0, 1.0], [], "read", PlotArea(3, 2, 4.0, "block"))
    drawn = with_level(rows, [2.5, None, 2.5], PlotArea(3, 2, 4.0, "block"))
    cells = [[(mark, key) for text, key in row for mark in text] for row in drawn]
    assert cells[0][0] == ("▁", "bright/read") and cells[0][1][0] == "█"
    assert cells[0][2] == ("▁", "bright"), "above the area it stands alone"
    assert with_level(rows, [], PlotArea(3, 2, 4.0, "block")) == rows


def test_a_level_under_a_hanging_area_grows_downwards_and_ascii_has_marks_of_its_own() -> None:
    rows = painted([0.0, 0.0], [], "write", PlotArea(2, 2, 4.0, "ascii", hanging=True))
    drawn = with_level(rows, [0.1, 4.0], PlotArea(2, 2, 4.0, "ascii", hanging=True))
    assert (
        "".join(text for text, _ in drawn[0])[0] == "'"
        and "".join(text for text, _ in drawn[1])[1] == "_"
    )


@pytest.mark.parametrize("height", range(24, 80, 4))
@pytest.mark.parametrize("hosts", [1, 4])
def test_where_all_hosts_have_a_line_the_graphs_take_what_is_left(height: int, hosts: int) -> None:
    rooms = rooms_of(height, Shown(hosts, 1), roomy=height >= ROOMY_LINES)
    assert rooms.graphs + rooms.heat + rooms.pulse + hosts + HEADS == height and not rooms.folds


@pytest.mark.parametrize(("others", "lines"), [(6, 32), (0, 47)])
def test_a_search_grows_with_the_terminal_and_leaves_graphs_and_hosts_their_share(
    others: int, lines: int
) -> None:
    assert curve_lines(53, 19, others, 4) == lines
    assert curve_lines(29, 19, 6, 200) == 19, "of many hosts the first ones have room"


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (40, "stall, silent-host, straggler"),
        (32, "stall, silent-host, 1 more"),
        (18, "stall, 2 more"),
        (10, ""),
    ],
)
def test_other_findings_are_named_as_far_as_they_fit(room: int, said: str) -> None:
    runs = named(["stall", "silent-host", "straggler"], room)
    assert sum(len(text) for text, _ in runs) <= room
    assert "".join(text for text, _ in runs).removeprefix("  + ") == said


def test_other_findings_take_the_room_of_the_advice_but_not_of_the_finding() -> None:
    first = [("! ", "warn"), ("4 s from 50 s on; the host froze", "bright")]
    found = {room: with_others(first, ["steady-state"], room) for room in (60, 40, 20, 8)}
    texts = {room: "".join(text for text, _ in runs) for room, runs in found.items()}
    assert texts == {
        60: "! 4 s from 50 s on; the host froze  + steady-state",
        40: "! 4 s from 50 s on  + steady-state",
        20: "! 4 s from 50 s on",
        8: "! 4 s from 50 s on; the host froze",
    }


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ((100.0, 121.0, 100.0), "21 % apart, no trend"),
        ((110.0, 100.0, 90.0), "20 % apart, falling"),
    ],
)
def test_what_goes_up_and_down_has_no_trend(means: tuple[float, ...], said: str) -> None:
    middle = sum(means) / len(means)
    window = SteadyWindow(
        means, (max(means) - min(means)) / 100, abs(means[-1] - means[0]) / middle
    )
    assert apart_text(window) == said

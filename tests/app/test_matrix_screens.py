"""Sweeps, suites and repetitions on the screens: the matrix that fills, and the one that is read
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import MatrixMaker, figures_of, line_sweep, suite, sweep
from tests.app.stage import SMALL, WIDE, Stage, app_on, stage
from tui.app.dialogs.confirm import Confirm
from tui.app.screens.result import ResultScreen
from tui.app.screens.runs_preview import Around, preview
from tui.app.widgets.lines import Lines
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.summary import summarize
from tui.model.event import StepEnded
from tui.model.record import Finding
from tui.record.cells import cells_of_record
from tui.text.line import plain_lines
from tui.view.matrix import CURSOR

Compare = Callable[..., bool]


def half_way(home: Path) -> MatrixMaker:
    """Twelve of twenty steps: one failed, one at work."""
    maker = sweep(home)
    figures = dict(enumerate(figures_of()[:11]))
    failed = figures.pop(7)
    maker.steps_done({index: figure for index, figure in figures.items() if index < 7})
    maker.start_step(7).end_step(7, failed, broken=True)
    maker.steps_done({index: figure for index, figure in figures.items() if index > 7})
    return maker.start_step(11)


def finished(maker: MatrixMaker, figures: list[float]) -> MatrixMaker:
    """The whole matrix, with its record."""
    maker.steps_done(dict(enumerate(figures))).finish()
    write_record(maker.run_dir)
    return maker


def matrix_text(app: Stage) -> list[str]:
    return app.text_of("#live-matrix").splitlines()


# -- Live


async def test_finished_cells_have_their_figure_and_others_their_state(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path)) as (app, _):
        rows = {line.split()[0]: line.split()[1:] for line in matrix_text(app)[1:]}
        assert rows["bs"][:8] == ["↓", "numjobs", "→", "1", "2", "4", "8", "16"]
        assert rows["4k"][:6] == ["31.0k", "62.0k", "118k", "201k", "◆", "214k"]
        assert rows["16k"][:6] == ["27.0k", "53.0k", "✗", "141k", "◆", "146k"]
        assert rows["64k"][:5] == ["18.0k", "›", "·", "·", "·"]
        matrix, graphs = (
            app.screen.query_one("#live-matrix", Lines),
            app.screen.query_one("#live-graphs"),
        )
        assert matrix.region.y < graphs.region.y
        (marked,) = [text for line in matrix.painted for text, role in line.runs if role == CURSOR]
        assert marked.strip() == "›"


async def test_the_heading_says_how_far_all_steps_are_and_what_is_left(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path)) as (app, _):
        heading = matrix_text(app)[0]
        assert "Matrix read IOPS" in heading and heading.endswith("11/20 points")
        header = app.text_of("#live-header")
        # 9 steps of 20 s and what is around them
        assert "step 12/20" in header and " 3:" in header and "left" in header


async def test_a_step_that_failed_is_named(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path).measure(3), WIDE) as (app, _):
        assert "bs=16k numjobs=4: " in app.text_of("#live-messages")
        assert "1 step failed  bs=16k numjobs=4" in app.text_of("#live-health")


async def test_what_was_wrong_with_a_host_in_a_step_before_is_not_said_of_it_now(
    tmp_path: Path,
) -> None:
    async with stage(half_way(tmp_path)) as (app, _):
        assert "EIO" in app.text_of("#live-messages")
        assert "EIO" not in app.text_of("#live-hosts")


async def test_the_cell_at_work_shows_the_rate_of_now(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"]).start_step(0)
    maker.measure(4)
    async with stage(maker) as (app, _):
        cell = matrix_text(app)[2].split()[1]
        assert cell.startswith("›") and cell[-1] == "k"


async def test_a_step_that_is_made_again_shows_its_new_figure(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"])
    maker.start_step(0).end_step(0, 1000.0, broken=True)
    async with stage(maker) as (app, pilot):
        assert matrix_text(app)[2].split()[1] == "✗"
        maker.start_step(0, attempt=2).end_step(0, 5000.0)
        await app.tick(pilot, maker)
        assert matrix_text(app)[2].split()[1] == "5.00k"


async def test_repetitions_that_were_not_needed_leave_a_cell_done(tmp_path: Path) -> None:
    maker = sweep(tmp_path, ["4k"], ["1", "2"], times=2).steps_done({0: 5000.0})
    maker.add(StepEnded(t=maker.t + 1, step=1, skipped=True, reason="known well enough"))
    async with stage(maker) as (app, _):
        assert matrix_text(app)[2].split()[1] == "5.00k"
        assert "1/2 points" in matrix_text(app)[0]


async def test_at_80x24_graphs_percentiles_and_hosts_stay(tmp_path: Path) -> None:
    maker = half_way(tmp_path)
    async with stage(maker, SMALL) as (app, _):
        assert "IOPS" in app.text_of("#live-iops") and "p99.9" in app.text_of("#live-percentiles")
        assert "weka-01" in app.text_of("#live-hosts")
        assert any(line.startswith("64k") for line in matrix_text(app)), (
            "the row at work is in sight"
        )
        assert matrix_text(app)[1].split()[:4] == ["bs", "↓", "numjobs", "→"], (
            "and what its columns are"
        )
        assert all(len(line) <= 80 for line in matrix_text(app))


async def test_m_gives_the_matrix_more_room_then_none_then_some(tmp_path: Path) -> None:
    async with stage(sweep(tmp_path, [f"{2**n}k" for n in range(12)]), SMALL) as (app, pilot):
        some = len(matrix_text(app))
        await pilot.press("m")
        await app.settle(pilot)
        assert len(matrix_text(app)) > some
        assert not app.screen.query_one("#live-hosts").display
        await pilot.press("m")
        await app.settle(pilot)
        assert not app.screen.query_one("#live-matrix").display
        assert app.screen.query_one("#live-hosts").display
        await pilot.press("m")
        await app.settle(pilot)
        assert len(matrix_text(app)) == some


async def test_a_run_of_one_measurement_has_no_matrix(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(2), READS).begin().go().measure(2)
    async with stage(maker) as (app, pilot):
        assert not app.screen.query_one("#live-matrix").display
        await pilot.press("m")
        await app.settle(pilot)
        assert not app.screen.query_one("#live-matrix").display


async def test_only_cells_that_changed_are_painted(tmp_path: Path) -> None:
    maker = half_way(tmp_path)
    async with stage(maker) as (app, pilot):
        panel = app.screen.query_one("#live-matrix")
        damaged: list[tuple[int, int, int]] = []
        panel.damage = lambda *span: damaged.append(span)  # type: ignore[attr-defined]
        await app.tick(pilot)
        assert damaged == []
        maker.end_step(11, 34_000.0).start_step(12)
        await app.tick(pilot, maker)
        assert {row for row, _, _ in damaged} == {0, 4}, "heading, the row of both cells"
        assert sum(end - start for row, start, end in damaged if row) <= 20


async def test_members_of_a_suite_have_a_row_each(tmp_path: Path) -> None:
    maker = suite(tmp_path).steps_done({0: 2_000_000.0, 1: 400_000.0}).start_step(2)
    async with stage(maker) as (app, _):
        rows = [" ".join(line.split()) for line in matrix_text(app)]
        assert rows[2:] == [
            "weka/read-throughput read bandwidth 7.63 GiB/s",
            "weka/read-iops read IOPS 400k IOPS",
            "weka/read-latency read mean latency › running",
        ]


# -- Result


async def test_the_result_begins_with_the_matrix_and_its_best_point(tmp_path: Path) -> None:
    async with stage(finished(sweep(tmp_path), figures_of()), step="result") as (app, _):
        page = app.text_of("#result-page")
        assert "best of 5 points with 4 KiB blocks: bs=4k numjobs=16" in page
        assert "› bs=4k numjobs=16  mean" in page and "214k" in page
        (best,) = [line for line in page.splitlines() if "+6.5 %" in line]
        assert best.split()[:6] == ["4k", "16", "214k", "836", "MiB/s", "8"]
        assert "Over time" not in page


def test_profiles_of_a_suite_have_their_verdicts_and_runs_names_those_of_a_finding(
    tmp_path: Path,
) -> None:
    maker = suite(tmp_path)
    maker.steps_done({0: 5120.0, 1: 214_000.0, 2: 9100.0}).finish()
    write_record(maker.run_dir)
    record = load_record(maker.run_dir)
    record.verdict = "valid-with-warnings"
    record.findings = [
        Finding(id="stall", severity="warning", scope={"step": 1}, message="it stalled")
    ]
    assert [cell.verdict for cell in cells_of_record(record)] == [
        "valid",
        "valid-with-warnings",
        "valid",
    ]
    (maker.run_dir / "run.json").write_text(record.model_dump_json())
    run = summarize(maker.run_dir)
    assert run is not None and run.findings[0].points == ["weka/read-iops"]
    assert "it stalled (weka/read-iops)" in "\n".join(plain_lines(preview(run, Around(), 80)))


async def test_arrows_move_over_the_cells_and_enter_shows_the_figures_of_one(
    tmp_path: Path,
) -> None:
    async with stage(finished(sweep(tmp_path), figures_of()), SMALL, step="result") as (app, pilot):
        await pilot.press("down", "j", "left", "left", "right", "k")
        await app.settle(pilot)
        assert "› bs=16k numjobs=8  mean" in app.text_of("#result-page")
        await pilot.press("enter")
        await app.settle(pilot)
        page = app.text_of("#result-page")
        assert "Over time" in page and "lab/randread bs=16k numjobs=8" in page and "9 of 20" in page
        await pilot.press("escape")
        await app.settle(pilot)
        assert "› bs=16k numjobs=8  mean" in app.text_of("#result-page")
        assert isinstance(app.screen, ResultScreen)


async def test_the_cell_under_the_cursor_is_in_sight(tmp_path: Path) -> None:
    async with stage(finished(sweep(tmp_path), figures_of()), SMALL, step="result") as (app, pilot):
        await pilot.press("G", "down", "down", "down")
        await app.settle(pilot)
        screen = app.screen
        assert isinstance(screen, ResultScreen)
        lines = app.text_of("#result-page").splitlines()
        at = next(y for y, line in enumerate(lines) if line.startswith("256k"))
        assert (
            screen.scroll.scroll_offset.y
            <= at
            < screen.scroll.scroll_offset.y + screen.scroll.size.height
        )


async def test_i_b_and_l_put_another_figure_into_the_cells(tmp_path: Path) -> None:
    async with stage(finished(sweep(tmp_path), figures_of()), step="result") as (app, pilot):
        await pilot.press("b")
        await app.settle(pilot)
        assert "read bandwidth, GiB/s" in app.text_of("#result-page")
        rows = app.text_of("#result-page").splitlines()
        (small,) = [row.replace("◆", "").split() for row in rows if row.startswith("4k ")][:1]
        assert abs(float(small[5]) - 214_000 * 4096 / 2**30) < 0.01
        await pilot.press("l")
        await app.settle(pilot)
        assert "read p99 latency" in app.text_of("#result-page")
        await pilot.press("l")
        await app.settle(pilot)
        assert "214k" in app.text_of("#result-page")


async def test_repetitions_of_a_cell_are_together(tmp_path: Path) -> None:
    figures = [value * factor for value in figures_of(["4k"]) for factor in (0.9, 1.0, 1.1)]
    maker = finished(sweep(tmp_path, ["4k"], times=3), figures)
    async with stage(maker, step="result") as (app, pilot):
        assert "3 repetitions: 193k–235k" in app.text_of("#result-page")
        await pilot.press("enter")
        await app.settle(pilot)
        page = app.text_of("#result-page")
        assert "numjobs=16  #3" in page and "numjobs=8  #" not in page


async def test_a_run_that_lacks_steps_can_be_resumed_after_a_question(tmp_path: Path) -> None:
    maker = half_way(tmp_path).finish("partial", "stopped on request", broken=host_names(2))
    write_record(maker.run_dir)
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("u")
        dialog = await question_of(app, pilot)
        labels = [answer.label for answer in dialog.answers]
        assert labels == ["Not now", "Measure 9 steps", "Include failed: 10 steps"]
        await pilot.press("n")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen)


async def test_a_complete_run_lacks_nothing(tmp_path: Path) -> None:
    async with stage(finished(line_sweep(tmp_path), figures_of(["4k"])), step="result") as (
        app,
        pilot,
    ):
        await pilot.press("u")
        await app.settle(pilot)
        assert not isinstance(app.screen, Confirm)
        assert "nothing to resume" in app.told


async def question_of(app: Stage, pilot: Pilot[None]) -> Confirm:
    """Wait for a question; what asked it goes on once it is answered."""
    for _ in range(200):
        await pilot.pause(0.02)
        if isinstance(app.screen, Confirm):
            return app.screen
    raise AssertionError("no question")


# -- how it looks


async def settle(pilot: Pilot[None]) -> None:
    """Wait until all is painted; the record's path is another one in each test."""
    app = pilot.app
    assert isinstance(app, Stage)
    await app.settle_whole(pilot)
    if isinstance(app.screen, ResultScreen) and app.screen.page is not None:
        app.screen.show(replace(app.screen.page, path=Path("/home/me/runs/run.json")))
        await app.settle(pilot)


def test_live_matrix(snap_compare: Compare, tmp_path: Path) -> None:
    maker = half_way(tmp_path)
    maker.measure(12)
    assert snap_compare(app_on(maker), terminal_size=WIDE, run_before=settle)


def test_result_of_two_axes(snap_compare: Compare, tmp_path: Path) -> None:
    maker = finished(sweep(tmp_path), figures_of())
    assert snap_compare(app_on(maker, "result"), terminal_size=WIDE, run_before=settle)


async def test_the_matrix_is_ascii_where_the_terminal_is(tmp_path: Path) -> None:
    async with stage(half_way(tmp_path), symbols="ascii") as (app, _):
        assert app.text_of("#live-matrix").isascii()


async def test_the_result_is_ascii_where_the_terminal_is(tmp_path: Path) -> None:
    async with stage(finished(sweep(tmp_path), figures_of()), step="result", symbols="ascii") as (
        app,
        _,
    ):
        assert app.text_of("#result-page").isascii()

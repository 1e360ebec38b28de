"""The Runs screen: every run that was kept."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from tests.app.journal_maker import READS, RunMaker, host_names, make_run, preset_text
from tests.app.stage import SMALL, Stage, stage, text_of
from tests.patience import seen
from tui.app.app import recent_runs
from tui.app.dialogs.confirm import Confirm, Refusal
from tui.app.dialogs.text_entry import LineDialog
from tui.app.frame.step_screen import KeyBar
from tui.app.screens.live import LiveScreen
from tui.app.screens.result import ResultScreen
from tui.app.screens.runs import RunsScreen
from tui.app.screens.runs_preview import FACTS_CELLS
from tui.app.widgets.form import TextInput
from tui.app.widgets.lines import TextPane
from tui.app.widgets.picklist import PickList
from tui.library.build import write_record
from tui.library.summary import RunSummary, read_marks, write_summary

STATIC = "#runs-empty"


@pytest.fixture
def newest(tmp_path: Path) -> RunMaker:
    """Three runs: complete, partial, and one that was cut off; the newest is returned."""
    partial = make_run(tmp_path, 18, "mapr/seq-write").fail("weka-01", "no-space", "full")
    write_record(partial.finish("partial", "1 problem", broken=["weka-01"]).run_dir)
    make_run(tmp_path, 19, "weka/write-iops", 1)
    maker = make_run(tmp_path, 20, "weka/read-iops", 4).finish()
    write_record(maker.run_dir)
    return maker


def rows(app: Stage) -> list[str]:
    screen = app.screen
    assert isinstance(screen, RunsScreen)
    lines = text_of(screen.picklist).splitlines()[1:]
    return [" ".join(line.split()) for line in lines[: len(screen.picklist.rows)]]


def order_of(app: Stage) -> str:
    """The title of the column that the list is sorted by, as long as it has that column."""
    assert isinstance(app.screen, RunsScreen)
    picklist = app.screen.picklist
    return picklist.sort.title if picklist.sort in picklist.columns else ""


async def test_runs_are_listed_newest_first_with_state_profile_hosts_and_headline(
    newest: RunMaker,
) -> None:
    async with stage(newest, step="runs") as (app, _):
        assert [row.split()[1] for row in rows(app)] == ["short", "interrupted", "partial"]
        first = rows(app)[0]
        assert (
            first.startswith("! short 11-20 10:15 weka/read-iops 4 read")
            and "IOPS" in first
            and "µs" in first
        )


async def test_an_invalid_run_is_never_listed_without_its_mark(newest: RunMaker) -> None:
    path = newest.run_dir / "run.json"
    record = json.loads(path.read_text())
    found = [
        {
            "id": "storage-traffic",
            "severity": "error",
            "message": "read: only 0 % of the bytes moved on weka-01",
        }
    ]
    path.write_text(json.dumps({**record, "verdict": "invalid", "findings": found}))
    async with stage(newest, step="runs") as (app, pilot):
        assert rows(app)[0].startswith("✗ INVALID: storage traffic")
        await pilot.resize_terminal(160, 36)
        await app.settle(pilot)
        assert rows(app)[0].startswith("✗ INVALID storage-traffic 2026-11-20 10:15")
        assert rows(app)[0].count("INVALID") == 1  # once is enough: there is room for the checks


async def test_a_failed_run_says_why_in_place_of_its_figures(newest: RunMaker) -> None:
    why = "weka-01: the directory /mnt/weka/fio does not exist"
    run_dir = newest.run_dir.parent / "20261121T101530Z-weka-gone-0021"
    utc = "2026-11-21T10:15:30.000000Z"
    failed = RunMaker(run_dir, host_names(1), READS, tag="weka/gone", utc=utc).begin()
    write_record(failed.finish("failed", why, broken=failed.hosts).run_dir)
    async with stage(newest, step="runs", size=(120, 36)) as (app, pilot):
        (row,) = [row for row in rows(app) if "weka/gone" in row]
        assert row.startswith("✗ FAILED") and row.endswith(why)
        await pilot.resize_terminal(*SMALL)
        await app.settle(pilot)
        assert any("the directory" in row for row in rows(app))


async def test_enter_opens_the_result(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        app.engine_lives = False
        await pilot.press("enter")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen) and app.screen.run_dir == newest.run_dir


async def test_p_plays_a_run(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("p")
        await app.settle(pilot)
        assert isinstance(app.screen, LiveScreen) and app.live.feed.replay


async def test_the_filter_narrows_as_one_types_and_escape_clears_it(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("slash", *"mapr")
        assert len(rows(app)) == 1 and "mapr/seq-write" in rows(app)[0]
        await pilot.press("escape")
        assert len(rows(app)) == 3


async def test_a_filter_that_is_opened_again_is_replaced_by_what_is_typed(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("slash", *"mapr", "enter", "slash", *"profile:weka")
        assert app.screen.query_one(TextInput).value == "profile:weka" and len(rows(app)) == 2
        await pilot.press("enter", "slash", "right", *" state:complete")
        assert (
            app.screen.query_one(TextInput).value == "profile:weka state:complete"
            and len(rows(app)) == 1
        )


async def test_a_filter_without_a_hit_says_how_to_get_out(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("slash", *"zzz")
        note = app.screen.query_one(STATIC)
        assert note.display and "Esc clears" in str(note.render())
        await pilot.press("enter")
        assert str(app.screen.query_one(KeyBar).render()) == "/ filter  i import  ? help  q quit"
        await pilot.press("escape")
        assert "c compare" in str(app.screen.query_one(KeyBar).render())


async def test_an_empty_store_says_how_to_make_a_run(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "elsewhere" / "runs" / "x", ["h1"])
    app = Stage(tmp_path)
    app.first_step = "runs"
    async with app.run_test(size=SMALL) as pilot:
        await app.settle(pilot)
        assert maker.run_dir.exists()
        assert "press Enter on Review" in str(app.screen.query_one(STATIC).render())
        assert str(app.screen.query_one(KeyBar).render()) == "i import  ? help  q quit"


async def test_deleting_asks_and_no_is_the_default(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        app.engine_lives = False
        await pilot.press("D")
        assert isinstance(app.screen, Confirm)
        assert app.screen.query_one(".dialog").has_class("-harmful")
        await pilot.press("enter")
        assert newest.run_dir.exists()
        await pilot.press("D", "y")
        await app.settle(pilot)
        assert not newest.run_dir.exists() and len(rows(app)) == 2


async def test_a_running_run_cannot_be_deleted(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("D")
        assert not isinstance(app.screen, Confirm) and newest.run_dir.exists()


async def test_a_note_appears_in_the_list(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("n", *"hot", "enter")
        await app.settle(pilot)
        assert "hot" in rows(app)[0].split()


async def test_the_filter_is_the_language_of_runs_list(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("slash", *"profile:weka state:complete")
        assert len(rows(app)) == 1 and "weka/read-iops" in rows(app)[0]


async def test_a_filter_that_means_nothing_is_reported(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("slash", *"hots:x")
        assert "unknown filter key 'hots:' (did you mean 'host'?)" in str(
            app.screen.query_one(STATIC).render()
        )


async def test_a_star_is_given_and_taken_away(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("asterisk")
        await app.settle(pilot)
        assert " * weka/read-iops " in rows(app)[0]
        await pilot.press("asterisk")
        await app.settle(pilot)
        assert "*" not in rows(app)[0]


async def test_tags_and_title_are_typed_over_what_was_there(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("t", *"nightly lab=b", "enter")
        await app.settle(pilot)
        await pilot.press("t", *" x", "enter")
        await app.settle(pilot)
        await pilot.press("T", *"before tuning", "enter")
        await app.settle(pilot)
        assert "before tuning" in app.screen_text()
        assert read_marks(newest.run_dir).tags == {"nightly": "", "lab": "b", "x": ""}


async def test_tags_that_are_none_are_refused_by_name(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("t", *"=a", "enter")
        await app.settle(pilot)
        assert "'=a' is not a tag" in str(app.screen.query_one(Refusal).content)


async def test_the_list_is_sorted_by_the_next_column(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("s")
        assert [row.split()[4] for row in rows(app)] == [
            "mapr/seq-write",
            "weka/read-iops",
            "weka/write-iops",
        ]
        await pilot.press("S")
        assert rows(app)[-1].split()[4] == "mapr/seq-write"


async def test_deleting_says_what_hosts_still_hold(newest: RunMaker) -> None:
    path = newest.run_dir / "run.json"
    record = json.loads(path.read_text())
    record["hosts"][0]["files_left"] = {"paths": ["/mnt/a"], "bytes": 1 << 30}
    path.write_text(json.dumps(record))
    async with stage(newest, step="runs") as (app, pilot):
        app.engine_lives = False
        await pilot.press("D")
        await app.settle(pilot)
        assert isinstance(app.screen, Confirm) and "still holds 1 file " in app.screen.body


async def test_a_wide_terminal_shows_the_run_under_the_cursor(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        pane = app.screen.query_one("#runs-preview", TextPane)
        assert pane.display
        await pilot.press("j", "j")
        await app.settle(pilot)
        shown = "\n".join(line.plain for line in pane.builder(40))
        assert "mapr/seq-write" in shown and "1 problem" in shown


async def test_a_large_terminal_shows_what_the_run_under_the_cursor_measured(
    newest: RunMaker,
) -> None:
    def drawn(pane: TextPane) -> list[str]:
        return [
            title
            for title in ("All hosts, clat", "read IOPS", "read latency")
            if shown(pane, title)
        ]

    def shown(pane: TextPane, text: str) -> bool:
        return any(line.plain[FACTS_CELLS:].strip().startswith(text) for line in pane._built or ())

    async with stage(newest, step="runs") as (app, pilot):
        pane = app.screen.query_one("#runs-preview", TextPane)
        await pilot.press("n")
        await pilot.resize_terminal(200, 60)
        await app.settle(pilot)
        await pilot.press("escape")
        assert pane._built is not None and pane.query_one(Static).size.height == len(pane._built), (
            "all of it is in sight"
        )
        assert drawn(pane) == ["All hosts, clat", "read IOPS", "read latency"]
        await pilot.press("j")
        await app.settle(pilot)
        assert not drawn(pane), "a run without a record has nothing to draw"
    async with stage(newest, step="runs") as (app, _):
        pane = app.screen.query_one("#runs-preview", TextPane)
        assert not drawn(pane) and "ended early" in "\n".join(
            line.plain for line in pane._built or ()
        ), "findings come first"


async def test_what_a_run_measured_appears_when_it_ends_under_the_cursor(newest: RunMaker) -> None:
    late = make_run(newest.run_dir.parent.parent, 21, "weka/read-iops", 4)

    def is_drawn(pane: TextPane) -> bool:
        return any(
            line.plain[FACTS_CELLS:].strip().startswith("read IOPS") for line in pane.builder(190)
        )

    async with stage(newest, step="runs") as (app, pilot):
        pane = app.screen.query_one("#runs-preview", TextPane)
        await pilot.resize_terminal(200, 60)
        await app.settle(pilot)
        assert not is_drawn(pane)
        write_record(late.finish().run_dir)
        assert isinstance(app.screen, RunsScreen)
        app.screen.load()
        await app.settle(pilot)
        assert is_drawn(pane)


async def test_a_narrow_terminal_shows_what_is_worth_knowing_until_tab_shows_the_run_whole(
    newest: RunMaker,
) -> None:
    async with stage(newest, SMALL, step="runs") as (app, pilot):
        pane = app.screen.query_one("#runs-preview", TextPane)
        brief = [line.plain for line in pane.builder(70)]
        height = pane.region.height
        assert brief[0].startswith("weka/read-iops  read ")
        assert brief[1].startswith("valid with warnings") and brief[2].startswith("! ended")
        await pilot.press("tab")
        await app.settle(pilot)
        assert pane.has_focus and pane.region.height >= height
        shown = "\n".join(line.plain for line in pane.builder(70))
        hosts = next(line for line in shown.split("\n") if line.startswith("hosts"))
        assert hosts.split()[1:] == ["weka-[01-04]"]
        await pilot.press("escape")
        await app.settle(pilot)
        assert pane.region.height == height and app.screen.query_one(PickList).has_focus
    async with stage(newest, (60, 16), step="runs") as (app, pilot):
        assert not app.screen.query_one("#runs-preview", TextPane).display
        await pilot.press("s", "s", "s")
        await app.settle(pilot)
        assert order_of(app) == "headline" and "IOPS" in rows(app)[0]


async def test_a_narrow_list_has_the_verdict_in_place_of_the_state(newest: RunMaker) -> None:
    async with stage(newest, SMALL, step="runs") as (app, pilot):
        assert [row.split(" 11-")[0] for row in rows(app)] == [
            "! short",
            "✗ interrupted",
            "! partial",
        ]
        assert "IOPS" in rows(app)[0]
        await pilot.press("space", "s", "s")
        await app.settle(pilot)
        assert rows(app)[0].startswith("A ! short ") and order_of(app) == "hosts"
        await pilot.resize_terminal(140, 36)
        await app.settle(pilot)
        assert rows(app)[0].startswith("A ! complete ") and "! short" in rows(app)[0]
        assert order_of(app) == "hosts"


async def test_runs_of_others_are_listed_and_not_changed(newest: RunMaker, tmp_path: Path) -> None:
    team = tmp_path / "team"
    shutil.copytree(newest.run_dir, team / "20261121T101530Z-theirs-0001")
    (tmp_path / "shared-runs").write_text(f"{team}\n{tmp_path / 'gone'}\n")
    async with stage(newest, step="runs") as (app, pilot):
        app.engine_lives = False
        assert len(rows(app)) == 4
        assert any("gone: cannot be read" in toast for toast in app.told)
        for key in ("asterisk", "n", "t", "T", "D", "C", "u"):
            await pilot.press(key)
            await app.settle(pilot)
            assert isinstance(app.screen, RunsScreen), key
        assert sum("it is read-only" in toast for toast in app.told) == 7
        await pilot.press("enter")
        await app.settle(pilot)
        assert isinstance(app.screen, ResultScreen) and app.screen.run_dir.parent == team


async def test_a_list_of_shared_directories_that_cannot_be_read_is_reported(
    newest: RunMaker, tmp_path: Path
) -> None:
    (tmp_path / "shared-runs").write_bytes(b"\xff\xfe")
    async with stage(newest, step="runs") as (app, pilot):
        assert any("shared-runs: cannot be read: is not UTF-8 text" in each for each in app.told)
        assert recent_runs(app) == []
        await pilot.press("asterisk")
        assert isinstance(app.screen, RunsScreen)


async def test_who_leaves_while_details_are_read_leaves_quietly(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("tab")
        app.screen.set_focus(None)
        await app.screen.query_one("#runs-body").remove()  # as it is for a moment when the app ends
        await app.settle(pilot)


async def test_a_thousand_runs_are_listed_quickly(tmp_path: Path) -> None:
    for number in range(1000):
        run_id = f"20261120T{number // 60:02}{number % 60:02}00Z-weka-read-iops-{number:04x}"
        run_dir = tmp_path / "runs" / run_id
        run_dir.mkdir(parents=True)
        (run_dir / "run.json").write_text("{}")
        summary = RunSummary(
            run_id,
            "2026-11-20T10:15:30Z",
            "weka/read-iops",
            ["a", "b"],
            "complete",
            "read 390k IOPS",
        )
        write_summary(run_dir, summary)
    app = Stage(tmp_path)
    app.first_step = "runs"
    began = time.process_time()
    async with app.run_test(size=SMALL) as pilot:
        await app.settle(pilot)
        screen = app.screen
        assert isinstance(screen, RunsScreen) and len(screen.picklist.rows) == 1000
        assert time.process_time() - began < 3.0
        await pilot.press("G")
        assert screen.picklist.cursor_key == f"20261120T{0:02}{0:02}00Z-weka-read-iops-0000"


async def test_i_imports_what_was_measured_elsewhere_and_opens_it(newest: RunMaker) -> None:
    kept = Path(__file__).parents[1] / "data" / "fio" / "text" / "nfs-client-1.txt"
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("i")
        await app.settle(pilot)
        assert isinstance(app.screen, LineDialog)
        app.screen.query_one(TextInput).value = str(kept)
        await pilot.press("enter")
        await app.settle(pilot)
        await seen(lambda: isinstance(app.screen, ResultScreen), "the result of the imported run")
        assert isinstance(app.screen, ResultScreen) and "imported-fio" in app.screen.run_dir.name


async def test_what_cannot_be_imported_is_reported_with_its_place(
    newest: RunMaker, tmp_path: Path
) -> None:
    kept = tmp_path / "letter.txt"
    kept.write_text("nothing of the kind\n")
    async with stage(newest, step="runs") as (app, pilot):
        await pilot.press("i")
        await app.settle(pilot)
        assert isinstance(app.screen, LineDialog)
        app.screen.query_one(TextInput).value = str(kept)
        await pilot.press("enter")
        await app.settle(pilot)
        told = f"{kept}: contains no readable output of fio"
        await seen(lambda: told in str(app.screen.query_one(Refusal).content), told)


async def test_the_profile_is_shown_whole_before_less_important_columns(newest: RunMaker) -> None:
    long = "mapr/nfs-randread-8k"
    async with stage(newest, step="runs", size=(120, 36)) as (app, _):
        assert isinstance(app.screen, RunsScreen)
        runs = [
            replace(run, profile=long, title="after the firmware was changed")
            for run in app.screen.runs
        ]
        app.screen.picklist.set_rows(runs)
        line = app.screen.picklist.render_line(1).text
        assert f" {long} " in line and "headline" in app.screen.picklist.render_line(0).text


async def test_a_click_on_a_heading_sorts_and_again_turns_round(newest: RunMaker) -> None:
    async with stage(newest, step="runs") as (app, pilot):
        at = text_of(app.screen.query_one(PickList)).splitlines()[0].index("hosts") + 3
        for first, symbol in (("weka/read-iops", "▾"), ("weka/write-iops", "▴")):
            await pilot.click("#runs-list", offset=(at, 1))
            assert (
                f"hosts{symbol}" in text_of(app.screen.query_one(PickList))
                and first in rows(app)[0]
            )


async def test_runs_of_a_profile_are_told_apart_at_80_columns(newest: RunMaker) -> None:
    async with stage(newest, SMALL, step="runs") as (app, _):
        assert isinstance(app.screen, RunsScreen)
        first = app.screen.runs[0]
        assert "µs" in rows(app)[0], "the tail latency fits"
        app.screen.runs = [
            replace(first, run_id=f"x-{depth}", params={"iodepth": str(depth)}) for depth in (4, 16)
        ]
        app.screen.show_rows()
        assert ["iodepth=4 " in rows(app)[0], "iodepth=16 " in rows(app)[1]] == [True, True]


async def test_a_profile_that_was_edited_since_is_named_in_the_preview(
    newest: RunMaker, tmp_path: Path
) -> None:
    own = tmp_path / "profiles" / "weka" / "read-iops.yaml"
    own.parent.mkdir(parents=True)
    async with stage(newest, step="runs") as (app, pilot):
        pane = app.screen.query_one("#runs-preview", TextPane)
        assert not any("edited since" in line.plain for line in pane.builder(100))
        own.write_text(preset_text("weka/read-iops").replace("default: 192", "default: 8"))
        assert isinstance(app.screen, RunsScreen)
        app.screen.preview.forget_profiles()
        await app.settle(pilot)
        assert any("edited since: numjobs" in line.plain for line in pane.builder(100))

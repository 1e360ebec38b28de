"""The shell around the screens: moving, help, palette, size, leaving, crashing."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from tests.app.driver import User, opened, options, write_inventory
from tests.patience import PATIENCE_S, wait_until
from tui.app.app import BenchtuiApp
from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.help import HelpScreen
from tui.app.widgets.lines import TextPane
from tui.app.widgets.picklist import PickList
from tui.cli import open_app
from tui.engine.control import NotRunning, request
from tui.engine.launch import launch
from tui.engine.plan.plan import Choices, build_plan
from tui.journal.rundir import is_running

OLD_RUN = Path(__file__).parents[1] / "data" / "runs" / "plain"


async def test_digits_jump_between_the_steps(home: Path) -> None:
    async with opened(options(home)) as user:
        for key, scope in (("2", "profiles"), ("3", "review"), ("6", "runs"), ("1", "hosts")):
            await user.press(key)
            await user.sees(lambda scope=scope: user.scope == scope)  # type: ignore[misc]


async def test_steps_and_footer_keys_can_be_clicked(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.pilot.click("TopBar", offset=(22, 0))
        await user.sees(lambda: user.scope == "profiles")
        await user.pilot.click("TopBar", offset=(12, 0))
        await user.sees(lambda: user.scope == "hosts")
        await user.pilot.click("KeyBar", offset=(14, 0))  # Space tick
        await user.sees(lambda: user.app.selection.ticked == ["local"])


async def test_hints_in_the_footer_can_be_clicked_like_keys(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("slash")
        await user.types("weka")
        assert user.text.splitlines()[-1].startswith(" Enter done  Esc clear  Up Down choose")
        await user.pilot.click("KeyBar", offset=(28, 0))  # Down
        await user.sees(lambda: user.cursor == "weka-02")
        await user.pilot.click("KeyBar", offset=(15, 0))  # Esc
        await user.sees(lambda: "4 of 9 shown" not in user.text)


async def test_a_key_typed_ahead_of_enter_in_a_filter_is_not_part_of_the_filter(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("slash")
        await user.types("weka")
        for key, character in (("enter", "\r"), ("space", " ")):
            user.app.post_message(events.Key(key, character))
        await user.sees(lambda: user.app.selection.ticked == ["weka-01"])
        assert user.app.screen.query_one(".filter", Input).value == "weka"


async def test_what_toasts_tell_is_no_markup(home: Path) -> None:
    async with opened(options(home)) as user:
        user.app.screen.notify("profile [my] lacks [/x")
        user.app.notify("host [h1] says [/y")
        await user.sees("profile [my] lacks [/x")
        await user.sees("host [h1] says [/y")


async def test_live_and_result_need_a_run(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("4")
        assert user.scope == "hosts"
        await user.is_told("no run yet")
        await user.press("5")
        assert user.scope == "hosts"


async def test_5_shows_the_last_saved_result_until_it_is_deleted(home: Path) -> None:
    (home / "runs").mkdir()
    run_id = json.loads((OLD_RUN / "run.json").read_text())["run_id"]
    shutil.copytree(OLD_RUN, home / "runs" / run_id)
    async with opened(options(home)) as user:
        await user.press("5")
        await user.sees(lambda: user.scope == "result")
        await user.press("6")
        await user.sees(lambda: user.cursor == run_id)
        await user.press("D", "y")
        await user.sees("No runs yet")
        await user.press("5")
        await user.is_told("no run yet")


async def test_in_a_filter_the_footer_lists_no_keys_that_are_letters_and_arrows_move(
    home: Path,
) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("slash")
        await user.types("mapr")
        await user.press("down")
        assert user.cursor == "mapr-2"
        footer = user.text.splitlines()[-1]
        assert "Esc clear" in footer and "tick" not in footer
        await user.press("enter")
        assert (
            "Space tick" in user.text.splitlines()[-1]
            and "c check" in user.text.splitlines()[-1]
        )


def test_hosts_may_be_given_in_several_options(home: Path) -> None:
    parser = argparse.ArgumentParser()
    open_app.configure(parser)
    args = parser.parse_args(
        ["--hosts", "local", "--inventory", str(write_inventory(home)), "--hosts", "weka-[1-2]"]
    )
    assert args.hosts == ["local", "weka-[1-2]"]


async def test_the_top_line_names_the_steps_and_what_is_chosen(home: Path) -> None:
    async with opened(options(home, hosts=("local",), profile="weka/read-iops")) as user:
        top = user.text.splitlines()[0]
        assert top.split() == [
            "benchtui", "¹Hosts", "²Profiles", "³Review", "⁴Live", "⁵Result", "⁶Runs", "local", "·",
            "weka/read-iops",
        ]  # fmt: skip
        assert len(top.rstrip()) <= 80


async def test_question_mark_and_f1_show_the_keys(home: Path) -> None:
    for key in ("question_mark", "f1"):
        async with opened(options(home)) as user:
            await user.press(key)
            assert isinstance(user.app.screen, HelpScreen)
            await user.sees("Tick or untick the host")
            await user.press("escape")
            assert user.scope == "hosts"


async def test_the_palette_finds_an_action_by_its_help_and_runs_it(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("ctrl+p")
        await user.types("choose what to run")
        await user.sees("Go to Profiles")
        await user.press("enter")
        await user.sees(lambda: user.scope == "profiles")


async def test_the_list_of_keys_scrolls_while_a_search_is_typed(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("question_mark")
        pane = user.app.screen.query_one(TextPane)
        await user.press("down", "pagedown")
        await user.sees(lambda: pane.scroll_offset.y > 1)
        await user.press("pageup", "up")
        await user.sees(lambda: pane.scroll_offset.y == 0)


async def test_the_cursor_of_the_palette_moves_while_a_search_is_typed(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("ctrl+p")
        picklist = user.app.screen.query_one(PickList)
        first = picklist.cursor_key
        await user.press("pagedown", "down")
        assert picklist.cursor_key != first
        await user.press("up", "pageup")
        assert picklist.cursor_key == first


async def test_the_palette_acts_on_the_screen_it_was_opened_on(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("ctrl+p")
        await user.types("untick them all")
        await user.sees("Tick every host")
        await user.press("enter")
        await user.sees(lambda: user.app.selection.ticked == ["local"])


async def test_no_cursor_ever_blinks(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("slash")
        fields = list(user.app.screen.query(Input))
        await user.press("escape", "n")
        await user.sees("Add hosts")
        fields += user.app.screen.query(Input)
        await user.press("escape", "ctrl+p")
        await user.pilot.pause()
        fields += user.app.screen.query(Input)
        assert len(fields) >= 7
        assert not any(field.cursor_blink for field in fields)


async def test_f2_changes_the_colours(home: Path) -> None:
    async with opened(options(home)) as user:
        seen = [user.app.theme]
        for _ in range(3):
            await user.press("f2")
            seen.append(user.app.theme)
        assert seen == ["benchtui-dark", "benchtui-light", "benchtui-ansi", "benchtui-dark"]


async def test_a_small_terminal_is_told_and_everything_is_there_again_after(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("space")
        await user.pilot.resize_terminal(50, 12)
        await user.sees("terminal is 50x12; benchtui needs 60x16")
        await user.pilot.resize_terminal(60, 16)
        await user.sees("1 of 1 ticked")


async def test_60x16_is_enough_for_every_screen(home: Path) -> None:
    async with opened(options(home, hosts=("local",), profile="demo/quick"), size=(60, 16)) as user:
        for key in ("1", "2", "3", "6"):
            await user.press(key)
            await user.pilot.pause()
            lines = user.text.splitlines()
            assert "? help" in lines[-1]
            assert "q quit" in lines[-1]


async def test_q_leaves_at_once_when_nothing_runs(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("q")
        await user.sees(lambda: user.app._exit)
        assert user.app.farewell is None


async def test_q_is_a_letter_in_a_field_and_ctrl_c_leaves_from_there(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("slash", "q")
        assert not user.app._exit
        await user.press("ctrl+c")
        await user.sees(lambda: user.app._exit)


@pytest.fixture
def running(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A real run of 60 s on this machine, ended with the test."""
    app = BenchtuiApp(options(home))
    target = tmp_path / "target"
    target.mkdir()
    small = {
        "directory": str(target),
        "runtime": "60s",
        "size": "1M",
        "numjobs": "1",
        "direct": "no",
    }
    plan = build_plan(
        app.catalogue.load("demo/quick"),
        Choices(hosts=app.fleet.resolve(["local"]), overrides=small),
    )
    run_dir = launch(plan, home / "runs")
    wait_until((run_dir / "control.sock").exists, "the engine's socket")
    yield run_dir
    try:
        request(run_dir, {"verb": "abort"})
    except NotRunning:
        return
    wait_until(lambda: not is_running(run_dir), "the end of the run")


async def ask_to_leave(user: User, run_dir: Path) -> None:
    await user.sees(f"run {run_dir.name} is still running; press 4 to watch")
    await user.press("q")
    await user.sees(lambda: isinstance(user.app.screen, Confirm))


async def test_a_running_run_is_offered_and_4_watches_it(home: Path, running: Path) -> None:
    async with opened(options(home)) as user:
        await user.sees(f"run {running.name} is still running; press 4 to watch")
        await user.press("4")
        await user.sees(lambda: user.scope == "live")
        await user.sees("RUNNING")


async def test_q_asks_and_detaches_by_default(home: Path, running: Path) -> None:
    async with opened(options(home)) as user:
        await ask_to_leave(user, running)
        await user.press("enter")
        await user.sees(lambda: user.app._exit)
        assert (
            user.app.farewell
            == f"run {running.name} is still running; to watch it: benchtui attach {running.name}"
        )
    assert is_running(running)


async def test_cancel_stays_and_a_second_question_is_not_asked_above_the_first(
    home: Path, running: Path
) -> None:
    async with opened(options(home)) as user:
        await ask_to_leave(user, running)
        await user.press("ctrl+c")
        assert len(user.app.screen_stack) == 3
        await user.press("c")
        assert user.scope == "hosts"
        assert not user.app._exit


async def test_stop_ends_the_run_and_keeps_what_it_measured(home: Path, running: Path) -> None:
    async with opened(options(home)) as user:
        await ask_to_leave(user, running)
        await user.press("s")
        await user.sees(lambda: user.app._exit)
        assert "is stopping" in (user.app.farewell or "")
    wait_until(lambda: not is_running(running), "the end of the run")


async def test_a_crash_leaves_a_private_file_without_values_and_code_1(home: Path) -> None:
    app = BenchtuiApp(options(home))

    def explode(password: str = "hunter2-secret") -> None:
        raise RuntimeError("the reason")

    with pytest.raises(RuntimeError, match="the reason"):
        async with app.run_test() as pilot:
            app.call_later(explode)
            await pilot.pause()
    assert app.return_code == 1
    assert app.crash_log is not None
    assert app.crash_log.stat().st_mode & 0o777 == 0o600
    text = app.crash_log.read_text()
    assert "the reason" in text
    assert "hunter2" not in text
    assert app._exit_renderables == []


def test_the_first_frame_waits_for_no_heavy_import() -> None:
    heavy = ("asyncssh", "pydantic", "ruamel", "plotext")
    code = f"import sys, tui.app.app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"

"""What a crash leaves: a traceback in a private file, and no values of variables anywhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual.css.query import NoMatches
from textual.worker import WorkerFailed

from tests.app.driver import opened, options
from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.export import ExportDialog, ExportFormat
from tui.app.dialogs.forms import AddHost
from tui.app.screens.runs import RunsScreen
from tui.app.terminal.driver import crash_text, write_crash_log
from tui.app.widgets.form import TextInput

SECRET = "hunter2-very-secret"


def failure() -> Exception:
    password = SECRET
    try:
        raise RuntimeError("the reason") if password else AssertionError
    except RuntimeError as error:
        return error


def test_the_text_has_the_place_and_the_reason_but_no_values() -> None:
    text = crash_text(failure())
    assert "RuntimeError: the reason" in text
    assert "test_crash.py" in text
    assert SECRET not in text


def test_only_the_user_can_read_the_file(tmp_path: Path) -> None:
    path = write_crash_log(tmp_path / "data", failure())
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in path.read_text()


def test_two_crashes_leave_two_files(tmp_path: Path) -> None:
    assert write_crash_log(tmp_path, failure()) != write_crash_log(tmp_path, failure())


def test_a_folder_that_cannot_be_made_is_no_second_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert write_crash_log(tmp_path / "file" / "data", failure()) is None


async def test_what_looks_for_its_widgets_while_the_app_ends_is_no_crash(tmp_path: Path) -> None:
    async with opened(options(tmp_path)) as user:
        app = user.app
    app._handle_exception(WorkerFailed(NoMatches("no bar")))
    assert app.crash_log is None and app.return_code in (None, 0)


async def test_a_screen_that_is_opened_as_the_app_ends_is_no_crash(tmp_path: Path) -> None:
    async with opened(options(tmp_path)) as user:
        user.app.exit()
        user.app.push_screen(RunsScreen())  # it gets no widgets
    assert user.app.crash_log is None and not user.app.return_code


async def test_a_dialog_that_closes_before_it_has_widgets_is_no_crash(tmp_path: Path) -> None:
    async with opened(options(tmp_path)) as user:
        dialog = Confirm("Stop it?", "All of it.")
        user.app.push_screen(dialog)
        removed = dialog.remove()
        user.app.pop_screen()
        await removed
        await user.sees("Hosts")
    assert user.app.crash_log is None and not user.app.return_code


async def test_a_dialog_that_closes_before_it_is_laid_out_is_no_crash(tmp_path: Path) -> None:
    async with opened(options(tmp_path)) as user:
        dialog = ExportDialog(
            "Export", [ExportFormat("csv", "R", "rows")], lambda *_: "x", user.app.symbols
        )
        await user.app.push_screen(dialog)
        removed = dialog.remove()
        dialog.call_next(dialog.share_room)
        user.app.pop_screen()
        await removed
        await user.sees("Hosts")
    assert user.app.crash_log is None and not user.app.return_code


async def test_a_callback_for_a_dialog_that_has_gone_is_no_crash(tmp_path: Path) -> None:
    """On a busy machine: Enter directly after the last letter, and the field adapts its height."""
    async with opened(options(tmp_path)) as user:
        dialog = AddHost(frozenset())
        await user.app.push_screen(dialog)
        await user.sees("names")
        field = dialog.form.fields[0]

        def show_whole() -> None:
            field.query_one(TextInput)

        removed = dialog.remove()
        user.app.pop_screen()
        await removed
        user.app.screen._invoke_later(show_whole, field)
        await user.press("question_mark")  # the screen that called back still takes keys
        await user.sees("Keys")
    assert user.app.crash_log is None and not user.app.return_code


async def test_a_callback_for_a_widget_that_is_there_may_crash(tmp_path: Path) -> None:
    with pytest.raises(NoMatches):
        async with opened(options(tmp_path)) as user:
            user.app.screen.call_after_refresh(lambda: user.app.screen.query_one("#nowhere"))
            await user.press("down")
    assert user.app.crash_log is not None


async def test_a_dialog_that_is_answered_twice_answers_once(tmp_path: Path) -> None:
    answers: list[str | None] = []
    async with opened(options(tmp_path)) as user:
        dialog = Confirm("Stop it?", "All of it.")
        await user.app.push_screen(dialog, answers.append)
        await dialog.dismiss("yes")
        await dialog.dismiss("no")
        await user.sees("Hosts")
    assert answers == ["yes"]


async def test_what_does_not_find_its_widgets_before_that_is_one(tmp_path: Path) -> None:
    with pytest.raises(NoMatches):
        async with opened(options(tmp_path)) as user:
            user.app._handle_exception(NoMatches("no bar"))
    assert user.app.crash_log is not None

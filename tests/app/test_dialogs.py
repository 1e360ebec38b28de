"""Questions, forms and the list of keys, each in a bare app."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncssh
import pytest
from textual.app import App
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button

from tests.patience import seen
from tui.app.dialogs.confirm import Confirm, Dialog, DialogChoice, OverwriteDialog, Refusal
from tui.app.dialogs.export import ExportDialog, ExportFormat
from tui.app.dialogs.forms import AddHost, NewHosts
from tui.app.dialogs.help import HelpScreen, commands_of, help_lines, help_sections
from tui.app.dialogs.text_entry import LineDialog, NewProfile, SecretPrompt
from tui.app.services.remedies import trust_question
from tui.app.terminal.theme import SYMBOLS, THEMES
from tui.app.widgets.form import Form, TextInput
from tui.app.widgets.lines import TextPane
from tui.model.problem import BenchtuiError
from tui.remote.hostkeys import Presented
from tui.remote.vault import Question


class DialogApp(App[None]):
    CSS_PATH = "../../tui/app/app.tcss"

    def __init__(self, dialog: Screen[object]) -> None:
        super().__init__()
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = "benchtui-dark"
        self.symbols = SYMBOLS["braille"]
        self.dialog = dialog
        self.answers: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.answers.append)


def stop_question() -> Screen[object]:
    return Confirm("Stop the run?", "What was measured is kept.")  # type: ignore[return-value]


@pytest.mark.parametrize("action", ["page(1)", "step(1)"])
async def test_actions_wait_for_the_widgets_of_a_dialog(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key pressed right after the one that opened the dialog, on a busy machine."""
    go_on = asyncio.Event()
    compose = Confirm._compose

    async def later(dialog: Confirm) -> None:
        await go_on.wait()
        await compose(dialog)

    monkeypatch.setattr(Confirm, "_compose", later)
    app = DialogApp(Dialog())
    async with app.run_test() as pilot:
        app.push_screen(dialog := stop_question())
        try:
            assert not await app.run_action(action, dialog)
        finally:
            go_on.set()
        await pilot.pause()
        assert await app.run_action(action, dialog)


async def test_what_lies_below_any_dialog_shines_through() -> None:
    app = DialogApp(Dialog())
    async with app.run_test():
        assert 0 < app.screen.styles.background.a < 1


async def test_a_question_has_its_focus_on_no() -> None:
    app = DialogApp(stop_question())
    async with app.run_test() as pilot:
        await pilot.press("enter")
        assert app.answers == ["no"]


async def test_the_answer_with_the_focus_can_be_read_in_16_colours_too() -> None:
    for theme in ("benchtui-ansi", "benchtui-dark"):
        app = DialogApp(stop_question())
        app.theme = theme
        async with app.run_test() as pilot:
            await pilot.pause()
            style = app.screen.query_one("#no").rich_style
            assert (
                style.color is not None and style.bgcolor is not None and not style.color.is_default
            )
            assert style.color != style.bgcolor


async def test_y_means_yes_and_escape_means_nothing() -> None:
    for key, answer in (("y", "yes"), ("n", "no"), ("escape", None)):
        app = DialogApp(stop_question())
        async with app.run_test() as pilot:
            await pilot.press(key)
            assert app.answers == [answer]


async def test_arrows_and_vim_keys_reach_the_other_answer() -> None:
    for key in ("right", "l", "j"):
        app = DialogApp(stop_question())
        async with app.run_test() as pilot:
            await pilot.press(key, "enter")
            assert app.answers == ["yes"]


async def comes(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Wait until something is true: what is in sight is found out once all of it has its place."""

    async def look() -> bool:
        if not true():
            await pilot.pause()
        return true()

    await seen(look, lambda: "what is waited for")


def in_sight(app: DialogApp, *widgets: Widget) -> bool:
    """Whether these are whole within their dialog, and the dialog on the screen."""
    dialog = app.screen.query_one(".dialog").region
    whole = all(each.region and dialog.contains_region(each.region) for each in widgets)
    return whole and app.screen.region.contains_region(dialog)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_64_fingerprints_scroll_and_the_answers_stay_in_sight(size: tuple[int, int]) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()
    app = DialogApp(
        trust_question([Presented(f"h{number}", "h", key, False) for number in range(64)])  # type: ignore[arg-type]
    )
    async with app.run_test(size=size) as pilot:
        await comes(pilot, lambda: in_sight(app, *app.screen.query(Button)))
        body = app.screen.query_one(VerticalScroll)
        await comes(
            pilot, lambda: app.screen.query_one(".dialog").border_subtitle == "PgDn PgUp scroll"
        )
        for keys in (["pagedown"] * 16, ["home", "end"]):
            await pilot.press(*keys)
            assert body.scroll_y == body.max_scroll_y > 40
        await pilot.press("home", "down", "j")
        assert body.scroll_y == 2
        assert app.screen.focused is app.screen.query(Button).first()
        await pilot.press("right", "enter")
        assert app.answers == ["yes"]


async def test_what_is_typed_below_a_long_text_stays_in_sight() -> None:
    names = [f"/dev/disk{number}" for number in range(40)]
    log_in = Question(
        "host h1", (("Password:", False), ("Code:", True)), note="\n".join(["a banner"] * 30)
    )
    for dialog in (OverwriteDialog(names, [], names), SecretPrompt(log_in), AddHost(frozenset())):
        app = DialogApp(dialog)  # type: ignore[arg-type]
        async with app.run_test(size=(60, 16)) as pilot:
            await comes(pilot, lambda app=app: isinstance(app.screen.focused, TextInput))  # type: ignore[misc]
            field = app.screen.query(TextInput).first()
            await comes(
                pilot,
                lambda app=app, field=field: in_sight(app, field, *app.screen.query(Button)),  # type: ignore[misc]
            )


async def test_the_letter_of_an_answer_is_no_movement() -> None:
    answers = (DialogChoice("yes", "y", "Now"), DialogChoice("later", "l", "Later"))
    app = DialogApp(Confirm("Recover?", "", answers))  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pilot.press("l")
        assert app.answers == ["later"]


async def test_the_first_answer_is_the_default() -> None:
    answers = (
        DialogChoice("detach", "d", "Detach"),
        DialogChoice("stop", "s", "Stop", harmful=True),
    )
    app = DialogApp(Confirm("Run goes on", "", answers))  # type: ignore[arg-type]
    async with app.run_test() as pilot:
        await pilot.press("enter")
        assert app.answers == ["detach"]


def test_help_shows_the_keys_of_this_screen_first() -> None:
    titles = [title for title, _ in help_sections("review", "")]
    assert titles == ["Review", "Lists", "Everywhere"]
    assert "Hosts" in [title for title, _ in help_sections("review", "fingerprint")]


def test_help_and_palette_leave_out_the_way_to_the_screen_one_is_on() -> None:
    offered = [action for _, found in help_sections("review", "") for action in found]
    for found in (offered, commands_of("review")):
        assert "app.review" not in [action.id for action in found]
        assert "app.hosts" in [action.id for action in found]


def test_help_finds_actions_by_any_word() -> None:
    ((title, (action,)),) = help_sections("hosts", "fingerprint")
    assert (title, action.id) == ("Hosts", "hosts.trust")
    assert help_sections("hosts", "no such word") == []


@pytest.mark.parametrize("width", [40, 72])
def test_help_says_all_of_what_a_key_does_however_narrow_it_is(width: int) -> None:
    lines = help_lines("runs", "", width)
    assert all(line.width <= width for line in lines)
    texts = [
        text
        for title, found in help_sections("runs", "")
        for text in (title, *(f"{action.shown_keys} {action.help}" for action in found))
    ]
    assert " ".join(line.plain for line in lines).split() == " ".join(texts).split()


def test_a_wide_help_has_two_columns_and_all_of_each_text() -> None:
    narrow, wide = (help_lines("runs", "", width) for width in (72, 110))
    assert all(line.width <= 110 for line in wide) and len(wide) < 0.8 * len(narrow)
    words = [sorted(" ".join(line.plain for line in lines).split()) for lines in (narrow, wide)]
    assert words[0] == words[1]


async def test_typing_narrows_the_help_and_escape_closes_it() -> None:
    app = DialogApp(HelpScreen("hosts"))  # type: ignore[arg-type]
    async with app.run_test() as pilot:

        def shown() -> int:
            return len(app.screen.query_one(TextPane).builder(80))

        everything = shown()
        await pilot.press(*"trust")
        await pilot.pause()
        assert 0 < shown() < everything
        await pilot.press("escape")
        assert app.answers == [None]


def add_host() -> Screen[object]:
    return AddHost(frozenset({"weka-01"}))  # type: ignore[return-value]


async def test_a_host_is_typed_in_field_by_field() -> None:
    app = DialogApp(add_host())
    async with app.run_test() as pilot:
        await pilot.press(
            *"weka-09",
            "tab",
            *"10.0.0.9",
            "tab",
            *"bench",
            "tab",
            *"2222",
            "tab",
            *"weka, ssd",
            "enter",
        )
        await pilot.pause()
        assert app.answers == [NewHosts(("weka-09",), "10.0.0.9", "bench", 2222, ("weka", "ssd"))]


async def test_a_taken_name_or_a_wrong_port_is_reported_while_typing_and_keeps_the_form_open() -> (
    None
):
    app = DialogApp(add_host())
    async with app.run_test() as pilot:
        form = app.screen.query_one("Form")
        await pilot.press(*"weka-01", "enter")
        await pilot.pause()
        assert form.errors == {"name": "weka-01 is already in the list"}  # type: ignore[attr-defined]
        await pilot.press("1", "tab", "tab", "tab", *"99999")
        await pilot.pause()
        assert form.errors == {"port": "a port from 1 to 65535"}  # type: ignore[attr-defined]
        await pilot.press("enter")
        assert app.answers == []


@pytest.mark.parametrize(
    ("name", "address", "field"),
    [
        ("weka-[01-0", "", "name"),
        ("weka-[01-02]", "", "name"),
        ("h1,h1", "", "name"),
        ("bench@h1", "", "name"),
        ("@clients", "", "name"),
        ("h[1-3]", "10.0.0.[1-2]", "address"),
        ("h1,h2", "10.0.0.1", "address"),
    ],
)
async def test_ranges_that_do_not_fit_keep_the_form_open(
    name: str, address: str, field: str
) -> None:
    app = DialogApp(add_host())
    async with app.run_test() as pilot:
        await pilot.press(*name, "tab", *address, "enter")
        await pilot.pause()
        assert [*app.screen.query_one(Form).errors] == [field]
        assert app.answers == []


@pytest.mark.parametrize("way", ["enter", "button"])
async def test_a_host_without_a_name_is_refused_but_a_new_form_has_no_errors(way: str) -> None:
    app = DialogApp(add_host())
    async with app.run_test() as pilot:
        form = app.screen.query_one(Form)
        assert not form.errors
        if way == "button":
            app.screen.query_one("#add", Button).focus()
        await pilot.press("enter")
        await comes(pilot, lambda: bool(form.errors))
        assert [*form.errors] == ["name"] and app.answers == []


REFUSED = "expected another entry: one with zz"


async def only_zz(entry: object) -> None:
    if "zz" not in str(entry):
        raise BenchtuiError(REFUSED)


def every_dialog_with_an_entry() -> list[Dialog[Any]]:
    formats = [ExportFormat("csv", "R", "rows")]
    return [
        LineDialog("Title", "a title", "abc"),
        NewProfile("demo/quick", frozenset()),
        ExportDialog("Export", formats, lambda *_: "abc", SYMBOLS["braille"]),
        AddHost(frozenset()),
    ]


@pytest.mark.parametrize(
    "dialog", every_dialog_with_an_entry(), ids=lambda each: type(each).__name__
)
async def test_a_refused_entry_stays_with_the_reason_until_it_is_accepted(
    dialog: Dialog[Any],
) -> None:
    app = DialogApp(dialog.accepting(only_zz))
    async with app.run_test() as pilot:
        box = dialog.query(TextInput).last()
        if isinstance(dialog, AddHost):
            box = dialog.query(TextInput).first()
        box.focus()
        await pilot.press(
            "ctrl+e", "ctrl+u", *"my/abc" if isinstance(dialog, NewProfile) else "abc"
        )
        await pilot.press("enter")
        await comes(pilot, lambda: any(line.has_class("-shown") for line in dialog.query(Refusal)))
        assert app.screen is dialog and not app.answers
        assert REFUSED in str(dialog.query_one(Refusal).content)
        assert box.value.endswith("abc") and box.has_focus  # what was typed, to be mended
        await pilot.press("end", "z", "z", "enter")
        await comes(pilot, lambda: bool(app.answers))
        assert "zz" in str(app.answers)

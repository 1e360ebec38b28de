"""The list of keys, the command palette, the notice that the terminal is too small."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.app.dialogs.confirm import Dialog
from tui.app.terminal import actions
from tui.app.terminal.action import Action
from tui.app.terminal.actions import BY_NAME, SCREENS
from tui.app.terminal.leaving import CalmScreen
from tui.app.widgets.form import TextInput
from tui.app.widgets.lines import TextPane, Unit
from tui.app.widgets.picklist import PickList
from tui.text.line import ACCENT, HEADING, LABEL, TEXT, Line, Run, beside, labelled, width_of
from tui.text.table import Column


class TooSmall(CalmScreen, ModalScreen[None]):
    """A notice that covers everything until the terminal is large enough."""

    CSS_PATH = "too_small.tcss"
    BINDINGS: ClassVar = [Binding("q", "app.quit", show=False)]

    def __init__(self, least: Size) -> None:
        super().__init__()
        self.least = least

    def compose(self) -> ComposeResult:
        """Yield the text of the notice."""
        yield Static(id="too-small")

    def on_mount(self) -> None:
        """Show the size of the terminal."""
        self.show_sizes(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        """Show the new size of the terminal."""
        self.show_sizes(event.size)

    def show_sizes(self, size: Size) -> None:
        """Show the actual and the required size."""
        text = (
            f"terminal is {size.width}x{size.height}; benchtui needs"
            f" {self.least.width}x{self.least.height}"
        )
        self.query_one(Static).update(Content(text))


TITLES = {"app": "Everywhere", "list": "Lists", **{entry.name: entry.title for entry in SCREENS}}
GAP = 2  # cells between keys and help
LEAST_KEYS = 6  # cells for keys
# cells from which the list has two columns, and between them
TWO_FROM, GUTTER = 100, 4


def help_sections(screen: str, search: str) -> list[tuple[str, list[Action]]]:
    """Return the actions that match every word of `search`, by heading.

    This screen's actions come first; other screens' actions are included only if `search` is not
    empty. The key that leads to this screen is left out.
    """
    here = actions.SCOPES.get(screen, ("app",))
    scopes = [*here, *(scope for scope in TITLES if search and scope not in here)]
    found = {
        TITLES.get(scope, scope): [
            action
            for action in actions.in_scope(scope)
            if matches(action, search) and action.id != f"app.{screen}"
        ]
        for scope in scopes
    }
    return [(title, members) for title, members in found.items() if members]


def help_lines(screen: str, search: str, width: int) -> list[Line]:
    """Return the keys that match a search, each with its full help.

    The column of keys is as wide as the section's longest key. If there is room, sections form two
    columns: the first section is on the left, each further section goes to the shorter column.
    """
    sections = help_sections(screen, search)
    if not sections:
        return [Line.of(("no key found", LABEL))]
    half = (width - GUTTER) // 2 if width >= TWO_FROM else width
    columns: tuple[list[Line], list[Line]] = ([], [])
    for heading, found in sections:
        lines = columns[0] if half == width else min(columns, key=len)
        lines += [*([Line()] if lines else []), Line.of((heading, HEADING))]
        cells = max(LEAST_KEYS, *(width_of(action.shown_keys) for action in found)) + GAP
        for action in found:
            lines += labelled([(action.shown_keys, ACCENT)], [(action.help, TEXT)], half, cells)
    return beside(*columns, half + GUTTER) if columns[1] else columns[0]


def matches(action: Action, search: str) -> bool:
    """Return whether an action matches a search.

    Each word of the search must begin a word of the action's key, name, help or screen.
    """
    text = (
        f"{action.shown_keys} {action.label} {action.help} "
        f"{TITLES.get(action.scope, '')}".lower().split()
    )
    return all(any(word.startswith(part) for word in text) for part in search.lower().split())


class HelpScreen(Dialog[Action | None]):
    """The list of all keys, starting with this screen's.

    Typing filters the list.
    """

    CSS_PATH: ClassVar = [*Dialog.CSS_PATH, "help.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,enter", "dismiss", "close", show=False),
        Binding("down", "move('row', 1)", "down", show=False),
        Binding("up", "move('row', -1)", "up", show=False),
        Binding("pagedown", "move('page', 1)", "page down", show=False),
        Binding("pageup", "move('page', -1)", "page up", show=False),
    ]

    def __init__(self, screen: str) -> None:
        super().__init__()
        self.about = screen

    def compose(self) -> ComposeResult:
        """Yield a search field and the list of keys."""
        with Vertical(id="help") as pane:
            pane.border_title = f"Keys on {TITLES.get(self.about, 'this screen')}"
            pane.border_subtitle = "type to search all screens, Up and Down scroll, Esc closes"
            yield TextInput(placeholder="search", id="help-search")
            yield TextPane(id="help-list", can_focus=False)

    def on_mount(self) -> None:
        """Show all keys and focus the search field."""
        self.show_keys("")
        self.set_focus(self.query_one(Input))

    def show_keys(self, search: str) -> None:
        """Show the keys that match a search, scrolled to the top."""
        pane = self.query_one(TextPane)
        pane.show(partial(help_lines, self.about, search))
        pane.scroll_home(animate=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the list by the text typed so far."""
        self.show_keys(event.value)

    def on_input_submitted(self) -> None:
        """On Enter, close the list; the palette closes with the command under the cursor."""
        self.choose()

    def choose(self) -> None:
        """Close the list."""
        self.dismiss()

    def action_move(self, unit: Unit, direction: int) -> None:
        """Scroll the list, while the search field keeps the focus."""
        self.query_one(TextPane).action_move(unit, direction)


HIDDEN = {"app.palette", "app.interrupt", "app.back"}
MOVES = {action.name for action in actions.in_scope("list")} | {"left", "right"}


def commands_of(screen: str) -> list[Action]:
    """Return the actions that the palette offers on a screen.

    Leaves out cursor movements, and the action that leads to the screen itself.
    """
    hidden = {*HIDDEN, f"app.{screen}"}
    return [a for a in actions.of_screen(screen) if a.name not in MOVES and a.id not in hidden]


def command_columns(can_go: Callable[[str], bool]) -> tuple[Column[Action], ...]:
    """Return the columns of the palette.

    An action that leads to a screen with nothing to show yet is dim, with the reason.
    """

    def does(action: Action) -> Run:
        why = why_useless(action, can_go)
        return (f"{action.help.partition(':')[0]} ({why})", LABEL) if why else (action.help, TEXT)

    return (
        Column("what it does", does, least=20),
        Column("key", lambda action: action.shown_keys, width=9, role=ACCENT),
    )


def why_useless(action: Action, can_go: Callable[[str], bool]) -> str:
    """Return why an action's screen cannot be shown yet.

    Empty if it can, or if the action has no screen.
    """
    if action.scope != "app" or action.name not in BY_NAME or can_go(action.name):
        return ""
    entry = BY_NAME[action.name]
    return entry.missing.partition(":")[0] or "choose hosts and a profile first"


class Palette(HelpScreen):
    """The commands of a screen, one per line with its key.

    Typing filters the list; Enter returns the command under the cursor, Escape returns None.
    `can_go` returns whether a screen has something to show.
    """

    def __init__(self, screen: str, can_go: Callable[[str], bool]) -> None:
        super().__init__(screen)
        self.can_go = can_go

    def compose(self) -> ComposeResult:
        """Yield a search field and the list of commands."""
        with Vertical(id="help", classes="-commands") as pane:
            pane.border_title = f"Commands on {TITLES.get(self.about, 'this screen')}"
            pane.border_subtitle = "type to search, Enter runs, Esc closes"
            yield TextInput(placeholder="search", id="help-search")
            picklist = PickList(
                command_columns(self.can_go),
                lambda action: action.id,
                header=False,
                fits=True,
                id="help-list",
            )
            picklist.can_focus, picklist.leads = False, True
            yield picklist
            yield Static(id="help-about")

    @on(PickList.Moved)
    def moved(self) -> None:
        """Show more about the command, once the width of the list is known."""
        self.call_after_refresh(self.show_help)

    def show_help(self) -> None:
        """Show the whole help of the command under the cursor if the list truncates it."""
        chosen, room = self.chosen, self.picklist.rooms(self.picklist.size.width)[0]
        is_cut = chosen is not None and width_of(chosen.help) > room
        about = self.query_one("#help-about", Static)
        about.update(Content(chosen.help if chosen is not None and is_cut else ""))
        about.display = is_cut

    @property
    def chosen(self) -> Action | None:
        """The command under the cursor, if any."""
        return next(
            (action for action in commands_of(self.about) if action.id == self.picklist.cursor_key),
            None,
        )

    @property
    def picklist(self) -> PickList[Action]:
        """The list of commands."""
        return self.query_one(PickList)

    def show_keys(self, search: str) -> None:
        """Show the commands that match a search: by name first, then by help."""
        words = search.lower().split()
        found = [action for action in commands_of(self.about) if matches(action, search)]
        found.sort(key=lambda action: not all(word in action.label.lower() for word in words))
        self.picklist.set_rows(found)
        self.picklist.action_move("end", -1)

    @on(PickList.Clicked)
    def choose(self) -> None:
        """Close with the command under the cursor, if any."""
        if self.chosen is not None:
            self.dismiss(self.chosen)

    def action_move(self, unit: Unit, direction: int) -> None:
        """Move the cursor, while the search field keeps the focus."""
        self.picklist.action_move(unit, direction)

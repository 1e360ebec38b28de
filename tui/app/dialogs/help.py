"""The list of every key, with search; made from the registry."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from tui.app.dialogs.base import Dialog
from tui.app.keys import actions
from tui.app.keys.screens import SCREENS
from tui.app.widgets.field import TextInput
from tui.app.widgets.picklist import Heading
from tui.app.widgets.textpane import TextPane
from tui.text.line import ACCENT, HEADING, TEXT, Line, labelled

TITLES = {"app": "Everywhere", "list": "Lists", **{entry.name: entry.title for entry in SCREENS}}
KEY_CELLS = 13


def help_rows(screen: str, search: str) -> list[actions.Action | Heading]:
    """Return the actions that hold every word of `search`, this screen's first, under headings."""
    here = actions.SCOPES.get(screen, ("app",))
    rows: list[actions.Action | Heading] = []
    for scope in [*here, *(scope for scope in TITLES if scope not in here)]:
        found = [action for action in actions.in_scope(scope) if matches(action, search)]
        rows += [Heading(f"#{scope}", TITLES.get(scope, scope)), *found] if found else []
    return rows


def help_lines(screen: str, search: str, width: int) -> list[Line]:
    """Return each key beside what it does, whole."""
    lines: list[Line] = []
    for row in help_rows(screen, search):
        if isinstance(row, Heading):
            lines.append(Line.of((row.title, HEADING)))
        else:
            lines += labelled([(row.shown_keys, ACCENT)], [(row.help, TEXT)], width, KEY_CELLS)
    return lines


def matches(action: actions.Action, search: str) -> bool:
    """Return whether a word of an action's key, name or help begins with each word of the search."""
    text = f"{action.shown_keys} {action.label} {action.help} {TITLES.get(action.scope, '')}".lower().split()
    return all(any(word.startswith(part) for word in text) for part in search.lower().split())


class HelpScreen(Dialog[None]):
    """Every key of this screen, then those of the others. Typing narrows the list."""

    CSS_PATH: ClassVar = [*Dialog.CSS_PATH, "help.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close", show=False),
        Binding("f1,enter", "dismiss", "close", show=False),
        *(
            Binding(key, f"list('{name}')", show=False)
            for key, name in (("down", "down"), ("up", "up"), ("pagedown", "page_down"), ("pageup", "page_up"))
        ),
    ]

    def __init__(self, screen: str) -> None:
        super().__init__()
        self.about = screen

    def compose(self) -> ComposeResult:
        """A search field over the list."""
        with Vertical(id="help") as pane:
            pane.border_title = f"Keys on {TITLES.get(self.about, 'this screen')}"
            pane.border_subtitle = "type to search, Esc closes"
            yield TextInput(placeholder="search", id="help-search")
            yield TextPane(id="help-list", can_focus=False)

    def on_mount(self) -> None:
        """Everything at first, ready to type."""
        self.show_keys("")
        self.set_focus(self.query_one(Input))

    def show_keys(self, search: str) -> None:
        """Show what fits a search, from its top."""
        pane = self.query_one(TextPane)
        pane.show(partial(help_lines, self.about, search))
        pane.scroll_home(animate=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list."""
        self.show_keys(event.value)

    def on_input_submitted(self) -> None:
        """Enter closes."""
        self.dismiss()

    def action_leave(self) -> None:
        """Clear the search first, then close."""
        search = self.query_one(Input)
        if search.value:
            search.value = ""
        else:
            self.dismiss()

    def action_list(self, name: str) -> None:
        """Scroll while the search field has the focus."""
        getattr(self.query_one(TextPane), f"action_{name}")()

"""Starting a profile of one's own: under which name, and whether it changes the other one or copies it."""

from __future__ import annotations

import re
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from tui.app.dialogs.base import Dialog
from tui.app.widgets.field import TextInput

TAG = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*")
ABOUT = (
    "Extend: a few lines that change values, the rest stays as it is there, also when that changes. "
    "Copy: all of it, to change as you like."
)


class NewProfile(Dialog[tuple[str, str] | None]):
    """Returns ("extend" or "copy", the new name), or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    NewProfile {
        & TextInput { margin-bottom: 0; }
        & #new-problem { height: 1; color: $bad; margin-bottom: 1; }
    }
    """

    def __init__(self, origin: str, taken: frozenset[str]) -> None:
        super().__init__()
        self.origin = origin
        self.taken = taken

    def compose(self) -> ComposeResult:
        """What it means, a name, two ways."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"A profile of your own from {self.origin}"
            dialog.border_subtitle = "Enter extend   Tab copy   Esc cancel"
            yield Static(ABOUT, markup=False, classes="dialog-body")
            yield TextInput(self.free_name(), placeholder="family/name")
            yield Static(id="new-problem", markup=False)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Extend", id="extend", compact=True)
                yield Button("Copy", id="copy", compact=True)

    def on_mount(self) -> None:
        """Type at once."""
        field = self.query_one(TextInput)
        field.focus()
        field.cursor_position = len(field.value)

    def free_name(self) -> str:
        """Return a name that is not taken."""
        name = f"my/{self.origin.partition('/')[2]}"
        numbers = (f"{name}-{number}" for number in range(2, len(self.taken) + 3))
        return name if name not in self.taken else next(each for each in numbers if each not in self.taken)

    def problem(self, name: str) -> str | None:
        """Return what is wrong with a name."""
        if name in self.taken:
            return f"{name} is there already"
        return None if TAG.fullmatch(name) else "family/name in small letters, such as my/read"

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        """Say at once what is wrong."""
        self.query_one("#new-problem", Static).update(self.problem(event.value.strip()) or "")

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter extends."""
        self.take("extend")

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        """Take the way of the button."""
        self.take(event.button.id or "extend")

    def take(self, way: str) -> None:
        """End with the name when it is right."""
        name = self.query_one(TextInput).value.strip()
        if self.problem(name) is None:
            self.dismiss((way, name))
        else:
            self.query_one(TextInput).focus()

"""Asking for a line of text: a remark on a run, its title, its tags."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tui.app.dialogs.base import Dialog
from tui.app.widgets.field import TextInput


class LineDialog(Dialog[str | None]):
    """One line of text, and below it what is wanted there. Returns it, or None after Escape; Enter `does` it."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "cancel", show=False)]
    DEFAULT_CSS = "LineDialog .line-about { color: $dim; height: auto; margin-bottom: 1; padding: 0 1; }"

    def __init__(self, title: str, about: str, value: str = "", does: str = "keep") -> None:
        super().__init__()
        self.question = title
        self.about = about
        self.value = value
        self.does = does

    def compose(self) -> ComposeResult:
        """A field in a dialog."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(self.question)
            dialog.border_subtitle = f"Enter {self.does}   Esc cancel"
            yield TextInput(self.value)
            yield Static(self.about, classes="line-about", markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(TextInput).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text."""
        self.dismiss(event.value.strip())


class NoteDialog(LineDialog):
    """A remark on a run. Returns it, or None after Escape."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Note on {run_id}", "a remark; notes stay in the order in which they were made")

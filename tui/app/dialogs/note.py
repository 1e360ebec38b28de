"""Asking for a line of text: a remark on a run, its title, its tags."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input

from tui.app.dialogs.base import Dialog
from tui.app.widgets.field import TextInput


class LineDialog(Dialog[str | None]):
    """One line of text. Returns it, or None after Escape."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "cancel", show=False)]
    DEFAULT_CSS = "LineDialog TextInput { margin-bottom: 1; }"

    def __init__(self, title: str, placeholder: str, value: str = "") -> None:
        super().__init__()
        self.question = title
        self.placeholder = placeholder
        self.value = value

    def compose(self) -> ComposeResult:
        """A field in a dialog."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = self.question
            dialog.border_subtitle = "Enter keep   Esc cancel"
            yield TextInput(self.value, placeholder=self.placeholder)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(TextInput).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text."""
        self.dismiss(event.value.strip())


class NoteDialog(LineDialog):
    """A remark on a run. Returns it, or None after Escape."""

    def __init__(self, run_id: str) -> None:
        super().__init__("Note", f"a remark on {run_id}")

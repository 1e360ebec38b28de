"""Before a run destroys something: what was found on each host, and the names to type; or why it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from tui.app.dialogs.base import Dialog
from tui.app.widgets.field import TextInput


class OverwriteDialog(Dialog[bool]):
    """Shows findings. Returns True once every name was typed, None after Escape; with refusals nothing can be typed."""

    BINDINGS: ClassVar = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-8)", show=False),
        Binding("pagedown", "scroll(8)", show=False),
    ]
    DEFAULT_CSS = """
    OverwriteDialog {
        & TextInput { margin-bottom: 1; }
        & #overwrite-wrong { height: auto; color: $bad; margin-bottom: 1; display: none; }
        & #overwrite-wrong.-shown { display: block; }
    }
    """

    def __init__(self, lines: Sequence[str], refused: Sequence[str], names: Sequence[str]) -> None:
        super().__init__()
        self.lines = lines
        self.refused = refused
        self.names = names
        self.typed = 0  # how many of the names

    def compose(self) -> ComposeResult:
        """The findings, then a field for the next name."""
        with Vertical(classes="dialog -harmful") as dialog:
            dialog.styles.width = 96
            dialog.border_title = "This is refused" if self.refused else "What is on these is lost"
            dialog.border_subtitle = "Esc back" if self.refused else "Enter agree   Esc cancel"
            with VerticalScroll(can_focus=bool(self.refused), classes="dialog-body"):
                yield Static(self.findings())
            if not self.refused:
                with Vertical(classes="dialog-ask"):
                    yield Static(id="overwrite-ask", markup=False)
                    yield TextInput()
                    yield Static(id="overwrite-wrong", markup=False)

    def findings(self) -> Content:
        """Return refusals, then everything that was found."""
        bad = [Content.styled(text, "$bad") for text in self.refused]
        gap = [Content()] if bad and self.lines else []
        return Content("\n").join([*bad, *gap, *map(Content, self.lines)])

    def on_mount(self) -> None:
        """Ask for the first name."""
        if not self.refused:
            self.ask()
            self.query_one(TextInput).focus()

    def ask(self) -> None:
        """Say which name is to be typed."""
        count = f" ({self.typed + 1} of {len(self.names)})" if len(self.names) > 1 else ""
        self.query_one("#overwrite-ask", Static).update(f"Type {self.names[self.typed]} to overwrite it{count}:")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the name when it is right, and go on to the next one."""
        right = event.value.strip() == self.names[self.typed]
        wrong = self.query_one("#overwrite-wrong", Static)
        wrong.set_class(not right, "-shown")
        wrong.update(f"that is not {self.names[self.typed]}")
        if not right:
            return
        self.typed += 1
        event.input.value = ""
        if self.typed == len(self.names):
            self.dismiss(True)
        else:
            self.ask()

    def action_scroll(self, lines: int) -> None:
        """Scroll the findings while the field has the focus."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

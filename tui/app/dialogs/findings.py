"""Dialogs that show text: the findings of a run, the details of a host."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.app.dialogs.confirm import Dialog
from tui.app.widgets.lines import Builder, TextPane, key_line


class FindingsDialog(Dialog[None]):
    """Shows the findings of a run, each with its meaning and advice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,f,q", "dismiss", "close", show=False)
    ]
    DEFAULT_CSS = """
    #findings {
        width: 104; max-width: 96%; height: auto; max-height: 92%; padding: 1 1 0 2;
        background: $surface;
        border-title-background: $surface; border-subtitle-background: $surface;
    }
    """

    def __init__(self, title: str, builder: Builder) -> None:
        super().__init__()
        self.about = title
        self.builder = builder

    def compose(self) -> ComposeResult:
        """Yield a pane for the text."""
        pane = TextPane(id="findings")
        pane.border_title = Content(self.about)
        yield pane

    def on_mount(self) -> None:
        """Show the findings in the pane."""
        pane = self.query_one(TextPane)
        pane.show(self.builder)
        self.watch(pane, "show_vertical_scrollbar", self.show_keys)
        pane.focus()

    def show_keys(self, scrolls: bool) -> None:
        """Show the keys of the pane, including those that scroll if the text does not fit."""
        keys = [("Esc", "close")]
        pane = self.query_one(TextPane)
        pane.border_subtitle = key_line(*([("j k", "scroll")] if scrolls else []), *keys)


class HostDialog(FindingsDialog):
    """Shows one host of a run: telemetry over time, facts, command, messages.

    The content is not updated.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("i", "dismiss", "close", show=False)]

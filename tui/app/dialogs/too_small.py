"""What a terminal shows that has no room for anything else."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static


class TooSmall(ModalScreen[None]):
    """Covers everything until the terminal has grown."""

    CSS_PATH = "too_small.tcss"
    BINDINGS: ClassVar = [Binding("q", "app.quit", show=False)]

    def __init__(self, least: Size) -> None:
        super().__init__()
        self.least = least

    def compose(self) -> ComposeResult:
        """One line."""
        yield Static(id="too-small")

    def on_mount(self) -> None:
        """Say the size."""
        self.tell(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        """Say the new size."""
        self.tell(event.size)

    def tell(self, size: Size) -> None:
        """Name what is and what is needed."""
        text = f"terminal is {size.width}x{size.height}; benchtui needs {self.least.width}x{self.least.height}"
        self.query_one(Static).update(Content(text))

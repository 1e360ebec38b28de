"""The phases of a metadata benchmark while it goes on: in place of the graphs, as it has no samples."""

from __future__ import annotations

from collections.abc import Callable

from tui.app.widgets.lines import Lines
from tui.text.line import Line


class OperationsPanel(Lines):
    """Lines that are made for the width of the moment."""

    DEFAULT_CSS = "OperationsPanel { height: auto; padding: 0 1; display: none; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.make: Callable[[int], list[Line]] = lambda _: []

    def show(self, make: Callable[[int], list[Line]], height: int) -> None:
        """Show what `make` returns for a width; `height` lines."""
        self.make = make
        self.styles.height = height
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """The lines that have room."""
        return self.make(width)[:height]

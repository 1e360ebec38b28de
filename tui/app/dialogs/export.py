"""Asking in which format a run is exported, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.app.widgets.field import TextInput
from tui.app.widgets.picklist import PickList
from tui.text.line import BRIGHT, LABEL
from tui.text.table import Column

Format = tuple[str, str]  # name, who reads it


class ExportDialog(ModalScreen[tuple[str, str] | None]):
    """Formats to choose from, and a path. Returns (format, path), or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("enter", "write", "write", show=False),
        Binding("tab", "app.focus_next", show=False),
        Binding("shift+tab", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = """
    ExportDialog { align: center middle; background: $background 60%; }
    ExportDialog PickList { height: 12; background: $surface; margin-bottom: 1; }
    """

    def __init__(self, run_id: str, formats: list[Format], folder: Path) -> None:
        super().__init__()
        self.run_id, self.formats, self.folder = run_id, formats, folder
        self._proposed = ""

    def compose(self) -> ComposeResult:
        """The formats over the path."""
        columns = (
            Column[Format]("format", lambda each: each[0], 18, role=BRIGHT),
            Column[Format]("what it is, and who reads it", lambda each: each[1], least=30, role=LABEL),
        )
        with Vertical(classes="dialog") as dialog:
            dialog.styles.width, dialog.styles.max_width = 110, "96%"
            dialog.border_title = f"Export {self.run_id}"
            dialog.border_subtitle = "Enter write   Tab format or path   Esc cancel"
            yield PickList(columns, lambda each: each[0], id="export-formats")
            yield TextInput(placeholder="a file, or a directory with / at its end", id="export-path")

    def on_mount(self) -> None:
        """Choose at once."""
        self.picklist.set_rows(self.formats)
        self.picklist.focus()

    @property
    def picklist(self) -> PickList[Format]:
        """The formats."""
        return self.query_one("#export-formats", PickList)

    @on(PickList.Moved)
    def propose(self, event: PickList.Moved) -> None:
        """Propose a path for the format, unless somebody has typed one."""
        field = self.query_one("#export-path", TextInput)
        if field.value == self._proposed:
            self._proposed = field.value = f"{self.folder / f'{self.run_id}.{event.key}'}/"

    @on(Input.Submitted)
    def action_write(self) -> None:
        """Take format and path."""
        where = self.query_one("#export-path", TextInput).value.strip()
        if (name := self.picklist.cursor_key) is not None:
            self.dismiss((name, where or self._proposed))

"""Choosing what of a run is copied: each text with its first line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui.app.widgets.picklist import PickList
from tui.text.line import BRIGHT, LABEL
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.results.report.copies import Copy


class CopyDialog(ModalScreen[str | None]):
    """Texts to choose from by their keys, or by the cursor and Enter. Returns the text, or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,y,q", "dismiss", "cancel", show=False),
        Binding("enter", "take", "copy", show=False),
    ]
    DEFAULT_CSS = "CopyDialog PickList { height: auto; background: $surface; }"

    def __init__(self, run_id: str, copies: list[Copy]) -> None:
        super().__init__()
        self.run_id, self.copies = run_id, copies
        for copy in copies:
            self._bindings.bind(copy.key, f"take('{copy.key}')", copy.label, show=False)

    def compose(self) -> ComposeResult:
        """The list."""
        columns = (
            Column["Copy"]("key", lambda each: each.key, 3, role=BRIGHT),
            Column["Copy"]("copy", lambda each: each.label, 15, role=BRIGHT),
            Column["Copy"]("begins with", lambda each: each.begin, least=30, role=LABEL),
        )
        with Vertical(classes="dialog") as dialog:
            dialog.styles.width, dialog.styles.max_width = 100, "96%"
            dialog.border_title = f"Copy of {self.run_id}"
            dialog.border_subtitle = "a key, or Enter   Esc cancel"
            chosen = PickList(columns, lambda each: each.key, id="copies")
            chosen.styles.height = len(self.copies) + 1
            yield chosen

    def on_mount(self) -> None:
        """Choose at once."""
        picklist = self.query_one("#copies", PickList)
        picklist.set_rows(self.copies)
        picklist.focus()

    def action_take(self, key: str = "") -> None:
        """Return the text of a key, or of the row under the cursor."""
        wanted = key or self.query_one("#copies", PickList).cursor_key
        self.dismiss(next((copy.text for copy in self.copies if copy.key == wanted), None))

"""Choosing what of a run is copied: the texts, and how the one under the cursor begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from tui.app.dialogs.base import Dialog
from tui.app.widgets.lines import Lines
from tui.app.widgets.picklist import PickList
from tui.text.line import BRIGHT, LABEL, TEXT, Line, clip, rule, wrap
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.results.copies.run import Copy

AROUND = 8  # rows of the dialog and of the screen beside list and text
WIDEST = 140
LEAST_ROWS, MOST_ROWS = 3, 14  # of a text and its heading


class Beginning(Lines):
    """How a text begins: a single line is wrapped, of a table each line is cut."""

    text = ""

    def build(self, width: int, height: int) -> list[Line]:
        """Return as many lines as there is room for; the last one tells of the others."""
        lines, room = text_lines(self.text, width), height - 1  # the rule takes one
        if len(lines) > room:
            more = len(lines) - room + 1
            lines = [*lines[: room - 1], Line.of((f"and {more} lines more", LABEL))]
        return [rule("Begins with", "", width), *lines]


def text_lines(text: str, width: int) -> list[Line]:
    """Return a text for so many cells."""
    known = text.splitlines()
    if len(known) == 1:
        return [Line.of(*part) for part in wrap([(text, TEXT)], width)]
    return [Line.of(*clip([(line, TEXT)], width)) for line in known]


class CopyDialog(Dialog[str | None]):
    """Texts to choose from by their keys, or by the cursor and Enter. Returns the text, or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,y,q", "dismiss", "cancel", show=False),
        Binding("enter", "take", "copy", show=False),
    ]
    DEFAULT_CSS = """
    CopyDialog {
        & PickList { height: auto; background: $surface; }
        & Beginning { background: $surface; margin-top: 1; }
    }
    """

    def __init__(self, whose: str, copies: list[Copy]) -> None:
        super().__init__()
        self.whose, self.copies = whose, copies
        for copy in copies:
            self._bindings.bind(copy.key, f"take('{copy.key}')", copy.label, show=False)

    def compose(self) -> ComposeResult:
        """The list."""
        columns = (
            Column["Copy"]("key", lambda each: each.key, 3, role=BRIGHT),
            Column["Copy"]("copy", lambda each: each.label, least=15, role=BRIGHT),
        )
        with Vertical(classes="dialog") as dialog:
            dialog.styles.width, dialog.styles.max_width = WIDEST, "96%"
            dialog.border_title = Content(f"Copy of {self.whose}")
            dialog.border_subtitle = "a key, or Enter   Esc cancel"
            chosen = PickList(columns, lambda each: each.key, id="copies")
            chosen.styles.height = len(self.copies) + 1
            yield chosen
            yield Beginning(id="copy-begin")

    def on_mount(self) -> None:
        """Choose at once."""
        picklist = self.query_one("#copies", PickList)
        picklist.set_rows(self.copies)
        picklist.focus()

    def on_resize(self) -> None:
        """The text has the rows that are left, once its width is known."""
        self.call_after_refresh(self.share_room)

    def share_room(self) -> None:
        """Room for the longest text where there is that much, so that nothing moves."""
        begin = self.query_one(Beginning)
        longest = max(len(text_lines(copy.text, max(begin.size.width, 1))) for copy in self.copies) + 1
        rows = min(longest, self.size.height - AROUND - len(self.copies), MOST_ROWS)
        begin.styles.height = max(LEAST_ROWS, rows)

    @on(PickList.Moved)
    def show_text(self) -> None:
        """Show the text under the cursor."""
        wanted, begin = self.query_one("#copies", PickList).cursor_key, self.query_one(Beginning)
        begin.text = next((copy.text for copy in self.copies if copy.key == wanted), "")
        begin.update_lines()

    def action_take(self, key: str = "") -> None:
        """Return the text of a key, or of the row under the cursor."""
        wanted = key or self.query_one("#copies", PickList).cursor_key
        self.dismiss(next((copy.text for copy in self.copies if copy.key == wanted), None))

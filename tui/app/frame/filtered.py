"""A screen with a list and a filter below it, which opens with its key and closes with Escape."""

from __future__ import annotations

from typing import Any

from textual import events, on
from textual.widgets import Input

from tui.app.frame.base import StepScreen
from tui.app.frame.chrome import KeyBar
from tui.app.widgets.field import TextInput
from tui.app.widgets.picklist import PickList
from tui.app.widgets.textpane import TextPane

FILTER_KEYS = (("Enter", "done"), ("Esc", "clear"), ("Up Down", "choose"), ("F1", "help"), ("Ctrl+C", "quit"))


class FilteredScreen(StepScreen):
    """Derive, yield one `PickList` and one `TextInput` of class "filter", and show the rows in `show_rows`."""

    @property
    def picklist(self) -> PickList[Any]:
        """The list."""
        return self.query_one(PickList)

    @property
    def filter(self) -> TextInput:
        """The filter field."""
        return self.query_one(".filter", TextInput)

    def show_rows(self) -> None:
        """Show the rows that the filter lets through."""
        raise NotImplementedError

    def action_filter(self) -> None:
        """Open the filter; what stands there is selected, so that typing replaces it."""
        self.filter.add_class("-shown")
        self.set_focus(self.filter)
        self.filter.select_all()

    def on_descendant_focus(self) -> None:
        """The footer follows the focus: in the filter, letters are letters."""
        if self.filter.has_focus:
            self.query_one(KeyBar).show_hint(*FILTER_KEYS)
        else:
            self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the screen in the footer."""
        self.query_one(KeyBar).show_hint()

    def on_key(self, event: events.Key) -> None:
        """The arrows move in the list while a filter is typed."""
        if self.filter.has_focus and event.key in ("down", "up"):
            event.stop()
            self.picklist.move(1 if event.key == "down" else -1)

    @on(Input.Changed, ".filter")
    def filter_typed(self) -> None:
        """Narrow while typing; Textual calls decorated methods past what derived screens make of them."""
        self.filter_changed()

    def filter_changed(self) -> None:
        """Show what the filter lets through."""
        self.show_rows()

    @on(Input.Submitted, ".filter")
    def filter_done(self) -> None:
        """Keep the filter, go back to the list."""
        self.set_focus(self.picklist)
        self.filter.set_class(bool(self.filter.value), "-shown")

    def clear_filter(self) -> None:
        """Let all rows through again."""
        self.filter.value = ""
        self.filter.remove_class("-shown")

    def go_to(self, key: str) -> None:
        """Put the cursor on a row; a filter that hides it is cleared."""
        if key not in map(self.picklist.key_of, self.picklist.rows):
            self.clear_filter()
            self.show_rows()
        self.picklist.move_to(key)

    def action_back(self) -> None:
        """Leave a text beside the list first, clear the filter, then go one step back."""
        if isinstance(self.focused, TextPane):
            self.set_focus(self.picklist)
        elif self.filter.has_class("-shown"):
            self.clear_filter()
            self.set_focus(self.picklist)
        else:
            super().action_back()

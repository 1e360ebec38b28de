"""One-line text fields: no border, no blinking cursor."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input

from tui.app.widgets.lines import lacking, shown_as
from tui.model.plain import printable


class TextInput(Input):
    """A compact input with a steady cursor: a blinking one costs bytes on a slow link."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+u", "delete_left_all", show=False),
        Binding("ctrl+d", "delete_right", show=False),
    ]
    DEFAULT_CSS = """
    TextInput {
        height: 1; border: none; padding: 0 1; background: $panel; color: $foreground;
        &.-textual-compact { padding: 0 1; border: none !important; }
        &:focus { border: none; background: $cursor-row; color: $block-cursor-foreground; }
        & .input--placeholder { color: $dim; }
        &:ansi > .input--selection { text-style: reverse; }
        &:ansi:focus .input--placeholder { color: $block-cursor-foreground; }
    }
    """

    # a field has a fixed size: no layout at each letter
    virtual_size = Reactive(Size(0, 0))

    def __init__(self, value: str = "", *, select_on_focus: bool = False, **options: Any) -> None:
        super().__init__(value, compact=True, select_on_focus=select_on_focus, **options)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        """Paste printable text only.

        A masked field accepts anything.
        """
        if not self.password:
            event.text = printable("".join(event.text.splitlines()[:1]))

    def render_line(self, y: int) -> Strip:
        """Return the line.

        On palettes without a second background, `_` fills it, so that an empty field is visible.
        """
        strip = self.shortened_line(y)
        if self.has_focus or not self.app.current_theme.ansi:
            return strip
        taken = cell_len(strip.text.rstrip())
        at = taken + 1 if taken else 0
        room = max(self.scrollable_content_region.width - at, 0)
        line = Segment("_" * room, self.get_component_rich_style("input--placeholder"))
        return Strip.join(
            [strip.extend_cell_length(at, self.rich_style).crop(0, at), Strip([line], room)]
        )

    def shortened_line(self, y: int) -> Strip:
        """Return the line.

        A value wider than its field ends in an ellipsis while the field has no focus.
        """
        strip, width = super().render_line(y), self.scrollable_content_region.width
        begin = self.scroll_offset.x
        if self.has_focus or not self.value or width < 2:
            return strip
        mark = Strip([Segment(shown_as("…", lacking(self.app)), self.rich_style)], 1)
        if self.content_width - 1 > begin + width:  # the last column of the content is the cursor's
            strip = Strip.join([strip.crop(0, width - 1), mark])
        return Strip.join([mark, strip.crop(1)]) if begin else strip


class SecretInput(TextInput):
    """A field whose masked content is never copied: terminals and logs may keep clipboards."""

    def action_copy(self) -> None:
        """Copy what is selected, unless it is masked."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Cut the selection; masked text is deleted without a copy."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()


class ChoiceInput(SecretInput):
    """A field with one of a few words: Left, Right and Space switch, letters are typed as usual."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "choose(-1)", show=False),
        Binding("right", "choose(1)", show=False),
    ]

    def __init__(self, value: str, choices: tuple[str, ...], **options: Any) -> None:
        super().__init__(value, **options)
        self.choices = choices

    async def _on_key(self, event: events.Key) -> None:
        """Switch on Space, which no choice contains."""
        if event.key == "space":
            event.stop()
            event.prevent_default()
            self.action_choose(1)

    def action_choose(self, step: int) -> None:
        """Take the next choice; for an abbreviation, the first match.

        The next letter replaces it.
        """
        fitting = [each for each in self.choices if each.startswith(self.value.strip())] or list(
            self.choices
        )
        at = (
            self.choices.index(self.value) + step
            if self.value in self.choices
            else self.choices.index(fitting[0])
        )
        self.value = self.choices[at % len(self.choices)]
        self.action_select_all()

    def complete(self) -> None:
        """Complete an unambiguous abbreviation."""
        typed = self.value.strip()
        fitting = [each for each in self.choices if each.startswith(typed)]
        if typed and typed not in self.choices and len(fitting) == 1:
            self.value = fitting[0]
            self.cursor_position = len(self.value)

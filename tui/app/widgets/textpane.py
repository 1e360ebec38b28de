"""A pane of text that scrolls, and is made again when its width changes."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.app.keys import actions

Builder = Callable[[int], Content]
"""Columns there are -> the text."""


class TextPane(VerticalScroll, can_focus=True):
    """Shows what a builder returns for the width at hand; so values can be wrapped beside their labels."""

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "TextPane { padding: 0 0 0 1; & > Static { width: 1fr; height: auto; padding-right: 1; } }"

    def __init__(self, id: str | None = None, *, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, classes="pane", can_focus=can_focus)
        self.builder: Builder = lambda _: Content()
        self._built_for = -1

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static()

    def show(self, builder: Builder) -> None:
        """Show another text; the scroll position stays as far as it can."""
        self.builder = builder
        self._built_for = -1
        self._build()

    def on_resize(self) -> None:
        """The width may be another one."""
        self._build()

    def _build(self) -> None:
        width = self.scrollable_content_region.width - 1
        if self.is_mounted and width > 0 and width != self._built_for:
            self._built_for = width
            self.query_one(Static).update(self.builder(width))

    # -- actions of the registry's scope "list"

    def action_down(self) -> None:
        """Scroll down."""
        self.scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scroll up."""
        self.scroll_relative(y=-1, animate=False)

    def action_top(self) -> None:
        """Scroll to the top."""
        self.scroll_home(animate=False)

    def action_bottom(self) -> None:
        """Scroll to the end."""
        self.scroll_end(animate=False)

    def action_page_down(self) -> None:
        """Scroll down by half of what is seen."""
        self.scroll_relative(y=max(self.size.height // 2, 1), animate=False)

    def action_page_up(self) -> None:
        """Scroll up by half of what is seen."""
        self.scroll_relative(y=-max(self.size.height // 2, 1), animate=False)


def labelled(label: str, value: Content, width: int, indent: int = 10) -> Content:
    """Return a dim label with its value beside it; what does not fit goes on under the value."""
    lines = value.wrap(max(width - indent, 10)) or [Content()]
    if len(label) >= indent:  # too long to stand beside its value
        return Content("\n").join([Content.styled(label, "$dim"), *(Content(" " * indent) + line for line in lines)])
    first = Content.assemble((f"{label:<{indent}}", "$dim"), lines[0])
    return Content("\n").join([first, *(Content(" " * indent) + line for line in lines[1:])])


def indented(value: Content, width: int, indent: int = 2) -> Content:
    """Return a text moved to the right, its wrapped lines a little further."""
    lines = value.wrap(max(width - indent - 2, 10)) or [Content()]
    moved = [Content(" " * (indent if number == 0 else indent + 2)) + line for number, line in enumerate(lines)]
    return Content("\n").join(moved)

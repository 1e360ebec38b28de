"""A pane of text that scrolls, and is made again when its width changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.app.keys import actions
from tui.app.widgets.lines import lacking, shown_as
from tui.text.line import ACCENT, BAD, BRIGHT, FAINT, GOOD, HEADING, LABEL, TITLE, VALUE, WARN, Line

Builder = Callable[[int], Sequence[Line]]
"""Columns there are -> the text."""
STYLES = {LABEL: "$dim", FAINT: "$edge", BRIGHT: "$bright", VALUE: "bold $bright", TITLE: "bold $bright"}
STYLES |= {"read": "$series-1", "write": "$series-2", "latency": "$series-3", "other": "$series-4"}  # of charts
STYLES |= {HEADING: "bold $secondary", ACCENT: "bold $accent", GOOD: "$ok", WARN: "$warn", BAD: "$bad"}


class TextPane(VerticalScroll, can_focus=True):
    """Shows what a builder returns for the width at hand; so values can be wrapped beside their labels."""

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "TextPane { padding: 0 0 0 1; & > Static { width: 1fr; height: auto; padding-right: 1; } }"

    def __init__(self, id: str | None = None, *, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, classes="pane", can_focus=can_focus)
        self.builder: Builder = lambda _: ()
        self.more = ""  # what stands below while not all has room: how to read on
        self.fills = False  # the text goes with the height too, as charts do
        self._built_for = self._built_height = -1
        self._built: Sequence[Line] | None = None

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static()

    def on_mount(self) -> None:
        """A scroll bar that comes or goes changes the width, and no resize tells of it."""
        self.watch(self, "show_vertical_scrollbar", self._build_soon, init=False)

    def show(self, builder: Builder) -> None:
        """Show another text; the scroll position stays as far as it can."""
        self.builder = builder
        self._built_for = -1
        self._build()

    def on_resize(self) -> None:
        """The width may be another one."""
        if self.fills and self.size.height != self._built_height:
            self._built_for, self._built_height = -1, self.size.height
        if self._built is None:
            self._build()
        else:
            self.call_after_refresh(self._build)  # Textual keeps the height of a text that changes while it is laid out

    def _build_soon(self) -> None:
        self._say_how()
        self.call_after_refresh(self._build)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Who reads on is told how to come back."""
        super().watch_has_focus(has_focus)
        self._say_how()

    def _say_how(self) -> None:
        if self.more:
            scrolls, back = self.show_vertical_scrollbar, "Tab back"
            how = f"j k scroll   {back}" if self.has_focus else self.more
            self.border_subtitle = how if scrolls else back if self.has_focus else ""

    def _build(self) -> None:
        width = self.scrollable_content_region.width - 1
        if self.is_mounted and width > 0 and width != self._built_for:
            self._built_for, before, self._built = width, self._built, list(self.builder(width))
            if self._built != before:  # laying out and painting the same again costs more than a look
                palette = self.app.current_theme.ansi
                self.query_one(Static).update(content_of(self._built, lacking(self.app), palette=palette))

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


def style_of(role: str, *, palette: bool) -> str:
    """Return Textual's style of a role; a colour of the terminal's own `palette` cannot be weakened."""
    name, _, strength = role.partition("*")
    style = STYLES.get(name, "")
    return f"{style} {strength}%" if style and strength and not palette else style


def content_of(lines: Iterable[Line], table: Mapping[int, int | str], *, palette: bool = False) -> Content:
    """Return lines as Textual's own text, which can be selected with the mouse; `table`: what `lacking` returns."""
    shown = ([(shown_as(text, table), style_of(role, palette=palette)) for text, role in line.runs] for line in lines)
    made = [Content.assemble(*runs) for runs in shown]
    return Content("\n").join(made)

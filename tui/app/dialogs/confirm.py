"""Asking before something ends or changes: a question, a few answers, the harmless one in focus."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from tui.app.dialogs.base import Dialog

BESIDE = 60  # cells for answers beside each other; more stand below each other
LEAST_BUTTON = 10
WIDTH = 68


class Answer(Struct, frozen=True):
    """One answer: its id is what the dialog returns, its key works without moving the focus."""

    id: str
    key: str
    label: str
    harmful: bool = False

    @property
    def text(self) -> str:
        """What stands on its button."""
        return f"{self.label} ({self.key})"


YES_NO = (Answer("no", "n", "No"), Answer("yes", "y", "Yes", harmful=True))


class Confirm(Dialog[str | None]):
    """A question. Returns the id of the answer, or None after Escape. The first answer has the focus.

    What it says scrolls where there is too little room; the answers stay in sight.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("left,h", "app.focus_previous", show=False),
        Binding("right,l", "app.focus_next", show=False),
        Binding("up,k", "step(-1)", show=False),
        Binding("down,j", "step(1)", show=False),
        Binding("pageup,ctrl+u", "page(-1)", show=False),
        Binding("pagedown,ctrl+d", "page(1)", show=False),
        Binding("home,g", "to_end(-1)", show=False),
        Binding("end,G", "to_end(1)", show=False),
    ]

    def __init__(
        self,
        title: str,
        body: str,
        answers: tuple[Answer, ...] = YES_NO,
        *,
        warns: bool = False,
        width: int = WIDTH,
    ) -> None:
        super().__init__()
        self.width = width
        self.warns = warns  # something is lost for good
        self.question = title
        self.body = body
        self.answers = answers
        for answer in answers:
            self._bindings.key_to_bindings.pop(answer.key, None)  # an answer's letter is no movement here
            self._bindings.bind(answer.key, f"answer('{answer.id}')", answer.label, show=False)

    def compose(self) -> ComposeResult:
        """The question, what it means, the answers."""
        with Vertical(classes="dialog -harmful" if self.warns else "dialog") as dialog:
            dialog.styles.width = self.width
            dialog.border_title = Content(self.question)
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(self.body, markup=False)
            stacked = self.stacked
            with Vertical(classes="dialog-buttons -stacked") if stacked else Horizontal(classes="dialog-buttons"):
                for answer in self.answers:
                    harm = "-harmful" if answer.harmful else ""
                    yield Button(Content(answer.text), id=answer.id, compact=True, classes=harm)

    @property
    def stacked(self) -> bool:
        """Whether the answers stand below each other."""
        return sum(max(LEAST_BUTTON, len(answer.text) + 2) + 2 for answer in self.answers) > BESIDE

    @property
    def scroll(self) -> VerticalScroll:
        """What scrolls."""
        return self.query_one(VerticalScroll)

    def on_mount(self) -> None:
        """The first answer is the harmless one."""
        self.set_focus(self.query(Button).first())
        self.watch(self.scroll, "show_vertical_scrollbar", self.say_how)

    def say_how(self, scrolls: bool) -> None:
        """Say how to read on where not all has room."""
        self.query_one(".dialog", Vertical).border_subtitle = "PgDn PgUp read on" if scrolls else ""

    def action_step(self, places: int) -> None:
        """Go to the next answer where they stand below each other or all is in sight; else read on."""
        if self.scroll.show_vertical_scrollbar and not self.stacked:
            self.scroll.scroll_relative(y=places, animate=False)
        elif places < 0:
            self.focus_previous()
        else:
            self.focus_next()

    def action_page(self, places: int) -> None:
        """Read on by what is in sight."""
        self.scroll.scroll_relative(y=places * max(1, self.scroll.size.height - 1), animate=False)

    def action_to_end(self, places: int) -> None:
        """Go to the first line, or to the last one."""
        (self.scroll.scroll_home if places < 0 else self.scroll.scroll_end)(animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take the pressed answer."""
        self.dismiss(event.button.id)

    def action_answer(self, answer: str) -> None:
        """Take the answer of a key."""
        self.dismiss(answer)

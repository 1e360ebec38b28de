"""Asking before something ends or changes: a question, a few answers, the harmless one in focus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

BESIDE = 60  # cells for answers beside each other; more stand below each other
LEAST_BUTTON = 10


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its id is what the dialog returns, its key works without moving the focus."""

    id: str
    key: str
    label: str
    harmful: bool = False


YES_NO = (Answer("no", "n", "No"), Answer("yes", "y", "Yes", harmful=True))


class Confirm(ModalScreen[str | None]):
    """A question. Returns the id of the answer, or None after Escape. The first answer has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("left,h,up,k", "app.focus_previous", show=False),
        Binding("right,l,down,j", "app.focus_next", show=False),
    ]

    def __init__(self, title: str, body: str, answers: tuple[Answer, ...] = YES_NO, *, warns: bool = False) -> None:
        super().__init__()
        self.warns = warns  # something is lost for good
        self.question = title
        self.body = body
        self.answers = answers
        for answer in answers:
            self._bindings.bind(answer.key, f"answer('{answer.id}')", answer.label, show=False)

    def compose(self) -> ComposeResult:
        """The question, what it means, the answers."""
        with Vertical(classes="dialog -harmful" if self.warns else "dialog") as dialog:
            dialog.border_title = self.question
            yield Static(self.body, markup=False, classes="dialog-body")
            labels = [f"{answer.label} ({answer.key})" for answer in self.answers]
            stacked = sum(max(LEAST_BUTTON, len(label) + 2) + 2 for label in labels) > BESIDE
            with Vertical(classes="dialog-buttons -stacked") if stacked else Horizontal(classes="dialog-buttons"):
                for answer, label in zip(self.answers, labels, strict=True):
                    yield Button(label, id=answer.id, compact=True, classes="-harmful" if answer.harmful else "")

    def on_mount(self) -> None:
        """The first answer is the harmless one."""
        self.set_focus(self.query(Button).first())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take the pressed answer."""
        self.dismiss(event.button.id)

    def action_answer(self, answer: str) -> None:
        """Take the answer of a key."""
        self.dismiss(answer)

"""Asking for passwords, passphrases and codes in the screens: masked, kept nowhere, one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, Label, Static

from tui.app.dialogs.base import Dialog
from tui.app.widgets.field import SecretInput, TextInput

if TYPE_CHECKING:
    from tui.engine.process.questions import Questions
    from tui.remote.vault import Asker, Question


class SecretPrompt(Dialog[None]):
    """The prompts of one question. `answers` is done once Enter, Escape, or another screen has ended it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "cancel", show=False)]
    DEFAULT_CSS = """
    SecretPrompt {
        & .secret-label { height: 1; color: $dim; }
        & TextInput { margin-bottom: 1; }
        & .dialog-body { margin-bottom: 0; }
    }
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question
        self.answers: asyncio.Future[list[str] | None] = asyncio.get_running_loop().create_future()

    def compose(self) -> ComposeResult:
        """What it is for, what the host says, the fields."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Log in"
            note = f"\n{self.question.note}" if self.question.note else ""
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(f"{self.question.subject}{note}\n", markup=False)
                for prompt, visible in self.question.prompts:
                    yield Label(prompt, markup=False, classes="secret-label")
                    yield SecretInput(password=not visible)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel (Esc)", id="cancel", compact=True)
                yield Button("Log in (Enter)", id="done", compact=True)

    def on_mount(self) -> None:
        """Ready to type."""
        self.set_focus(self.query(TextInput).first())

    def on_unmount(self) -> None:
        """Whatever took this dialog away: nobody waits for it for ever."""
        self._finish(None)

    @on(Input.Submitted)
    def next_field(self, event: Input.Submitted) -> None:
        """Go to the next field; after the last one all is typed."""
        fields = list(self.query(TextInput))
        if event.input is fields[-1]:
            self.done()
        else:
            self.focus_next()

    @on(Button.Pressed, "#done")
    def done(self) -> None:
        """Hand over what was typed."""
        self._finish([field.value for field in self.query(TextInput)])
        self.dismiss()

    @on(Button.Pressed, "#cancel")
    def action_give_up(self) -> None:
        """Nothing is handed over."""
        self._finish(None)
        self.dismiss()

    def _finish(self, answers: list[str] | None) -> None:
        if not self.answers.done():
            self.answers.set_result(answers)


async def ask(app: App[Any], question: Question) -> Sequence[str] | None:
    """Ask on top of whatever is shown; None when it was cancelled."""
    prompt = SecretPrompt(question)
    await app.push_screen(prompt)
    return await prompt.answers


async def answer_all(person: Asker, questions: Questions) -> None:
    """Answer what an engine asks until its hosts are logged in."""
    try:
        while (question := await asyncio.to_thread(questions.next)) is not None:
            questions.answer(await person(question))
    finally:
        questions.close()

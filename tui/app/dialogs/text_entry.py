"""Dialogs that ask for a line of text: a note, a name for a new profile, a password."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Static

from tui.app.dialogs.confirm import Dialog, Refusal
from tui.app.widgets.form import SecretInput, TextInput
from tui.app.widgets.lines import key_line

if TYPE_CHECKING:
    from tui.engine.control import Questions
    from tui.remote.vault import Asker, Question


class LineDialog(Dialog[str | None]):
    """Asks for one line of text, with an explanation below.

    Returns the text, or None after Escape. `does`: the label of Enter.
    """

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "cancel", show=False)]
    DEFAULT_CSS = (
        "LineDialog .line-about { color: $dim; height: auto; margin-bottom: 1; padding: 0 1; }"
    )

    def __init__(self, title: str, about: str, value: str = "", does: str = "save") -> None:
        super().__init__()
        self.question = title
        self.about = about
        self.value = value
        self.does = does

    def compose(self) -> ComposeResult:
        """Yield the title, the input, and the explanation."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(self.question)
            dialog.border_subtitle = key_line(("Enter", self.does), ("Esc", "cancel"))
            yield TextInput(self.value)
            yield Refusal()
            yield Static(self.about, classes="line-about", markup=False)

    def on_mount(self) -> None:
        """Focus the input."""
        self.query_one(TextInput).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the text, if it is accepted."""
        self.submit(event.value.strip())


class NoteDialog(LineDialog):
    """Asks for a note on a run. Returns it, or None after Escape."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Note on {run_id}", "notes are kept in the order written")


TAG = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9._-]*")
ABOUT = (
    "Extend: override some values; the rest follows the original, including later changes to it."
    " Copy: an independent copy of the whole profile."
)


class NewProfile(Dialog[tuple[str, str] | None]):
    """Asks for the name of a new profile, and whether to extend or copy the original.

    Returns ("extend" or "copy", the name), or None after Escape.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    NewProfile {
        & TextInput { margin-bottom: 0; }
        & #new-problem { height: 1; color: $bad; margin-bottom: 1; }
    }
    """

    def __init__(self, origin: str, taken: frozenset[str]) -> None:
        super().__init__()
        self.origin = origin
        self.taken = taken

    def compose(self) -> ComposeResult:
        """Yield an explanation, an input with a free name, and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"New profile based on {self.origin}"
            dialog.border_subtitle = key_line(
                ("Enter", "extend"), ("Tab", "copy"), ("Esc", "cancel")
            )
            yield Static(ABOUT, markup=False, classes="dialog-body")
            yield TextInput(self.free_name(), placeholder="family/name")
            yield Static(id="new-problem", markup=False)
            yield Refusal()
            with Horizontal(classes="dialog-buttons"):
                yield Button("Extend", id="extend", compact=True)
                yield Button("Copy", id="copy", compact=True)

    def on_mount(self) -> None:
        """Focus the input."""
        field = self.query_one(TextInput)
        field.focus()
        field.cursor_position = len(field.value)

    def free_name(self) -> str:
        """Return a name that no profile has, as a proposal."""
        name = f"my/{self.origin.partition('/')[2]}"
        numbers = (f"{name}-{number}" for number in range(2, len(self.taken) + 3))
        return (
            name
            if name not in self.taken
            else next(each for each in numbers if each not in self.taken)
        )

    def problem(self, name: str) -> str | None:
        """Return what is wrong with a name, None if valid."""
        if name in self.taken:
            return f"{name} exists"
        return None if TAG.fullmatch(name) else "family/name in lower case, such as my/read"

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        """Show what is wrong with the name typed so far."""
        self.query_one("#new-problem", Static).update(self.problem(event.value.strip()) or "")

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Extend the original on Enter."""
        self.close_with("extend")

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        """Extend or copy the original, depending on the button pressed."""
        self.close_with(event.button.id or "extend")

    def close_with(self, how: str) -> None:
        """Close with "extend" or "copy" and the name, if the name is valid."""
        name = self.query_one(TextInput).value.strip()
        if self.problem(name) is None:
            self.submit((how, name))
        else:
            self.query_one(TextInput).focus()


class SecretPrompt(Dialog[None]):
    """Asks for the answers to one question, such as a password.

    `answers` is set when the dialog closes: after Enter or Escape, or together with the screen.
    """

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
        """Yield the purpose, the host's message, and the inputs."""
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
        """Focus the first input."""
        self.set_focus(self.query(TextInput).first())

    def on_unmount(self) -> None:
        """Set `answers` when the dialog is removed, so that no caller keeps waiting."""
        self._finish(None)

    @on(Input.Submitted)
    def next_field(self, event: Input.Submitted) -> None:
        """Focus the next input; after the last one, close with the answers."""
        fields = list(self.query(TextInput))
        if event.input is fields[-1]:
            self.done()
        else:
            self.focus_next()

    @on(Button.Pressed, "#done")
    def done(self) -> None:
        """Close with the answers."""
        self._finish([field.value for field in self.query(TextInput)])
        self.dismiss()

    @on(Button.Pressed, "#cancel")
    def action_give_up(self) -> None:
        """Close without answers."""
        self._finish(None)
        self.dismiss()

    def _finish(self, answers: list[str] | None) -> None:
        if not self.answers.done():
            self.answers.set_result(answers)


async def ask(app: App[Any], question: Question) -> Sequence[str] | None:
    """Ask a question on top of the current screen; return None if cancelled."""
    prompt = SecretPrompt(question)
    await app.push_screen(prompt)
    return await prompt.answers


async def answer_all(person: Asker, questions: Questions) -> None:
    """Answer the engine's questions until it is logged in to all hosts."""
    try:
        while (question := await asyncio.to_thread(questions.next)) is not None:
            questions.answer(await person(question))
    finally:
        questions.close()

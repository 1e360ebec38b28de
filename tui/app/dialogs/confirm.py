"""The base of all dialogs, and dialogs that ask for a decision: confirm, leave, overwrite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from tui.app.terminal.leaving import CalmScreen
from tui.app.widgets.form import TextInput
from tui.app.widgets.lines import key_line
from tui.model.problem import BenchtuiError

Returned = TypeVar("Returned")


class Dialog(CalmScreen, ModalScreen[Returned]):
    """The base of dialogs.

    Derive from it, and put the content into a container of class `dialog`.

    The style sheet is loaded with the first dialog.
    """

    CSS_PATH: ClassVar = [Path(__file__).with_name("dialog.tcss")]
    accept: Callable[[Returned], Awaitable[object]] | None = None
    is_accepting = False
    busy = ""

    def accepting(self, accept: Callable[[Returned], Awaitable[object]], busy: str = "") -> Self:
        """Have `submit` call a function with the entry; a BenchtuiError keeps the dialog open.

        `busy`: the text to show while the function runs.
        """
        self.accept, self.busy = accept, busy
        return self

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow actions other than dismiss only while the dialog has its widgets.

        A key may arrive before or after that.
        """
        is_whole = self.is_mounted and self.is_attached
        return super().check_action(action, parameters) if is_whole else action == "dismiss"

    def dismiss(self, result: Returned | None = None) -> AwaitComplete:
        """Close with a result, only once.

        A second Enter may arrive before the dialog is gone.
        """
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def submit(self, entry: Returned) -> None:
        """Close with an entry once it is accepted.

        Otherwise stay open, keep the input, and show why it is refused.
        """
        if self.accept is None:
            self.dismiss(entry)
        elif not self.is_accepting:
            self.is_accepting = True
            self.run_worker(self._try(self.accept(entry), entry), group="accept")

    async def _try(self, accepted: Awaitable[object], entry: Returned) -> None:
        self.show_refusal("")
        self.show_busy(self.busy)
        try:
            await accepted
        except BenchtuiError as error:
            self.show_busy("")
            self.show_refusal(str(error))
        else:
            self.dismiss(entry)
        finally:
            self.is_accepting = False

    def show_refusal(self, reason: str) -> None:
        """Show why the entry is not accepted; an empty text removes the line."""
        for line in self.query(Refusal):
            line.update(reason)
            line.set_class(bool(reason), "-shown")

    def show_busy(self, text: str) -> None:
        """Show that the entry is being processed; an empty text removes the line."""
        for line in self.query(Refusal):
            line.set_class(bool(text), "-busy")
        self.show_refusal(text)


class Refusal(Static):
    """A line in a dialog: why its entry is not accepted, or that it is being processed."""

    DEFAULT_CSS = """
    Refusal {
        display: none; height: auto; color: $bad; padding: 0 1;
        &.-shown { display: block; }
        &.-busy { color: $text; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)


BESIDE = 60  # cells for answers side by side; wider ones are stacked
LEAST_BUTTON = 10
WIDTH = 68


class DialogChoice(Struct, frozen=True):
    """One answer of a dialog.

    The dialog returns the answer's id. The answer's key works wherever the focus is.
    """

    id: str
    key: str
    label: str
    harmful: bool = False

    @property
    def text(self) -> str:
        """The label on the button."""
        return f"{self.label} ({self.key})"


YES_NO = (DialogChoice("no", "n", "No"), DialogChoice("yes", "y", "Yes", harmful=True))


LEAVE = (
    DialogChoice("save", "s", "Save"),
    DialogChoice("discard", "d", "Discard", harmful=True),
    DialogChoice("cancel", "c", "Cancel"),
)


class Confirm(Dialog[str | None]):
    """A question with several answers.

    Returns the id of the answer, or None after Escape. The first answer has the focus. A long text
    scrolls while the answers stay visible.
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
        answers: tuple[DialogChoice, ...] = YES_NO,
        *,
        warns: bool = False,
        width: int = WIDTH,
    ) -> None:
        super().__init__()
        self.width = width
        self.warns = warns  # something is lost permanently
        self.question = title
        self.body = body
        self.answers = answers
        for answer in answers:
            # an answer's letter does not move the cursor
            self._bindings.key_to_bindings.pop(answer.key, None)
            self._bindings.bind(answer.key, f"answer('{answer.id}')", answer.label, show=False)

    def compose(self) -> ComposeResult:
        """Yield the question, its explanation, and the answers."""
        with Vertical(classes="dialog -harmful" if self.warns else "dialog") as dialog:
            dialog.styles.width = self.width
            dialog.border_title = Content(self.question)
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(self.body, markup=False)
            stacked = self.stacked
            with (
                Vertical(classes="dialog-buttons -stacked")
                if stacked
                else Horizontal(classes="dialog-buttons")
            ):
                for answer in self.answers:
                    harm = "-harmful" if answer.harmful else ""
                    yield Button(Content(answer.text), id=answer.id, compact=True, classes=harm)

    @property
    def stacked(self) -> bool:
        """Whether the answers are stacked, because they do not fit side by side."""
        return sum(max(LEAST_BUTTON, len(answer.text) + 2) + 2 for answer in self.answers) > BESIDE

    @property
    def scroll(self) -> VerticalScroll:
        """The container that scrolls the text."""
        return self.query_one(VerticalScroll)

    def on_mount(self) -> None:
        """Focus the first answer, which is harmless."""
        self.set_focus(self.query(Button).first())
        self.watch(self.scroll, "show_vertical_scrollbar", self.show_scroll_keys)

    def show_scroll_keys(self, scrolls: bool) -> None:
        """Show the keys for scrolling if the text does not fit."""
        self.query_one(".dialog", Vertical).border_subtitle = "PgDn PgUp scroll" if scrolls else ""

    def action_step(self, places: int) -> None:
        """Focus the next or the previous answer.

        If the text does not fit and the answers are not stacked, scroll instead.
        """
        if self.scroll.show_vertical_scrollbar and not self.stacked:
            self.scroll.scroll_relative(y=places, animate=False)
        elif places < 0:
            self.focus_previous()
        else:
            self.focus_next()

    def action_page(self, places: int) -> None:
        """Scroll the text by pages."""
        self.scroll.scroll_relative(y=places * max(1, self.scroll.size.height - 1), animate=False)

    def action_to_end(self, places: int) -> None:
        """Scroll to the first or to the last line."""
        (self.scroll.scroll_home if places < 0 else self.scroll.scroll_end)(animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Close with the answer that belongs to the button."""
        self.dismiss(event.button.id)

    def action_answer(self, answer: str) -> None:
        """Close with the answer that belongs to a key."""
        self.dismiss(answer)


LEAVE_CHOICES = (
    DialogChoice("detach", "d", "Detach"),
    DialogChoice("stop", "s", "Stop the run", harmful=True),
    DialogChoice("cancel", "c", "Cancel"),
)


def leave_question(name: str) -> Confirm:
    """Return the dialog that asks whether to detach from the run, stop it, or cancel."""
    body = "After Detach, the run continues without benchtui and this terminal."
    return Confirm(f"Run {name} is still running", body, LEAVE_CHOICES, warns=True)


class OverwriteDialog(Dialog[bool]):
    """Shows what a run would overwrite, and asks the user to type the name of each target.

    Returns True once every name has been typed, None after Escape. If the run is refused, nothing
    can be typed.
    """

    BINDINGS: ClassVar = [
        Binding("escape", "dismiss", "cancel", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-8)", show=False),
        Binding("pagedown", "scroll(8)", show=False),
    ]
    DEFAULT_CSS = """
    OverwriteDialog {
        & TextInput { margin-bottom: 1; }
        & #overwrite-wrong { height: auto; color: $bad; margin-bottom: 1; display: none; }
        & #overwrite-wrong.-shown { display: block; }
    }
    """

    def __init__(self, lines: Sequence[str], refused: Sequence[str], names: Sequence[str]) -> None:
        super().__init__()
        self.lines = lines
        self.refused = refused
        self.names = names
        self.typed = 0  # how many of the names

    def compose(self) -> ComposeResult:
        """Yield what would be overwritten, then a field for the next name."""
        with Vertical(classes="dialog -harmful") as dialog:
            dialog.styles.width = 96
            dialog.border_title = (
                "Refused" if self.refused else "All data on these targets will be lost"
            )
            dialog.border_subtitle = (
                key_line(("Esc", "back"))
                if self.refused
                else key_line(("Enter", "agree"), ("Esc", "cancel"))
            )
            with VerticalScroll(can_focus=bool(self.refused), classes="dialog-body"):
                yield Static(self.findings())
            if not self.refused:
                with Vertical(classes="dialog-ask"):
                    yield Static(id="overwrite-ask", markup=False)
                    yield TextInput()
                    yield Static(id="overwrite-wrong", markup=False)

    def findings(self) -> Content:
        """Return the refusals, then everything that would be overwritten."""
        bad = [Content.styled(text, "$bad") for text in self.refused]
        gap = [Content()] if bad and self.lines else []
        return Content("\n").join([*bad, *gap, *map(Content, self.lines)])

    def on_mount(self) -> None:
        """Ask for the first name."""
        if not self.refused:
            self.ask()
            self.query_one(TextInput).focus()

    def ask(self) -> None:
        """Ask the user to type the next name."""
        count = f" ({self.typed + 1} of {len(self.names)})" if len(self.names) > 1 else ""
        self.query_one("#overwrite-ask", Static).update(
            f"Type {self.names[self.typed]} to overwrite it{count}:"
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Accept the name if correct, and ask for the next one; close after the last one."""
        right = event.value.strip() == self.names[self.typed]
        wrong = self.query_one("#overwrite-wrong", Static)
        wrong.set_class(not right, "-shown")
        wrong.update(f"that is not {self.names[self.typed]}")
        if not right:
            return
        self.typed += 1
        event.input.value = ""
        if self.typed == len(self.names):
            self.dismiss(True)
        else:
            self.ask()

    def action_scroll(self, lines: int) -> None:
        """Scroll the text, while the field keeps the focus."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

"""A form of one-line fields with their errors below them, made for a narrow pane."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, Static

from tui.app.widgets.field import ChoiceInput, SecretInput, TextInput
from tui.app.widgets.lines import entitle, show_text

CHOOSE = "Left, Right or Space: another one"
WAS = 12  # cells of a default behind what stands in its place
LABEL = 13  # cells before a field
AROUND = 2  # blanks beside a text in a field, and beside the default
Check = Callable[[str, str], str | None]
"""(field's name, text) -> what is wrong with it in one line, or None."""


class FieldSpec(Struct, frozen=True):
    """One field: the label is accented while the value is not the default, `hint` is seen with the
    focus.
    """

    name: str
    value: str
    default: str
    hint: str = ""
    label: str = ""  # the name, when empty
    masked: bool = False  # what is typed is not shown
    choices: tuple[str, ...] = ()  # words without blanks, of which it holds one; empty: any text
    is_change: bool = True  # another value than the default counts as a change


class Field(Vertical):
    """Label, input, and an error line that takes no room while there is none."""

    DEFAULT_CSS = """
    Field {
        height: auto;
        & > Horizontal { height: 1; }
        & .field-label {
            width: 13; height: 1; color: $dim; text-overflow: ellipsis; text-wrap: nowrap;
        }
        & TextInput { width: 1fr; }
        & .field-was {
            display: none; width: auto; height: 1; padding: 0 1; color: $dim; background: $panel;
        }
        & .field-error { display: none; height: auto; color: $bad; padding-left: 2; }
        & .field-hint { display: none; height: auto; color: $dim; padding-left: 2; }
        &.-changed .field-label { color: $accent; }
        &.-changed.-roomy .field-was { display: block; }
        &.-entered .field-was { display: none; }
        &.-swept TextInput { color: $edge; }
        &.-wrong .field-label { color: $bad; }
        &.-wrong .field-error { display: block; }
        &.-entered .field-hint { display: block; }
        &.-entered .field-label { color: $bright; }
    }
    """

    def __init__(self, spec: FieldSpec, mark: str, cut: str) -> None:
        super().__init__()
        self.spec = spec
        self.mark = mark
        self.cut = cut
        self.error: str | None = None
        self.checked = spec.value.strip()  # the text that `show_state` was told of last

    def compose(self) -> ComposeResult:
        """One line, and two that show up when needed."""
        with Horizontal():
            yield Label(self.label, classes="field-label", markup=False)
            yield self.make_input()
            yield Label(self.was, classes="field-was", markup=False)
        yield Static(classes="field-error")
        yield Static(
            self.spec.hint + (f"; {CHOOSE}" if self.spec.choices else ""),
            classes="field-hint",
            markup=False,
        )

    def make_input(self) -> TextInput:
        """Return what is typed into, its text selected when it is entered."""
        spec = self.spec
        if spec.choices:
            return ChoiceInput(spec.value, spec.choices, name=spec.name, select_on_focus=True)
        return SecretInput(spec.value, name=spec.name, password=spec.masked, select_on_focus=True)

    @property
    def label(self) -> str:
        """What stands before the input."""
        return self.spec.label or self.spec.name

    @property
    def was(self) -> str:
        """The default, for a value that differs from it; empty where that is nothing, or secret."""
        default = self.spec.default
        if not (self.cut and default) or self.spec.masked:
            return ""
        return f"was {default if len(default) <= WAS else default[: WAS - 1] + self.cut}"

    def on_descendant_focus(self) -> None:
        """Show the hint; a class of its own, as for `:focus-within` all fields are styled anew."""
        self.add_class("-entered")

    def on_descendant_blur(self) -> None:
        """Hide the hint."""
        self.remove_class("-entered")

    @on(events.Resize)
    def show_was(self) -> None:
        """Show the default behind the value where it takes no room from it."""
        room = self.size.width - LABEL - cell_len(self.value) - 2 * AROUND
        self.set_class(0 < cell_len(self.was) <= room, "-roomy")

    @property
    def value(self) -> str:
        """The text as typed."""
        return self.query_one(TextInput).value.strip()

    def show_state(self, error: str | None) -> None:
        """Show whether the field is wrong, and whether it differs from the default."""
        self.error, self.checked = error, self.value
        self.show_wrong(error)
        self.set_class(self.checked != self.spec.default, "-changed")
        self.show_was()

    def show_wrong(self, problem: str | None) -> None:
        """Say below the field what is wrong: with its text, or with what it leads to."""
        show_text(
            self.query_one(".field-error", Static),
            Content(f"{self.mark} {problem}" if problem else ""),
        )
        self.set_class(bool(problem), "-wrong")


class Form(VerticalScroll, can_focus=False):
    """Fields under each other.

    Checks each one as it is typed; who enters a field finds its text selected.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    class Edited(Message):
        """A field's text is another one."""

    class Done(Message):
        """Enter was pressed in a field that is right."""

    def __init__(
        self,
        check: Check,
        mark: str,
        cut: str = "",
        unchanged: str = "",
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self.check = check
        self.mark = mark
        # ends a default that is too long to be shown behind another value; empty: none is shown
        self.cut = cut
        # the subtitle while no field is changed, else how many are; empty: none
        self.unchanged = unchanged
        self.last = ""  # the field that had the focus last

    async def set_fields(self, specs: Iterable[FieldSpec]) -> None:
        """Show these fields instead of what was there."""
        fields = [Field(spec, self.mark, self.cut) for spec in specs]
        await self.remove_children()
        await self.mount_all(fields)
        for field in fields:
            if field.is_attached and field.children:  # the screen may have been left meanwhile
                field.show_state(self.check(field.spec.name, field.spec.value))
        self.count_changes()

    def count_changes(self) -> None:
        """Say how many fields differ from their defaults."""
        if self.unchanged:
            changed = sum(
                field.spec.is_change and field.has_class("-changed") for field in self.fields
            )
            entitle(self, subtitle=f"{changed} changed" if changed else self.unchanged)

    def dim(self, names: Collection[str]) -> None:
        """Show these fields as not used."""
        for field in self.fields:
            field.set_class(field.spec.name in names, "-swept")

    @property
    def fields(self) -> list[Field]:
        """The fields, top down."""
        return [child for child in self.children if isinstance(child, Field)]

    @property
    def values(self) -> dict[str, str]:
        """Text by field."""
        return {field.spec.name: field.value for field in self.fields}

    @property
    def errors(self) -> dict[str, str]:
        """What is wrong, by field."""
        return {field.spec.name: field.error for field in self.fields if field.error}

    def focus_first(self) -> None:
        """Put the cursor into the first wrong field, else into the one that had it last, else into
        the first.
        """
        fields = self.fields
        wrong = [field for field in fields if field.has_class("-wrong")]
        last = [field for field in fields if field.spec.name == self.last]
        for target in (*wrong, *last, *fields)[:1]:
            self.screen.set_focus(target.query_one(TextInput))

    def show_problem(self, problem: str) -> None:
        """Say a problem with what stands in the fields below the one that it names, a changed one
        before others.

        Empty: there is none. It keeps no field from being left, as what is wrong with a text alone
        does.
        """
        named = [
            field
            for field in self.fields
            if re.search(rf"(?<!\w){re.escape(field.label)}(?!\w)", problem)
        ]
        named.sort(key=lambda field: not field.has_class("-changed"))
        for field in self.fields:
            if not field.error:
                field.show_wrong(problem if field in named[:1] else None)

    @on(events.DescendantFocus)
    def remember(self, event: events.DescendantFocus) -> None:
        """Who comes back comes to the field that was left."""
        self.last = next(
            (field.spec.name for field in self.fields if field in event.widget.ancestors), self.last
        )

    def focus_on(self, name: str, *, typing: bool = False) -> None:
        """Put the cursor behind the text of a field.

        While somebody is `typing` there, nothing is selected.
        """
        for field in self.fields:
            if field.spec.name == name:
                box = field.query_one(TextInput)
                box.select_on_focus = not typing
                box.cursor_position = len(box.value)
                self.screen.set_focus(box)

    @on(Input.Blurred)
    def left(self, event: Input.Blurred) -> None:
        """Who comes back finds the text selected."""
        event.input.select_on_focus = True

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        """Check what was typed at once."""
        event.stop()
        self.check_changed()

    def check_changed(self) -> None:
        """Check the fields whose text is another one than when they were checked last, and tell of
        it.
        """
        for field in self.fields:
            if field.value != field.checked:
                field.show_state(self.check(field.spec.name, field.value))
                self.count_changes()
                self.post_message(self.Edited())

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Leave the form once it is right; the begin of a choice is enough."""
        event.stop()
        if isinstance(event.input, ChoiceInput):
            event.input.complete()
            self.check_changed()
        if self.errors:
            self.focus_first()
        else:
            self.post_message(self.Done())

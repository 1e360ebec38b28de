"""One-line inputs, and a form that shows the error of each field below it, for a narrow pane."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input, Label, Static

from tui.app.widgets.lines import entitle, lacking, show_text, shown_as
from tui.model.plain import printable

CHOOSE = "Left, Right or Space to change"
WAS = 12  # cells of a default beside the value
LABEL = 13  # cells before a field
MOST_ROWS = 4  # of a long value
_PARTS = re.compile(r"[^,/ ]*[,/ ]|[^,/ ]+")
AROUND = 2  # padding of a field, and of the default
Check = Callable[[str, str], str | None]
"""Returns what is wrong with a field's text (name, text) in one line, None if valid."""


class FieldSpec(Struct, frozen=True):
    """Declares a field.

    Its label is accented while the value differs from the default; `hint` is shown while the field
    has the focus.
    """

    name: str
    value: str
    default: str
    hint: str = ""
    label: str = ""  # empty: the name
    masked: bool = False  # input is hidden
    choices: tuple[str, ...] = ()  # the allowed words, without spaces; empty: any text
    is_change: bool = True  # a value other than the default counts as a change
    empty: str = ""  # what an empty field means, shown in it
    before: str = "was"  # before the default, beside a changed value
    empty_is_default: bool = False  # an empty field has the default: no change


class Field(Vertical):
    """A field: label, input, and an error line, which is hidden if there is no error."""

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
        &.-required .field-label { color: $warn; }
        &.-required .input--placeholder { color: $warn; }
        &.-wrong .field-label { color: $bad; }
        &.-wrong .field-error { display: block; }
        &.-long > Horizontal { layout: vertical; }
        &.-long .field-label { width: 1fr; }
        &.-long TextInput { padding: 0; }
        &.-entered .field-hint { display: block; }
        &.-entered .field-label { color: $bright; }
        &.-cursor .field-label {
            color: $bright; background: $cursor-row; &:ansi { text-style: reverse; }
        }
        &.-cursor TextInput { color: $bright; background: $cursor-row; }
    }
    """

    def __init__(self, spec: FieldSpec, mark: str, cut: str) -> None:
        super().__init__()
        self.spec = spec
        self.mark = mark
        self.cut = cut
        self.error: str | None = None
        self.checked = spec.value.strip()  # the text that `show_state` saw last
        self.hint = spec.hint + (f"; {CHOOSE}" if spec.choices else "")

    def compose(self) -> ComposeResult:
        """Yield the label and the input in one line, and two lines shown when needed."""
        with Horizontal():
            yield Label(self.label, classes="field-label", markup=False)
            yield self.make_input()
            yield Label(self.was, classes="field-was", markup=False)
        yield Static(classes="field-error")
        yield Static(self.hint, classes="field-hint", markup=False)

    def make_input(self) -> TextInput:
        """Return the input, whose text is selected when it gets the focus."""
        spec = self.spec
        if spec.choices:
            return ChoiceInput(spec.value, spec.choices, name=spec.name, select_on_focus=True)
        return SecretInput(
            spec.value,
            name=spec.name,
            password=spec.masked,
            select_on_focus=True,
            placeholder=spec.empty,
        )

    @property
    def label(self) -> str:
        """The label before the input."""
        return self.spec.label or self.spec.name

    @property
    def was(self) -> str:
        """The default, to show beside a changed value.

        Empty without a default, or for a secret.
        """
        default = self.spec.default
        if not (self.cut and default) or self.spec.masked:
            return ""
        shown = default if len(default) <= WAS else default[: WAS - 1] + self.cut
        return f"{self.spec.before} {shown}"

    def on_descendant_focus(self) -> None:
        """Show the hint, by setting a class: `:focus-within` would restyle all fields."""
        self.add_class("-entered")
        self.show_whole()

    def on_descendant_blur(self) -> None:
        """Hide the hint."""
        self.remove_class("-entered")
        self.call_after_refresh(self.show_whole)

    def show_whole(self) -> None:
        """Show a long value in several lines; while it is edited, in a line below the label and, if
        it is longer than that line, in full above the hint.
        """
        if not self.is_attached:
            return
        box, entered = self.query_one(TextInput), self.has_class("-entered")
        box.rows = () if entered else box.wrapped_value()
        long = entered and cell_len(box.value) + 1 > self.size.width - LABEL - AROUND
        self.set_class(long, "-long")
        box.styles.height = height = max(len(box.rows), 1)
        self.query_one(Horizontal).styles.height = height + int(long)
        cut = long and cell_len(box.value) + 1 > self.size.width and not box.password
        whole = f"{box.value}\n{self.hint}" if cut else self.hint
        show_text(self.query_one(".field-hint", Static), Content(whole))

    @on(events.Resize)
    def show_was(self) -> None:
        """Show the default beside the value, if both fit."""
        room = self.size.width - LABEL - cell_len(self.value) - 2 * AROUND
        self.set_class(0 < cell_len(self.was) <= room, "-roomy")
        self.call_after_refresh(self.show_whole)

    @property
    def edited(self) -> FieldSpec:
        """The declaration of the field, with the text as typed as its value."""
        return replace(self.spec, value=self.value)

    def is_edited_in(self, others: Iterable[Field]) -> bool:
        """Return whether the field has the focus, and `others` has it with the same text."""
        return self.has_focus_within and any(each.spec == self.edited for each in others)

    @property
    def value(self) -> str:
        """The text as typed."""
        boxes = self.query(TextInput)  # none before the field is composed
        return (boxes.first().value if boxes else self.spec.value).strip()

    def show_state(self, error: str | None) -> None:
        """Show whether the text is invalid, and whether it differs from the default."""
        self.error, self.checked = error, self.value
        self.show_wrong(error)
        is_default = self.spec.empty_is_default and not self.checked
        self.set_class(self.checked != self.spec.default and not is_default, "-changed")
        self.show_was()

    def show_wrong(self, problem: str | None) -> None:
        """Show a problem of the field's text, or of the plan, below the field; None removes it."""
        show_text(
            self.query_one(".field-error", Static),
            Content(f"{self.mark} {problem}" if problem else ""),
        )
        self.set_class(bool(problem), "-wrong")


class Form(VerticalScroll, can_focus=False):
    """A column of fields.

    A field is checked while typing; its text is selected when it gets the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    class Edited(Message):
        """Sent when the text of a field has changed."""

    class Done(Message):
        """Sent when Enter is pressed in a valid form."""

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
        # ends a default too long to show; empty: defaults are not shown
        self.cut = cut
        # the subtitle while no field is changed; empty: no subtitle
        self.unchanged = unchanged
        self.changed_from = "changed"  # what the subtitle says of changed fields
        self.last = ""  # the field that had the focus last

    async def set_fields(self, specs: Iterable[FieldSpec]) -> None:
        """Replace all fields, but keep one that has the focus and is the same as its replacement.

        Keys pressed meanwhile reach it.
        """
        fields = [Field(spec, self.mark, self.cut) for spec in specs]
        kept = next((each for each in self.fields if each.is_edited_in(fields)), None)
        await self.remove_children([each for each in self.fields if each is not kept])
        if kept is None:
            await self.mount_all(fields)
        else:
            at = next(i for i, each in enumerate(fields) if each.spec == kept.edited)
            fields[at] = kept
            await self.mount_all(fields[:at], before=kept)
            await self.mount_all(fields[at + 1 :], after=kept)
        for field in fields:
            if field.is_attached and field.children:  # the screen may be gone by now
                field.show_state(self.check(field.spec.name, field.value))
        self.count_changes()

    def count_changes(self) -> None:
        """Show how many fields differ from their defaults."""
        if self.unchanged:
            changed = sum(
                field.spec.is_change and field.has_class("-changed") for field in self.fields
            )
            said = f"{changed} {self.changed_from}" if changed else self.unchanged
            entitle(self, subtitle=said)

    def dim(self, names: Collection[str]) -> None:
        """Show the fields with these names as unused, all others as used."""
        for field in self.fields:
            field.set_class(field.spec.name in names, "-swept")

    @property
    def fields(self) -> list[Field]:
        """The fields from top to bottom."""
        return [child for child in self.children if isinstance(child, Field)]

    @property
    def values(self) -> dict[str, str]:
        """The text of each field, by name."""
        return {field.spec.name: field.value for field in self.fields}

    @property
    def errors(self) -> dict[str, str]:
        """The error of each invalid field, by name."""
        return {field.spec.name: field.error for field in self.fields if field.error}

    def focus_first(self) -> None:
        """Focus the first invalid field, otherwise the field focused last, otherwise the first."""
        fields = self.fields
        wrong = [field for field in fields if field.has_class("-wrong")]
        last = [field for field in fields if field.spec.name == self.last]
        for target in (*wrong, *last, *fields)[:1]:
            self.screen.set_focus(target.query_one(TextInput))

    def show_problem(self, problem: str) -> None:
        """Show a problem of the plan below the field that it names; an empty text removes it.

        It names a field by its label, or by its option as in ``size=8``. If it names several
        fields, it is shown below a changed one. Unlike an invalid field, it does not prevent
        leaving the form.
        """
        named = [
            field
            for field in self.fields
            if re.search(
                rf"(?<!\w)(?:{re.escape(field.label)}(?!\w)|{re.escape(field.spec.name)}[=:])",
                problem,
            )
        ]
        named.sort(key=lambda field: not field.has_class("-changed"))
        for field in self.fields:
            if not field.error:
                field.show_wrong(problem if field in named[:1] else None)

    @on(events.DescendantFocus)
    def remember(self, event: events.DescendantFocus) -> None:
        """Remember which field has the focus."""
        self.last = next(
            (field.spec.name for field in self.fields if field in event.widget.ancestors), self.last
        )

    def focus_on(self, name: str, *, typing: bool = False) -> None:
        """Focus a field.

        `typing`: with the cursor after its text, which is not selected.
        """
        for field in self.fields:
            if field.spec.name == name:
                box = field.query_one(TextInput)
                box.select_on_focus = not typing
                box.cursor_position = len(box.value)
                self.screen.set_focus(box)

    @on(Input.Blurred)
    def left(self, event: Input.Blurred) -> None:
        """Select the text of the field when it gets the focus again."""
        event.input.select_on_focus = True

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        """Check the text while typing."""
        event.stop()
        self.check_changed()

    def check_changed(self) -> None:
        """Check the fields whose text has changed, and send `Edited`."""
        for field in self.fields:
            if field.value != field.checked:
                field.show_state(self.check(field.spec.name, field.value))
                self.count_changes()
                self.post_message(self.Edited())

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Complete an abbreviated choice, and leave the form if it is valid."""
        event.stop()
        if isinstance(event.input, ChoiceInput):
            event.input.complete()
            self.check_changed()
        if self.errors:
            self.focus_first()
        else:
            self.post_message(self.Done())


class PlanForm(Form):
    """The parameters of a plan.

    After the last field, Tab returns to the first, because outside of the form letters are
    commands. While no field has the focus, a cursor shows which one is edited next.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "go_round(1)", show=False),
        Binding("shift+tab,up", "go_round(-1)", show=False),
    ]

    moved = False  # the cursor was moved since a field had the focus

    @property
    def at_cursor(self) -> Field | None:
        """The field under the cursor: the one it was moved to or focused last, else the first.

        Until the cursor is moved, an invalid field comes before these.
        """
        fields = self.fields
        wrong = [] if self.moved else [field for field in fields if field.has_class("-wrong")]
        last = [field for field in fields if field.spec.name == self.last]
        return next(iter((*wrong, *last, *fields)), None)

    def go_to_top(self) -> None:
        """Put the cursor on the first field."""
        self.moved, self.last = True, ""
        self.scroll_home(animate=False)

    def move_cursor(self, places: int) -> None:
        """Move the cursor by a number of fields."""
        if (field := self.at_cursor) is not None:
            fields = self.fields
            to = fields[max(0, min(fields.index(field) + places, len(fields) - 1))]
            self.moved, self.last = True, to.spec.name
            self.show_cursor(visible=True)
            to.scroll_visible(animate=False)

    def show_cursor(self, *, visible: bool) -> None:
        """Show the cursor, or hide it while a field has the focus."""
        self.moved &= visible
        field = self.at_cursor if visible else None
        self.set_class(field is not None, "-steered")
        for each in self.fields:
            each.set_class(each is field, "-cursor")

    def focus_at_cursor(self) -> None:
        """Focus the field under the cursor."""
        if (field := self.at_cursor) is not None:
            self.screen.set_focus(field.query_one(TextInput))

    def action_go_round(self, places: int) -> None:
        """Focus the field `places` after the focused one; the first follows the last."""
        boxes = list(self.query(TextInput))
        place = next(i for i, box in enumerate(boxes) if box.has_focus)
        self.screen.set_focus(boxes[(place + places) % len(boxes)])


class TextInput(Input):
    """A compact input.

    The cursor does not blink, which would cost bytes on a slow link.
    """

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
        &.-held .input--placeholder { color: $foreground; }
        &:ansi > .input--selection { text-style: reverse; }
        &:ansi:focus .input--placeholder { color: $block-cursor-foreground; }
    }
    """

    # a field has a fixed size: no layout at each letter
    virtual_size = Reactive(Size(0, 0))
    rows: Sequence[str] = ()  # the lines of a long value; empty: one line

    def __init__(self, value: str = "", *, select_on_focus: bool = False, **options: Any) -> None:
        super().__init__(value, compact=True, select_on_focus=select_on_focus, **options)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        """Paste printable text only; a masked field accepts anything."""
        if not self.password:
            event.text = printable("".join(event.text.splitlines()[:1]))

    def render_line(self, y: int) -> Strip:
        """Return the drawn line.

        On palettes without a second background, `_` fills the input, so that an empty one is
        visible.
        """
        if self.rows and not self.has_focus:
            width = self.scrollable_content_region.width
            row = self.rows[y] if y < len(self.rows) else ""
            return Strip([Segment(row, self.rich_style)]).adjust_cell_length(width, self.rich_style)
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

    def wrapped_value(self) -> Sequence[str]:
        """Return the lines of a value that is wider than the field.

        Lines are broken after a comma, slash or blank. Empty if the value fits, has no place to be
        broken, or needs too many lines.
        """
        width = self.scrollable_content_region.width
        if self.password or width < 2 or cell_len(self.value) <= width:
            return ()
        rows = [""]
        for part in _PARTS.findall(self.value):
            if cell_len(part) > width:
                return ()
            if cell_len(rows[-1] + part) > width:
                rows.append("")
            rows[-1] += part
        return rows if len(rows) <= MOST_ROWS else ()

    def shortened_line(self, y: int) -> Strip:
        """Return the drawn line.

        An ellipsis at either end shows that the value continues, unless the input has the focus.
        """
        strip, width = super().render_line(y), self.scrollable_content_region.width
        begin = self.scroll_offset.x
        if self.has_focus or not self.value or width < 2:
            return strip
        mark = Strip([Segment(shown_as("…", lacking(self.app)), self.rich_style)], 1)
        if self.content_width - 1 > begin + width:  # the last column of the content is the cursor's
            strip = Strip.join([strip.crop(0, width - 1), mark])
        return Strip.join([mark, strip.crop(1)]) if begin else strip


class FilterInput(TextInput):
    """The filter below a list, behind the key that opens it.

    `hint`: what may be typed, shown at the right while a text leaves room for it.
    """

    MARK = " / "

    def __init__(self, placeholder: str, id: str, hint: str = "") -> None:  # noqa: A002
        super().__init__(placeholder=placeholder, id=id, classes="filter")
        self.hint = hint

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rendered line, with the mark in the left padding and the hint at the right."""
        strips = super().render_lines(crop)
        if crop.x or not strips:
            return strips
        style = self.rich_style + self.get_component_rich_style("input--placeholder", partial=True)
        mark = Strip([Segment(self.MARK, style)], len(self.MARK)).crop(0, crop.width)
        first, text = strips[0].crop(len(self.MARK)), f"{self.hint} "
        left = crop.width - len(self.MARK) - len(text)
        if self.hint and self.value and left > cell_len(self.value) + 2:
            first = Strip.join([first.crop(0, left), Strip([Segment(text, style)], len(text))])
        return [Strip.join([mark, first]), *strips[1:]]


class SecretInput(TextInput):
    """An input whose masked text cannot be copied: terminals and logs may keep clipboards."""

    def action_copy(self) -> None:
        """Copy the selection, unless it is masked."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Cut the selection; masked text is deleted without being copied."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()


class ChoiceInput(SecretInput):
    """An input for one of a few words: Left, Right and Space switch, letters can be typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "choose(-1)", show=False),
        Binding("right", "choose(1)", show=False),
    ]

    def __init__(self, value: str, choices: tuple[str, ...], **options: Any) -> None:
        super().__init__(value, **options)
        self.choices = choices

    async def _on_key(self, event: events.Key) -> None:
        """Switch to the next word on Space, which no word contains."""
        if event.key == "space":
            event.stop()
            event.prevent_default()
            self.action_choose(1)

    def action_choose(self, step: int) -> None:
        """Switch to the word `step` places further or, after an abbreviation, to the first match.

        The next letter typed replaces the word.
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

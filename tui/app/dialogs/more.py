"""Ask for new limits of a search that used up its budget: total points and total time."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from tui.app.dialogs.confirm import Dialog
from tui.app.widgets.form import FieldSpec, Form
from tui.engine.extend_search import Spent, with_more
from tui.model.problem import UsageError
from tui.model.profile_parts import known_span
from tui.model.quantities import parse_duration, short_duration
from tui.model.search import Search

POINTS, WITHIN = "points", "within"


class Bounds(Struct, frozen=True):
    """Total points and total seconds of load and pauses of a search; None: unchanged."""

    points: int | None
    within_s: float | None


def bound_fields(search: Search) -> list[FieldSpec]:
    """Return the fields, with the previous limits."""
    within = "" if search.within_s is None else short_duration(search.within_s)
    points = str(search.points)
    before = "unchanged" if within else "no limit"
    return [
        FieldSpec(POINTS, points, points, f"total measurements: the limit was {points}"),
        FieldSpec(
            WITHIN, within, within, f"total time of load and pauses, such as 1h; empty: {before}"
        ),
    ]


def check_bound(search: Search, name: str, text: str) -> str | None:
    """Return what is wrong with one field's text."""
    try:
        if name == POINTS and not text.isdecimal():
            return "a whole number"
        with_more(
            search,
            int(text) if name == POINTS else None,
            _seconds(text) if name == WITHIN else None,
        )
    except (UsageError, ValueError) as error:
        return str(error).removeprefix(f"--{name}").removeprefix(f" {text}").removeprefix(": ")
    return None


def _seconds(text: str) -> float | None:
    return parse_duration(known_span(text)) if text else None


class MoreDialog(Dialog[Bounds | None]):
    """The budget spent, and new limits. Returns the limits, or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel", show=False)]
    DEFAULT_CSS = "MoreDialog Static { height: auto; }"

    def __init__(self, spent: Spent, spent_text: str) -> None:
        super().__init__()
        self.spent, self.spent_text = spent, spent_text

    def compose(self) -> ComposeResult:
        """What was spent, the fields and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "More for this search?"
            yield Static(f"{self.spent_text}\n", markup=False)
            yield Form(lambda name, text: check_bound(self.spent.search, name, text), "!")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel (Esc)", id="cancel", compact=True)
                yield Button("Measure (Enter)", id="done", compact=True)

    async def on_mount(self) -> None:
        """Focus the limit that stopped the search."""
        await self.form.set_fields(bound_fields(self.spent.search))
        self.form.focus_on(self.wanting(self.spent.search.points))

    @property
    def form(self) -> Form:
        """The fields."""
        return self.query_one(Form)

    def wanting(self, points: int) -> str:
        """Return the field that stops the search with this limit of points."""
        return POINTS if len(self.spent.points) >= points else WITHIN

    @on(Button.Pressed, "#cancel")
    def cancelled(self) -> None:
        """Nothing is measured."""
        self.dismiss(None)

    @on(Button.Pressed, "#done")
    @on(Form.Done)
    def done(self) -> None:
        """Return the limits once another point fits in them."""
        if self.form.errors:
            self.form.focus_first()
            return
        values = self.form.values
        bounds = Bounds(int(values[POINTS]), _seconds(values[WITHIN]))
        try:
            self.spent.more(bounds.points, bounds.within_s)
        except UsageError as error:
            self.tell(
                self.wanting(bounds.points or 0), str(error).removeprefix(f"run {self.spent.name} ")
            )
        else:
            self.dismiss(bounds)

    def tell(self, name: str, problem: str) -> None:
        """Show a problem at a field."""
        next(field for field in self.form.fields if field.spec.name == name).show_state(problem)
        self.form.focus_on(name)

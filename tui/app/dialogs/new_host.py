"""The small form for a new host."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from tui.app.dialogs.confirm import Dialog
from tui.app.widgets.form import FieldSpec, Form

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FIELDS = (
    FieldSpec("name", "", "", "how you call it"),
    FieldSpec("address", "", "", "name or IP address; empty: the name, as in ssh config"),
    FieldSpec("user", "", "", "empty: as in ssh config"),
    FieldSpec("port", "", "", "empty: as in ssh config, else 22"),
    FieldSpec("groups", "", "", "words separated by commas"),
)


class NewHost(Struct, frozen=True):
    """What was typed, checked."""

    name: str
    address: str | None
    user: str | None
    port: int | None
    groups: tuple[str, ...]


def check_host_field(taken: frozenset[str], name: str, text: str) -> str | None:
    """Return what is wrong with one field's text."""
    if name == "name":
        if text in taken:
            return "there is a host of that name"
        return (
            None
            if not text or NAME.fullmatch(text)
            else "letters, digits, dot, dash and underscore"
        )
    if name == "port" and text:
        return None if text.isdecimal() and 1 <= int(text) <= 65535 else "a port from 1 to 65535"
    if name in ("address", "user") and re.search(r"\s", text):
        return "no spaces"
    if name == "groups":
        wrong = next((word for word in words(text) if not NAME.fullmatch(word)), None)
        return f"{wrong}: letters, digits, dot, dash and underscore" if wrong else None
    return None


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text separated by commas or blanks."""
    return tuple(re.split(r"[,\s]+", text.strip())) if text.strip() else ()


def new_host(values: dict[str, str]) -> NewHost:
    """Return the host that checked fields describe."""
    return NewHost(
        values["name"],
        values["address"] or None,
        values["user"] or None,
        int(values["port"]) if values["port"] else None,
        words(values["groups"]),
    )


class AddHost(Dialog[NewHost | None]):
    """Name, address, user, port, groups. Returns the host, or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel", show=False)]

    def __init__(self, taken: frozenset[str]) -> None:
        super().__init__()
        self.taken = taken

    def compose(self) -> ComposeResult:
        """The fields and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Add a host to the inventory"
            dialog.border_subtitle = "Enter add   Tab next field   Esc cancel"
            yield Form(lambda name, text: check_host_field(self.taken, name, text), "!")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Add", id="add", compact=True)

    async def on_mount(self) -> None:
        """Ready to type."""
        await self.form.set_fields(FIELDS)
        self.form.focus_first()

    @property
    def form(self) -> Form:
        """The fields."""
        return self.query_one(Form)

    @on(Button.Pressed, "#cancel")
    def cancelled(self) -> None:
        """Nothing is added."""
        self.dismiss(None)

    @on(Button.Pressed, "#add")
    @on(Form.Done)
    def done(self) -> None:
        """Return the host once it has a name and nothing is wrong."""
        values = self.form.values
        if not values["name"]:
            self.form.fields[0].show_state("a host needs a name")
        if self.form.errors:
            self.form.focus_first()
        else:
            self.dismiss(new_host(values))

"""The small form for new hosts."""

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
from tui.model import hostspec
from tui.model.problem import UsageError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FIELDS = (
    FieldSpec("name", "", "", "h1, a range like weka-[01-04], or several: h1,h2"),
    FieldSpec(
        "address", "", "", "name or IP address; empty: the host's name, resolved by ssh config"
    ),
    FieldSpec("user", "", "", "empty: from ssh config"),
    FieldSpec("port", "", "", "empty: from ssh config, else 22"),
    FieldSpec("groups", "", "", "names separated by commas"),
)


class NewHosts(Struct, frozen=True):
    """The checked input. `specs`: names and ranges, each an entry of the inventory."""

    specs: tuple[str, ...]
    address: str | None
    user: str | None
    port: int | None
    groups: tuple[str, ...]


def check_host_field(taken: frozenset[str], name: str, text: str) -> str | None:
    """Return what is wrong with one field's text."""
    if name == "name":
        return check_names(taken, text)
    if name == "port" and text:
        return None if text.isdecimal() and 1 <= int(text) <= 65535 else "a port from 1 to 65535"
    if name in ("address", "user") and re.search(r"\s", text):
        return "no spaces"
    if name == "groups":
        wrong = next((word for word in words(text) if not NAME.fullmatch(word)), None)
        return f"{wrong}: letters, digits, dot, dash and underscore" if wrong else None
    return None


def check_names(taken: frozenset[str], text: str) -> str | None:
    """Return what is wrong with names and ranges separated by commas."""
    if "@" in text or ":" in text:
        return "names and ranges only; user and port have their own fields"
    try:
        names = [name for spec in hostspec.split(text) for name in hostspec.expand(spec)]
    except UsageError:
        return "letters, digits, dot, dash, underscore; ranges like h[1-4], h[01-08,12]"
    seen = set(taken)
    for name in names:
        if name in seen:
            return f"{name} is {'already in the list' if name in taken else 'named twice'}"
        seen.add(name)
    return None


def check_address(specs: tuple[str, ...], address: str | None) -> str | None:
    """Return why an address does not fit the hosts: a range needs a range of the same length."""
    if address is None:
        return None
    if len(specs) > 1:
        return "leave empty for several entries; add them one by one instead"
    try:
        addresses = len(hostspec.expand(address))
    except UsageError as error:
        return error.problems[0].message
    hosts = len(hostspec.expand(specs[0]))
    return None if addresses == hosts else f"{hosts} hosts need {hosts} addresses, not {addresses}"


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text separated by commas or spaces."""
    return tuple(re.split(r"[,\s]+", text.strip())) if text.strip() else ()


def new_hosts(values: dict[str, str]) -> NewHosts:
    """Return the hosts described by the checked fields."""
    return NewHosts(
        tuple(hostspec.split(values["name"])),
        values["address"] or None,
        values["user"] or None,
        int(values["port"]) if values["port"] else None,
        words(values["groups"]),
    )


class AddHost(Dialog[NewHosts | None]):
    """Names, address, user, port, groups. Returns the hosts, or None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel", show=False)]

    def __init__(self, taken: frozenset[str]) -> None:
        super().__init__()
        self.taken = taken

    def compose(self) -> ComposeResult:
        """The fields and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Add hosts to the inventory"
            dialog.border_subtitle = "Enter add   Tab next field   Esc cancel"
            yield Form(lambda name, text: check_host_field(self.taken, name, text), "!")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Add", id="add", compact=True)

    async def on_mount(self) -> None:
        """Focus the first field."""
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
        """Return the hosts once a name is given and all fields are valid."""
        values = self.form.values
        if not values["name"]:
            self.form.fields[0].show_state("a host needs a name")
        hosts = new_hosts(values)
        if not self.form.errors and (wrong := check_address(hosts.specs, hosts.address)):
            self.form.fields[1].show_state(wrong)
        if self.form.errors:
            self.form.focus_first()
        else:
            self.dismiss(hosts)

"""Dialogs with a form: new hosts, and a larger budget for a search."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from tui.app.dialogs.confirm import Dialog, Refusal
from tui.app.widgets.form import FieldSpec, Form
from tui.app.widgets.lines import key_line
from tui.engine.extend_search import Spent, with_more
from tui.metrics.units import plural
from tui.model import hostspec
from tui.model.problem import UsageError
from tui.model.profile_parts import known_span
from tui.model.quantities import parse_duration, short_duration
from tui.model.search import Search

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FIELDS = (
    FieldSpec(
        "name",
        "",
        "",
        "h1, a range like h[01-04], or several: h1,h2",
        "names",
        empty="required",
    ),
    FieldSpec(
        "address",
        "",
        "",
        "DNS name or IP; one per host: 10.0.0.[1-4]",
        empty="the name, as ~/.ssh/config resolves it",
    ),
    FieldSpec("user", "", "", "login name", empty="from ~/.ssh/config, otherwise your own"),
    FieldSpec("port", "", "", "port of the SSH server", empty="from ~/.ssh/config, otherwise 22"),
    FieldSpec("groups", "", "", "names separated by commas, such as ssd,rack-1", empty="none"),
)
POINTS, WITHIN = "points", "within"


class NewHosts(Struct, frozen=True):
    """New hosts as typed and checked.

    `specs`: names and ranges, each an entry of the inventory.
    """

    specs: tuple[str, ...]
    address: str | None
    user: str | None
    port: int | None
    groups: tuple[str, ...]


def check_host_field(taken: frozenset[str], name: str, text: str) -> str | None:
    """Return what is wrong with one field, None if valid.

    `taken`: names that exist already.
    """
    if name == "name":
        return check_names(taken, text) if text else None  # `done` asks for a name
    if name == "port" and text:
        return None if text.isdecimal() and 1 <= int(text) <= 65535 else "a port from 1 to 65535"
    if name in ("address", "user") and re.search(r"\s", text):
        return "no spaces"
    if name == "groups":
        wrong = next((word for word in words(text) if not NAME.fullmatch(word)), None)
        return (
            f"{wrong}: only letters, digits, dot, dash and underscore are allowed"
            if wrong
            else None
        )
    return None


def check_names(taken: frozenset[str], text: str) -> str | None:
    """Return what is wrong with a list of names and ranges, None if valid.

    `taken`: names that exist already.
    """
    if "@" in text or ":" in text:
        return "names and ranges only; user and port have their own fields"
    try:
        names = [name for spec in hostspec.split(text) for name in hostspec.expand(spec)]
    except UsageError:
        return "letters, digits, dot, dash, underscore; ranges like h[1-4], h[01-08,12]"
    seen = set(taken)
    for name in names:
        if name in seen:
            return f"{name} is {'already in the list' if name in taken else 'given twice'}"
        seen.add(name)
    return None


def check_address(specs: tuple[str, ...], address: str | None) -> str | None:
    """Return why an address does not fit the hosts, None if it does.

    A range of hosts needs a range of addresses of the same length; for several names or ranges, the
    address must be empty.
    """
    if address is None:
        return None
    if len(specs) > 1:
        return "leave empty for several hosts, or add them one by one"
    try:
        addresses = len(hostspec.expand(address))
    except UsageError as error:
        return error.problems[0].message
    hosts = len(hostspec.expand(specs[0]))
    if addresses == hosts:
        return None
    return f"give one address per host: found {addresses} for {plural(hosts, 'host')}"


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text separated by commas or spaces."""
    return tuple(re.split(r"[,\s]+", text.strip())) if text.strip() else ()


def new_hosts(values: dict[str, str]) -> NewHosts:
    """Return the hosts that the valid fields describe."""
    return NewHosts(
        tuple(hostspec.split(values["name"])),
        values["address"] or None,
        values["user"] or None,
        int(values["port"]) if values["port"] else None,
        words(values["groups"]),
    )


class AddHost(Dialog[NewHosts | None]):
    """Asks for names, address, user, port and groups of new hosts.

    Returns the hosts, or None after Escape.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel", show=False)]

    def __init__(self, taken: frozenset[str]) -> None:
        super().__init__()
        self.taken = taken

    def compose(self) -> ComposeResult:
        """Yield the fields and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Add hosts to the inventory"
            dialog.border_subtitle = key_line(("Tab", "next field"))
            yield Form(lambda name, text: check_host_field(self.taken, name, text), "!")
            yield Refusal()
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel (Esc)", id="cancel", compact=True)
                yield Button("Add (Enter)", id="add", compact=True, classes="-default")

    async def on_mount(self) -> None:
        """Focus the first field."""
        await self.form.set_fields(FIELDS)
        self.mark_required()
        self.form.focus_first()

    @on(Form.Edited)
    def mark_required(self) -> None:
        """Mark the field of the names as required while it is empty."""
        names = self.form.fields[0]
        names.set_class(not names.value, "-required")

    @property
    def form(self) -> Form:
        """The form with all fields."""
        return self.query_one(Form)

    @on(Button.Pressed, "#cancel")
    def cancelled(self) -> None:
        """Close without adding hosts."""
        self.dismiss(None)

    @on(Button.Pressed, "#add")
    @on(Form.Done)
    def done(self) -> None:
        """Close with the hosts, if they have a name and all fields are valid."""
        values = self.form.values
        if not values["name"]:
            self.form.fields[0].show_state("a host needs a name")
        hosts = None if self.form.errors else new_hosts(values)
        if hosts is not None and (wrong := check_address(hosts.specs, hosts.address)):
            self.form.fields[1].show_state(wrong)
        if self.form.errors:
            self.form.focus_first()
        else:
            self.submit(hosts)


class Bounds(Struct, frozen=True):
    """The new budget of a search: total points, and total seconds of load and pauses.

    None: unchanged.
    """

    points: int | None
    within_s: float | None


def bound_fields(search: Search) -> list[FieldSpec]:
    """Return the fields of the budget, with the previous values."""
    within = "" if search.within_s is None else short_duration(search.within_s)
    points = str(search.points)
    before = "unchanged" if within else "no limit"
    return [
        FieldSpec(
            POINTS, points, points, f"maximum number of points in total; the limit was {points}"
        ),
        FieldSpec(
            WITHIN, within, within, f"total time of load and pauses, such as 1h; empty: {before}"
        ),
    ]


def check_bound(search: Search, name: str, text: str) -> str | None:
    """Return what is wrong with one field, None if valid."""
    try:
        if name == POINTS and not text.isdecimal():
            return "expected a whole number"
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
    """Shows the budget that a search has spent, and asks for a larger one.

    Returns the budget, or None after Escape.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "cancel", show=False)]
    DEFAULT_CSS = "MoreDialog Static { height: auto; }"

    def __init__(self, spent: Spent, spent_text: str) -> None:
        super().__init__()
        self.spent, self.spent_text = spent, spent_text

    def compose(self) -> ComposeResult:
        """Yield the budget spent, the fields, and two buttons."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Extend this search?"
            yield Static(f"{self.spent_text}\n", markup=False)
            yield Form(lambda name, text: check_bound(self.spent.search, name, text), "!")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Cancel (Esc)", id="cancel", compact=True)
                yield Button("Measure (Enter)", id="done", compact=True, classes="-default")

    async def on_mount(self) -> None:
        """Focus the part of the budget that stopped the search."""
        await self.form.set_fields(bound_fields(self.spent.search))
        self.form.focus_on(self.wanting(self.spent.search.points))

    @property
    def form(self) -> Form:
        """The form with all fields."""
        return self.query_one(Form)

    def wanting(self, points: int) -> str:
        """Return the field whose limit would stop the search at this total number of points."""
        return POINTS if len(self.spent.points) >= points else WITHIN

    @on(Button.Pressed, "#cancel")
    def cancelled(self) -> None:
        """Close without measuring more."""
        self.dismiss(None)

    @on(Button.Pressed, "#done")
    @on(Form.Done)
    def done(self) -> None:
        """Close with the budget, if another point fits into it."""
        if self.form.errors:
            self.form.focus_first()
            return
        values = self.form.values
        bounds = Bounds(int(values[POINTS]), _seconds(values[WITHIN]))
        try:
            self.spent.more(bounds.points, bounds.within_s)
        except UsageError as error:
            self.show_problem(
                self.wanting(bounds.points or 0), str(error).removeprefix(f"run {self.spent.name} ")
            )
        else:
            self.dismiss(bounds)

    def show_problem(self, name: str, problem: str) -> None:
        """Show a problem below a field."""
        next(field for field in self.form.fields if field.spec.name == name).show_state(problem)
        self.form.focus_on(name)

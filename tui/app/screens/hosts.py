"""Step 1: choose where to run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.app.screens import host_rows
from tui.app.screens.base import StepScreen
from tui.app.screens.host_forms import AddHost
from tui.app.widgets.field import TextInput
from tui.app.widgets.picklist import PickList
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.model.plan import HostAddress

EMPTY = "No hosts yet: press n to add one, or tick 'local' to measure this machine"

NO_MATCH = "Nothing matches the filter: Esc clears it"


class HostsScreen(StepScreen):
    """Inventory, ssh config and this machine, with ticks and what a check found."""

    SCOPE = "hosts"
    CSS_PATH = "hosts.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.hosts: list[HostAddress] = []
        self.shown: list[HostAddress] = []
        self.checking: frozenset[str] = frozenset()
        self.problem: str | None = None

    def compose_body(self) -> Iterable[Widget]:
        """A notice, the list with its filter, the details of the host under the cursor."""
        yield Static(id="hosts-notice", markup=False)
        picklist = PickList(host_rows.COLUMNS, id="hosts-list")
        picklist.add_class("pane")
        picklist.border_title = "Hosts"
        yield picklist
        yield TextInput(placeholder="filter by name, address, group", id="hosts-filter", classes="filter")
        detail = VerticalScroll(Static(id="hosts-detail-text"), id="hosts-detail", classes="pane", can_focus=False)
        detail.border_title = "Details"
        yield detail

    @property
    def picklist(self) -> PickList:
        """The list of hosts."""
        return self.query_one("#hosts-list", PickList)

    @property
    def filter(self) -> TextInput:
        """The filter field."""
        return self.query_one("#hosts-filter", TextInput)

    def on_mount(self) -> None:
        """Show the frame at once, the hosts as soon as the files are read."""
        self.picklist.focus()
        self.load_hosts()

    # -- loading

    @work(thread=True, group="load-hosts", exclusive=True)
    def load_hosts(self, focus: str | None = None) -> None:
        """Read inventory and ssh config."""
        try:
            hosts, problem = self.shell.fleet.all(), None
        except BenchtuiError as error:
            hosts, problem = [], str(error)
        self.app.call_from_thread(self.take_hosts, hosts, problem, focus)

    def take_hosts(self, hosts: list[HostAddress], problem: str | None, focus: str | None = None) -> None:
        """Show what was read."""
        self.hosts, self.problem = list(hosts), problem
        self.shell.selection.order_by(host.name for host in self.hosts)
        self.show_hosts()
        first = focus or next(iter(self.shell.selection.ticked), None)
        if first:
            self.picklist.move_to(first)
        self.show_details()

    # -- showing

    def show_hosts(self) -> None:
        """Bring rows, counts and bars up to date."""
        search = self.filter.value
        selection = self.shell.selection
        groups = host_rows.by_group(self.hosts).values()
        self.shown = [host for members in groups for host in members if host_rows.matches(host, search)]
        self.picklist.set_rows(
            host_rows.host_rows(self.shown, selection.ticked, selection.checks, self.checking, self.shell.symbols)
        )
        found = f"{len(self.shown)} of {len(self.hosts)} shown, " if search else ""
        self.picklist.border_subtitle = f"{found}{len(selection.ticked)} of {len(self.hosts)} ticked"
        self.show_details()
        self.refresh_chrome()

    def show_details(self) -> None:
        """Show the host under the cursor, or what can be done when there is none."""
        pane, text = self.query_one("#hosts-detail"), self.query_one("#hosts-detail-text", Static)
        host = self.current
        pane.border_title = host.name if host else "Details"
        if self.problem:
            text.update(Content.styled(f"{self.shell.symbols.bad} {self.problem}", "$bad"))
        elif host:
            checks = self.shell.selection.checks
            text.update(host_rows.details(host, checks.get(host.name), host.name in self.checking, self.shell.symbols))
        elif self.current_group:
            names = ", ".join(host.name for host in self.members(self.current_group))
            text.update(Content.assemble(("Space ticks the whole group: ", "$dim"), names))
        else:
            text.update(Content.styled(NO_MATCH if self.hosts else EMPTY, "$dim"))

    def show_running(self, run_id: str) -> None:
        """Offer to watch a run that goes on."""
        notice = self.query_one("#hosts-notice", Static)
        notice.update(f"{self.shell.symbols.arrow} run {run_id} goes on: 4 watches it")
        notice.add_class("-shown")

    @property
    def current(self) -> HostAddress | None:
        """The host under the cursor."""
        key = self.picklist.cursor_key
        return next((host for host in self.shown if host.name == key), None)

    @property
    def current_group(self) -> str | None:
        """The group whose heading, or one of whose hosts, is under the cursor."""
        if self.current:
            return host_rows.group_of(self.current)
        key = self.picklist.cursor_key
        return key.removeprefix("@") if key else None

    def members(self, group: str) -> list[HostAddress]:
        """Return the shown hosts of a group."""
        return [host for host in self.shown if host_rows.group_of(host) == group]

    @on(PickList.Moved)
    def cursor_moved(self) -> None:
        """Details follow the cursor."""
        self.show_details()

    @on(PickList.Clicked)
    def row_clicked(self, event: PickList.Clicked) -> None:
        """A click on the tick, or a double click, ticks."""
        if event.column == 0 or event.twice:
            self.action_tick()

    # -- ticking

    def action_tick(self) -> None:
        """Tick the host, or the group on its heading."""
        host = self.current
        if host is None:
            self.action_group()
            return
        self.shell.selection.toggle(host.name)
        self.ticks_changed()

    def action_group(self) -> None:
        """Tick the whole group of the cursor."""
        group = self.current_group
        if group:
            self.shell.selection.toggle_all(host.name for host in self.members(group))
            self.ticks_changed()

    def action_all(self) -> None:
        """Tick everything that is shown, or nothing."""
        self.shell.selection.toggle_all(host.name for host in self.shown)
        self.ticks_changed()

    def ticks_changed(self) -> None:
        """Keep the ticks in the order of the list and show them."""
        self.shell.selection.order_by(host.name for host in self.hosts)
        self.show_hosts()

    def action_next(self) -> None:
        """Go on to Profiles; with no tick at all, the host under the cursor is meant."""
        if not self.shell.selection.ticked and self.current:
            self.action_tick()
        if self.shell.selection.ticked:
            self.shell.go("profiles")
        else:
            self.notify("tick at least one host: Space", severity="warning")

    # -- filter

    def action_filter(self) -> None:
        """Open the filter."""
        self.filter.add_class("-shown")
        self.filter.focus()

    @on(Input.Changed, "#hosts-filter")
    def filter_changed(self) -> None:
        """Narrow while typing."""
        self.show_hosts()

    @on(Input.Submitted, "#hosts-filter")
    def filter_done(self) -> None:
        """Keep the filter, go back to the list."""
        self.picklist.focus()
        self.filter.set_class(bool(self.filter.value), "-shown")

    def action_back(self) -> None:
        """Clear the filter."""
        if self.filter.has_class("-shown"):
            self.filter.value = ""
            self.filter.remove_class("-shown")
            self.picklist.focus()

    # -- checking

    def action_check(self) -> None:
        """Check the ticked hosts, else the one under the cursor."""
        names = frozenset(self.shell.selection.ticked) or frozenset({self.current.name} if self.current else ())
        hosts = [host for host in self.hosts if host.name in names and host.name not in self.checking]
        if hosts:
            self.checking |= {host.name for host in hosts}
            self.show_hosts()
            self.check(hosts)

    @work(group="check-hosts")
    async def check(self, hosts: list[HostAddress]) -> None:
        """Reach the hosts; rows fill in as answers come."""
        from tui.engine.fleet import check_hosts

        await check_hosts(hosts)

    # -- host keys and new hosts

    def action_trust(self) -> None:
        """Show the key of the host under the cursor and ask."""
        if self.current and self.current.transport == "ssh":
            self.trust(self.current)

    @work(group="trust", exclusive=True)
    async def trust(self, host: HostAddress) -> None:
        """Read the key, show its fingerprint, pin it once agreed."""
        await asyncio.sleep(0)
        pass

    def action_new(self) -> None:
        """Open the form for a new host."""
        self.app.push_screen(AddHost(frozenset(host.name for host in self.hosts)))

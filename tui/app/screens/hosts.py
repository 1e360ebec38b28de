"""Hosts (step 1): choose hosts; details of the host or group under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.frame.selection import Selection
from tui.app.frame.step_screen import FilteredScreen, KeyBar
from tui.app.screens import hosts_list
from tui.app.screens.hosts_first import WITH_HOSTS, first_lines, start_lines
from tui.app.screens.hosts_list import INDENT, HostList, KnownHost, Labelled, run_role
from tui.app.services.preflight import check_each, places_of
from tui.app.widgets.form import FilterInput
from tui.app.widgets.lines import TextPane
from tui.app.widgets.picklist import PickList, share_height
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.remote.way_base import PRINTS_KEYS
from tui.text.line import ACCENT, BAD, BRIGHT, LABEL, TEXT, Line, Run, indented, labelled
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.engine.inputs.hosts import SourceAnswer, SourceGroup
    from tui.engine.preflight.host_check import HostCheck

FIRST_FRAME_WAITS_S = 0.1  # for the hosts: to paint the first frame twice would take longer
AGES_S = 10.0  # between updates of the age of sources' answers
RESOLVE_AFTER_S = 0.7  # until then the app imports what the next screens need
EMPTY = "No hosts yet: press n to add one, or tick 'local' to measure this machine"
NO_MATCH = "Nothing matches the filter: Esc clears it"
READING = "reading the inventory and ssh config"
CHROME_LINES, LEAST_DETAILS = 2, 7
HEADINGS = 4  # heading lines above the first of all facts
SHARE, FOCUS_SHARE = 0.3, 0.6  # of the lines, for the details
# at this many columns, the details are next to a list that is longer than this share of the lines
BROAD_FROM, LONG = 180, 0.45


class HostsScreen(FilteredScreen):
    """The hosts of inventory and ssh config, and this machine, with ticks and check results."""

    SCOPE = "hosts"
    CSS_PATH = "hosts.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.host_list = HostList(self.shell.selection, self.shell.symbols)
        self.host_list.known_hosts = self.shell.paths.known_hosts
        self.columns: tuple[Column[KnownHost], ...] = hosts_list.columns(self.host_list)
        self.fact_columns: tuple[Column[KnownHost], ...] = ()  # once a host has facts
        self.hosts_shown = asyncio.Event()
        self.resolves = False  # addresses may be resolved now
        self.goes_on_to = ""  # the screen to go to once the hosts are known
        self.notices: dict[str, str] = {}  # by subject

    def compose_body(self) -> Iterable[Widget]:
        """Yield a notice, the list with its filter, and the details of the row under the cursor."""
        yield Static(id="hosts-notice", markup=False)
        columns = hosts_list.useful_columns(self.columns, self.host_list)
        picklist = PickList(columns, lambda host: host.name, fits=True, id="hosts-list")
        picklist.add_class("pane", update=False)
        picklist.border_title = "Hosts"
        words = "name, range such as h[1-4], address, group or role"
        pane = TextPane(id="hosts-detail")
        pane.more = "Tab scrolls"
        with Vertical(id="hosts-body"):
            yield picklist
            yield pane
        yield FilterInput(words, "hosts-filter")

    async def on_mount(self) -> None:
        """Show the hosts with the first frame, if the files are read in time."""
        self.set_focus(self.picklist)
        self.show_notice("", "")
        self.load_hosts()
        self.set_timer(RESOLVE_AFTER_S, self.find_places)
        self.set_interval(AGES_S, self.ages_changed)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.hosts_shown.wait(), FIRST_FRAME_WAITS_S)

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Show the selection, which another screen may have replaced, as "run again" does."""
        if not self.host_list.was_read:
            return
        if set(self.shell.selection.chosen) - {host.name for host in self.host_list.hosts}:
            self.load_hosts()  # hosts that were added since
        else:
            self.show_rows()

    # -- loading

    @work(thread=True, group="load-hosts", exclusive=True)
    def load_hosts(self, focus: str | None = None) -> None:
        """Read inventory and ssh config.

        `focus`: host to move the cursor to.
        """
        hosts: list[KnownHost] = []
        sources: list[SourceGroup] = []
        problem = None
        try:
            fleet = self.shell.fleet
            sources = hosts_list.groups_of_sources(fleet)
            of = {name: each.title for each in reversed(sources) for name in each.names}
            hosts = [
                KnownHost(address, origin, of.get(address.name, "") if origin == "source" else "")
                for address, origin in fleet.all(self.shell.selection.chosen)
            ]
        except BenchtuiError as error:
            hosts, sources, problem = [], [], str(error)
        self.hand_over(self.take_hosts, hosts, problem, focus, sources)

    def take_hosts(
        self,
        hosts: list[KnownHost],
        problem: str | None,
        focus: str | None,
        sources: Sequence[SourceGroup] = (),
    ) -> None:
        """Show the hosts that were read, then go to the screen that waited for them, if any.

        `problem`: why the inventory could not be read. `focus`: host to move the cursor to.
        """
        host_list = self.host_list
        host_list.hosts, host_list.sources, host_list.problem, host_list.was_read = (
            hosts,
            list(sources),
            problem,
            True,
        )
        self.set_class(not host_list.has_others, "-first")
        self.shell.selection.order_by(host.name for host in hosts)
        if self.resolves:
            self.find_places()
        self.show_rows()
        first = focus or next(iter(self.shell.selection.chosen), None)
        if first:
            self.picklist.move_to(first)
        self.show_details()
        self.hosts_shown.set()
        goes_on_to, self.goes_on_to = self.goes_on_to if self.is_current else "", ""
        if goes_on_to:
            self.action_go_on(goes_on_to)

    @work(group="places", exclusive=True, exit_on_error=False)
    async def find_places(self) -> None:
        """Read the addresses of hosts from ssh config, without DNS lookups.

        When the list changes later, they are read again.
        """
        self.resolves = True
        host_list = self.host_list
        addresses = [host.address for host in host_list.hosts]
        before = [*map(host_list.place, host_list.hosts)]
        host_list.places.update(
            await asyncio.to_thread(places_of, addresses, self.shell.options.ssh_config)
        )
        if before != [*map(host_list.place, host_list.hosts)] and self.query(PickList):
            self.show_rows()

    def action_refresh(self) -> None:
        """Query the source under the cursor again, or all sources."""
        host_list = self.host_list
        here = host_list.source(host_list.group_at(self.picklist.cursor_key))
        groups = [
            each
            for each in ([here] if here else host_list.sources)
            if each.title not in host_list.asking
        ]
        if not groups:
            which = here.title if here else "every source"
            self.notify(
                f"{which} is already being queried"
                if host_list.sources
                else "no group has a source",
                severity="warning",
            )
            return
        host_list.asking.update(each.title for each in groups)
        self.show_rows()
        hosts_list.ask_sources(self.shell.fleet, groups, self.take_source)

    def take_source(self, answer: SourceAnswer) -> None:
        """Keep and show the answer of a source."""
        from tui.engine.inputs.hosts import take_answer

        self.host_list.asking.discard(answer.group.title)
        take_answer(self.shell.fleet, answer)
        if self.is_mounted:
            self.load_hosts()

    # -- showing

    def ages_changed(self) -> None:
        """Show the age of the sources' answers."""
        if self.host_list.sources and self.is_current:
            self.show_rows()

    def show_rows(self) -> None:
        """Show the rows, counts and bars."""
        host_list, selection, search = self.host_list, self.shell.selection, self.filter.value
        host_list.show(search)
        if not self.fact_columns and any(check.facts for check in selection.checks.values()):
            from tui.app.screens.hosts_facts import fact_columns

            self.fact_columns = fact_columns(host_list)
        self.picklist.columns = hosts_list.useful_columns(
            (*self.columns, *self.fact_columns), host_list
        )
        ticked = frozenset(selection.chosen)
        asking, symbols = host_list.asking, host_list.symbols
        notes = {
            each.title: hosts_list.source_note(each, ticked, asking, symbols)
            for each in host_list.sources
        }
        self.picklist.awaits = bool(host_list.checking)
        self.picklist.set_rows(hosts_list.rows(host_list.shown, selection, {} if search else notes))
        self.share_room()
        found = f"{len(host_list.shown)} of {len(host_list.hosts)} shown, " if search else ""
        servers = f", {len(selection.servers)} only monitored" if selection.servers else ""
        # how many are not ready is in the headings of their groups
        self.picklist.border_subtitle = Content(
            f"{found}{len(selection.chosen)} of {len(host_list.hosts)} ticked{servers}"
        )
        self.show_details()
        self.refresh_chrome()

    @on(events.Resize)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def share_room(self) -> None:
        """Keep the list no taller than its rows; the details get the rest, and more while focused.

        On a wide terminal a long list gets all lines, because the details are next to it.
        """
        room = self.size.height - CHROME_LINES
        share = FOCUS_SHARE if self.query_one(TextPane).has_focus else SHARE
        self.set_class(self.host_list.lines > room * LONG, "-long")
        beside = self.size.width >= BROAD_FROM and self.has_class("-long")
        share_height(self.picklist, room, 0 if beside else max(LEAST_DETAILS, round(room * share)))
        show_useful_keys(self)

    def show_details(self) -> None:
        """Show the details of the row under the cursor; without hosts, show what to do."""
        pane, key, host_list = self.query_one(TextPane), self.picklist.cursor_key, self.host_list
        host = host_list.at(key)
        pane.border_title = Content(host.name if host else host_list.group_at(key) or "Details")

        def lines(width: int) -> list[Line]:
            room = pane.scrollable_content_region.height
            return detail_lines(host_list, key, width, room, broad=self.has_class("-broad"))

        pane.show(lines)
        show_useful_keys(self)

    @on(PickList.Moved)
    def cursor_moved(self) -> None:
        """Show the details of the row under the cursor."""
        self.show_details()
        self.query_one(TextPane).scroll_home(animate=False)

    def show_notice(self, about: str, text: str) -> bool:
        """Show a notice above the list; an empty text removes it."""
        self.notices[about] = text
        lines = [text for text in self.notices.values() if text]
        for notice in self.query("#hosts-notice").results(Static):  # none before the screen is made
            notice.update("\n".join(lines))
            notice.set_class(bool(lines), "-shown")
        return True

    # -- ticking

    def action_tick(self, what: str) -> None:
        """Tick the row, its group, or all rows shown; untick them if all are ticked."""
        hosts = self.host_list.picked(what, self.picklist.cursor_key)
        self.shell.selection.toggle([host.address for host in hosts])
        self.ticks_changed()

    @on(PickList.Clicked)
    def row_clicked(self, event: PickList.Clicked) -> None:
        """Tick a host on a double click, or on a click on its tick."""
        if event.column == 0 or event.twice:
            self.action_tick("row")

    def action_observe(self) -> None:
        """Switch the host under the cursor between load generator and server to monitor.

        On a heading, switch the whole group.
        """
        self.shell.selection.swap(
            [host.address for host in self.host_list.picked("row", self.picklist.cursor_key)]
        )
        self.ticks_changed()

    def ticks_changed(self) -> None:
        """Sort the ticks in list order and show them."""
        self.shell.selection.order_by(host.name for host in self.host_list.hosts)
        self.show_rows()

    def action_go_on(self, screen: str) -> None:
        """Continue with a screen, once the hosts are read.

        Without ticks, tick the host under the cursor.
        """
        if not self.host_list.was_read:
            self.goes_on_to = screen
            return
        selection = self.shell.selection
        if not selection.chosen and self.host_list.at(self.picklist.cursor_key):
            self.action_tick("row")
        if selection.ticked:
            self.shell.go(screen)
            return
        why = (
            f"{some(selection.servers)}: a server is only monitored; " if selection.servers else ""
        )
        more = ", or press o to make it generate load" if why else ""
        self.notify(
            f"{why}tick at least one host that generates load: Space{more}", severity="warning"
        )

    # -- checks, host keys, new hosts

    def action_check(self) -> None:
        """Check the ticked hosts or, without ticks, the one under the cursor."""
        hosts = self.host_list.ticked_or_at(self.picklist.cursor_key)
        if new := [host for host in hosts if host.name not in self.host_list.checking]:
            self.check(new)

    @work(group="check-hosts")
    async def check(self, hosts: list[KnownHost]) -> None:
        """Check hosts, and show each result as it arrives."""
        from tui.app.dialogs import text_entry

        shell, checking = self.shell, self.host_list.checking
        checking.update(host.name for host in hosts)
        self.show_rows()
        addresses = [host.address for host in hosts]
        try:
            where, config = shell.target_directory(), shell.options.ssh_config
            programs, asker = shell.options.settings.programs, partial(text_entry.ask, self.app)
            async for found in check_each(addresses, where, shell.paths, config, asker, programs):
                shell.selection.checks[found.name] = found
                checking.discard(found.name)
                self.picklist.update_lines()
                if self.picklist.cursor_key == found.name:
                    self.show_details()
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
        finally:
            checking.difference_update(host.name for host in hosts)
            self.show_rows()

    @work(group="trust", exclusive=True)
    async def action_trust(self) -> None:
        """Show the keys of the ticked hosts, or the key of the host under the cursor.

        If the user agrees, pin them and check the hosts.
        """
        from tui.app.services.remedies import ask_to_trust

        hosts = [
            host for host in self.host_list.ticked_or_at(self.picklist.cursor_key) if host.has_key
        ]
        if not hosts:
            self.notify("no host key to trust: these hosts are not reached over SSH")
        elif pinned := await ask_to_trust(self, [host.address for host in hosts]):
            self.check([host for host in hosts if host.name in pinned])

    def action_new(self) -> None:
        """Ask for new hosts, then show and tick them."""
        from tui.app.screens import hosts_inventory

        known = frozenset(host.name for host in self.host_list.hosts)
        hosts_inventory.add(self, known, self.load_hosts)

    def action_remove(self) -> None:
        """Ask, then remove the host under the cursor from the inventory."""
        from tui.app.screens import hosts_inventory

        host = self.host_list.at(self.picklist.cursor_key)
        hosts_inventory.remove(self, host, self.load_hosts)


def show_useful_keys(screen: HostsScreen) -> None:
    """Leave keys that are useless at present out of the footer."""
    host, narrow = screen.host_list.at(screen.picklist.cursor_key), screen.has_class("-narrow")
    useless = hosts_list.useless_keys(screen.host_list, host, narrow=narrow)
    screen.query_one(KeyBar).leave_out(*sorted(useless))


def detail_lines(
    host_list: HostList, key: str | None, width: int, room: int = 0, *, broad: bool = False
) -> list[Line]:
    """Return the details of a row.

    `room`: number of visible lines; the facts that ticked hosts share follow if they fit. `broad`:
    the terminal is wide, and these facts follow in any case.
    """
    host, group = host_list.at(key), host_list.group_at(key)
    if host_list.problem:
        return indented([(f"{host_list.symbols.bad} {host_list.problem}", BAD)], width, 0)
    if host is None and group:
        return group_lines(group, host_list, width)
    if host is None:
        text = NO_MATCH if host_list.hosts else EMPTY if host_list.was_read else READING
        return indented([(text, LABEL)], width, 0)
    if not host_list.has_others:
        about = host_lines(host, host_list, width)
        return [*about, *first_lines(width, room - len(about))]
    lines, ticked = host_lines(host, host_list, width), ticked_lines(host_list, width)
    if not host_list.selection.ticked and not any(map(host_list.check_of, host_list.hosts)):
        return [*start_lines(WITH_HOSTS, width), Line(), *lines]
    fits = broad or not host_list.facts(host) or len(lines) + len(ticked) <= room
    lines += ticked if fits else []
    every = further_facts(host, host_list, width)
    # no bare headings at the end of the page
    gap = room - len(lines) if every and len(lines) < room < len(lines) + HEADINGS else 0
    return [*lines, *[Line()] * gap, *every]


def host_lines(host: KnownHost, host_list: HostList, width: int) -> list[Line]:
    """Return everything known about one host.

    Problems come first, then differences from its peers.
    """
    lines: list[Line] = []
    check, symbols = host_list.check_of(host), host_list.symbols
    if host.name in host_list.checking:
        lines.append(Line.of((f"{symbols.wait} checking", ACCENT)))
    elif check is None:
        does = " connects and collects facts"
        lines.append(Line.of(("not checked yet: ", LABEL), ("c", ACCENT), (does, LABEL)))
    else:
        lines += verdict_lines(check, host_list, width)
    odd, facts = odd_and_facts(host, host_list)
    role = [("role", runs)] if (runs := role_runs(host, host_list.selection)) else []
    labels = [*odd, *role, ("address", address_runs(host, host_list.place(host))), *facts]
    return [
        *lines,
        *(
            line
            for label, runs in labels
            for line in labelled([(label, LABEL)], runs, width, INDENT)
        ),
    ]


def odd_and_facts(
    host: KnownHost, host_list: HostList
) -> tuple[Iterable[Labelled], Iterable[Labelled]]:
    """Return the facts in which a host differs from its peers, and all its facts."""
    facts = host_list.facts(host)
    if not facts:
        return (), ()
    from tui.app.screens.hosts_facts import fact_lines
    from tui.text.facts import odd_rows, same_machine

    checked = {each.name: host_list.facts(each) for each in host_list.hosts}
    odd = list(odd_rows(host_list.facts_together(host), host.name))
    return (*same_machine(checked, host.name), *odd), fact_lines(facts, told=odd)


def ticked_lines(host_list: HostList, width: int) -> list[Line]:
    """Return what the ticked hosts share, and how they differ.

    Empty if fewer than two of them have been checked.
    """
    ticked = host_list.selection.ticked
    facts = {
        host.name: facts
        for host in host_list.hosts
        if host.name in ticked and (facts := host_list.facts(host))
    }
    if len(facts) < 2:
        return []
    from tui.app.screens.hosts_facts import together_lines

    first = next(host for host in host_list.hosts if host.name in facts)
    return together_lines(host_list.facts_together(first), facts, len(ticked), width)


def further_facts(host: KnownHost, host_list: HostList, width: int) -> list[Line]:
    """Return the facts of a checked host that `host_lines` does not show."""
    if not (facts := host_list.facts(host)):
        return []
    from tui.app.screens.hosts_facts import further_lines

    odd = {each.name for each in host_list.facts_together(host).odd_of(host.name)}
    return further_lines(facts, odd, width)


def group_lines(title: str, host_list: HostList, width: int) -> list[Line]:
    """Return the hosts of a group and, for a source, its state."""
    source = host_list.source(title)
    lines = hosts_list.source_lines(source, host_list.symbols, width) if source is not None else []
    if source is not None and not source.names:
        return lines
    names = ", ".join(member.name for member in host_list.members(title))
    return [*lines, *indented([("Space ticks the whole group: ", LABEL), (names, TEXT)], width, 0)]


def address_runs(host: KnownHost, place: str) -> list[Run]:
    """Return address, origin and groups of a host."""
    if host.address.transport == "local":
        return [("this machine", BRIGHT), (", without SSH", LABEL)]
    groups = f", groups {', '.join(host.address.groups)}" if host.address.groups else ""
    return [(place, BRIGHT), (f"  from {host.origin}{groups}", LABEL)]


def role_runs(host: KnownHost, selection: Selection) -> list[Run]:
    """Return the role of a host that is a server, in the run or in the inventory.

    Empty for any other host.
    """
    role, style = run_role(host, selection)
    if role == "server":
        does, otherwise = "only monitored while others generate load", ": generate load on it"
    elif host.address.role == "server":
        does, otherwise = (
            "generates load, although the inventory lists it as a server",
            ": monitor it only",
        )
    else:
        return []
    return [
        (role, BRIGHT if style == LABEL else style),
        (f"  {does}; ", LABEL),
        ("o", ACCENT),
        (otherwise, LABEL),
    ]


def verdict_lines(check: HostCheck, host_list: HostList, width: int) -> list[Line]:
    """Return why a check failed, and the remedy: how to verify an unknown key, and trust it."""
    if check.ok:
        return []
    found, semicolon, more = check.message.partition("; ")
    mark = f"{host_list.symbols.bad} {found}"
    if check.code != "host-key-unknown":
        return indented([(mark, BAD), (semicolon + more, LABEL)], width, 0)
    prints: list[Run] = [(f"on {check.name}: ", LABEL), (PRINTS_KEYS, BRIGHT)]
    trusts: list[Run] = [
        ("if it prints this fingerprint, press ", TEXT),
        ("t", ACCENT),
        (" to trust the key", TEXT),
        (f" (asks, then adds it to {host_list.known_hosts})", LABEL),
    ]
    _, _, more = more.partition("; ")  # before it: how to trust the key in a shell
    return [
        *indented([(mark, BAD)], width, 0),
        *labelled([("step 1", LABEL)], prints, width, INDENT),
        *labelled([("step 2", LABEL)], trusts, width, INDENT),
        *(indented([(more, LABEL)], width, INDENT) if more else []),
    ]

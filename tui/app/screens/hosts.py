"""Step 1: choose where to run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.frame.step_screen import FilteredScreen, KeyBar
from tui.app.screens import hosts_rows as host_rows
from tui.app.screens import hosts_sources
from tui.app.screens.hosts_rows import KnownHost, Labelled
from tui.app.services.preflight import add_to_inventory, check_each, places_of
from tui.app.widgets.field import TextInput
from tui.app.widgets.lines import TextPane
from tui.app.widgets.picklist import PickList
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.text.line import ACCENT, BAD, LABEL, TEXT, Line, indented, labelled
from tui.text.table import Column

if TYPE_CHECKING:
    from tui.app.dialogs.new_host import NewHost
    from tui.app.screens.hosts_facts import Peers
    from tui.engine.inputs.hosts import Fleet
    from tui.engine.inputs.source_groups import SourceAnswer
    from tui.engine.preflight.host_check import HostCheck
    from tui.model.source_group import SourceGroup

EMPTY = "No hosts yet: press n to add one, or tick 'local' to measure this machine"
OF_SEVERAL = {"hosts.filter", "hosts.all", "hosts.sort", "hosts.group", "hosts.observe"}
LESS_THAN_TRUST = {"hosts.new", "hosts.all", "hosts.sort"}
READING = "reading the inventory and ssh's configuration"
FIRST_FRAME_WAITS_S = 0.1  # for the hosts; one that is painted twice comes later
AGES_S = 10.0  # how old answers are is shown that exactly
RESOLVE_AFTER_S = 0.7  # until then the app imports what the next screens need
WHAT_NOW = (
    ("J", "measures this machine: a form asks for pattern, block size, jobs, queue depth and target"),
    ("Enter", "measures it with a profile: presets of whole test plans"),
    ("n", "adds a host; hosts in ~/.ssh/config are listed automatically"),
    ("?", "shows every key"),
)


def what_now(width: int) -> list[Line]:
    """Return what somebody can do who has no hosts yet."""
    return [line for key, does in WHAT_NOW for line in labelled([(key, ACCENT)], [(does, TEXT)], width, 7)]


NO_MATCH = "Nothing matches the filter: Esc clears it"


class HostsScreen(FilteredScreen):
    """Inventory, ssh config and this machine, with ticks and what a check found."""

    SCOPE = "hosts"
    CSS_PATH = "hosts.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.hosts: list[KnownHost] = []
        self.shown: list[KnownHost] = []
        self.sources: list[SourceGroup] = []
        self.asking: set[str] = set()  # titles of sources
        self.checking: set[str] = set()
        self.problem: str | None = None
        self.hosts_shown = asyncio.Event()
        self.was_read = False  # inventory and ssh config were
        self.resolves = False  # it is time to find out where hosts are
        self.goes_on = ""  # the screen to go to once the hosts are known
        self.notices: dict[str, str] = {}
        self.columns: tuple[Column[KnownHost], ...] = ()

    @cached_property
    def seen(self) -> host_rows.Seen:
        """What the list shows beside the hosts themselves."""
        return host_rows.Seen(self.shell.selection, self.checking, self.shell.symbols, differs=self.differs)

    @cached_property
    def peers(self) -> Peers:
        """What hosts are compared with."""
        from tui.app.screens.hosts_facts import Peers

        return Peers()

    @cached_property
    def fact_columns(self) -> tuple[Column[KnownHost], ...]:
        """The columns of what checks read."""
        from tui.app.screens.hosts_facts import fact_columns

        return fact_columns(self.seen)

    def differs(self, host: KnownHost) -> str:
        """Return in which facts a host differs from its peers, once no more answers are waited for."""
        if self.checking or not self.seen.facts(host):
            return ""
        return self.peers.differs_in(host, self.hosts, self.shell.selection)

    @property
    def knows_others(self) -> bool:
        """There are hosts to choose from beside this machine."""
        return any(host.address.transport != "local" for host in self.hosts)

    def compose_body(self) -> Iterable[Widget]:
        """A notice, the list with its filter, below it or beside it the details of the host under the cursor."""
        yield Static(id="hosts-notice", markup=False)
        self.columns = host_rows.columns(self.seen)
        picklist = PickList(self.shown_columns(), lambda host: host.name, fits=True, id="hosts-list")
        picklist.add_class("pane", update=False)
        picklist.border_title = "Hosts"
        words = "filter: a name, h[1-4], address, group, server"
        pane = TextPane(id="hosts-detail")
        pane.more = "Tab reads on"
        with Vertical(id="hosts-body"):
            with Vertical(id="hosts-side"):
                yield picklist
                yield TextInput(placeholder=words, id="hosts-filter", classes="filter")
            yield pane

    async def on_mount(self) -> None:
        """Show the hosts with the first frame, or as soon as the files are read where that takes longer."""
        self.set_focus(self.picklist)
        self.show_notices()
        self.load_hosts()
        self.set_timer(RESOLVE_AFTER_S, self.begin_to_resolve)
        self.set_interval(AGES_S, self.ages_changed)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.hosts_shown.wait(), FIRST_FRAME_WAITS_S)

    # -- loading

    def begin_to_resolve(self) -> None:
        """From now on find out where hosts are: those that were read, and those that will be."""
        self.resolves = True
        self.find_places()

    @work(group="places", exclusive=True, exit_on_error=False)
    async def find_places(self) -> None:
        """Read in ssh's configuration where the hosts are; nothing is looked up in DNS."""
        addresses = [host.address for host in self.hosts]
        before = [*map(self.seen.place, self.hosts)]
        self.seen.places.update(await asyncio.to_thread(places_of, addresses, self.shell.options.ssh_config))
        if before != [*map(self.seen.place, self.hosts)] and self.query(PickList):
            self.show_rows()

    @work(thread=True, group="load-hosts", exclusive=True)
    def load_hosts(self, focus: str | None = None) -> None:
        """Read inventory and ssh config."""
        try:
            fleet, named = self.shell.fleet, self.shell.selection.chosen
            sources = self.read_sources(fleet)
            of = {name: each.title for each in reversed(sources) for name in each.names}
            hosts, problem = [
                host_rows.KnownHost(address, origin, of.get(address.name, "") if origin == "source" else "")
                for address, origin in fleet.all(named)
            ], None
        except BenchtuiError as error:
            hosts, sources, problem = [], [], str(error)
        self.hand_over(self.take_hosts, hosts, problem, focus, sources)

    def read_sources(self, fleet: Fleet) -> list[SourceGroup]:
        """Return the sources as groups; most have none."""
        if not fleet.sources and not fleet.has_asked:
            return []
        from tui.engine.inputs.source_groups import source_groups

        return source_groups(fleet)

    def take_hosts(
        self, hosts: list[KnownHost], problem: str | None, focus: str | None, sources: Sequence[SourceGroup] = ()
    ) -> None:
        """Show what was read."""
        self.sources = list(sources)
        self.hosts, self.problem, self.was_read = list(hosts), problem, True
        self.query_one(TextPane).set_class(not self.knows_others, "-first")
        self.shell.selection.order_by(host.name for host in self.hosts)
        if self.resolves:
            self.find_places()
        self.show_rows()
        first = focus or next(iter(self.shell.selection.chosen), None)
        if first:
            self.picklist.move_to(first)
        self.show_details()
        self.hosts_shown.set()
        goes_on, self.goes_on = self.goes_on if self.is_current else "", ""
        if goes_on:
            self.go_on(goes_on)

    # -- showing

    def shown_columns(self) -> tuple[Column[KnownHost], ...]:
        """Return the columns that say something of the hosts there are."""
        selection = self.shell.selection
        without = set() if any(map(partial(host_rows.has_part, selection=selection), self.hosts)) else {"role"}
        without |= set() if any(map(self.seen.differs, self.shown)) else {"differs in"}
        facts = self.fact_columns if any(check.facts for check in selection.checks.values()) else ()
        return tuple(each for each in (*self.columns, *facts) if each.title not in without)

    def show_rows(self) -> None:
        """Bring rows, counts and bars up to date."""
        search = self.filter.value
        selection = self.shell.selection
        groups = host_rows.by_group(self.hosts).values()
        hosts = [host for members in groups for host in members]
        self.shown = [host for host in hosts if host_rows.matches(host, search, self.seen.place(host))]
        self.picklist.columns = self.shown_columns()
        ticked, symbols = frozenset(selection.chosen), self.shell.symbols
        notes = {each.title: hosts_sources.note(each, ticked, self.asking, symbols) for each in self.sources}
        self.picklist.set_rows(host_rows.rows(self.shown, ticked, {} if search else notes))
        found = f"{len(self.shown)} of {len(self.hosts)} shown, " if search else ""
        servers = f", {len(selection.servers)} only looked at" if selection.servers else ""
        self.picklist.border_subtitle = f"{found}{len(selection.chosen)} of {len(self.hosts)} ticked{servers}"
        self.show_details()
        self.refresh_chrome()

    def show_details(self) -> None:
        """Show the host under the cursor, or what can be done when there is none."""
        pane, host = self.query_one(TextPane), self.current
        pane.border_title = Content(host.name if host else self.current_group or "Details")
        pane.show(partial(self.detail_lines, host))
        self.query_one(KeyBar).leave_out(*sorted(self.useless_keys(host)))

    def useless_keys(self, host: KnownHost | None) -> set[str]:
        """Return the actions that the footer need not name; of a host whose key is unknown it must name `trust`."""
        useless = set() if len(self.hosts) > 1 else OF_SEVERAL
        useless = useless if self.sources else {*useless, "hosts.refresh"}
        useless = useless if any(map(host_rows.has_key, self.hosts)) else {*useless, "hosts.trust"}
        check = self.shell.selection.checks.get(host.name) if host else None
        unknown = check is not None and check.code == "host-key-unknown"
        return {*useless, *LESS_THAN_TRUST} if unknown and self.has_class("-narrow") else useless

    def detail_lines(self, host: KnownHost | None, width: int) -> list[Line]:
        """Return the text about a host, a group, or what to do when there is neither."""
        symbols = self.shell.symbols
        if self.problem:
            return indented([(f"{symbols.bad} {self.problem}", BAD)], width, 0)
        if host:
            more = self.together(width) if self.knows_others else [Line(), *what_now(width)]
            return [*host_rows.details(host, self.seen, width, *self.read_of(host)), *more]
        if self.current_group:
            known = self.source_called(self.current_group)
            told = hosts_sources.lines(known, symbols, width) if known is not None else []
            if known is not None and not known.names:
                return told
            names = ", ".join(member.name for member in self.members(self.current_group))
            return [*told, *indented([("Space ticks the whole group: ", LABEL), (names, TEXT)], width, 0)]
        return indented([(NO_MATCH if self.hosts else EMPTY if self.was_read else READING, LABEL)], width, 0)

    def together(self, width: int) -> list[Line]:
        """Return what the ticked hosts have in common and differ in, where the details stand beside the list."""
        known = [host for host in self.hosts if host.name in self.shell.selection.ticked and self.seen.facts(host)]
        if len(known) < 2 or not self.has_class("-broad"):
            return []
        from tui.app.screens.hosts_facts import together_lines

        found = self.peers.of(known[0], self.hosts, self.shell.selection)
        facts = {host.name: self.seen.facts(host) for host in known}
        return together_lines(found, facts, len(self.shell.selection.ticked), width)

    def read_of(self, host: KnownHost) -> tuple[Iterable[Labelled], Iterable[Labelled]]:
        """Return what a check read: in what the host differs from its peers, and what it is."""
        facts = self.seen.facts(host)
        if not facts:
            return (), ()
        from tui.app.screens.hosts_facts import fact_lines
        from tui.text.facts import odd_lines, same_machine

        checked = {each.name: self.seen.facts(each) for each in self.hosts}
        odd = odd_lines(self.peers.of(host, self.hosts, self.shell.selection), host.name)
        return (*same_machine(checked, host.name), *odd), fact_lines(facts)

    def show_notice(self, about: str, text: str) -> bool:
        """Show a line above the list; an empty text takes it back."""
        self.notices[about] = text
        self.show_notices()
        return True

    def show_notices(self) -> None:
        """Show one line for each notice."""
        lines = [text for text in self.notices.values() if text]
        for notice in self.query("#hosts-notice").results(Static):  # none before the screen is made
            notice.update("\n".join(lines))
            notice.set_class(bool(lines), "-shown")

    @property
    def current(self) -> KnownHost | None:
        """The host under the cursor."""
        key = self.picklist.cursor_key
        return next((host for host in self.shown if host.name == key), None)

    @property
    def current_group(self) -> str | None:
        """The group whose heading, or one of whose hosts, is under the cursor."""
        if self.current:
            return self.current.group
        key = self.picklist.cursor_key
        return key.removeprefix("@") if key else None

    def members(self, group: str) -> list[KnownHost]:
        """Return the shown hosts of a group; a source may name hosts that stand under another heading."""
        source = self.source_called(group)
        if source is not None:
            return [host for host in self.shown if host.name in source.names]
        return [host for host in self.shown if host.group == group]

    def source_called(self, title: str) -> SourceGroup | None:
        """Return a source by its heading."""
        return next((each for each in self.sources if each.title == title), None)

    def action_refresh(self) -> None:
        """Query the source under the cursor again, or all of them."""
        here = self.source_called(self.current_group or "")
        groups = [each for each in ([here] if here else self.sources) if each.title not in self.asking]
        if not groups:
            self.notify("no group comes from a source" if not self.sources else "already querying", severity="warning")
            return
        self.asking.update(each.title for each in groups)
        self.show_rows()
        hosts_sources.ask(self.shell.fleet, groups, self.take_source)

    def take_source(self, answer: SourceAnswer) -> None:
        """Know what a source said, and show it."""
        from tui.engine.inputs.source_groups import take_answer

        self.asking.discard(answer.group.title)
        take_answer(self.shell.fleet, answer)
        if self.is_mounted:
            self.load_hosts()

    def ages_changed(self) -> None:
        """Show how old the answers of sources are by now."""
        if self.sources and self.is_current:
            self.show_rows()

    @on(PickList.Moved)
    def cursor_moved(self) -> None:
        """Details follow the cursor."""
        self.show_details()
        self.query_one(TextPane).scroll_home(animate=False)

    @on(PickList.Clicked)
    def row_clicked(self, event: PickList.Clicked) -> None:
        """A click on the tick, or a double click, ticks."""
        if event.column == 0 or event.twice:
            self.action_tick()

    # -- ticking

    def action_tick(self) -> None:
        """Tick the host, or the group on its heading."""
        if self.current is None:
            self.action_group()
        else:
            self.tick([self.current])

    def action_group(self) -> None:
        """Tick the whole group of the cursor."""
        if group := self.current_group:
            self.tick(self.members(group))

    def action_all(self) -> None:
        """Tick everything that is shown, or nothing."""
        self.tick(self.shown)

    def tick(self, hosts: Sequence[KnownHost]) -> None:
        """Tick these, or untick them when every one is."""
        self.shell.selection.toggle([host.address for host in hosts])
        self.ticks_changed()

    def action_observe(self) -> None:
        """Tick the host, or the group on its heading, as one that is only looked at, or that generates load."""
        hosts = [self.current] if self.current else self.members(self.current_group or "")
        self.shell.selection.swap([host.address for host in hosts])
        self.ticks_changed()

    def ticks_changed(self) -> None:
        """Keep the ticks in the order of the list and show them."""
        self.shell.selection.order_by(host.name for host in self.hosts)
        self.show_rows()

    def action_next(self) -> None:
        """Go on to Profiles."""
        self.go_on("profiles")

    def action_job(self) -> None:
        """Describe a job for the ticked hosts, without a profile."""
        self.go_on("job")

    def go_on(self, screen: str) -> None:
        """Go on, once the hosts are known; with no tick at all, the host under the cursor is meant."""
        if not self.was_read:
            self.goes_on = screen
            return
        selection = self.shell.selection
        if not selection.chosen and self.current:
            self.action_tick()
        if selection.ticked:
            self.shell.go(screen)
        else:
            said = f"{some(selection.servers)}: a server is only looked at; " if selection.servers else ""
            more = ", or o lets it generate load" if said else ""
            self.notify(f"{said}tick at least one host that generates load: Space{more}", severity="warning")

    def action_sort(self) -> None:
        """Sort by the next column; after the last one by group."""
        self.picklist.sort_by_next()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.picklist.sort_by_next(reverse=True)

    # -- checking

    def action_check(self) -> None:
        """Check the ticked hosts, else the one under the cursor."""
        hosts = [host for host in self.meant() if host.name not in self.checking]
        if hosts:
            self.start_check(hosts)

    def meant(self) -> list[KnownHost]:
        """Return the ticked hosts, else the one under the cursor."""
        names = frozenset(self.shell.selection.chosen) or frozenset({self.current.name} if self.current else ())
        return [host for host in self.hosts if host.name in names]

    def start_check(self, hosts: list[KnownHost]) -> None:
        """Show that these hosts are being looked at, and look."""
        self.checking.update(host.name for host in hosts)
        self.show_rows()
        self.check(hosts)

    @work(group="check-hosts")
    async def check(self, hosts: list[KnownHost]) -> None:
        """Reach the hosts; rows fill in as answers come."""
        from tui.app.dialogs import text_entry

        shell = self.shell
        addresses = [host.address for host in hosts]
        try:
            where, config = shell.target_directory(), shell.options.ssh_config
            async for found in check_each(addresses, where, shell.paths, config, partial(text_entry.ask, self.app)):
                self.take_check(found)
        finally:
            self.checking.difference_update(host.name for host in hosts)
            self.show_rows()

    def take_check(self, found: HostCheck) -> None:
        """Show what one host answered."""
        self.shell.selection.checks[found.name] = found
        self.checking.discard(found.name)
        host = next((host for host in self.hosts if host.name == found.name), None)
        self.picklist.update_lines()
        if self.current is host:
            self.show_details()

    # -- host keys and new hosts

    def action_trust(self) -> None:
        """Show the keys of the ticked hosts, else of the one under the cursor, and ask."""
        hosts = [host for host in self.meant() if host_rows.has_key(host)]
        if hosts:
            self.trust(hosts)
        else:
            self.notify("this machine needs no host key")

    @work(group="trust", exclusive=True)
    async def trust(self, hosts: list[KnownHost]) -> None:
        """Read the keys, show their fingerprints, pin them once agreed, check the hosts."""
        from tui.app.services.remedies import ask_to_trust

        if pinned := await ask_to_trust(self, [host.address for host in hosts]):
            self.start_check([host for host in hosts if host.name in pinned])

    def action_new(self) -> None:
        """Ask for a host."""
        from tui.app.dialogs.new_host import AddHost

        self.app.push_screen(AddHost(frozenset(known.name for known in self.hosts)), self.add_host)

    def add_host(self, host: NewHost | None) -> None:
        """Add a host to the inventory and show it."""
        if host is None:
            return
        try:
            add_to_inventory(self.shell.inventory_file, host)
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
            return
        self.shell.forget_fleet()
        self.load_hosts(host.name)

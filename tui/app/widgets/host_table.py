"""The tables of a run's hosts, worst first, and of its servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tui.app.widgets.host_rows import (
    HostCells,
    RowFigures,
    age_role,
    folded_runs,
    is_urgent,
    percent,
    ranked,
)
from tui.app.widgets.picklist import Heading, PickList
from tui.journal.state import waiting_text
from tui.metrics.figures import HostSpread
from tui.metrics.units import UNKNOWN, bandwidth
from tui.model.hostspec import is_range, named
from tui.text.line import (
    ACCENT,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    clip,
    fit,
    padded,
    reach_of,
    rule,
    width_of_runs,
)
from tui.text.run_texts import run_text
from tui.text.sparkline import Symbols
from tui.text.table import Column, table_line
from tui.view.live_hosts import (
    BROKEN,
    NO_FINDINGS,
    VERSUS,
    count_states,
)

if TYPE_CHECKING:
    from tui.journal.state import HostView
    from tui.journal.telemetry import HostTelemetry

LEAST_NAME = 6  # cells of a name: "server"
SHORT_BY_S = 0.1  # a window shorter than a whole second by this still counts as that second
RESORT_S = 5.0  # rows that swap places every second are unreadable
LEAST_FOLDED = 3  # folding fewer saves no lines
HEADING = 2  # its lines, if they fit
BRIEF_COUNTS = 13  # cells beside the column titles
LEAST_RUNS = 3  # least parts of the line for collapsed hosts: mark, count, median
FOLD = "\0fold"  # cannot be a host name
NOBODY = "\0nobody"
VIEWS = ("fit", "all", "bad")


class HostTable(PickList["HostView"]):
    """The hosts of a run, a row each, worst first. The cursor stays on its host.

    `view`: "fit" collapses unremarkable hosts into a line if not all fit, "all" never does, "bad"
    always does.
    """

    DEFAULT_CSS = "HostTable { padding: 0 1; }"
    # from this height, or if all hosts fit, the heading has a separate line
    TALL: ClassVar[int] = 9
    LONGEST_NAME: ClassVar[int] = 24
    LEADING: ClassVar[int] = 2  # columns of a broken host: mark and name
    headings_last = True
    waits_on_top = True

    cursor_s: int | None = None  # the second of the run under the cursor; None: now
    cursor_text = ""  # its time in the load
    unmeasured = False  # nothing was measured; the reasons of failures are shown elsewhere
    blank = False  # nothing is measured now: figures would be the previous step's

    def __init__(self, symbols: Symbols, thresholds: Mapping[str, float] | None = None, *,
                 id: str | None = None) -> None:  # noqa: A002  # fmt: skip
        # `thresholds`: of checks, if the run changes them
        self.cells = HostCells(symbols, thresholds or {})
        super().__init__(self.cells.columns(), lambda host: host.name, id=id)
        self.hosts: Sequence[HostView] = ()
        self.view = VIEWS[0]
        self.folds = False  # not all hosts fit
        self.wanted = ""  # the filter
        self.like: list[HostView] = []
        self._arranged_for: object = None
        self._sorted_at = float("-inf")

    @property
    def found(self) -> Mapping[str, Run]:
        """The findings about each host."""
        return self.cells.found

    @property
    def spread(self) -> HostSpread:
        """How far hosts are from the median, now or at the cursor."""
        return self.cells.spread

    @property
    def spread_now(self) -> HostSpread:
        """How far hosts are from the median now, even if there is a cursor."""
        return self.cells.spread_now

    def showing(
        self,
        hosts: Sequence[HostView],
        now: float,
        shown: RowFigures,
        found: Mapping[str, Run] = NO_FINDINGS,
        seen: Mapping[str, HostTelemetry] | None = None,
    ) -> Iterator[None]:
        """Show hosts as they are at time `now` of the run.

        Yields between parts of the work, so that keys can be handled. `found`: findings about each
        host, and their severity. `seen`: telemetry by host, shown in columns of its own.
        """
        cells, telemetry = self.cells, self.cells.telemetry
        before = (cells.shown, telemetry.titles, cells.has_latencies, cells.unmeasured)
        reach = reach_of(cells.widest)
        telemetry.show(seen or {}, now if self.cursor_s is None else self.cursor_s + 1.0)
        telemetry.marked = bool(shown.counted)
        cells.now, cells.second, cells.blank, cells.found = now, self.cursor_s, self.blank, found
        cells.shown, cells.unmeasured = shown, self.unmeasured
        new = len(hosts) != len(self.hosts) or any(
            a is not b for a, b in zip(hosts, self.hosts, strict=True)
        )
        if new:
            self.hosts = cells.hosts = list(hosts)
            cells.longest_name = max(
                6, min(max((len(host.name) for host in hosts), default=0), self.LONGEST_NAME)
            )
        yield from cells.comparing()
        yield
        other = before != (shown, telemetry.titles, cells.has_latencies, cells.unmeasured)
        if new or other or reach != reach_of(cells.widest):
            self._make_columns()
        yield
        bad, self.like = ranked(self.hosts, now, self.spread, found)
        yield
        urgent = frozenset(host.name for host in bad if is_urgent(host, now, self.spread))
        folds = self.folds or self.outlasted
        kind = (urgent, self.view, folds, self.wanted, self.cursor_s, self.size.height)
        if new or other or kind != self._arranged_for or abs(now - self._sorted_at) >= RESORT_S:
            self._sorted_at, self._arranged_for = now, kind
            self._given = self._arranged(bad)
            self.put_in_order()
        yield
        self.update_lines()

    def sort_anew(self) -> None:
        """Sort the rows at the next update, without the usual pause."""
        self._sorted_at = float("-inf")

    def _make_columns(self) -> None:
        before, sort = self.columns, self.sort
        self.columns = self.cells.columns()
        if sort is not None and len(self.columns) == len(before):
            self.sort = self.columns[before.index(sort)]
        elif sort is not None:
            self.sort = next((each for each in self.columns if each.title == sort.title), None)

    # -- order and folding

    def put_in_order(self) -> None:
        """Sort the rows again, and set the column that is marked as their given order.

        That is the deviation from the median if hosts are collapsed, the name if no host needs
        attention, otherwise the state.
        """
        if any(isinstance(row, Heading) for row in self._given):
            self.given_order = VERSUS
        else:
            self.given_order = "host" if len(self._given) == len(self.like) else "state"
        super().put_in_order()

    def _arranged(self, bad: list[HostView]) -> list[HostView | Heading]:
        """Return the rows: hosts that need attention, then the others or a line for them."""
        bad, like = ([host for host in each if self._is_wanted(host)] for each in (bad, self.like))
        if not bad and not like and self.wanted:
            return [Heading(NOBODY, "")]
        scarce = self.folds and self.sort is None and len(like) >= LEAST_FOLDED
        if self.view == "bad" or (self.view == "fit" and scarce) or self.outlasted:
            spare = self.size.height - HEADING - len(bad) - 1
            free = max(0, spare) if self.view == "fit" and not self.outlasted else 0
            # spare lines show those farthest from the median
            shares = self.spread.shares
            ahead = sorted(like, key=lambda host: -abs(shares.get(host.name) or 0.0))[:free]
            return [*bad, *ahead, Heading(FOLD, "")]
        return [*bad, *like]

    @property
    def outlasted(self) -> bool:
        """Whether all unremarkable hosts have finished, and the run waits for others."""
        now = self.cells.now
        return (
            self.view == "fit"
            and self.sort is None
            and len(self.like) >= LEAST_FOLDED
            and all(host.activity(now) == "finished" for host in self.like)
            and bool(waiting_text(self.hosts, now))
        )

    @property
    def _folds(self) -> list[HostView]:
        """The hosts that match the filter and have no row. Rows are not sorted at every update."""
        shown = {row.name for row in self._given if not isinstance(row, Heading)}
        return [host for host in self.hosts if self._is_wanted(host) and host.name not in shown]

    def _is_wanted(self, host: HostView) -> bool:
        return is_wanted(host, self.wanted)

    def next_view(self) -> str:
        """Switch to the next way of collapsing hosts, and return it."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        return self.view

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next column.

        While the table is sorted by a column, hosts are collapsed only in the view "bad".
        """
        super().sort_by_next(reverse=reverse)
        self.put_rows()

    def on_resize(self) -> None:
        """Use the new number of lines."""
        if self.folds and self.hosts:
            self.put_rows()

    def put_rows(self) -> None:
        """Sort and show the rows now."""
        bad, self.like = ranked(self.hosts, self.cells.now, self.spread, self.found)
        self._given = self._arranged(bad)
        self.put_in_order()
        self.update_lines()

    @property
    def least_rows(self) -> int:
        """Number of rows if unremarkable hosts are collapsed."""
        return len(self.hosts) - len(self.like) + 1

    # -- painting

    @property
    def head(self) -> int:
        """Number of lines above the hosts."""
        return HEADING if self.size.height >= min(self.TALL, len(self.rows) + 2) else 1

    def head_lines(self, rooms: Sequence[int], width: int) -> list[Line]:
        """Return a rule with the number of hosts in each state, and the column titles.

        They share a line if space is short.
        """
        titles, cells = self.titles(rooms), self.cells
        place = (
            f"{self.top + 1}–{min(len(self.rows), self.top + self.room)}" if self.scrolls else ""
        )
        if self.head == HEADING:
            counts = count_states(self.hosts, cells.now)
            title = f"Hosts · {cells.shown.job}" if cells.shown.job else "Hosts"
            title += (
                f" · last {int(cells.shown.lately_s + SHORT_BY_S)} s"
                if cells.spread is cells.spread_now and cells.is_running
                else ""
            )
            title += {"fit": "", "all": " · all", "bad": " · only bad"}[self.view]
            title += f" · /{self.wanted}" if self.wanted else ""
            title += f" · {self.cursor_text}" if self.cursor_text else ""
            return [
                rule(title, f"{counts}   {place} of {len(self.rows)}" if place else counts, width),
                titles,
            ]
        marks = self._counts()
        at: Run = (f" {self.cursor_text}" if self.cursor_text else "", ACCENT)
        tail = [at, *marks, (f"  {place}/{len(self.rows)}" if place else "", LABEL)]
        room = width - width_of_runs(tail)
        whole = [
            run for n, run in enumerate(titles.runs) if width_of_runs(titles.runs[: n + 1]) <= room
        ]
        return [Line.of(*padded(whole, room), *tail)]

    def _counts(self) -> list[Run]:
        """Return the number of hosts in each state in a few cells: ``8 running``, or by marks."""
        if len(said := count_states(self.hosts, self.cells.now)) <= BRIEF_COUNTS:
            return [(f" {said}", LABEL)]
        counted = Counter(map(self.cells.mark, self.hosts))
        return [(f" {count}{mark}", role) for (mark, role), count in counted.items()]

    def rooms(self, width: int) -> list[int]:
        """Return the widths of the columns."""
        found = super().rooms(width)
        self.cells.trend_room = found[-2]
        return found

    def row_line(self, row: HostView, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return the figures of a host; for a broken host, the reason."""
        if row.state not in BROKEN or self.unmeasured:
            return super().row_line(row, rooms, width, fill)
        why = run_text(row.detail) or row.state
        lead = table_line(self.columns[: self.LEADING], rooms[: self.LEADING], row)
        text = why if why.startswith(row.state) else f"{row.state}: {why}"
        return Line.of(*lead.runs, ("  " + fit(text, width - lead.width - 4), "bad"), fill=fill)

    def heading_line(self, row: Heading, width: int, fill: str) -> Line:
        """Return the line for the collapsed hosts: deviation, worst tail, CPU."""
        if row.key == NOBODY:
            return Line.of(
                *clip([("  no host matches: Esc clears the filter", LABEL)], width), fill=fill
            )
        folds = self._folds
        like = sum(self._is_wanted(host) for host in self.like)
        runs = folded_runs(folds, self.cells, more=len(folds) < like)
        if width_of_runs(runs) > width:
            runs = [
                (text.replace("   ", "  ").replace("of the median", "of median"), role)
                for text, role in runs
            ]
        while width_of_runs(runs) > width and len(runs) > LEAST_RUNS:
            runs = runs[:-1]
        return Line.of(*clip(runs, width), fill=fill)


def is_wanted(host: HostView, wanted: str) -> bool:
    """Return whether a host's name contains the filter, or is in its range: h[1-4]."""
    return host.name in named(wanted) if is_range(wanted) else wanted.lower() in host.name.lower()


PROCESSES = "process CPU"
SERVER_VALUES: Mapping[str, Callable[[HostTelemetry], object]] = {
    "CPU": lambda host: host.newest("cpu.busy") is not None,
    "core": lambda host: host.newest("core.busy") is not None,
    "busiest NIC": lambda host: host.busiest_link,
    "disk": lambda host: host.busiest_disk,
    PROCESSES: lambda host: host.groups,
}


class ServerTable(PickList["HostTelemetry"]):
    """The table of servers; hidden if there are none."""

    DEFAULT_CSS = """
    ServerTable { height: 0; display: none; padding: 0 1; }
    ServerTable.-shown { display: block; }
    """

    def __init__(
        self,
        thresholds: Mapping[str, float] | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        self.thresholds = thresholds or {}
        self.marked = True  # percentages that limit the load
        self.groups_room = 0
        self.name_room = LEAST_NAME
        self.titles_known: frozenset[str] = frozenset()  # columns with data, now or earlier
        super().__init__(self._columns(), lambda host: host.host, id=id)
        self.now = 0.0

    def _columns(self) -> tuple[Column[HostTelemetry], ...]:
        columns: list[Column[HostTelemetry]] = [
            *(
                Column(title, partial(self._percent, name), 5, right=True)
                for title, name in (("CPU", "cpu.busy"), ("core", "core.busy"))
            ),
            Column("busiest NIC", self._link, least=14, most=22),
            Column("disk", self._disk, least=12, most=16),
            Column(PROCESSES, self._groups, least=10, drop=1),
        ]
        return (
            Column(
                "", lambda host: ("●", "good" if age_role(host, self.now) == TEXT else LABEL), 1
            ),
            Column("server", lambda host: host.host, self.name_room, gap=1),
            *(column for column in columns if column.title in self.titles_known),
            *([] if PROCESSES in self.titles_known else [Column("", lambda _: "", least=0)]),
        )

    def _see_columns(self, servers: Sequence[HostTelemetry], name_room: int) -> None:
        """Add columns that have data for the first time, and set the width of names."""
        known = {
            title for title, value in SERVER_VALUES.items() if any(value(each) for each in servers)
        }
        if not known <= self.titles_known or name_room != self.name_room:
            self.titles_known |= known
            self.name_room = name_room
            self.columns = self._columns()

    def show(
        self, servers: Sequence[HostTelemetry], now: float, least_name: int = LEAST_NAME
    ) -> None:
        """Show the servers as they are at run time `now`.

        `least_name`: width of the names in the host table above, so that the columns of both tables
        line up.
        """
        self.now = now
        longest = max((len(each.host) for each in servers), default=0)
        self._see_columns(servers, max(least_name, min(longest, HostTable.LONGEST_NAME)))
        if [id(each) for each in servers] != [id(each) for each in self._given]:
            self.set_rows(servers)
        self.update_lines()

    def titles(self, rooms: Sequence[int]) -> Line:
        """Return the column titles, with the range of visible rows if not all fit."""
        found = super().titles(rooms)
        if not self.scrolls:
            return found
        tail: Run = (
            f" {self.top + 1}–{min(len(self.rows), self.top + self.room)}/{len(self.rows)}",
            LABEL,
        )
        return Line.of(*padded(found.runs, self.size.width - width_of_runs([tail])), tail)

    def row_line(self, row: HostTelemetry, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return the figures of a server; the cursor is visible only with the focus."""
        return super().row_line(row, rooms, width, fill if self.has_focus else "")

    def _percent(self, name: str, host: HostTelemetry) -> Run:
        return percent(host, name, self.now, self.thresholds, marked=self.marked)

    def _link(self, host: HostTelemetry) -> list[Run]:
        link = host.busiest_link
        if link is None:
            return [(UNKNOWN, LABEL)]
        return [(f"{link[0]} ", LABEL), (bandwidth(link[1]), age_role(host, self.now))]

    def _disk(self, host: HostTelemetry) -> list[Run]:
        disk = host.busiest_disk
        if disk is None:
            return [(UNKNOWN, LABEL)]
        return [(f"{disk[0]} ", LABEL), (f"{disk[1]:.0f} %", age_role(host, self.now))]

    def rooms(self, width: int) -> list[int]:
        """Return the widths of the columns."""
        found = super().rooms(width)
        self.groups_room = found[-1]
        return found

    def _groups(self, host: HostTelemetry) -> list[Run]:
        """Return the process groups with their CPU, as many as fit; the first one in any case."""
        runs: list[Run] = []
        for name, cpu, count in host.groups:
            many = f"{count} " if count != 1 else ""
            more: list[Run] = [
                ("  " if runs else "", TEXT),
                (f"{many}{name} ", LABEL),
                (f"{cpu:.0f} %", VALUE),
            ]
            if runs and width_of_runs([*runs, *more]) > self.groups_room:
                break
            runs += more
        return runs

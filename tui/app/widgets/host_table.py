"""All hosts of a run, worst first: how far each is from the others, what it does, and what it
did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from tui.app.widgets.host_columns import HostCells, RowFigures
from tui.app.widgets.host_rows import LATELY_S, is_urgent, ranked
from tui.app.widgets.picklist import Heading, PickList
from tui.metrics.figures import HostSpread, within_text
from tui.metrics.units import iops, latency
from tui.model.hostspec import is_range, named
from tui.text.line import (
    ACCENT,
    LABEL,
    TEXT,
    Line,
    Run,
    clip,
    fit,
    padded,
    reach_of,
    rule,
    width_of_runs,
)
from tui.text.sparkline import Symbols
from tui.text.table import table_line
from tui.view.host_states import BROKEN, NOTHING, count_states, mark_of

if TYPE_CHECKING:
    from tui.journal.host import HostView
    from tui.journal.telemetry import HostTelemetry

RESORT_S = 5.0  # rows that swap places every second are unreadable
LEAST_FOLDED = 3  # folding fewer saves no lines
HEADING = 2  # its lines, if they fit
LEAST_RUNS = 3  # least parts of the line for folded hosts: mark, count, median
FOLD = "\0fold"  # cannot be a host name
NOBODY = "\0nobody"
VIEWS = ("fit", "all", "bad")


class HostTable(PickList["HostView"]):
    """The hosts, a row each, worst first. The cursor stays on its host when rows are sorted.

    `view`: "fit" folds unremarkable hosts into a line if not all fit, "all" folds none, "bad" folds
    them always.
    """

    DEFAULT_CSS = "HostTable { padding: 0 1; }"
    # from this height, or if all hosts fit, the heading has a separate line
    TALL: ClassVar[int] = 9
    LONGEST_NAME: ClassVar[int] = 24
    LEADING: ClassVar[int] = 2  # columns of a broken host: mark and name
    headings_last = True
    given_order = "median"  # "worst first" means deviation from the median
    waits_on_top = True

    cursor_s: int | None = None  # the second of the run under the cursor; None: now
    cursor_text = ""  # its time in the load
    brief = False  # the reasons of failures are shown elsewhere
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
        # unremarkable hosts shown above the line for the rest
        self.ahead: list[HostView] = []
        self._arranged_for: object = None
        self._sorted_at = float("-inf")

    @property
    def found(self) -> Mapping[str, Run]:
        """The findings by host."""
        return self.cells.found

    @property
    def spread(self) -> HostSpread:
        """The deviation of hosts, now or at the cursor."""
        return self.cells.spread

    @property
    def spread_now(self) -> HostSpread:
        """The deviation of hosts now, regardless of the cursor."""
        return self.cells.spread_now

    def show(
        self,
        hosts: Sequence[HostView],
        now: float,
        shown: RowFigures,
        found: Mapping[str, Run] = NOTHING,
        seen: Mapping[str, HostTelemetry] | None = None,
    ) -> None:
        """Show the hosts as they are at run time `now`.

        `found`: the findings about a host and their severity. `seen`: telemetry, for columns of its
        own.
        """
        cells, telemetry = self.cells, self.cells.telemetry
        before = (cells.shown, telemetry.titles)
        reach = reach_of(cells.widest)
        telemetry.look(seen or {}, now if self.cursor_s is None else self.cursor_s + 1.0)
        cells.now, cells.second, cells.blank, cells.found = now, self.cursor_s, self.blank, found
        cells.shown = shown
        other = before != (shown, telemetry.titles)
        new = len(hosts) != len(self.hosts) or any(
            a is not b for a, b in zip(hosts, self.hosts, strict=True)
        )
        if new:
            self.hosts = cells.hosts = list(hosts)
            cells.longest_name = max(
                6, min(max((len(host.name) for host in hosts), default=0), self.LONGEST_NAME)
            )
        cells.compare()
        if new or other or reach != reach_of(cells.widest):
            self._make_columns()
        bad, self.like = ranked(self.hosts, now, self.spread, found)
        urgent = frozenset(host.name for host in bad if is_urgent(host, now, self.spread))
        kind = (urgent, self.view, self.folds, self.wanted, self.cursor_s, self.size.height)
        if new or other or kind != self._arranged_for or abs(now - self._sorted_at) >= RESORT_S:
            self._sorted_at, self._arranged_for = now, kind
            self._given = self._arranged(bad)
            self.put_in_order()
        self.update_lines()

    def sort_anew(self) -> None:
        """Sort the rows at the next update, not after the usual pause."""
        self._sorted_at = float("-inf")

    def _make_columns(self) -> None:
        sorts = self.columns.index(self.sort) if self.sort is not None else None
        before = len(self.columns)
        self.columns = self.cells.columns()
        self.sort = (
            self.columns[sorts] if sorts is not None and len(self.columns) == before else None
        )

    # -- order and folding

    def _arranged(self, bad: list[HostView]) -> list[HostView | Heading]:
        """Return the rows: hosts that need attention, then the others or a line for them."""
        bad, self.ahead = [host for host in bad if is_wanted(host, self.wanted)], []
        like = self._folds
        if not bad and not like and self.wanted:
            return [Heading(NOBODY, "")]
        scarce = self.folds and self.sort is None and len(like) >= LEAST_FOLDED
        if self.view == "bad" or (self.view == "fit" and scarce):
            free = max(0, self.size.height - HEADING - len(bad) - 1) if self.view == "fit" else 0
            # spare lines show those farthest from the median
            shares = self.spread.shares
            self.ahead = sorted(like, key=lambda host: -abs(shares.get(host.name) or 0.0))[:free]
            return [*bad, *self.ahead, Heading(FOLD, "")]
        return [*bad, *like]

    @property
    def _folds(self) -> list[HostView]:
        """The hosts that are like the others, of those whose names hold what is wanted.

        Hosts shown in spare lines are not folded.
        """
        shown = {host.name for host in self.ahead}
        return [
            host for host in self.like if is_wanted(host, self.wanted) and host.name not in shown
        ]

    def next_view(self) -> str:
        """Switch the folding rule; return it."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        return self.view

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next column, without folding."""
        super().sort_by_next(reverse=reverse)
        self.put_rows()

    def on_resize(self) -> None:
        """Fill the new number of lines."""
        if self.folds and self.hosts:
            self.put_rows()

    def put_rows(self) -> None:
        """Sort the rows now."""
        bad, self.like = ranked(self.hosts, self.cells.now, self.spread, self.found)
        self._given = self._arranged(bad)
        self.put_in_order()
        self.update_lines()

    @property
    def least_rows(self) -> int:
        """Rows needed when unremarkable hosts are folded."""
        return len(self.hosts) - len(self.like) + 1

    # -- painting

    @property
    def head(self) -> int:
        """Lines above the hosts."""
        return HEADING if self.size.height >= min(self.TALL, len(self.rows) + 2) else 1

    def head_lines(self, rooms: Sequence[int], width: int) -> list[Line]:
        """A rule with the count of hosts per state, above the titles.

        Both in one line if space is short.
        """
        titles, cells = self.titles(rooms), self.cells
        place = (
            f"{self.top + 1}–{min(len(self.rows), self.top + self.room)}" if self.scrolls else ""
        )
        if self.head == HEADING:
            counts = count_states(self.hosts, cells.now)
            title = f"Hosts · {cells.shown.job}" if cells.shown.job else "Hosts"
            title += (
                f" · rates over {LATELY_S} s"
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
        counted = Counter(map(cells.mark, self.hosts))
        marks: list[Run] = [(f" {count}{mark}", role) for (mark, role), count in counted.items()]
        at: Run = (f" {self.cursor_text}" if self.cursor_text else "", ACCENT)
        tail = [at, *marks, (f"  {place}/{len(self.rows)}" if place else "", LABEL)]
        room = width - width_of_runs(tail)
        whole = [
            run for n, run in enumerate(titles.runs) if width_of_runs(titles.runs[: n + 1]) <= room
        ]
        return [Line.of(*padded(whole, room), *tail)]

    def rooms(self, width: int) -> list[int]:
        """Return the widths of the columns."""
        found = super().rooms(width)
        self.cells.trend_room = found[-2]
        return found

    def row_line(self, row: HostView, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return a host's figures; for a broken one, the reason."""
        if row.state not in BROKEN:
            return super().row_line(row, rooms, width, fill)
        why = row.state if self.brief else row.detail or row.state
        lead = table_line(self.columns[: self.LEADING], rooms[: self.LEADING], row)
        text = why if why.startswith(row.state) else f"{row.state}: {why}"
        return Line.of(*lead.runs, ("  " + fit(text, width - lead.width - 4), "bad"), fill=fill)

    def heading_line(self, row: Heading, width: int, fill: str) -> Line:
        """Return the line for the folded hosts: their deviation, worst tail and CPU."""
        if row.key == NOBODY:
            return Line.of(
                *clip([("  no host matches: Esc clears the filter", LABEL)], width), fill=fill
            )
        runs, key = (
            folded_runs(self._folds, self.cells),
            [("   Enter", "accent"), (" expands", LABEL)],
        )
        if width_of_runs([*runs, *key]) > width:
            runs = [
                (text.replace("   ", "  ").replace("of the median", "of median"), role)
                for text, role in runs
            ]
            key = [("  Enter", "accent"), (" all", LABEL)]
        while width_of_runs([*runs, *key]) > width and (key or len(runs) > LEAST_RUNS):
            key, runs = ([], runs) if key else (key, runs[:-1])
        return Line.of(*clip([*runs, *key], width), fill=fill)


def is_wanted(host: HostView, wanted: str) -> bool:
    """Return whether a host's name contains the filter, or is in its range such as h[1-4]."""
    return host.name in named(wanted) if is_range(wanted) else wanted.lower() in host.name.lower()


def folded_runs(hosts: Sequence[HostView], cells: HostCells) -> list[Run]:
    """Return the text for folded hosts: count, deviation, worst tail and CPU."""
    count = f"{len(hosts)} host{'s' if len(hosts) != 1 else ''} "
    if cells.spread.middle is None or not hosts:
        return [(" ", TEXT), (" " + count, TEXT), (count_states(hosts, cells.now), LABEL)]
    names = [host.name for host in hosts]
    runs = [
        mark_of(hosts[0], cells.now, cells.symbols),
        (f" {count}{within_text(cells.spread.widest(names))}", TEXT),
        (f" of the median {iops(cells.spread.middle)}", LABEL),
    ]
    tails = map(cells.tail, hosts) if cells.second is None else ()
    if (worst := max((tail for tail in tails if tail is not None), default=None)) is not None:
        runs.append((f"   p99 ≤ {latency(worst)}", LABEL))
    if (busiest := cells.telemetry.busiest_cpu(names)) is not None:
        runs.append((f"   CPU ≤ {busiest:.0f} %", LABEL))
    return runs

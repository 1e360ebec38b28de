"""The table of all hosts of a run, worst first: deviation, figures, state and trend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tui.app.widgets.graph import nice_ceiling
from tui.app.widgets.host_rows import (
    LATELY_S,
    RateName,
    age_role,
    is_urgent,
    known,
    latency_of,
    percent,
    quick_p99,
    ranked,
    rate_lately,
    rate_of,
)
from tui.app.widgets.picklist import Heading, PickList
from tui.journal.state import waiting_text
from tui.metrics import units
from tui.metrics.figures import LAG, HostSpread, share_text, spread_of, within_text
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth, iops, latency
from tui.model.hostspec import is_range, named
from tui.text.line import (
    ACCENT,
    LABEL,
    TEXT,
    Line,
    Run,
    clip,
    diverging,
    fit,
    padded,
    reach_of,
    rule,
    width_of_runs,
)
from tui.text.sparkline import Symbols, spark
from tui.text.table import Column, table_line
from tui.view.live_hosts import (
    BROKEN,
    NO_FINDINGS,
    STATE_ORDER,
    count_states,
    mark_of,
    message_of,
    state_text,
)

if TYPE_CHECKING:
    from tui.journal.state import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

RESORT_S = 5.0  # rows that swap places every second are unreadable
LEAST_FOLDED = 3  # folding fewer saves no lines
HEADING = 2  # its lines, if they fit
LEAST_RUNS = 3  # least parts of the line for folded hosts: mark, count, median
FOLD = "\0fold"  # cannot be a host name
NOBODY = "\0nobody"
VIEWS = ("fit", "all", "bad")
HEADROOM = 1.35  # of the scale of trends, so that rows do not touch
# columns that not every host has
SOMETIMES: Mapping[str, Callable[[HostTelemetry], object]] = {
    "NIC": lambda host: host.busiest_link,
    "disk": lambda host: host.busiest_disk,
    "flight": lambda host: host.in_flight,
}


class HostTable(PickList["HostView"]):
    """The hosts of a run, a row each, worst first. The cursor stays on its host.

    `view`: "fit" folds unremarkable hosts into a line if not all fit, "all" never folds, "bad"
    always.
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

    def show(
        self,
        hosts: Sequence[HostView],
        now: float,
        shown: RowFigures,
        found: Mapping[str, Run] = NO_FINDINGS,
        seen: Mapping[str, HostTelemetry] | None = None,
    ) -> None:
        """Show hosts as they are at time `now` of the run.

        `found`: findings about each host, and their severity. `seen`: telemetry by host, shown in
        columns of its own.
        """
        cells, telemetry = self.cells, self.cells.telemetry
        before = (cells.shown, telemetry.titles, cells.has_latencies)
        reach = reach_of(cells.widest)
        telemetry.look(seen or {}, now if self.cursor_s is None else self.cursor_s + 1.0)
        cells.now, cells.second, cells.blank, cells.found = now, self.cursor_s, self.blank, found
        cells.shown = shown
        new = len(hosts) != len(self.hosts) or any(
            a is not b for a, b in zip(hosts, self.hosts, strict=True)
        )
        if new:
            self.hosts = cells.hosts = list(hosts)
            cells.longest_name = max(
                6, min(max((len(host.name) for host in hosts), default=0), self.LONGEST_NAME)
            )
        cells.compare()
        other = before != (shown, telemetry.titles, cells.has_latencies)
        if new or other or reach != reach_of(cells.widest):
            self._make_columns()
        bad, self.like = ranked(self.hosts, now, self.spread, found)
        urgent = frozenset(host.name for host in bad if is_urgent(host, now, self.spread))
        folds = self.folds or self.outlasted
        kind = (urgent, self.view, folds, self.wanted, self.cursor_s, self.size.height)
        if new or other or kind != self._arranged_for or abs(now - self._sorted_at) >= RESORT_S:
            self._sorted_at, self._arranged_for = now, kind
            self._given = self._arranged(bad)
            self.put_in_order()
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

    def _arranged(self, bad: list[HostView]) -> list[HostView | Heading]:
        """Return the rows: hosts that need attention, then the others or a line for them."""
        bad, self.ahead = [host for host in bad if is_wanted(host, self.wanted)], []
        like = self._folds
        if not bad and not like and self.wanted:
            return [Heading(NOBODY, "")]
        scarce = self.folds and self.sort is None and len(like) >= LEAST_FOLDED
        if self.view == "bad" or (self.view == "fit" and scarce) or self.outlasted:
            spare = self.size.height - HEADING - len(bad) - 1
            free = max(0, spare) if self.view == "fit" and not self.outlasted else 0
            # spare lines show those farthest from the median
            shares = self.spread.shares
            self.ahead = sorted(like, key=lambda host: -abs(shares.get(host.name) or 0.0))[:free]
            return [*bad, *self.ahead, Heading(FOLD, "")]
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
        """The unremarkable hosts that match the filter, less those shown in spare lines."""
        shown = {host.name for host in self.ahead}
        return [
            host for host in self.like if is_wanted(host, self.wanted) and host.name not in shown
        ]

    def next_view(self) -> str:
        """Switch to the next way of folding, and return it."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        return self.view

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next column. Nothing is folded while the table is sorted by a column."""
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
        """Number of rows if unremarkable hosts are folded."""
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
        """Return the figures of a host; for a broken host, the reason."""
        if row.state not in BROKEN:
            return super().row_line(row, rooms, width, fill)
        why = row.state if self.brief else row.detail or row.state
        lead = table_line(self.columns[: self.LEADING], rooms[: self.LEADING], row)
        text = why if why.startswith(row.state) else f"{row.state}: {why}"
        return Line.of(*lead.runs, ("  " + fit(text, width - lead.width - 4), "bad"), fill=fill)

    def heading_line(self, row: Heading, width: int, fill: str) -> Line:
        """Return the line for the folded hosts: deviation, worst tail, CPU."""
        if row.key == NOBODY:
            return Line.of(
                *clip([("  no host matches: Esc clears the filter", LABEL)], width), fill=fill
            )
        runs, key = folded_runs(self._folds, self.cells), [("   Enter", "accent"), (" all", LABEL)]
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
    """Return whether a host's name contains the filter, or is in its range: h[1-4]."""
    return host.name in named(wanted) if is_range(wanted) else wanted.lower() in host.name.lower()


def folded_runs(hosts: Sequence[HostView], cells: HostCells) -> list[Run]:
    """Return the text for folded hosts: number, deviation, worst tail, CPU."""
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


class TelemetryCells:
    """The telemetry columns of the table, at one time."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        self.thresholds = thresholds
        self.hosts: Mapping[str, HostTelemetry] = {}
        self.t = 0.0
        # columns with data for any host, now or earlier
        self.titles: frozenset[str] = frozenset()

    def look(self, hosts: Mapping[str, HostTelemetry], t: float) -> None:
        """Set the telemetry of the hosts to that at time `t` of the run."""
        self.hosts, self.t = hosts, t
        new = {
            title
            for title, value in SOMETIMES.items()
            if title not in self.titles and any(value(each) is not None for each in hosts.values())
        }
        self.titles = self.titles | {"CPU", "core"} | new if hosts else frozenset()

    def columns(self) -> list[Column[HostView]]:
        """Return the telemetry columns that have data."""

        def by(value: Callable[[HostTelemetry], float | None]) -> Callable[[HostView], float]:
            return lambda host: known(
                value(self.hosts[host.name]) if host.name in self.hosts else None
            )

        columns: list[Column[HostView]] = [
            Column("CPU", partial(self.percent, "cpu.busy"), 5, right=True, drop=4, falling=True,
                   order=by(lambda host: host.newest("cpu.busy"))),
            Column("core", partial(self.percent, "core.busy"), 5, right=True, drop=9, falling=True,
                   order=by(lambda host: host.newest("core.busy"))),
            Column("NIC", self.link, 10, right=True, drop=5, falling=True,
                   order=by(lambda host: host.busiest_link[1] if host.busiest_link else None)),
            Column("disk", self.disk, 5, right=True, drop=7, falling=True,
                   order=by(lambda host: host.busiest_disk[1] if host.busiest_disk else None)),
            Column("flight", self.in_flight, 6, right=True, drop=8, falling=True,
                   order=by(lambda host: host.in_flight)),
        ]  # fmt: skip
        return [column for column in columns if column.title in self.titles]

    def percent(self, name: str, host: HostView) -> Run:
        """Return a percentage, marked if it limits the load."""
        return percent(self.hosts.get(host.name), name, self.t, self.thresholds)

    def link(self, host: HostView) -> Run:
        """Return the bandwidth of a host's busiest link."""
        seen = self.hosts.get(host.name)
        link = seen.busiest_link if seen is not None else None
        return bandwidth(link[1] if link is not None else None), age_role(seen, self.t)

    def disk(self, host: HostView) -> Run:
        """Return the utilisation of a host's busiest disk."""
        seen = self.hosts.get(host.name)
        disk = seen.busiest_disk if seen is not None else None
        if disk is None:
            return UNKNOWN, LABEL
        full = metric_of("dev.disk.busy").is_full(disk[1])
        return f"{disk[1]:.0f} %", "warn" if full else age_role(seen, self.t)

    def in_flight(self, host: HostView) -> Run:
        """Return how many I/Os a host has in flight."""
        seen = self.hosts.get(host.name)
        count = seen.in_flight if seen is not None else None
        return (UNKNOWN, LABEL) if count is None else (f"{count:.0f}", age_role(seen, self.t))

    def busiest_cpu(self, names: Sequence[str]) -> float | None:
        """Return the highest CPU percentage of these hosts; None if all are unknown."""
        shares = [self.hosts[name].newest("cpu.busy") for name in names if name in self.hosts]
        return max((share for share in shares if share is not None), default=None)


@dataclass(frozen=True, slots=True)
class RowFigures:
    """Which figures of each host the table shows.

    `job`: None for all jobs together. `direction`: whose latencies, empty for all together.
    `counted`: unit of the rate, empty if there are no figures per host.
    """

    job: str | None = None
    direction: str = ""
    counted: str = "IOPS"


class HostCells:
    """The figures of each host, now or in one second of the run."""

    def __init__(self, symbols: Symbols, thresholds: Mapping[str, float]) -> None:
        self.symbols = symbols
        self.lag = thresholds.get("straggler.rate", LAG)
        self.telemetry = TelemetryCells(thresholds)
        self.hosts: Sequence[HostView] = ()
        self.now = 0.0
        self.second: int | None = None  # of the run; None: now
        self.shown = RowFigures()
        # operations of a load on files; empty: hosts have no figures of their own
        self.blank = False  # nothing is measured now: figures would be the previous step's
        self.found: Mapping[str, Run] = NO_FINDINGS  # by host: findings
        self.spread = self.spread_now = HostSpread(None, {}, 0.0)  # in that second; now
        self.widest = 0.0  # how far the farthest host is from the median
        self.longest_name = 6
        self.trend_room = 0
        self.trend_top: float | None = None  # common scale of all hosts

    def compare(self) -> None:
        """Compute how far each host is from the median."""
        whole = [host for host in self.hosts if not self.blank and host.state not in BROKEN]
        known = {host.name: rate_lately(self.figures(host), "iops") for host in self.hosts}
        rates: dict[str, float | None] = dict.fromkeys(known)
        rates |= {
            host.name: known[host.name][0]
            for host in whole
            if known[host.name][1] and host.stale_s(self.now) is None
        }
        self.spread = self.spread_now = spread_of(rates, self.lag)
        if self.second is not None:
            rates = dict.fromkeys(known)
            rates |= {host.name: rate_of(self.figures(host), "iops", self.second) for host in whole}
            self.spread = spread_of(rates, self.lag)
        self.widest = self.spread.widest(list(self.spread.shares))
        busiest = max((rate for rate, _ in known.values() if rate is not None), default=0.0)
        self.trend_top = nice_ceiling(busiest * HEADROOM) if busiest else None

    def figures(self, host: HostView) -> HostFigures:
        """Return the figures of a host, for the job that is shown."""
        return host.figures(self.shown.job)

    def rate(self, host: HostView, metric: RateName = "iops") -> float | None:
        """Return a host's rate, now or at the cursor."""
        return None if self.blank else rate_of(self.figures(host), metric, self.second)

    def tail(self, host: HostView) -> float | None:
        """Return a host's p99 in ns, computed in a fast way during the load."""
        figures = self.figures(host)
        if figures.total.intervals():
            return quick_p99(figures, self.shown.direction)
        return latency_of(figures, "99", self.shown.direction)

    @property
    def is_running(self) -> bool:
        """Whether the figures belong to a load that is still running."""
        shows_figures = not self.blank and bool(self.shown.counted)
        return shows_figures and any(host.activity(self.now) == "running" for host in self.hosts)

    # -- columns

    @property
    def has_latencies(self) -> bool:
        """Whether hosts have latencies to show.

        Those of single seconds are not kept, and layout writes are not the load.
        """
        return self.second is None and any(host.state != "layout" for host in self.hosts)

    def columns(self) -> tuple[Column[HostView], ...]:
        """Return all columns of the table."""
        counts = bool(self.shown.counted)
        return (
            Column("", self.mark, 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1,
                order=lambda host: host.name),
            *(self.rate_columns() if counts else ()),
            *self.telemetry.columns(),
            *([self.latency_column("mean", "mean", drop=11)]
              if counts and self.has_latencies else []),
            *([Column("trend", self.trend, least=8, most=64, right=True, drop=10,
                   role="read")] if counts else []),
            Column("state", lambda host: message_of(host, self.now, self.found, self.spread),
                least=20, drop=1,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
        )  # fmt: skip

    def rate_columns(self) -> list[Column[HostView]]:
        """Return the columns of deviation, rates and tail latency."""
        return [
            Column("median", self.share, 7, right=True),
            Column(f"±{units.share(reach_of(self.widest))}", self.bar, 9, gap=1, drop=6),
            Column(self.shown.counted, lambda host: self.figure(host, iops(self.rate(host))),
                max(5, len(self.shown.counted)),
                   right=True, order=lambda host: known(self.rate(host)), falling=True),
            *([Column("BW", lambda host: self.figure(host, bandwidth(self.rate(host, "bandwidth"))),
                10,
                      right=True, drop=2, falling=True,
                      order=lambda host: known(self.rate(host, "bandwidth")))]
              if self.shown.counted == "IOPS" else []),  # operations on files have no bandwidth
            *([self.latency_column("99", "p99", drop=3)] if self.has_latencies else []),
        ]  # fmt: skip

    def latency_column(self, name: str, title: str, drop: int) -> Column[HostView]:
        """Return a column of the mean or a percentile of latency."""

        def value(host: HostView) -> float | None:
            if host.state == "layout":
                return None
            return latency_of(self.figures(host), name, self.shown.direction)

        def cell(host: HostView) -> Run:
            return self.figure(host, latency(value(host)))

        title = f"{self.shown.direction} {title}".lstrip()
        width = max(7, len(title))
        return Column(title, cell, width, right=True, drop=drop, falling=True,
                      order=lambda host: known(value(host)))  # fmt: skip

    # -- cells

    def mark(self, host: HostView) -> Run:
        """Return the symbol for a host's state, or for a straggler or finding."""
        return mark_of(host, self.now, self.symbols, self.found, self.spread)

    def share(self, host: HostView) -> Run:
        """Return how far a host is from the median."""
        share = self.spread.shares.get(host.name)
        return (UNKNOWN, LABEL) if share is None else (share_text(share), self.role(host))

    def role(self, host: HostView) -> str:
        """Return the role for a host's deviation, such as bad for a straggler."""
        if self.spread.lags(host.name):
            return "bad"
        return "warn" if self.spread.is_far(host.name) else LABEL

    def bar(self, host: HostView) -> list[Run]:
        """Return a host's deviation as a bar to the left or to the right."""
        return diverging(
            self.spread.shares.get(host.name),
            reach_of(self.widest),
            9,
            self.role(host),
            self.symbols,
        )

    def figure(self, host: HostView, text: str) -> Run:
        """Return a figure of a host, dim if it is not current."""
        if self.blank:
            return UNKNOWN, LABEL
        figures = self.figures(host)
        current = host.stale_s(self.now) is None and (figures.total.intervals() or figures.results)
        return text, TEXT if current or self.second is not None else LABEL

    def trend(self, host: HostView) -> str:
        """Return a host's rate over the last seconds, or those before the cursor, as one line."""
        if self.blank:
            return ""
        width, total = self.trend_room, self.figures(host).total
        count = width * (2 if self.symbols == "braille" else 1)
        if self.second is None:
            values = total.series("iops", last=count)
        else:
            first = max(self.second + 1 - count, total.span[0] if total.span is not None else 0)
            values = total.values("iops", first, self.second + 1)
        return spark(values, width, self.symbols, high=self.trend_top).replace("\u2800", " ")

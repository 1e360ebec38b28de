"""All hosts of a run, worst first: how far each is from the others, what it does, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tui.app.widgets.graph import nice_ceiling
from tui.app.widgets.host_rows import (
    BROKEN,
    LATELY_S,
    NOTHING,
    STATE_ORDER,
    RateName,
    age_role,
    count_states,
    is_comparable,
    is_urgent,
    known,
    latency_of,
    mark_of,
    message_of,
    percent,
    quick_p99,
    ranked,
    rate_of,
    state_text,
)
from tui.app.widgets.picklist import Heading, PickList
from tui.metrics import units
from tui.metrics.figures import LAG, HostSpread, share_text, spread_of, within_text
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth, iops, latency
from tui.model.hostspec import is_range, named
from tui.text.line import ACCENT, LABEL, TEXT, Line, Run, clip, diverging, fit, padded, reach_of, rule, width_of_runs
from tui.text.sparkline import Symbols, spark
from tui.text.table import Column, table_line

if TYPE_CHECKING:
    from tui.journal.host import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

RESORT_S = 5.0  # rows that swap places every second cannot be read
LEAST_FOLDED = 3  # a line for fewer saves nothing
HEADING = 2  # lines of it where there is room
LEAST_SAID = 3  # of them: mark, how many and how near, of what
FOLD = "\0fold"  # no host has such a name
NOBODY = "\0nobody"
VIEWS = ("fit", "all", "bad")


def told_by(seen: Collection[HostTelemetry], before: frozenset[str]) -> frozenset[str]:
    """Return the columns in which telemetry knows or knew something of a host: clients of a network have no disk."""
    asked: dict[str, Callable[[HostTelemetry], object]] = {
        "NIC": lambda each: each.busiest_link,
        "disk": lambda each: each.busiest_disk,
        "flight": lambda each: each.in_flight,
    }
    new = {name for name, ask in asked.items() if name not in before and any(ask(each) is not None for each in seen)}
    return before | {"CPU", "core"} | new


class HostTable(PickList["HostView"]):
    """The hosts, a row each, worst first. The cursor stays on its host however the rows are sorted.

    `view`: "fit" folds hosts that are like the others into a line when not all have room, "all" folds none, "bad" all.
    """

    DEFAULT_CSS = "HostTable { padding: 0 1; }"
    TALL: ClassVar[int] = 9  # from this height on, or where all hosts fit, the heading has a line of its own
    LONGEST_NAME: ClassVar[int] = 24
    LEADING: ClassVar[int] = 2  # columns that a broken host has: mark and name
    headings_last = True
    waits_on_top = True

    job: str | None = None  # None: all jobs together
    waits = ""  # the direction whose latencies are shown; empty: all I/O together
    longest_name = 6
    cursor_s: int | None = None  # the second of the run that is looked at; None: now
    cursor_text = ""  # which time of the load that is
    brief = False  # why hosts failed is told elsewhere
    counted = "IOPS"  # what is counted: operations of a load on files; empty: hosts have no figures of their own
    told: frozenset[str] = frozenset()  # columns of telemetry in which something was known of some host
    blank = False  # nothing is measured now: figures would be of the step before

    def __init__(self, symbols: Symbols, thresholds: Mapping[str, float] | None = None, *,
                 id: str | None = None) -> None:  # noqa: A002  # fmt: skip
        self.thresholds = thresholds or {}  # of checks, those that the run has otherwise
        self.found: Mapping[str, Run] = {}
        self.seen: Mapping[str, HostTelemetry] = {}
        self.spread = HostSpread(None, {}, 0.0)
        self.spread_now = self.spread  # whatever second is looked at
        self._widest = 0.0  # how far the farthest host is from the median
        super().__init__(self._columns(), lambda host: host.name, id=id)
        self.symbols = symbols
        self.hosts: Sequence[HostView] = ()
        self.now = 0.0
        self.view = VIEWS[0]
        self.folds = False  # there is no room for all
        self.wanted = ""  # part of the names of the hosts that are shown
        self.like: list[HostView] = []
        self.ahead: list[HostView] = []  # of those like the others, that fill lines above the one for the rest
        self._arranged_for: object = None
        self._sorted_at = float("-inf")
        self._trend_room = 0
        self._trend_top: float | None = None  # one scale for all hosts: who lags is seen at a glance

    def _columns(self) -> tuple[Column[HostView], ...]:
        of = f"{self.waits} " if self.waits else ""
        rates, tails = (self._rate_columns(of), self._tail_columns(of)) if self.counted else ((), ())
        return (
            Column("", lambda host: mark_of(host, self.now, self.symbols, self.found, self.spread), 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1, order=lambda host: host.name),
            *rates,
            *(column for column in self._telemetry_columns() if column.title in self.told),
            *tails,
            Column("state", lambda host: message_of(host, self.now, self.found, self.spread), least=20, drop=1,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
        )  # fmt: skip

    def _rate_columns(self, of: str) -> tuple[Column[HostView], ...]:
        return (
            Column("median", self._share, 7, right=True),
            Column(f"±{units.share(reach_of(self._widest))}", self._bar, 9, gap=1, drop=6),
            Column(self.counted, lambda host: self._figure(host, iops(self._rate(host))), max(5, len(self.counted)),
                   right=True, order=lambda host: known(self._rate(host)), falling=True),
            *((self._bandwidth_column(),) if self.counted == "IOPS" else ()),  # files stay empty
            self._latency_column(of, "99", "p99", drop=3),
        )  # fmt: skip

    def _bandwidth_column(self) -> Column[HostView]:
        return Column("BW", lambda host: self._figure(host, bandwidth(self._rate(host, "bandwidth"))), 10,
                      right=True, drop=2, falling=True,
                      order=lambda host: known(self._rate(host, "bandwidth")))  # fmt: skip

    def _tail_columns(self, of: str) -> tuple[Column[HostView], ...]:
        return (
            self._latency_column(of, "mean", "mean", drop=11),
            Column("trend", self._trend, least=8, most=64, right=True, drop=10, role="read"),
        )

    def _latency_column(self, of: str, name: str, title: str, drop: int) -> Column[HostView]:
        def wait(host: HostView) -> float | None:  # of each host alone the seconds are not kept
            if self.cursor_s is not None or host.state == "layout":  # those of its writes are not the load's
                return None
            return latency_of(self._of(host), name, self.waits)

        def order(host: HostView) -> float:
            return known(wait(host))

        def value(host: HostView) -> Run:
            return self._figure(host, latency(wait(host)))

        return Column(of + title, value, max(7, len(of + title)), right=True, drop=drop, order=order, falling=True)

    def _telemetry_columns(self) -> tuple[Column[HostView], ...]:
        def of(look: Callable[[HostTelemetry], float | None]) -> Callable[[HostView], float]:
            return lambda host: known(look(self.seen[host.name]) if host.name in self.seen else None)

        return (
            Column("CPU", partial(self._percent, "cpu.busy"), 5, right=True, drop=4, falling=True,
                   order=of(lambda seen: seen.newest("cpu.busy"))),
            Column("core", partial(self._percent, "core.busy"), 5, right=True, drop=9, falling=True,
                   order=of(lambda seen: seen.newest("core.busy"))),
            Column("NIC", self._link, 10, right=True, drop=5, falling=True,
                   order=of(lambda seen: seen.busiest_link[1] if seen.busiest_link else None)),
            Column("disk", self._disk, 5, right=True, drop=7, falling=True,
                   order=of(lambda seen: seen.busiest_disk[1] if seen.busiest_disk else None)),
            Column("flight", self._in_flight, 6, right=True, drop=8, falling=True,
                   order=of(lambda seen: seen.in_flight)),
        )  # fmt: skip

    def show(
        self,
        hosts: Sequence[HostView],
        now: float,
        job: str | None = None,
        waits: str = "",
        found: Mapping[str, Run] = NOTHING,
        seen: Mapping[str, HostTelemetry] | None = None,
        counted: str = "IOPS",
    ) -> None:
        """Show the hosts as they are at run time `now`: all that they do or one job, with latencies of a direction.

        `found`: the checks that found something of a host, and how bad. `seen`: telemetry, for columns of its own.
        """
        told = told_by(seen.values(), self.told) if seen else frozenset()
        other = (job, waits, told, counted) != (self.job, self.waits, self.told, self.counted)
        self.told = told
        self.now, self.found, self.seen = now, found, seen or {}
        self.job, self.waits, self.counted = job, waits, counted
        new = len(hosts) != len(self.hosts) or any(a is not b for a, b in zip(hosts, self.hosts, strict=True))
        if new:
            self.hosts = list(hosts)
            self.longest_name = max(6, min(max((len(host.name) for host in hosts), default=0), self.LONGEST_NAME))
        reach = reach_of(self._widest)
        self._compare()
        if new or other or reach != reach_of(self._widest):
            self._make_columns()
        bad, self.like = ranked(self.hosts, now, self.spread, found)
        urgent = frozenset(host.name for host in bad if is_urgent(host, now, self.spread))
        kind = (urgent, self.view, self.folds, self.wanted, self.cursor_s, self.size.height)
        if new or other or self.moves(kind, now):
            self._sorted_at, self._arranged_for = now, kind
            self._given = self._arranged(bad)
            self.put_in_order()
        busiest = max((rate_of(self._of(host), "iops") or 0.0 for host in hosts), default=0.0)
        self._trend_top = nice_ceiling(busiest * 1.35) if busiest else None  # full cells would join the rows
        self.update_lines()

    def sort_anew(self) -> None:
        """Put the rows in order at the next look: those of before are of what was not read to its end."""
        self._sorted_at = float("-inf")

    def moves(self, kind: object, now: float) -> bool:
        """Tell whether rows are to be put in order again: who is badly off has changed, or enough time has passed."""
        return kind != self._arranged_for or abs(now - self._sorted_at) >= RESORT_S

    def _compare(self) -> None:
        """Find out how far each host is from the others."""
        self.spread = self.spread_now = self._spread(None)
        if self.cursor_s is not None:
            self.spread = self._spread(self.cursor_s)
        self._widest = self.spread.widest(list(self.spread.shares))

    def _spread(self, second: int | None) -> HostSpread:
        lag = self.thresholds.get("straggler.rate", LAG)
        return spread_of({host.name: self._lately(host, second) for host in self.hosts}, lag)

    def _make_columns(self) -> None:
        sorts = self.columns.index(self.sort) if self.sort is not None else None
        telemetry = len(self.columns)
        self.columns = self._columns()
        keep = sorts is not None and len(self.columns) == telemetry
        self.sort = self.columns[sorts] if keep and sorts is not None else None

    def _arranged(self, bad: list[HostView]) -> list[HostView | Heading]:
        """Return the rows: hosts that need a look, then the others or a line for them."""
        bad, self.ahead = [host for host in bad if self._is_wanted(host)], []
        like = self._folds
        if not bad and not like and self.wanted:
            return [Heading(NOBODY, "")]
        scarce = self.folds and self.sort is None and len(like) >= LEAST_FOLDED
        if self.view == "bad" or (self.view == "fit" and scarce):
            self.ahead = self._filling(like, self.size.height - HEADING - len(bad) - 1) if self.view == "fit" else []
            return [*bad, *self.ahead, Heading(FOLD, "")]
        return [*bad, *like]

    def _filling(self, like: list[HostView], free: int) -> list[HostView]:
        """Return the hosts that take lines which would stay empty: of those that are like the others the farthest."""
        if free < 1:
            return []
        return sorted(like, key=lambda host: -abs(self.spread.shares.get(host.name) or 0.0))[:free]

    @property
    def _folds(self) -> list[HostView]:
        """The hosts that are like the others, of those whose names hold what is wanted; those that fill are none."""
        shown = {host.name for host in self.ahead}
        return [host for host in self.like if self._is_wanted(host) and host.name not in shown]

    def _is_wanted(self, host: HostView) -> bool:
        """Tell whether a name holds what is typed, or is one of a range such as h[1-4]."""
        if is_range(self.wanted):
            return host.name in named(self.wanted)
        return self.wanted.lower() in host.name.lower()

    def next_view(self) -> str:
        """Fold hosts that are like the others by another rule; return which."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        return self.view

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next column: what was folded is shown then, hosts stand among each other."""
        super().sort_by_next(reverse=reverse)
        self.put_rows()

    def on_resize(self) -> None:
        """Fill the lines that there are now."""
        if self.folds and self.hosts:
            self.put_rows()

    def put_rows(self) -> None:
        """Put the rows in order now."""
        bad, self.like = ranked(self.hosts, self.now, self.spread, self.found)
        self._given = self._arranged(bad)
        self.put_in_order()
        self.update_lines()

    @property
    def first_sort(self) -> Column[HostView]:
        """Worst first is by the deviation from the median."""
        return next((column for column in self.columns if column.title == "median"), self.columns[1])

    @property
    def least_rows(self) -> int:
        """Rows that are needed when hosts that are like the others are folded."""
        return len(self.hosts) - len(self.like) + 1

    def _of(self, host: HostView) -> HostFigures:
        return host.figures(self.job)

    @property
    def _runs(self) -> bool:
        """Whether figures of a load that runs are shown."""
        return (
            not self.blank and any(host.activity(self.now) == "running" for host in self.hosts) and bool(self.counted)
        )

    def _lately(self, host: HostView, second: int | None) -> float | None:
        if self.blank or host.state in BROKEN or (second is None and host.stale_s(self.now) is not None):
            return None
        own = self._of(host)
        return rate_of(own, "iops", second) if second is not None or is_comparable(own) else None

    def _rate(self, host: HostView, metric: RateName = "iops") -> float | None:
        if self.blank:
            return None
        return rate_of(self._of(host), metric, self.cursor_s)

    @property
    def head(self) -> int:
        """Lines above the hosts."""
        return HEADING if self.size.height >= min(self.TALL, len(self.rows) + 2) else 1

    def head_lines(self, rooms: Sequence[int], width: int) -> list[Line]:
        """A rule with how many hosts are in which state over the titles; both in one line where room is scarce."""
        titles = self.titles(rooms)
        place = f"{self.top + 1}–{min(len(self.rows), self.top + self.room)}" if self.scrolls else ""
        if self.head == HEADING:
            counts = count_states(self.hosts, self.now)
            title = f"Hosts · {self.job}" if self.job else "Hosts"
            title += f" · rates over {LATELY_S} s" if self.spread is self.spread_now and self._runs else ""
            title += {"fit": "", "all": " · all", "bad": " · only bad"}[self.view]
            title += f" · /{self.wanted}" if self.wanted else ""
            title += f" · {self.cursor_text}" if self.cursor_text else ""
            return [rule(title, f"{counts}   {place} of {len(self.rows)}" if place else counts, width), titles]
        marks: list[Run] = [(f" {count}{mark}", role) for count, mark, role in self._marks()]
        at: Run = (f" {self.cursor_text}" if self.cursor_text else "", ACCENT)
        tail = [at, *marks, (f"  {place}/{len(self.rows)}" if place else "", LABEL)]
        room = width - width_of_runs(tail)
        whole = [run for n, run in enumerate(titles.runs) if width_of_runs(titles.runs[: n + 1]) <= room]
        return [Line.of(*padded(whole, room), *tail)]

    def rooms(self, width: int) -> list[int]:
        """Return the widths of the columns."""
        found = super().rooms(width)
        self._trend_room = found[-2]
        return found

    def _marks(self) -> list[tuple[int, str, str]]:
        """Return how many hosts bear each mark."""
        found: dict[Run, int] = {}
        for host in self.hosts:
            mark = mark_of(host, self.now, self.symbols, self.found, self.spread)
            found[mark] = found.get(mark, 0) + 1
        return [(count, mark, role) for (mark, role), count in found.items()]

    def row_line(self, row: HostView, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return a host's figures; of one that is broken, why."""
        if row.state not in BROKEN:
            return super().row_line(row, rooms, width, fill)
        said = row.state if self.brief else row.detail or row.state
        lead = table_line(self.columns[: self.LEADING], rooms[: self.LEADING], row)
        text = said if said.startswith(row.state) else f"{row.state}: {said}"
        return Line.of(*lead.runs, ("  " + fit(text, width - lead.width - 4), "bad"), fill=fill)

    def heading_line(self, row: Heading, width: int, fill: str) -> Line:
        """Return the line that stands for the hosts that are folded: how near they are, and the worst of them."""
        if row.key == NOBODY:
            return Line.of(*clip([("  no host of this name: Esc clears the filter", LABEL)], width), fill=fill)
        runs, key = self._folded(), [("   Enter", "accent"), (" shows them", LABEL)]
        if width_of_runs([*runs, *key]) > width:
            runs = [(text.replace("   ", "  ").replace("of the median", "of median"), role) for text, role in runs]
            key = [("  Enter", "accent"), (" all", LABEL)]
        while width_of_runs([*runs, *key]) > width and (key or len(runs) > LEAST_SAID):
            key, runs = ([], runs) if key else (key, runs[:-1])
        return Line.of(*clip([*runs, *key], width), fill=fill)

    def _folded(self) -> list[Run]:
        like = self._folds
        count = len(like)
        hosts = f"{count} host{'s' if count != 1 else ''} "
        if self.spread.middle is None or not count:
            return [(" ", TEXT), (" " + hosts, TEXT), (count_states(like, self.now), LABEL)]
        mark = mark_of(like[0], self.now, self.symbols)
        within = within_text(self.spread.widest([host.name for host in like]))
        of = f" of the median {iops(self.spread.middle)}"
        return [mark, (" " + hosts + within, TEXT), (of, LABEL), *self._worst_of_folded(like)]

    def _worst_of_folded(self, like: list[HostView]) -> list[Run]:
        runs: list[Run] = []
        tails = (self._quick_tail(self._of(host)) for host in like) if self.cursor_s is None else ()
        if (worst := max((tail for tail in tails if tail is not None), default=None)) is not None:
            runs.append((f"   p99 ≤ {latency(worst)}", LABEL))
        cpus = [self.seen[host.name].newest("cpu.busy") for host in like if host.name in self.seen]
        if (busiest := max((cpu for cpu in cpus if cpu is not None), default=None)) is not None:
            runs.append((f"   CPU ≤ {busiest:.0f} %", LABEL))
        return runs

    def _quick_tail(self, own: HostFigures) -> float | None:
        """Return the p99 of a host: while it measures one that costs little."""
        if own.total.intervals():
            return quick_p99(own, self.waits)
        return latency_of(own, "99", self.waits)

    def _share(self, host: HostView) -> Run:
        share = self.spread.shares.get(host.name)
        return (UNKNOWN, LABEL) if share is None else (share_text(share), self._role(host))

    def _role(self, host: HostView) -> str:
        if self.spread.lags(host.name):
            return "bad"
        return "warn" if self.spread.is_far(host.name) else LABEL

    def _bar(self, host: HostView) -> list[Run]:
        share = self.spread.shares.get(host.name)
        return diverging(share, reach_of(self._widest), 9, self._role(host), self.symbols)

    def _figure(self, host: HostView, text: str) -> Run:
        if self.blank:
            return UNKNOWN, LABEL
        own = self._of(host)
        current = host.stale_s(self.now) is None and (own.total.intervals() or own.results)
        return text, TEXT if current or self.cursor_s is not None else LABEL

    @property
    def _seen_t(self) -> float:
        """The time that telemetry is looked at."""
        return self.now if self.cursor_s is None else self.cursor_s + 1.0

    def _percent(self, name: str, host: HostView) -> Run:
        return percent(self.seen.get(host.name), name, self._seen_t, self.thresholds)

    def _link(self, host: HostView) -> Run:
        seen = self.seen.get(host.name)
        link = seen.busiest_link if seen is not None else None
        return bandwidth(link[1] if link is not None else None), age_role(seen, self._seen_t)

    def _disk(self, host: HostView) -> Run:
        seen = self.seen.get(host.name)
        disk = seen.busiest_disk if seen is not None else None
        if disk is None:
            return UNKNOWN, LABEL
        full = metric_of("dev.disk.busy").is_full(disk[1])
        return f"{disk[1]:.0f} %", "warn" if full else age_role(seen, self._seen_t)

    def _in_flight(self, host: HostView) -> Run:
        seen = self.seen.get(host.name)
        count = seen.in_flight if seen is not None else None
        return (UNKNOWN, LABEL) if count is None else (f"{count:.0f}", age_role(seen, self._seen_t))

    def _trend(self, host: HostView) -> str:
        if self.blank:
            return ""
        width, total = self._trend_room, self._of(host).total
        count = width * (2 if self.symbols == "braille" else 1)
        if self.cursor_s is None:
            values = total.series("iops", last=count)
        else:
            first = max(self.cursor_s + 1 - count, total.span[0] if total.span is not None else 0)
            values = total.values("iops", first, self.cursor_s + 1)
        return spark(values, width, self.symbols, high=self._trend_top).replace("\u2800", " ")

"""All hosts of a run: what each does, and what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from tui.app.widgets.graph_area import merge_values, nice_ceiling
from tui.app.widgets.picklist import PickList
from tui.metrics.figures import total_rates
from tui.metrics.sparkline import Symbols, spark
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth, iops, latency
from tui.text.line import LABEL, TEXT, Line, Run, fit, padded, rule, width_of_runs
from tui.text.table import Column, table_line

if TYPE_CHECKING:
    from tui.journal.host import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

OLD_S = 5.0
RESORT_S = 5.0  # rows that swap places every second cannot be read

MARKS: dict[str, tuple[str, str, str]] = {  # state -> symbol, ASCII symbol, style
    "waiting": ("·", ".", LABEL),
    "connecting": ("›", ">", LABEL),
    "connected": ("›", ">", LABEL),
    "checking": ("›", ">", LABEL),
    "ready": ("○", "o", TEXT),
    "layout": ("■", "#", "read"),
    "armed": ("○", "o", TEXT),
    "running": ("●", "*", "good"),
    "collecting": ("■", "#", LABEL),
    "done": ("✓", "+", "good"),
    "failed": ("✗", "x", "bad"),
    "lost": ("✗", "x", "bad"),
}
BROKEN = ("failed", "lost")
NOTHING: Mapping[str, Run] = {}
STATE_ORDER = ("failed", "lost", *(state for state in MARKS if state not in BROKEN))


def _known(value: float | None) -> float:
    return -1.0 if value is None else float(value)


class HostTable(PickList["HostView"]):
    """The hosts, a row each. The cursor stays on its host however the rows are sorted."""

    DEFAULT_CSS = "HostTable { padding: 0 1; }"
    TALL: ClassVar[int] = 9  # from this height on, or where all hosts fit, the heading has a line of its own
    LONGEST_NAME: ClassVar[int] = 24
    LEADING: ClassVar[int] = 2  # columns that a broken host has: mark and name

    job: str | None = None  # None: all jobs together
    waits = ""  # the direction whose latencies are shown; empty: all I/O together
    longest_name = 6

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        self.found: Mapping[str, Run] = {}
        self.seen: Mapping[str, HostTelemetry] = {}
        super().__init__(self._columns(), lambda host: host.name, id=id)
        self.symbols = symbols
        self.hosts: Sequence[HostView] = ()
        self.now = 0.0
        self._sorted_at = float("-inf")
        self._trend_room = 0
        self._trend_top: float | None = None  # one scale for all hosts: who lags is seen at a glance

    def _columns(self) -> tuple[Column[HostView], ...]:
        of = f"{self.waits} " if self.waits else ""
        return (
            Column("", lambda host: mark_of(host, self.now, self.symbols, self.found), 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1),
            Column("IOPS", lambda host: self._figure(host, iops(rate_of(self._of(host), "iops"))), 5, right=True,
                   order=lambda host: _known(self._of(host).total.iops), falling=True),
            Column("BW", lambda host: self._figure(host, bandwidth(rate_of(self._of(host), "bandwidth"))), 10,
                   right=True, order=lambda host: _known(self._of(host).total.bw_bytes_per_s), falling=True),
            *(
                Column(of + title, partial(self._latency, name), max(7, len(of + title)), right=True,
                       order=partial(self._latency_order, name), falling=True)
                for name, title in (("mean", "mean"), ("99", "p99"))
            ),
            *(self._telemetry_columns() if self.seen else ()),
            Column("trend", self._trend, least=8, most=20, drop=2, role="read"),
            Column("state", lambda host: message_of(host, self.now, self.found), least=6, drop=1,
                   order=lambda host: STATE_ORDER.index(host.state)),
        )  # fmt: skip

    def _telemetry_columns(self) -> tuple[Column[HostView], ...]:
        return (
            Column("CPU", partial(self._percent, "cpu.busy"), 5, right=True, drop=3, falling=True,
                   order=lambda host: _known(self._newest(host, "cpu.busy"))),
            Column("core", partial(self._percent, "core.busy"), 5, right=True, drop=4, falling=True,
                   order=lambda host: _known(self._newest(host, "core.busy"))),
            Column("NIC", self._link, 10, right=True, drop=5),
        )  # fmt: skip

    def show(
        self,
        hosts: Sequence[HostView],
        now: float,
        job: str | None = None,
        waits: str = "",
        found: Mapping[str, Run] = NOTHING,
        seen: Mapping[str, HostTelemetry] | None = None,
    ) -> None:
        """Show the hosts as they are at run time `now`: all that they do or one job, with latencies of a direction.

        `found`: the checks that found something of a host, and how bad. `seen`: telemetry, for columns of its own.
        """
        other = (job, waits, bool(seen)) != (self.job, self.waits, bool(self.seen))
        self.now, self.found, self.seen = now, found, seen or {}
        new = len(hosts) != len(self.hosts) or any(a is not b for a, b in zip(hosts, self.hosts, strict=True))
        if new or other:
            self.job, self.waits = job, waits
            self.hosts, self._given = list(hosts), list(hosts)
            self.longest_name = max(6, min(max((len(host.name) for host in hosts), default=0), self.LONGEST_NAME))
            sorts = self.columns.index(self.sort) if self.sort is not None else None
            self.columns = self._columns()
            self.sort = self.columns[sorts] if sorts is not None else None
        if new or other or abs(now - self._sorted_at) >= RESORT_S:
            self._sorted_at = now
            self.put_in_order()
        busiest = max((self._of(host).total.iops or 0.0 for host in hosts), default=0.0)
        self._trend_top = nice_ceiling(busiest * 1.35) if busiest else None  # full cells would join the rows
        self.update_lines()

    def _of(self, host: HostView) -> HostFigures:
        return host.figures(self.job)

    def _latency(self, name: str, host: HostView) -> Run:
        return self._figure(host, latency(latency_of(self._of(host), name, self.waits)))

    def _latency_order(self, name: str, host: HostView) -> float:
        return _known(latency_of(self._of(host), name, self.waits))

    @property
    def head(self) -> int:
        """Lines above the hosts."""
        return 2 if self.size.height >= min(self.TALL, len(self.rows) + 2) else 1

    def head_lines(self, rooms: Sequence[int], width: int) -> list[Line]:
        """A rule with how many hosts are in which state over the titles; both in one line where room is scarce."""
        titles = self.titles(rooms)
        place = f"{self.top + 1}–{min(len(self.rows), self.top + self.room)}" if self.scrolls else ""
        if self.head == 2:
            counts = count_states(self.hosts, self.now)
            title = f"Hosts · {self.job}" if self.job else "Hosts"
            return [rule(title, f"{counts}   {place} of {len(self.rows)}" if place else counts, width), titles]
        marks: list[Run] = [(f" {count}{mark}", role) for count, mark, role in self._marks()]
        tail = [*marks, (f"  {place}/{len(self.rows)}" if place else "", LABEL)]
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
            mark = mark_of(host, self.now, self.symbols, self.found)
            found[mark] = found.get(mark, 0) + 1
        return [(count, mark, role) for (mark, role), count in found.items()]

    def row_line(self, row: HostView, rooms: Sequence[int], width: int, fill: str) -> Line:
        """Return a host's figures; of one that is broken, why."""
        if row.state not in BROKEN:
            return super().row_line(row, rooms, width, fill)
        said = row.detail or row.state
        lead = table_line(self.columns[: self.LEADING], rooms[: self.LEADING], row)
        text = said if said.startswith(row.state) else f"{row.state}: {said}"
        return Line.of(*lead.runs, ("  " + fit(text, width - lead.width - 4), "bad"), fill=fill)

    def _figure(self, host: HostView, text: str) -> Run:
        stale = host.stale_s(self.now) is not None or not self._of(host).total.intervals()
        return text, LABEL if stale else TEXT

    def _newest(self, host: HostView, name: str) -> float | None:
        seen = self.seen.get(host.name)
        return seen.newest(name) if seen is not None else None

    def _percent(self, name: str, host: HostView) -> Run:
        return percent(self.seen.get(host.name), name, self.now)

    def _link(self, host: HostView) -> Run:
        seen = self.seen.get(host.name)
        link = seen.busiest_link if seen is not None else None
        return bandwidth(link[1] if link is not None else None), age_role(seen, self.now)

    def _trend(self, host: HostView) -> str:
        width = self._trend_room
        values = self._of(host).total.series("iops", last=width * (2 if self.symbols == "braille" else 1))
        return spark(values, width, self.symbols, high=self._trend_top).replace("\u2800", " ")


def percent(seen: HostTelemetry | None, name: str, now: float) -> Run:
    """Return the newest share of a column: marked when it holds the load back, weak when it is old."""
    value = seen.newest(name) if seen is not None else None
    if value is None:
        return UNKNOWN, LABEL
    role = age_role(seen, now)
    return f"{value:.0f} %", "warn" if role == TEXT and metric_of(name).is_full(value) else role


def age_role(seen: HostTelemetry | None, now: float) -> str:
    """Return the role of what telemetry said last: weak when that was too long ago."""
    return TEXT if seen is not None and seen.end_t and now - seen.end_t[-1] <= OLD_S else LABEL


def rate_of(figures: HostFigures, metric: Literal["iops", "bandwidth"]) -> float | None:
    """Return a rate over the last interval; the mean of the whole load once it is over."""
    total = figures.total
    if not total.intervals():
        whole = total_rates(figures.results) if figures.results else None
        return merge_values(total.series(metric)) if whole is None else whole[0 if metric == "iops" else 1]
    return total.iops if metric == "iops" else total.bw_bytes_per_s


def latency_of(figures: HostFigures, name: str, direction: str = "") -> float | None:
    """Return the mean or a percentile in ns of the last interval; of the whole load once it is over.

    `direction`: whose; empty: all I/O together. None when the host did none of it.
    """
    view = figures.dirs.get(direction) if direction else figures.total
    if view is None:
        return None
    if figures.total.intervals():
        return view.lat_mean_ns if name == "mean" else view.interval_percentiles[name]
    return view.so_far_mean_ns if name == "mean" else view.so_far_percentiles[name]


def mark_of(host: HostView, now: float, symbols: Symbols, found: Mapping[str, Run] = NOTHING) -> Run:
    """Return the symbol of a host's state and its style; of one in which something was found, that there is."""
    if host.stale_s(now) is not None:
        return "!", "warn"
    if host.name in found and host.state not in BROKEN:
        return "!", found[host.name][1]
    symbol, plain, key = MARKS.get(host.state, ("?", "?", LABEL))
    return (plain if symbols == "ascii" else symbol), key


def message_of(host: HostView, now: float, found: Mapping[str, Run] = NOTHING) -> Run:
    """Return what there is to say of a host beside its figures."""
    if (silent := host.stale_s(now)) is not None:
        return f"stale {silent:.0f}s", "warn"
    if host.name in found and host.state == "running":
        return found[host.name]
    if host.problem:
        return f"{host.state}: {host.problem}", "warn"
    return f"{host.state}: {host.detail}" if host.detail else host.state, LABEL


def count_states(hosts: Sequence[HostView], now: float) -> str:
    """Return ``62 running, 1 stale, 1 failed``: what needs a look comes last."""
    counts: dict[str, int] = {}
    for host in hosts:
        name = "stale" if host.stale_s(now) is not None else host.state
        counts[name] = counts.get(name, 0) + 1
    order = [*(state for state in MARKS if state not in BROKEN), "stale", *BROKEN]
    return ", ".join(f"{counts[name]} {name}" for name in order if name in counts)

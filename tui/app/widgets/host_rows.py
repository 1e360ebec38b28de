"""Hosts during a run: their order, and the figures and cells of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from tui.app.widgets.graph import merge_values, meter
from tui.journal.intervals import LATELY_S
from tui.journal.latencies import p99_of
from tui.metrics import units
from tui.metrics.facts import fact_text
from tui.metrics.figures import LAG, HostSpread, share_text, spread_of, total_rates, within_text
from tui.metrics.histogram import Histogram
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth, iops, latency, plural, size_of
from tui.model.hostfacts import HOST_FACTS
from tui.text.line import LABEL, TEXT, Run, diverging, reach_of, width_of
from tui.text.scale import nice_ceiling
from tui.text.sparkline import Symbols, spark
from tui.text.table import Column
from tui.view.live_hosts import (
    BROKEN,
    HOSTS_A_PART,
    NO_FINDINGS,
    STATE_ORDER,
    VERSUS,
    count_states,
    mark_of,
    message_of,
    shown_state,
    state_text,
)

if TYPE_CHECKING:
    from tui.journal.state import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

RateName = Literal["iops", "bandwidth"]
OLD_S = 5.0
LEAST_S = 1.5  # rates over a window of several seconds are compared once they cover this much


def known(value: float | None) -> float:
    """Return a sort key for a value; unknown values come last."""
    return -1.0 if value is None else float(value)


def percent(
    seen: HostTelemetry | None,
    name: str,
    now: float,
    thresholds: Mapping[str, float] | None = None,
    *,
    marked: bool = True,
) -> Run:
    """Return the newest percentage of a telemetry column.

    It is marked if it limits the load, and dim if it is old. `thresholds`: the thresholds that the
    run changes. `marked`: False for MPI, whose waiting ranks spin, so a full CPU means nothing.
    """
    value = seen.newest(name) if seen is not None else None
    if value is None:
        return UNKNOWN, LABEL
    role = age_role(seen, now)
    full = marked and role == TEXT and metric_of(name).is_full(value, thresholds)
    return f"{value:.0f} %", "warn" if full else role


def age_role(seen: HostTelemetry | None, now: float) -> str:
    """Return the role for a host's telemetry: dim if it is too old."""
    newest_t = seen.newest_t if seen is not None else None
    return TEXT if newest_t is not None and now - newest_t <= OLD_S else LABEL


def rate_of(figures: HostFigures, metric: RateName, second: int | None = None) -> float | None:
    """Return the rate to compare a host by: the current one, or the one in `second`.

    Once the load has ended, return the rate of the whole load. None if unknown.
    """
    if second is not None:
        return merge_values(figures.total.values(metric, second, second + 1))
    return rate_lately(figures, metric)[0]


def rate_lately(figures: HostFigures, metric: RateName) -> tuple[float | None, bool]:
    """Return a host's current rate, and whether it covers enough seconds to compare hosts."""
    total = figures.total
    current = total.intervals()
    if not current:
        whole = total_rates(figures.results) if figures.results else None
        if whole is None:
            return merge_values(total.series(metric)), True
        return whole[0 if metric == "iops" else 1], True
    least_s = LEAST_S if total.clock.window_s > LEAST_S else 0.0
    return total.now(metric), max(each.interval_s for each in current) >= least_s


def latency_of(figures: HostFigures, name: str, direction: str = "") -> float | None:
    """Return the mean or a percentile of the current latency, in ns.

    Once the load has ended, it covers the whole load. `direction`: empty for all together. None if
    the host did no such I/O.
    """
    view = figures.dirs.get(direction) if direction else figures.total
    if view is None:
        return None
    if figures.total.intervals():
        return view.lat_mean_ns if name == "mean" else view.interval_percentiles[name]
    return view.so_far_mean_ns if name == "mean" else view.so_far_percentiles[name]


def quick_p99(figures: HostFigures, direction: str) -> float | None:
    """Return the current p99 in ns; None if it covers several directions or intervals, or no I/O.

    Fast: counts from the upper end of the histogram.
    """
    view = (
        figures.dirs.get(direction)
        if direction or len(figures.dirs) != 1
        else next(iter(figures.dirs.values()))
    )
    current = view.intervals() if view is not None else []
    if len(current) != 1:
        return None
    together = Histogram()
    for part in current[0].parts:
        together.add(part.lat)
    return p99_of(found) if (found := together.buckets).idx else None


def is_urgent(host: HostView, now: float, spread: HostSpread) -> bool:
    """Return whether a host needs attention: it is broken, silent or a straggler."""
    return host.state in BROKEN or host.stale_s(now) is not None or spread.lags(host.name)


def ranked(
    hosts: Sequence[HostView], now: float, spread: HostSpread, found: Mapping[str, Run]
) -> tuple[list[HostView], list[HostView]]:
    """Return the hosts that need attention, worst first, and the unremarkable hosts."""
    bad: list[HostView] = []
    like: list[HostView] = []
    for host in hosts:
        (bad if _needs_attention(host, now, spread, found) else like).append(host)
    bad.sort(key=lambda host: (_rank(host, now, spread), _sort_share(spread, host)))
    return bad, like


def _needs_attention(
    host: HostView, now: float, spread: HostSpread, found: Mapping[str, Run]
) -> bool:
    if host.state in BROKEN or host.name in found or host.stale_s(now) is not None:
        return True
    return spread.shares.get(host.name) is not None and spread.is_far(host.name)


def _rank(host: HostView, now: float, spread: HostSpread) -> int:
    if host.state in BROKEN:
        return STATE_ORDER.index(host.state)
    if host.stale_s(now) is not None:
        return len(BROKEN)
    return len(BROKEN) + (1 if spread.lags(host.name) else 2)


def _sort_share(spread: HostSpread, host: HostView) -> float:
    share = spread.shares.get(host.name)
    return -abs(share) if share is not None else 0.0


# of hosts, where nothing was measured; the last is dropped first
FACTS = ("kernel", "cpus", "mem_bytes", "target_fstype", "target_free_bytes", "os", "cpu_model")
HEADROOM = 1.35  # of the scale of trends, so that rows do not touch
# columns that not every host has
SOMETIMES: Mapping[str, Callable[[HostTelemetry], object]] = {
    "NIC": lambda host: host.busiest_link,
    "disk": lambda host: host.busiest_disk,
    "flight": lambda host: host.in_flight,
}


def folded_runs(hosts: Sequence[HostView], cells: HostCells, *, more: bool) -> list[Run]:
    """Return the text for collapsed hosts: number, deviation, worst tail, CPU.

    `more`: other unremarkable hosts have rows.
    """
    count = f"{plural(len(hosts), 'host')} "
    if cells.spread.middle is None or not hosts:
        return [(" ", TEXT), (" " + count, TEXT), (count_states(hosts, cells.now), LABEL)]
    count = f"{len(hosts)} more " if more else count
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
        full = metric_of("cpu.busy").is_full(busiest, cells.telemetry.thresholds)
        role = "warn" if full and cells.telemetry.marked else LABEL
        runs.append((f"   CPU ≤ {busiest:.0f} %", role))
    return runs


def _fact(name: str, usual: str, host: HostView) -> Run:
    """Return a fact, marked if it is unusual in a way that may affect figures."""
    text = fact_text(host.facts, name)
    odd = text and usual and text != usual and HOST_FACTS[name].differs == "matters"
    return text, "warn" if odd else LABEL


def usual_fact(name: str, hosts: Sequence[HostView]) -> str:
    """Return the value of a fact that more than half of the hosts share; empty if there is none."""
    known = Counter(filter(None, (fact_text(host.facts, name) for host in hosts)))
    text, count = known.most_common(1)[0] if known else ("", 0)
    return text if 2 * count > known.total() else ""


class TelemetryCells:
    """The telemetry columns of the table, at one time."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        self.thresholds = thresholds
        self.hosts: Mapping[str, HostTelemetry] = {}
        self.t = 0.0
        # columns with data for any host, now or earlier
        self.titles: frozenset[str] = frozenset()
        self.marked = True  # percentages that limit the load

    def show(self, hosts: Mapping[str, HostTelemetry], t: float) -> None:
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
        seen = self.hosts.get(host.name)
        return percent(seen, name, self.t, self.thresholds, marked=self.marked)

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
        return f"{disk[1]:.0f} %", age_role(seen, self.t)

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

    `job`: None for all jobs together. `direction`: the direction of the latencies, empty for all
    together. `counted`: unit of the rate, empty if there are no figures per host. `called`: name of
    the direction in titles. `layout_bytes`: what each host writes before the load; 0 without a
    layout. `lately_s`: seconds that figures cover.
    """

    job: str | None = None
    direction: str = ""
    counted: str = "IOPS"
    called: str = ""
    layout_bytes: float = 0.0
    lately_s: float = LATELY_S


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
        self.blank = False  # nothing is measured now: figures would be the previous step's
        self.unmeasured = False  # the run ended before any load: facts replace figures
        self.found: Mapping[str, Run] = NO_FINDINGS  # by host: findings
        self.spread = self.spread_now = HostSpread(None, {}, 0.0)  # in that second; now
        self.widest = 0.0  # how far the farthest host is from the median
        self.longest_name = 6
        self.trend_room = 0
        self.trend_top: float | None = None  # common scale of all hosts

    def comparing(self) -> Iterator[None]:
        """Compute how far each host is from the median.

        Yields after each part of the hosts, so that keys can be handled.
        """
        known: dict[str, tuple[float | None, bool]] = {}
        for place, host in enumerate(self.hosts, 1):
            known[host.name] = rate_lately(self.figures(host), "iops")
            if place % HOSTS_A_PART == 0:
                yield
        self._compare(known)

    def _compare(self, known: Mapping[str, tuple[float | None, bool]]) -> None:
        """Compare hosts by their rates, and whether these cover enough seconds."""
        whole = [host for host in self.hosts if not self.blank and host.state not in BROKEN]
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
        """Return a host's rate, now or at the cursor; None if unknown."""
        if self.blank:
            return None
        return rate_of(self.figures(host), metric, self.second)

    def tail(self, host: HostView) -> float | None:
        """Return a host's p99 in ns; None if unknown or, during the load, slow to compute."""
        figures = self.figures(host)
        if figures.total.intervals():
            return quick_p99(figures, self.shown.direction)
        return latency_of(figures, "99", self.shown.direction)

    @property
    def is_running(self) -> bool:
        """Whether the figures belong to a load that is still running."""
        shows_figures = not self.blank and bool(self.shown.counted)
        return shows_figures and any(host.activity(self.now) == "running" for host in self.hosts)

    @property
    def compares(self) -> bool:
        """Whether there are several hosts, so that their median is meaningful."""
        return len(self.hosts) > 1

    # -- columns

    @property
    def has_latencies(self) -> bool:
        """Whether hosts have latencies to show.

        Those of single seconds are not kept, and layout writes are not the load.
        """
        return self.second is None and any(host.state != "layout" for host in self.hosts)

    def columns(self) -> tuple[Column[HostView], ...]:
        """Return all columns of the table."""
        if self.unmeasured:
            return self.fact_columns()
        if self.shown.layout_bytes:
            return self.layout_columns()
        # one host's figures are those of the whole load, above
        counts = bool(self.shown.counted) and self.compares
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
                least=18, drop=1,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
        )  # fmt: skip

    def layout_columns(self) -> tuple[Column[HostView], ...]:
        """Return the columns of a layout: bytes written, rate and progress of each host."""
        whole_bytes = self.shown.layout_bytes

        def written(host: HostView) -> float:
            return float(self.figures(host).total.bytes)

        def progress(host: HostView) -> list[Run]:
            return meter(written(host) / whole_bytes, self.trend_room, self.symbols)

        return (
            Column("", self.mark, 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1,
                order=lambda host: host.name),
            Column("written", lambda host: size_of(written(host), whole_bytes),
                max(16, len(size_of(whole_bytes, whole_bytes))), right=True, order=written,
                falling=True),
            Column("rate", lambda host: bandwidth(self.rate(host, "bandwidth")), 10, right=True,
                   order=lambda host: known(self.rate(host, "bandwidth")), falling=True),
            *self.telemetry.columns(),
            Column("", progress, least=10, most=80),
            Column("state", lambda host: message_of(host, self.now, self.found, self.spread), 20,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
        )  # fmt: skip

    def fact_columns(self) -> tuple[Column[HostView], ...]:
        """Return the columns of state and facts, for a run that ended before any load."""
        known = [name for name in FACTS if any(fact_text(host.facts, name) for host in self.hosts)]
        facts: list[Column[HostView]] = [
            Column(HOST_FACTS[name].title, partial(_fact, name, usual_fact(name, self.hosts)),
                   drop=place + 1,
                   width=max(len(HOST_FACTS[name].title),
                             *(width_of(fact_text(host.facts, name)) for host in self.hosts)))
            for place, name in enumerate(known)
        ]  # fmt: skip
        return (
            Column("", self.mark, 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1,
                order=lambda host: host.name),
            Column("state", self.state, 11,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
            *facts,
            Column("", lambda _: "", least=0),
        )  # fmt: skip

    def state(self, host: HostView) -> Run:
        """Return a host's state in a word."""
        return shown_state(host, self.now), "bad" if host.state in BROKEN else LABEL

    def rate_columns(self) -> list[Column[HostView]]:
        """Return the columns of deviation, rates and tail latency."""
        return [
            Column(VERSUS, self.share, len(VERSUS) + 1, right=True),
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

        title = f"{self.shown.called} {title}".lstrip()
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
        """Return the role for a host's deviation: a warning for a straggler."""
        if self.spread.lags(host.name):
            return "warn"
        return TEXT if self.spread.is_far(host.name) else LABEL

    def bar(self, host: HostView) -> list[Run]:
        """Return a host's deviation as a bar to the left or to the right."""
        return diverging(
            self.spread.shares.get(host.name),
            reach_of(self.widest),
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
        """Return a host's rate over the last seconds or before the cursor, as a sparkline."""
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

"""The columns of the host table: each host's figures at one time of the run, and their spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui.app.widgets.graph import nice_ceiling
from tui.app.widgets.host_rows import (
    RateName,
    age_role,
    known,
    latency_of,
    percent,
    quick_p99,
    rate_lately,
    rate_of,
)
from tui.metrics import units
from tui.metrics.figures import LAG, HostSpread, share_text, spread_of
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth, iops, latency
from tui.text.line import LABEL, TEXT, Run, diverging, reach_of
from tui.text.sparkline import Symbols, spark
from tui.text.table import Column
from tui.view.host_states import BROKEN, NOTHING, STATE_ORDER, mark_of, message_of, state_text

if TYPE_CHECKING:
    from tui.journal.host import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

HEADROOM = 1.35  # of the scale of trends, so that rows do not touch
# columns that not every host has
SOMETIMES: Mapping[str, Callable[[HostTelemetry], object]] = {
    "NIC": lambda host: host.busiest_link,
    "disk": lambda host: host.busiest_disk,
    "flight": lambda host: host.in_flight,
}


class TelemetryCells:
    """The telemetry of each host at one time."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        self.thresholds = thresholds
        self.hosts: Mapping[str, HostTelemetry] = {}
        self.t = 0.0
        # columns with data for any host, now or earlier
        self.titles: frozenset[str] = frozenset()

    def look(self, hosts: Mapping[str, HostTelemetry], t: float) -> None:
        """Take the hosts' telemetry at a time."""
        self.hosts, self.t = hosts, t
        new = {
            title
            for title, value in SOMETIMES.items()
            if title not in self.titles and any(value(each) is not None for each in hosts.values())
        }
        self.titles = self.titles | {"CPU", "core"} | new if hosts else frozenset()

    def columns(self) -> list[Column[HostView]]:
        """Return the columns with data."""

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
        """Return a share, marked if it limits the load."""
        return percent(self.hosts.get(host.name), name, self.t, self.thresholds)

    def link(self, host: HostView) -> Run:
        """Return the bandwidth of the busiest link."""
        seen = self.hosts.get(host.name)
        link = seen.busiest_link if seen is not None else None
        return bandwidth(link[1] if link is not None else None), age_role(seen, self.t)

    def disk(self, host: HostView) -> Run:
        """Return how busy the busiest disk is."""
        seen = self.hosts.get(host.name)
        disk = seen.busiest_disk if seen is not None else None
        if disk is None:
            return UNKNOWN, LABEL
        full = metric_of("dev.disk.busy").is_full(disk[1])
        return f"{disk[1]:.0f} %", "warn" if full else age_role(seen, self.t)

    def in_flight(self, host: HostView) -> Run:
        """Return the I/Os in flight."""
        seen = self.hosts.get(host.name)
        count = seen.in_flight if seen is not None else None
        return (UNKNOWN, LABEL) if count is None else (f"{count:.0f}", age_role(seen, self.t))

    def busiest_cpu(self, names: Sequence[str]) -> float | None:
        """Return the highest CPU share of these hosts."""
        shares = [self.hosts[name].newest("cpu.busy") for name in names if name in self.hosts]
        return max((share for share in shares if share is not None), default=None)


@dataclass(frozen=True, slots=True)
class RowFigures:
    """Which figures of each host are shown.

    `job`: None for all jobs together; `direction`: whose latencies, empty for all I/O together;
    `counted`: the unit of the rate, empty when hosts have no figures of their own.
    """

    job: str | None = None
    direction: str = ""
    counted: str = "IOPS"


class HostCells:
    """The figures of each host, now or in a second of the run."""

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
        self.found: Mapping[str, Run] = NOTHING  # by host: findings
        self.spread = self.spread_now = HostSpread(None, {}, 0.0)  # in that second; now
        self.widest = 0.0  # how far the farthest host is from the median
        self.longest_name = 6
        self.trend_room = 0
        self.trend_top: float | None = None  # common scale of all hosts

    def compare(self) -> None:
        """Compute each host's deviation."""
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
        """Return the figures of the current job."""
        return host.figures(self.shown.job)

    def rate(self, host: HostView, metric: RateName = "iops") -> float | None:
        """Return a host's rate."""
        return None if self.blank else rate_of(self.figures(host), metric, self.second)

    def tail(self, host: HostView) -> float | None:
        """Return the p99 of a host, cheaply while it measures."""
        figures = self.figures(host)
        if figures.total.intervals():
            return quick_p99(figures, self.shown.direction)
        return latency_of(figures, "99", self.shown.direction)

    @property
    def is_running(self) -> bool:
        """Whether figures of a running load are shown."""
        shows_figures = not self.blank and bool(self.shown.counted)
        return shows_figures and any(host.activity(self.now) == "running" for host in self.hosts)

    # -- columns

    def columns(self) -> tuple[Column[HostView], ...]:
        """Return the columns."""
        counts = bool(self.shown.counted)
        return (
            Column("", self.mark, 1),
            Column("host", lambda host: host.name, self.longest_name, gap=1,
                order=lambda host: host.name),
            *(self.rate_columns() if counts else ()),
            *self.telemetry.columns(),
            *((self.latency_column("mean", "mean", drop=11),
               Column("trend", self.trend, least=8, most=64, right=True, drop=10,
                   role="read")) if counts else ()),
            Column("state", lambda host: message_of(host, self.now, self.found, self.spread),
                least=20, drop=1,
                   order=lambda host: STATE_ORDER.index(state_text(host, self.now))),
        )  # fmt: skip

    def rate_columns(self) -> list[Column[HostView]]:
        """Return the columns of deviation, rates and latency tail."""
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
            self.latency_column("99", "p99", drop=3),
        ]  # fmt: skip

    def latency_column(self, name: str, title: str, drop: int) -> Column[HostView]:
        """Return the column of the mean or a percentile."""

        def value(host: HostView) -> float | None:
            # per-host latencies of single seconds are not kept; layout writes are not the load
            if self.second is not None or host.state == "layout":
                return None
            return latency_of(self.figures(host), name, self.shown.direction)

        def cell(host: HostView) -> Run:
            return self.figure(host, latency(value(host)))

        title = f"{self.shown.direction} {title}".lstrip()
        width = max(7, len(title))
        return Column(
            title,
            cell,
            width,
            right=True,
            drop=drop,
            order=lambda host: known(value(host)),
            falling=True,
        )

    # -- cells

    def mark(self, host: HostView) -> Run:
        """Return the symbol of a host's state, straggler or finding."""
        return mark_of(host, self.now, self.symbols, self.found, self.spread)

    def share(self, host: HostView) -> Run:
        """Return a host's deviation from the median."""
        share = self.spread.shares.get(host.name)
        return (UNKNOWN, LABEL) if share is None else (share_text(share), self.role(host))

    def role(self, host: HostView) -> str:
        """Return the role of a host's deviation."""
        if self.spread.lags(host.name):
            return "bad"
        return "warn" if self.spread.is_far(host.name) else LABEL

    def bar(self, host: HostView) -> list[Run]:
        """Return the deviation as a bar to the left or right."""
        return diverging(
            self.spread.shares.get(host.name),
            reach_of(self.widest),
            9,
            self.role(host),
            self.symbols,
        )

    def figure(self, host: HostView, text: str) -> Run:
        """Return a figure, dimmed if not current."""
        if self.blank:
            return UNKNOWN, LABEL
        figures = self.figures(host)
        current = host.stale_s(self.now) is None and (figures.total.intervals() or figures.results)
        return text, TEXT if current or self.second is not None else LABEL

    def trend(self, host: HostView) -> str:
        """Return the rate over the last seconds, or up to the cursor."""
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

"""Hosts and servers during a run: figures, states, order, and the table of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from tui.app.widgets.graph import merge_values
from tui.app.widgets.picklist import PickList
from tui.journal.measurement import p99_of
from tui.journal.views import NO_LATENCIES
from tui.metrics.figures import HostSpread, total_rates
from tui.metrics.telemetry import metric_of
from tui.metrics.units import UNKNOWN, bandwidth
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, padded, width_of_runs
from tui.text.table import Column
from tui.view.live_hosts import BROKEN, STATE_ORDER

if TYPE_CHECKING:
    from tui.journal.state import HostFigures, HostView
    from tui.journal.telemetry import HostTelemetry

RateName = Literal["iops", "bandwidth"]
OLD_S = 5.0
# seconds over which rates are shown and compared, and the least for a comparison
LATELY_S, LEAST_S = 5, 2


def known(value: float | None) -> float:
    """Return a sort key for a value; unknown values come last."""
    return -1.0 if value is None else float(value)


def percent(
    seen: HostTelemetry | None, name: str, now: float, thresholds: Mapping[str, float] | None = None
) -> Run:
    """Return the newest percentage of a telemetry column.

    It is marked if it limits the load, and dim if it is old. `thresholds`: those that the run
    changes.
    """
    value = seen.newest(name) if seen is not None else None
    if value is None:
        return UNKNOWN, LABEL
    role = age_role(seen, now)
    return f"{value:.0f} %", "warn" if role == TEXT and metric_of(name).is_full(
        value, thresholds
    ) else role


def age_role(seen: HostTelemetry | None, now: float) -> str:
    """Return the role for a host's telemetry: dim if it is too old."""
    newest_t = seen.newest_t if seen is not None else None
    return TEXT if newest_t is not None and now - newest_t <= OLD_S else LABEL


def rate_of(figures: HostFigures, metric: RateName, second: int | None = None) -> float | None:
    """Return the rate to compare a host by: the recent mean, or the rate in `second`.

    Until there are enough seconds, it is the last interval's rate; once the load has ended, that of
    the whole load.
    """
    if second is not None:
        return merge_values(figures.total.values(metric, second, second + 1))
    return rate_lately(figures, metric)[0]


def rate_lately(figures: HostFigures, metric: RateName) -> tuple[float | None, bool]:
    """Return a host's recent rate, and whether it covers enough seconds to compare hosts."""
    total = figures.total
    if not total.intervals():
        whole = total_rates(figures.results) if figures.results else None
        if whole is None:
            return merge_values(total.series(metric)), True
        return whole[0 if metric == "iops" else 1], True
    known = [value for value in total.series(metric, last=LATELY_S) if value is not None]
    if len(known) < LEAST_S:
        return (total.iops if metric == "iops" else total.bw_bytes_per_s), False
    return sum(known) / len(known), True


def latency_of(figures: HostFigures, name: str, direction: str = "") -> float | None:
    """Return the mean or a percentile of the latency in the last interval, in ns.

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
    """Return the p99 of the last interval in ns, if it is in a single direction.

    Fast: merges nothing, and counts from the upper end of the histogram. None otherwise.
    """
    view = (
        figures.dirs.get(direction)
        if direction or len(figures.dirs) != 1
        else next(iter(figures.dirs.values()))
    )
    current = view.intervals() if view is not None else []
    lat = current[0].amounts.lat if len(current) == 1 else NO_LATENCIES
    return p99_of(lat.buckets) if lat.total else None


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
        (bad if _needs_look(host, now, spread, found) else like).append(host)
    bad.sort(key=lambda host: (_rank(host, now, spread), _sort_share(spread, host)))
    return bad, like


def _needs_look(host: HostView, now: float, spread: HostSpread, found: Mapping[str, Run]) -> bool:
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
        super().__init__(self._columns(), lambda host: host.host, id=id)
        self.now = 0.0

    def _columns(self) -> tuple[Column[HostTelemetry], ...]:
        return (
            Column(
                "", lambda host: ("●", "good" if age_role(host, self.now) == TEXT else LABEL), 1
            ),
            Column("server", lambda host: host.host, 12, gap=1),
            *(
                Column(title, partial(self._percent, name), 5, right=True)
                for title, name in (("CPU", "cpu.busy"), ("core", "core.busy"))
            ),
            Column("busiest NIC", self._link, least=14, most=22),
            Column("disk", self._disk, least=12, most=16),
            Column("processes", self._groups, least=10, drop=1),
        )

    def show(self, servers: Sequence[HostTelemetry], now: float) -> None:
        """Show the servers as they are at run time `now`."""
        self.now = now
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
        return percent(host, name, self.now, self.thresholds)

    def _link(self, host: HostTelemetry) -> list[Run]:
        link = host.busiest_link
        if link is None:
            return [(UNKNOWN, LABEL)]
        return [(f"{link[0]} ", LABEL), (bandwidth(link[1]), age_role(host, self.now))]

    def _disk(self, host: HostTelemetry) -> list[Run]:
        disk = host.busiest_disk
        if disk is None:
            return [(UNKNOWN, LABEL)]
        full = metric_of("dev.disk.busy").is_full(disk[1])
        return [
            (f"{disk[0]} ", LABEL),
            (f"{disk[1]:.0f} %", "warn" if full else age_role(host, self.now)),
        ]

    def _groups(self, host: HostTelemetry) -> list[Run]:
        runs: list[Run] = []
        for name, cpu, count in host.groups:
            many = f"{count} " if count != 1 else ""
            runs += [
                ("  " if runs else "", TEXT),
                (f"{many}{name} ", LABEL),
                (f"{cpu:.0f} %", VALUE),
            ]
        return runs

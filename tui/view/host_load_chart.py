"""The load on hosts over time: in each second, the host with the highest value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from tui.judge.links import LINK
from tui.metrics import units
from tui.metrics.telemetry import metric_of
from tui.model.step_record import HostTelemetryRecord, StepRecord
from tui.text.line import WARN, Line
from tui.text.plot import DOWN, LEAST_WIDTH, Axis, AxisTicks, Curve, Plot, dots_of, plot_rows
from tui.view.charts import curve_over_time, time_axis, value_axis
from tui.view.host_links import WAYS, LinkSpeeds, common_speed, link_load, link_title, speed_text
from tui.view.host_load import Seconds, by_second, clients_of, servers_of

PERCENTAGES = (("core.busy", "core", "latency"), ("cpu.busy", "CPU", "read"))
NEAR = 0.5  # of a link's speed; its limit is drawn if the peak is above this share
MARKS = (0.0, 50.0, 100.0)
FULL = 100.0


def load_charts(
    step: StepRecord,
    thresholds: Mapping[str, float],
    size: tuple[int, int],
    speeds: LinkSpeeds,
    *,
    coloured: bool = False,
) -> list[list[Line]]:
    """Return charts of the clients' CPU, of their links, and of the servers' CPU.

    Each shows the highest value of any host by second. Charts without data are left out.
    `thresholds` are those that the profile changed; `size`: columns and rows of each chart.
    """
    clients, servers = (
        [host for host in hosts if host.t_s] for hosts in (clients_of(step), servers_of(step))
    )
    plots = [
        _cpu("Busiest client", clients, thresholds, size),
        _links(clients, size, speeds),
        _cpu("Busiest server", servers, thresholds, size),
    ]
    known = [plot for plot in plots if plot is not None]
    wide = max((plot.label_width(size[1]) for plot in known), default=0)
    return [plot.lines(*size, coloured=coloured, label_width=wide) for plot in known]


def _cpu(
    who: str,
    hosts: Sequence[HostTelemetryRecord],
    thresholds: Mapping[str, float],
    size: tuple[int, int],
) -> Plot | None:
    """Return the busiest core and the CPU of hosts, with the limit of a core; None if unknown."""
    found = {
        name: values
        for name, _, _ in PERCENTAGES
        if any(values := highest([by_second(host, name) for host in hosts]))
    }
    if not found:
        return None
    seconds = max(map(len, found.values()))
    curves = [
        curve_over_time(title, found[name], 1.0, role=role)
        for name, title, role in PERCENTAGES
        if name in found
    ]
    curves += [_limit(name, thresholds, seconds) for name in ("core.busy",) if name in found]
    across = time_axis(seconds, max(size[0], LEAST_WIDTH))
    return Plot(f"{who}: CPU", curves, across, _percent_axis(plot_rows(size[1])))


def _percent_axis(rows: int) -> Axis:
    """Return an axis from 0 to 100 % whose ticks are whole rows apart."""
    apart = max(1, (rows - 1) // (len(MARKS) - 1))
    high = MARKS[1] * dots_of(rows) / DOWN / apart
    return Axis(0, high, AxisTicks([*MARKS], [f"{mark:.0f} %" for mark in MARKS]))


def _limit(name: str, thresholds: Mapping[str, float], seconds: float) -> Curve:
    """Return the mean above which a percentage limits the load, as a dashed line."""
    metric = metric_of(name)
    full = thresholds.get(metric.threshold, metric.full) or FULL
    return Curve([([0.0, seconds], [full, full])], WARN, f"limit {full:.0f} %", dashed=True)


def _links(
    hosts: Sequence[HostTelemetryRecord],
    size: tuple[int, int],
    speeds: LinkSpeeds,
) -> Plot | None:
    """Return the traffic of the busiest link of any client in its busier direction; None without
    any.

    The title has the peak as a share of the links' speed; their limit is drawn if it is near.
    """
    values = highest(list(_traffic(hosts, speeds)))
    top = max((value for value in values if value is not None), default=0.0)
    if not top:
        return None
    curves = [curve_over_time("", values, 1.0, role="read")]
    title = f"Busiest client: {link_title(hosts, speeds)}"
    if speed := common_speed(hosts, speeds):
        title = f"Busiest client: NIC, peak {units.share(top / speed)} of {speed_text(speed)}"
        if top > NEAR * speed:
            top, ends = max(top, LINK * speed), [LINK * speed] * 2
            line = ([0.0, len(values)], ends)
            curves.append(Curve([line], WARN, f"limit {units.share(LINK)}", dashed=True))
    across = time_axis(len(values), max(size[0], LEAST_WIDTH))
    return Plot(title, curves, across, value_axis("bandwidth", top, plot_rows(size[1])))


def _traffic(hosts: Sequence[HostTelemetryRecord], speeds: LinkSpeeds) -> Iterator[Seconds]:
    """Yield the traffic of each host's busiest link by second: the larger of received and sent."""
    for host in hosts:
        if (link := link_load(host, speeds)) is not None:
            names = [f"{link.name}.{way}" for way in WAYS]
            ways = [by_second(host, name) for name in names if host.column(name) is not None]
            yield [
                None if None in both else max(each or 0.0 for each in both)
                for both in zip(*ways, strict=True)
            ]


def highest(columns: Sequence[Seconds]) -> Seconds:
    """Return the highest known value of each second; None where no host has one."""
    return [
        max((value for value in row if value is not None), default=None)
        for row in zip_longest(*columns)
    ]

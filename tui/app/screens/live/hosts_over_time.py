"""What the hosts of a metadata benchmark do together over time, as telemetry sees it: a lane each, under its phases.

The benchmark itself tells nothing while a phase goes on, so this is how one sees what a phase costs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui.metrics.sparkline import Symbols, area
from tui.metrics.telemetry import metric_of, parse_column
from tui.text.line import LABEL, TEXT, Line, Run, fit
from tui.text.timeaxis import TimeAxis, spread_over

if TYPE_CHECKING:
    from tui.journal.telemetry import HostTelemetry

MOST_ROWS = 3  # of a lane
HEADROOM = 1.2  # full cells would join the lanes
Together = Literal["mean", "sum", "most"]


class Lane(Struct, frozen=True):
    """One thing that hosts of a role do, and how those of several hosts make one figure."""

    title: str
    role: Literal["client", "server"]
    columns: tuple[str, ...]  # FAMILY.FIELD
    together: Together
    colour: str
    top: float | None = None  # of the scale; None: the largest value


LANES = (
    Lane("CPU", "client", ("cpu.busy",), "mean", "read", 100.0),
    Lane("busiest core", "client", ("core.busy",), "most", "read", 100.0),
    Lane("network", "client", ("nic.rx", "nic.tx", "rdma.rx", "rdma.tx"), "sum", "latency"),
    Lane("servers CPU", "server", ("cpu.busy",), "mean", "other", 100.0),
    Lane("servers disk", "server", ("dev.busy",), "most", "other", 100.0),
    Lane("disk", "client", ("dev.busy",), "most", "write", 100.0),
)


class Second(Struct):
    """What hosts did in one second."""

    total: float = 0.0
    count: int = 0
    most: float = 0.0

    def add(self, value: float) -> None:
        """Take what one host did."""
        self.total, self.count, self.most = self.total + value, self.count + 1, max(self.most, value)

    def figure(self, together: Together) -> float:
        """Return the figure of all of them."""
        return {"mean": self.total / max(1, self.count), "sum": self.total, "most": self.most}[together]


class HostsOverTime:
    """What hosts did second by second of the run, taken up as it comes: a look costs what is new. Of one step."""

    def __init__(self, step: object = None) -> None:
        self.step = step
        self.lanes: dict[str, dict[int, Second]] = {}
        self._taken: dict[str, float] = {}  # by host: the end of the newest interval
        self._columns: dict[tuple[str, str], tuple[int, list[array[float]]]] = {}

    def take(self, hosts: Iterable[HostTelemetry]) -> None:
        """Take what is new of these hosts."""
        for host in hosts:
            before = self._taken.get(host.host, float("-inf"))
            at = len(host.end_t)
            while at and host.end_t[at - 1] > before:
                at -= 1
            if at < len(host.end_t):
                self._taken[host.host] = host.end_t[-1]
                for lane in LANES:
                    if lane.role == host.role:
                        self._take(lane, host, at)

    def _take(self, lane: Lane, host: HostTelemetry, at: int) -> None:
        columns = self._columns_of(lane, host)
        for place in range(at, len(host.end_t)) if columns else ():
            known = [value for values in columns if (value := values[place]) == value]
            if known:
                seconds = self.lanes.setdefault(lane.title, {})
                second = seconds.setdefault(int(host.end_t[place] - host.interval_s[place] / 2), Second())
                second.add(max(known) if lane.together == "most" else sum(known))

    def _columns_of(self, lane: Lane, host: HostTelemetry) -> list[array[float]]:
        """Return the columns of a host that belong to a lane; looked for anew when there are more."""
        key, count = (host.host, lane.title), len(host.columns)
        known = self._columns.get(key)
        if known is None or known[0] != count:
            found = [values for name, values in host.columns.items() if is_of(name, lane)]
            known = self._columns[key] = (count, found)
        return known[1]

    def values(self, lane: Lane) -> tuple[int, list[float | None]]:
        """Return the first second of a lane, and a value a second."""
        seconds = self.lanes.get(lane.title, {})
        if not seconds:
            return 0, []
        first, last = min(seconds), max(seconds)
        found = [seconds.get(each) for each in range(first, last + 1)]
        return first, [None if each is None else each.figure(lane.together) for each in found]

    def lines(self, axis: TimeAxis, name: int, columns: int, figure: int, room: int, symbols: Symbols) -> list[Line]:
        """Return the lanes that have something to show, as high as `room` lines allow, and the times below.

        `name`, `columns` and `figure` are the cells of the name, of the course and of the newest figure.
        """
        shown = [lane for lane in LANES if lane.title in self.lanes][: room - 1]
        if not shown or columns < 1:
            return []
        each, more = divmod(room - 1, len(shown))  # the first ones are what one looks at most
        lines = []
        for place, lane in enumerate(shown):
            rows = min(MOST_ROWS, each + (place < more))
            lines += self._lane(lane, axis, name, columns, figure, rows, symbols)
        return [*lines, Line.of((" " * name, TEXT), (axis.labels(columns), LABEL))]

    def _lane(
        self, lane: Lane, axis: TimeAxis, name: int, columns: int, figure: int, rows: int, symbols: Symbols
    ) -> list[Line]:
        first, values = self.values(lane)
        drawn = spread_over(values, first, axis, columns, peaks=lane.together == "most")
        top = lane.top or max((value for value in drawn if value is not None), default=1.0)
        course = area(drawn, columns, rows, "ascii" if symbols == "ascii" else "block", 0, top * HEADROOM)
        newest = next((value for value in reversed(values) if value is not None), None)
        metric = metric_of(lane.columns[0])
        said: Run = (fit(metric.text(newest), figure, right=True), TEXT if not metric.is_full(newest) else "warn")
        lines = []
        for row, text in enumerate(course):
            last = row == rows - 1  # name and figure stand on the base line
            title: Run = (fit(f"  {lane.title}" if last else "", name), LABEL)
            lines.append(Line.of(title, (text, lane.colour), *([said] if last else [])))
        return lines


def is_of(name: str, lane: Lane) -> bool:
    """Tell whether a column of telemetry belongs to a lane; what is left of other devices does not."""
    parts = parse_column(name)
    return f"{parts.family}.{parts.field}" in lane.columns and parts.subject != "others"

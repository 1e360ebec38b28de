"""What hosts do over time, as telemetry sees it, a lane each: all of a metadata benchmark together, or one host alone.

Such a benchmark tells nothing while a phase goes on, so this is how one sees what a phase costs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui.metrics.sparkline import Symbols, area
from tui.metrics.telemetry import metric_of, parse_column
from tui.text.line import ACCENT, LABEL, TEXT, Line, Run, clip, fit, width_of, with_cell
from tui.text.timeaxis import TimeAxis, spread_over

if TYPE_CHECKING:
    from tui.journal.telemetry import HostTelemetry

MOST_ROWS = 6  # of a lane
HEADROOM = {1: 1.2, 2: 1.4}  # by rows: full cells would join the lanes; of more rows the upper one stays empty
Together = Literal["mean", "sum", "most"]


class Lane(Struct, frozen=True):
    """One thing that hosts of a role do, and how those of several hosts make one figure."""

    title: str
    role: Literal["client", "server", ""]  # empty: of both
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
OF_HOST = (
    Lane("CPU", "", ("cpu.busy",), "mean", "read", 100.0),
    Lane("core", "", ("core.busy",), "most", "read", 100.0),
    Lane("network", "", ("nic.rx", "nic.tx", "rdma.rx", "rdma.tx"), "sum", "latency"),
    Lane("disk", "", ("dev.busy",), "most", "write", 100.0),
    Lane("load CPU", "", ("gen.cpu",), "sum", "other"),
    Lane("in flight", "", ("dev.queue",), "sum", "write"),
    Lane("processes", "", ("group.cpu",), "sum", "other"),
)
LEAST_LANE, GAP = 28, 3  # cells of a lane beside others, and between them


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

    def __init__(self, step: object = None, kinds: Sequence[Lane] = LANES) -> None:
        self.step = step
        self.kinds = kinds
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
                for lane in self.kinds:
                    if lane.role in ("", host.role):
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

    @property
    def known(self) -> list[Lane]:
        """The lanes that have something to show."""
        return [lane for lane in self.kinds if lane.title in self.lanes]

    def line(self, axis: TimeAxis, width: int, symbols: Symbols) -> Line:
        """Return as many lanes as one line has room for, each a name, its course and its newest figure."""
        shown = self.known[: max(1, (width + GAP) // (LEAST_LANE + GAP))]
        runs: list[Run] = []
        for place, lane in enumerate(shown):
            room = (width - GAP * (len(shown) - 1)) // len(shown)
            said = self._figure(lane, axis)
            columns = max(1, room - len(lane.title) - width_of(said[0]) - 2)
            (course,) = self._course(lane, axis, columns, 1, symbols)
            gap = " " * GAP if place else ""
            runs += [(f"{gap}{lane.title} ", LABEL), *course, (f" {said[0]}", said[1])]
        return Line.of(*clip(runs, width))

    def lines(self, axis: TimeAxis, name: int, columns: int, figure: int, room: int, symbols: Symbols) -> list[Line]:
        """Return the lanes that have something to show, as high as `room` lines allow, and the times below.

        `name`, `columns` and `figure` are the cells of the name, of the course and of the newest figure.
        """
        shown = self.known[: room - 1]
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
        text, role = self._figure(lane, axis)
        said: Run = (fit(text, figure, right=True), role)
        lines = []
        for row, course in enumerate(self._course(lane, axis, columns, rows, symbols)):
            last = row == rows - 1  # name and figure stand on the base line
            title: Run = (fit(f"  {lane.title}" if last else "", name), LABEL)
            lines.append(Line.of(title, *course, *([said] if last else [])))
        return lines

    def _course(self, lane: Lane, axis: TimeAxis, columns: int, rows: int, symbols: Symbols) -> list[list[Run]]:
        first, values = self.values(lane)
        drawn = spread_over(values, first, axis, columns, peaks=lane.together == "most")
        top = lane.top or max((value for value in drawn if value is not None), default=1.0)
        texts = area(drawn, columns, rows, "ascii" if symbols == "ascii" else "block", 0, top * headroom(rows))
        if axis.cursor_s is None:
            return [[(text, lane.colour)] for text in texts]
        at = axis.column_of(axis.cursor_s, columns)
        return [with_cell([(text, lane.colour)], at, ("│", ACCENT)) for text in texts]

    def _figure(self, lane: Lane, axis: TimeAxis) -> Run:
        """Return the newest figure of a lane, or that of the cursor's second."""
        first, values = self.values(lane)
        if axis.cursor_s is not None:
            values = values[max(0, axis.cursor_s - first) : max(0, axis.cursor_s + 1 - first)]
        shown = next((value for value in reversed(values) if value is not None), None)
        metric = metric_of(lane.columns[0])
        return metric.text(None if shown is None else round(shown, 1)), "warn" if metric.is_full(shown) else TEXT


def headroom(rows: int) -> float:
    """Return how much longer the scale of a lane is than what it shows, so that no lane touches the one above."""
    return HEADROOM.get(rows) or rows / (rows - 1)


def is_of(name: str, lane: Lane) -> bool:
    """Tell whether a column of telemetry belongs to a lane; what is left of other devices does not."""
    parts = parse_column(name)
    return f"{parts.family}.{parts.field}" in lane.columns and parts.subject != "others"

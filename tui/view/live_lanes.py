"""Hosts second by second while a run is live: telemetry as lanes over a time axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui.journal.views import FRESH_S
from tui.metrics.telemetry import metric_of, parse_column
from tui.text.line import ACCENT, LABEL, TEXT, Line, Run, clip, fit, width_of, with_cell
from tui.text.plot import TimeAxis, spread_over
from tui.text.sparkline import Symbols, area

if TYPE_CHECKING:
    from tui.journal.telemetry import HostTelemetry

MOST_ROWS = 6  # of a lane
EIGHTHS = 8  # of a row
Together = Literal["mean", "sum", "most"]


class Lane(Struct, frozen=True):
    """A quantity of the hosts of a role, and how several hosts are merged into one figure."""

    title: str
    role: Literal["client", "server", ""]  # empty: of both
    columns: tuple[str, ...]  # FAMILY.FIELD
    together: Together
    colour: str
    top: float | None = None  # of the scale; None: the largest value


LANES = (
    Lane("CPU", "client", ("cpu.busy",), "mean", LABEL, 100.0),
    Lane("busiest core", "client", ("core.busy",), "most", LABEL, 100.0),
    Lane("network", "client", ("nic.rx", "nic.tx", "rdma.rx", "rdma.tx"), "sum", LABEL),
    Lane("servers CPU", "server", ("cpu.busy",), "mean", LABEL, 100.0),
    Lane("servers disk", "server", ("dev.busy",), "most", LABEL, 100.0),
    Lane("disk", "client", ("dev.busy",), "most", LABEL, 100.0),
)  # without colours of their own: those of the phases mean something else
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


class HostSecond(Struct):
    """Sum, count and maximum of a quantity over hosts, in one second."""

    total: float = 0.0
    count: int = 0
    most: float = 0.0

    def add(self, value: float) -> None:
        """Add the value of one host."""
        self.total, self.count, self.most = (
            self.total + value,
            self.count + 1,
            max(self.most, value),
        )

    def figure(self, together: Together) -> float:
        """Return the mean, the sum or the maximum over the hosts."""
        return {"mean": self.total / max(1, self.count), "sum": self.total, "most": self.most}[
            together
        ]


class LaneCells(Struct, frozen=True):
    """Widths in cells of the parts of a lane: name, graph, newest figure."""

    name: int
    columns: int
    figure: int


class HostsOverTime:
    """Telemetry of hosts second by second during one step.

    Only new telemetry is read at each update.
    """

    def __init__(self, step: object = None, kinds: Sequence[Lane] = LANES) -> None:
        self.step = step
        self.kinds = kinds
        self.lanes: dict[str, dict[int, HostSecond]] = {}
        self._taken: dict[str, float] = {}  # by host: the end of the newest interval
        self._hosts: dict[str, HostTelemetry] = {}
        self._columns: dict[tuple[str, str], tuple[int, list[str]]] = {}

    def take(self, hosts: Iterable[HostTelemetry]) -> None:
        """Read the telemetry of hosts that is new since the last call."""
        for host in hosts:
            self._hosts[host.host] = host
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
        columns = [host.columns[name] for name in self._columns_of(lane, host)]
        for place in range(at, len(host.end_t)) if columns else ():
            known = [value for values in columns if (value := values[place]) == value]
            if known:
                seconds = self.lanes.setdefault(lane.title, {})
                second = seconds.setdefault(
                    int(host.end_t[place] - host.interval_s[place] / 2), HostSecond()
                )
                second.add(max(known) if lane.together == "most" else sum(known))

    def _columns_of(self, lane: Lane, host: HostTelemetry) -> list[str]:
        """Return the telemetry columns of a host that belong to a lane.

        They are cached until the host has more columns.
        """
        key, count = (host.host, lane.title), len(host.columns)
        known = self._columns.get(key)
        if known is None or known[0] != count:
            found = [name for name in host.columns if is_of(name, lane)]
            known = self._columns[key] = (count, found)
        return known[1]

    def values(self, lane: Lane) -> tuple[int, list[float | None]]:
        """Return the first second of a lane, and one value per second, beginning there."""
        seconds = self.lanes.get(lane.title, {})
        if not seconds:
            return 0, []
        first, last = min(seconds), max(seconds)
        found = [seconds.get(each) for each in range(first, last + 1)]
        return first, [None if each is None else each.figure(lane.together) for each in found]

    @property
    def known(self) -> list[Lane]:
        """The lanes that have data."""
        return [lane for lane in self.kinds if lane.title in self.lanes]

    def line(self, axis: TimeAxis, width: int, symbols: Symbols) -> Line:
        """Return one line with as many lanes as fit: name, graph, newest figure."""
        shown = self.known[: max(1, (width + GAP) // (LEAST_LANE + GAP))]
        titles = [self._scale_of(lane) if lane.top is None else lane.title for lane in shown]
        figures = [self._figure(lane, axis) for lane in shown]
        texts = sum(map(width_of, (*titles, *(text for text, _ in figures))))
        room = width - texts - 2 * len(shown) - GAP * (len(shown) - 1)
        columns = max(1, room // max(1, len(shown)))
        runs: list[Run] = []
        for lane, title, said in zip(shown, titles, figures, strict=True):
            graph = self._course(lane, axis, columns, 1, symbols)[0]
            gap = " " * GAP if runs else ""
            runs += [(f"{gap}{title} ", LABEL), *graph, (" ", TEXT), said]
        return Line.of(*clip(runs, width))

    def lines(self, axis: TimeAxis, cells: LaneCells, room: int, symbols: Symbols) -> list[Line]:
        """Return the lanes that have data, and the times below, in at most `room` lines in all.

        Empty without data or room.
        """
        shown = self.known[: room - 1]
        if not shown or cells.columns < 1:
            return []
        # as high as each other: else 88 % of one looks like less than 40 % of another
        rows = min(MOST_ROWS, (room - 1) // len(shown))
        lines = [line for lane in shown for line in self._lane(lane, axis, cells, rows, symbols)]
        return [*lines, Line.of((" " * cells.name, TEXT), (axis.labels(cells.columns), LABEL))]

    def _lane(
        self, lane: Lane, axis: TimeAxis, cells: LaneCells, rows: int, symbols: Symbols
    ) -> list[Line]:
        text, role = self._figure(lane, axis)
        said: Run = (fit(text, cells.figure, right=True), role)
        lines = []
        courses = self._course(lane, axis, cells.columns, rows, symbols)
        for row, course in enumerate(courses):
            last = row == rows - 1  # name and figure are on the base line
            top = self._top_text(lane) if lane.top is None else f"{lane.top:.0f} %"
            text = f"  {lane.title}" if last else f"{top:>{cells.name - 1}}" if row == 0 else ""
            title: Run = (fit(text, cells.name), LABEL)
            lines.append(Line.of(title, *course, *([said] if last else [])))
        return lines

    def _course(
        self, lane: Lane, axis: TimeAxis, columns: int, rows: int, symbols: Symbols
    ) -> list[list[Run]]:
        first, values = self.values(lane)
        drawn = spread_over(values, first, axis, columns, peaks=lane.together == "most")
        top = lane.top or max((value for value in drawn if value is not None), default=1.0)
        texts = area(
            drawn,
            columns,
            rows,
            "ascii" if symbols == "ascii" else "block",
            0,
            top * headroom(rows),
        )
        if axis.cursor_s is None:
            return [[(text, lane.colour)] for text in texts]
        at = axis.column_of(axis.cursor_s, columns)
        return [with_cell([(text, lane.colour)], at, ("│", ACCENT)) for text in texts]

    def _figure(self, lane: Lane, axis: TimeAxis) -> Run:
        """Return the current figure of a lane, or the one at the cursor."""
        if axis.cursor_s is None:
            shown = self._current(lane)
        else:
            first, values = self.values(lane)
            at = axis.cursor_s - first
            shown = values[at] if 0 <= at < len(values) else None
        metric = metric_of(lane.columns[0])
        # MPI ranks spin while they wait: a full CPU is no finding
        full = self.kinds is not LANES and metric.is_full(shown)
        return metric.text(None if shown is None else round(shown, 1)), "warn" if full else TEXT

    def _current(self, lane: Lane) -> float | None:
        """Return the current figures of the hosts as one, without hosts that fell silent."""
        known = [host for host in self._hosts.values() if host.newest_t is not None]
        newest_t = max((host.newest_t or 0.0 for host in known), default=0.0)
        now = HostSecond()
        for host in known:
            if lane.role in ("", host.role) and (host.newest_t or 0.0) >= newest_t - FRESH_S:
                figures = map(host.newest, self._columns_of(lane, host))
                if shown := [each for each in figures if each is not None]:
                    now.add(max(shown) if lane.together == "most" else sum(shown))
        return now.figure(lane.together) if now.count else None

    def scale_text(self, most: int) -> str:
        """Return the scales of the first `most` lanes: ``0 to 100 %, network peak 2.84 GiB/s``."""
        shown = self.known[:most]
        whole = ["0 to 100 %"] if any(lane.top is not None for lane in shown) else []
        return ", ".join([*whole, *(self._scale_of(lane) for lane in shown if lane.top is None)])

    def _scale_of(self, lane: Lane) -> str:
        """Return the name and the top of a lane without a fixed one: ``network peak 1.2 GiB/s``."""
        return f"{lane.title} peak {self._top_text(lane)}"

    def _top_text(self, lane: Lane) -> str:
        """Return the largest value of a lane, to which its graph is scaled."""
        most = max((value for value in self.values(lane)[1] if value is not None), default=None)
        return metric_of(lane.columns[0]).text(None if most is None else round(most, 1))


def headroom(rows: int) -> float:
    """Return the factor by which a lane's scale exceeds its largest value: an eighth of a row stays
    free, so that it does not touch the lane above.
    """
    return rows * EIGHTHS / (rows * EIGHTHS - 1)


def is_of(name: str, lane: Lane) -> bool:
    """Return whether a telemetry column belongs to a lane.

    Columns that sum up all other devices belong to none.
    """
    parts = parse_column(name)
    return f"{parts.family}.{parts.field}" in lane.columns and parts.subject != "others"

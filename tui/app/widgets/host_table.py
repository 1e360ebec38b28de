"""All hosts of a run in one widget: only the rows in sight are made, only the cells that changed are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.message import Message

from tui.app.keys import actions
from tui.app.widgets.graph_area import merge_values, nice_ceiling
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols, spark
from tui.metrics.units import bandwidth_fixed, iops_fixed, latency_fixed
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, fit, padded, rule

if TYPE_CHECKING:
    from tui.journal.state import HostView

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


@dataclass(frozen=True, slots=True)
class SortKey:
    """One way to sort: its name in the heading, the value of a host, whether the largest comes first."""

    name: str
    value: Callable[[HostView], Any]
    largest_first: bool = True


def _known(value: float | None) -> float:
    return -1.0 if value is None else float(value)


STATE_ORDER = ("failed", "lost", *(state for state in MARKS if state not in BROKEN))
SORTS: tuple[SortKey, ...] = (
    SortKey("host", lambda _: 0, largest_first=False),
    SortKey("IOPS", lambda host: _known(host.total.iops)),
    SortKey("BW", lambda host: _known(host.total.bw_bytes_per_s)),
    SortKey("mean", lambda host: _known(host.total.lat_mean_ns)),
    SortKey("p99", lambda host: _known(host.total.interval_percentiles["99"])),
    SortKey("state", lambda host: STATE_ORDER.index(host.state), largest_first=False),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths for one table width; 0 means not shown."""

    name: int
    trend: int
    message: int
    bandwidth: int = 10

    @classmethod
    def of(cls, width: int, longest_name: int) -> Columns:
        """Return what fits: the figures first, then the message, then the trend."""
        name = max(6, min(longest_name, 12 if width < 100 else 24))
        room = width - (2 + name + 2 + 5 + 2 + 10 + 2 + 7 + 2 + 7)
        trend = 0 if room < 14 else min(20, (room - 2) // 3 + 4)
        return cls(name, trend, max(0, room - 2 - (trend + 2 if trend else 0)))


class HostTable(Lines, can_focus=True):
    """The hosts, a row each. The cursor stays on its host however the rows are sorted."""

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "HostTable { padding: 0 1; }"
    TALL: ClassVar[int] = 9  # from this height on, or where all hosts fit, the heading has a line of its own

    class AboutHost(Message):
        """Something happened to one host's row."""

        def __init__(self, host: str) -> None:
            super().__init__()
            self.host = host

    class Chosen(AboutHost):
        """A host was clicked twice."""

    class Moved(AboutHost):
        """The cursor went to another host."""

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.hosts: Sequence[HostView] = ()
        self.counts = ""
        self.now = 0.0
        self.cursor_key: str | None = None
        self.top = 0
        self.sort = SORTS[0]
        self.reversed = False
        self._order: list[HostView] = []
        self._sorted_at = float("-inf")
        self._trend_top: float | None = None  # one scale for all hosts: who lags is seen at a glance

    # -- data

    def show(self, hosts: Sequence[HostView], now: float) -> None:
        """Show the hosts as they are at run time `now`."""
        self.now = now
        if len(hosts) != len(self.hosts) or any(a is not b for a, b in zip(hosts, self.hosts, strict=True)):
            self.hosts = list(hosts)
            self._resort(now)
        elif abs(now - self._sorted_at) >= RESORT_S:
            self._resort(now)
        self.counts = count_states(hosts, now)
        busiest = max((host.total.iops or 0.0 for host in hosts), default=0.0)
        self._trend_top = nice_ceiling(busiest * 1.35) if busiest else None  # full cells would join the rows
        self.update_lines()

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next column, or turn the order round."""
        if reverse:
            self.reversed = not self.reversed
        else:
            self.sort, self.reversed = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)], False
        self._resort(self._sorted_at)
        self.update_lines()

    def _resort(self, now: float) -> None:
        given = list(self.hosts)  # the order of the inventory breaks ties
        self._order = sorted(given, key=self.sort.value, reverse=self.sort.largest_first != self.reversed)
        if self.sort.name == "host" and self.reversed:
            self._order = given[::-1]
        self._sorted_at = now
        if self.cursor_key is None and self._order:
            self.cursor_key = self._order[0].name
        self._reveal()

    # -- cursor

    @property
    def cursor_row(self) -> int:
        """Row of the cursor's host, 0 without hosts."""
        return next((row for row, host in enumerate(self._order) if host.name == self.cursor_key), 0)

    @property
    def room(self) -> int:
        """Host rows in sight."""
        return max(1, self.size.height - self.head)

    @property
    def head(self) -> int:
        """Lines above the hosts."""
        return 2 if self.size.height >= min(self.TALL, len(self._order) + 2) else 1

    def move(self, distance: int) -> None:
        """Move the cursor by rows."""
        if not self._order:
            return
        row = max(0, min(len(self._order) - 1, self.cursor_row + distance))
        moved = self._order[row].name != self.cursor_key
        self.cursor_key = self._order[row].name
        self._reveal()
        self.update_lines()
        if moved:
            self.post_message(self.Moved(self.cursor_key))

    def _reveal(self) -> None:
        row = self.cursor_row
        self.top = max(0, min(max(self.top, row - self.room + 1), row, max(0, len(self._order) - self.room)))

    def action_down(self) -> None:
        """Move down."""
        self.move(1)

    def action_up(self) -> None:
        """Move up."""
        self.move(-1)

    def action_top(self) -> None:
        """Move to the first row."""
        self.move(-len(self._order))

    def action_bottom(self) -> None:
        """Move to the last row."""
        self.move(len(self._order))

    def action_page_down(self) -> None:
        """Move down by half of what is seen."""
        self.move(max(1, self.room // 2))

    def action_page_up(self) -> None:
        """Move up by half of what is seen."""
        self.move(-max(1, self.room // 2))

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor looks different with the focus."""
        super().watch_has_focus(has_focus)
        self.update_lines()

    def resized(self) -> None:
        """Keep the cursor in sight."""
        self._reveal()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """One row on."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """One row back."""
        event.stop()
        self.move(-1)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on a clicked host; a double click chooses it."""
        offset = event.get_content_offset(self)
        row = self.top + (offset.y - self.head if offset else -1)
        if offset is None or offset.y < self.head or row >= len(self._order):
            return
        self.move(row - self.cursor_row)
        if event.chain > 1:
            self.post_message(self.Chosen(self._order[row].name))

    # -- painting

    def build(self, width: int, height: int) -> list[Line]:
        """Heading, column names, the rows in sight."""
        longest = max((len(host.name) for host in self.hosts), default=0)
        columns = Columns.of(width, longest)
        rows = [self._row(host, columns) for host in self._order[self.top : self.top + self.room]]
        if self.head == 2:
            return [rule("Hosts", self._tail(), width), self._head(columns), *rows][:height]
        return [self._short_head(columns, width), *rows][:height]

    def _tail(self) -> str:
        total = len(self._order)
        if total <= self.room:
            return self.counts
        return f"{self.counts}   {self.top + 1}–{min(total, self.top + self.room)} of {total}"

    def _head(self, columns: Columns) -> Line:
        runs: list[Run] = [("  ", LABEL)]
        for name, width, right in (
            ("host", columns.name, False),
            ("IOPS", 7, True),
            ("BW", 12, True),
            ("mean", 9, True),
            ("p99", 9, True),
        ):
            runs.append(self._title(name, width, right))
        if columns.trend:
            runs.append(("  trend", LABEL))
            runs.append((" " * (columns.trend - 5), LABEL))
        return Line.of(*runs, self._title("state", columns.message + 2, False, lead="  "))

    def _short_head(self, columns: Columns, width: int) -> Line:
        """Return the column names with the counts at their right."""
        marked = [(f" {count}{mark}", key) for count, mark, key in self._marks()]
        total = len(self._order)
        place = f"  {self.top + 1}–{min(total, self.top + self.room)}/{total}" if total > self.room else ""
        tail: list[Run] = [*marked, (place, LABEL)]
        room = width - Line.of(*tail).width
        runs: list[Run] = []
        for run in self._head(columns).runs[:-1]:
            if Line((*runs, run)).width > room:
                break
            runs.append(run)
        return Line.of(*padded(runs, room), *tail)

    def _marks(self) -> list[tuple[int, str, str]]:
        """Return how many hosts bear each mark."""
        found: dict[Run, int] = {}
        for host in self.hosts:
            mark = mark_of(host, self.now, self.symbols)
            found[mark] = found.get(mark, 0) + 1
        return [(count, mark, key) for (mark, key), count in found.items()]

    def _title(self, name: str, width: int, right: bool, lead: str = "") -> Run:
        here = name == self.sort.name
        arrow = "" if not here else "v^"[self.reversed] if self.symbols == "ascii" else "▾▴"[self.reversed]
        text = lead + name + arrow
        return (f"{text:>{width}}" if right else fit(text, width)), "accent" if here else LABEL

    def _row(self, host: HostView, columns: Columns) -> Line:
        fill = "" if host.name != self.cursor_key else "cursor" if self.has_focus else "cursor-blurred"
        mark, key = mark_of(host, self.now, self.symbols)
        name = (fit(host.name, columns.name), VALUE if fill == "cursor" else TEXT)
        if host.state in BROKEN:
            said = host.detail or host.state
            text = said if said.startswith(host.state) else f"{host.state}: {said}"
            room = 37 + columns.message + (columns.trend + 2 if columns.trend else 0)
            return Line.of((mark + " ", key), name, ("  " + fit(text, room), "bad"), fill=fill)
        said, said_key = message_of(host, self.now)
        stale = host.stale_s(self.now) is not None
        return Line.of(
            (mark + " ", key),
            name,
            (figures_of(host), LABEL if stale or not host.total.intervals() else TEXT),
            ("  " + self._trend(host, columns.trend) if columns.trend else "", "read"),
            ("  " + fit(said, columns.message) if columns.message else "", said_key),
            fill=fill,
        )

    def _trend(self, host: HostView, width: int) -> str:
        values = host.total.series("iops", last=width * (2 if self.symbols == "braille" else 1))
        return spark(values, width, self.symbols, high=self._trend_top).replace("\u2800", " ")


def figures_of(host: HostView) -> str:
    """Return IOPS, bandwidth, mean and p99 in fixed widths: of the last interval; of the whole load once it is over."""
    total = host.total
    if total.intervals():
        rates, mean, tail = (total.iops, total.bw_bytes_per_s), total.lat_mean_ns, total.interval_percentiles
    else:
        rates = (merge_values(total.series("iops")), merge_values(total.series("bandwidth")))
        mean, tail = total.so_far_mean_ns, total.so_far_percentiles
    return (
        f"  {iops_fixed(rates[0])}  {bandwidth_fixed(rates[1]):>10}  {latency_fixed(mean)}  {latency_fixed(tail['99'])}"
    )


def mark_of(host: HostView, now: float, symbols: Symbols) -> Run:
    """Return the symbol of a host's state and its style."""
    if host.stale_s(now) is not None:
        return "!", "warn"
    symbol, plain, key = MARKS.get(host.state, ("?", "?", LABEL))
    return (plain if symbols == "ascii" else symbol), key


def message_of(host: HostView, now: float) -> Run:
    """Return what there is to say of a host beside its figures."""
    if (silent := host.stale_s(now)) is not None:
        return f"stale {silent:.0f}s", "warn"
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

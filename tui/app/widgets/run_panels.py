"""Panels of a run: header, banner, host facts, percentiles, messages, operations."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

from textual import events

from tui.app.terminal import actions
from tui.app.widgets.graph import meter
from tui.app.widgets.lines import Lines, Unit
from tui.metrics.buckets import SHOWN_NAMES, index_to_value, value_to_index
from tui.metrics.units import Few, clock, latency, latency_fixed, share
from tui.text.line import (
    ACCENT,
    FAINT,
    HEADING,
    LABEL,
    TEXT,
    TITLE,
    VALUE,
    Line,
    Run,
    clip,
    fit,
    rule,
    spread,
    width_of_runs,
)
from tui.text.sparkline import Symbols, spark
from tui.view.live_wait import allocation_text, left_text

BADGES = {
    "running": "badge",
    "complete": "badge-good",
    "partial": "badge-warn",
    "aborted": "badge-warn",
}
BADGES |= {
    "replay": "badge-warn",
    "failed": "badge-bad",
    "stopping": "badge-warn",
    "starting": "badge",
    "gone": "badge-bad",
}
ENDED = {"complete": "took ", "partial": "took ", "aborted": "after ", "failed": "after "}
LEAST_BAR = 12
SHORT_S = 60.0  # left of an allocation: shown as a warning


@dataclass(frozen=True, slots=True)
class RunHead:
    """The content of the header.

    `trail`: (phase, mark), where the mark is done, now, failed or empty.
    """

    profile: str = ""
    state: str = "starting"
    facts: tuple[str, ...] = ()
    mode: str = ""  # speed and position of a replay, paused, refresh rate
    trail: tuple[tuple[str, str], ...] = ()
    fraction: float | None = None
    elapsed_s: float = 0.0
    expected_s: float | None = None
    remaining_s: float | None = None
    at_most: bool = False  # upper bound
    about: bool = False  # estimate
    recorded_s: float | None = None  # length of what is replayed
    allocation_left_s: float | None = None  # until the allocation ends
    past: str = ""  # how long ago the figures shown are from; `state` is then their time


class RunHeader(Lines):
    """The header of Live: profile, state, hosts, step, time; below it phases and progress."""

    DEFAULT_CSS = "RunHeader { height: 2; padding: 0 1; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.head = RunHead()

    def show(self, head: RunHead) -> None:
        """Show new content."""
        self.head = head
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return the two lines of the header."""
        return [Line.of(*self._first(width)), Line.of(*self._second(width))]

    def _first(self, width: int) -> list[Run]:
        head = self.head
        right: list[Run] = [(head.mode + "  ", "warn")] if head.mode else []
        right += self._time()
        badge = "badge-warn" if head.past else BADGES.get(head.state, "badge")
        left: list[Run] = [
            (f" {head.state.upper()} ", badge),
            (" ", TEXT),
            (head.profile, "title"),
            ("  ", TEXT),
        ]
        facts = list(head.facts)
        while facts and self._width([*left, (" · ".join(facts), LABEL), *right]) + 2 > width:
            facts.pop()
        return spread([*left, (" · ".join(facts), LABEL)], right, width)

    def _time(self) -> list[Run]:
        head = self.head
        if head.past:
            now = f"  now {clock(head.elapsed_s)}" if head.remaining_s is not None else ""
            return [(head.past, "warn"), (now, LABEL)]
        runs: list[Run] = [(ENDED.get(head.state, ""), LABEL), (clock(head.elapsed_s), VALUE)]
        if head.recorded_s is not None:
            runs.append((f" of {clock(head.recorded_s)} recorded", LABEL))
        if head.expected_s:
            runs.append((f" / {clock(head.expected_s)}", LABEL))
        over_s = head.elapsed_s - head.expected_s if head.expected_s else 0.0
        if over_s >= 1.0 and head.remaining_s is not None:
            runs.append((f"  {clock(over_s)} over", "warn"))
        elif head.remaining_s is not None:
            left = left_text(head.remaining_s, at_most=head.at_most, about=head.about)
            runs.append((f"  {left}", LABEL))
        if (left_s := head.allocation_left_s) is not None:
            is_short = left_s < max(SHORT_S, head.remaining_s or 0.0)
            runs.append((f"  {allocation_text(left_s)}", "warn" if is_short else LABEL))
        return runs

    def _second(self, width: int) -> list[Run]:
        trail = self._trail(width)
        room = width - self._width(trail) - 2
        if self.head.fraction is None or room < LEAST_BAR:
            return clip(trail, width)
        percent = f" {share(self.head.fraction):>5}"
        return [
            *trail,
            ("  ", TEXT),
            *meter(self.head.fraction, room - len(percent), self.symbols),
            (percent, VALUE),
        ]

    def _trail(self, width: int) -> list[Run]:
        """Return the phases, closer together if space is short."""
        plain = self.symbols == "ascii"
        marks = {
            "done": ("+" if plain else "✓", "good", LABEL),
            "now": (">" if plain else "›", "accent", "accent"),
            "failed": ("x" if plain else "✗", "bad", "bad"),
            "": ("." if plain else "·", LABEL, LABEL),
        }
        runs: list[Run] = []
        for name, mark in self.head.trail:
            symbol, symbol_key, key = marks[mark]
            runs += [("  " if runs else "", TEXT), (symbol, symbol_key), (f" {name}", key)]
        if self._width(runs) + LEAST_BAR + 2 > width:
            runs = [(text if text != "  " else " ", key) for text, key in runs]
        return runs

    @staticmethod
    def _width(runs: Sequence[Run]) -> int:
        return Line(tuple(runs)).width


class Banner(Lines):
    """Lines about a run, such as how it ended, its problems, its health; hidden while empty."""

    DEFAULT_CSS = """
    Banner { height: 0; display: none; padding: 0 1; margin: 0 0; background: $surface; }
    Banner.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.text: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines; without lines, hide the banner."""
        if tuple(lines) == self.text:
            return
        grown = len(lines) != len(self.text)
        self.text = tuple(lines)
        if grown:
            self.styles.height = len(lines)
            self.set_class(bool(lines), "-shown")
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Return the lines, truncated to the width."""
        return [Line.of(*clip(line.runs, width)) for line in self.text[:height]]


class HostFactsBar(Lines):
    """Facts about the selected host; hidden while the panels show all hosts."""

    DEFAULT_CSS = """
    HostFactsBar { height: 2; display: none; padding: 0 1; }
    HostFactsBar.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.host = ""
        self.facts: tuple[tuple[str, str], ...] = ()
        self.said: Run = ("", LABEL)
        self.more: tuple[Line, ...] = ()
        self.leaves = False

    def show(
        self,
        host: str,
        facts: Sequence[tuple[str, str]],
        said: Run,
        more: Sequence[Line] = (),
        *,
        leaves: bool,
    ) -> None:
        """Show the facts of a host, its message `said`, and `more` lines.

        An empty name hides the panel. `leaves`: with the key that shows all hosts again, which the
        footer does not have after the run.
        """
        self.host, self.facts, self.said, self.more = host, tuple(facts), said, tuple(more)
        self.leaves = leaves
        self.set_class(bool(host), "-shown")
        if self.styles.height is None or self.styles.height.value != self.wanted:
            self.styles.height = self.wanted
        self.update_lines()

    @property
    def wanted(self) -> int:
        """Number of lines that the panel needs."""
        return 2 + len(self.more) if self.host else 0

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Return name and state, the facts that fit, then further lines."""
        keys: list[Run] = [("i", ACCENT), (" details", LABEL)]
        keys += [("  Esc", ACCENT), (" all hosts", LABEL)] if self.leaves else []
        first = spread([(self.host, "title"), ("  ", TEXT), self.said], keys, width)
        second: list[Run] = []
        for name, value in self.facts:
            fact: list[Run] = [("   " if second else "", TEXT), (f"{name} ", LABEL), (value, TEXT)]
            if width_of_runs([*second, *fact]) <= width:
                second += fact
        return [Line.of(*first), Line.of(*second), *self.more]


def ending(reason: Sequence[Run], hint: str, problems: Sequence[str], width: int) -> list[Line]:
    """Return the lines of a banner: how the run ended, the next key, one line per problem."""
    first = spread(reason, [(hint, "accent")], width)
    return [
        Line.of(*first),
        *(Line.of((" ", TEXT), (fit(text, width - 1).rstrip(), TEXT)) for text in problems),
    ]


COLUMNS = (
    ("mean", "mean"),
    *((name[1:], name) for name in SHOWN_NAMES),
    ("max", "max"),
)
CELL = 9
LEAST_LABEL = 13
Counts = Sequence[tuple[int, int]]
"""Pairs of bucket index and count, by ascending index."""
NAMES = 17  # direction and coverage, before a shape
SHORT_NAME, COVERS = 6, 10  # of them: read, write; "last 10 s"
LEAST_SHAPE = 20


@dataclass(frozen=True, slots=True)
class PercentileRow:
    """One row of percentiles.

    `direction`: empty if the same as above; `key`: style of the direction; `covers`: the time
    covered, such as "last 10 s"; `values`: in ns by column.
    """

    direction: str
    key: str
    covers: str
    values: Mapping[str, float | None]
    strong: bool = True
    counts: Callable[[], Counts] | None = None  # the histogram, computed only if drawn


class PercentileTable(Lines):
    """Percentiles of latency: a heading with the column names, then the rows.

    If space is short, columns are dropped from the left.
    """

    DEFAULT_CSS = "PercentileTable { height: auto; padding: 0 1; }"

    def __init__(self, symbols: Symbols = "braille", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.heading = "Latency"
        self.given: tuple[PercentileRow, ...] = ()
        self.brief = False  # without secondary rows

    @property
    def rows(self) -> tuple[PercentileRow, ...]:
        """The rows that are visible."""
        return tuple(row for row in self.given if row.strong) if self.brief else self.given

    @property
    def spare(self) -> int:
        """Number of secondary rows, whose lines other panels could use."""
        weak = sum(not row.strong for row in self.given)
        return weak if weak < len(self.given) else 0

    def show(self, heading: str, rows: Sequence[PercentileRow]) -> None:
        """Show these rows, and adapt the height to them."""
        self.heading, self.given = heading, tuple(rows)
        self._fit()

    def shorten(self, *, brief: bool) -> None:
        """Hide or show the secondary rows."""
        if brief != self.brief:
            self.brief = brief
            self._fit()

    def _fit(self) -> None:
        height = len(self.rows) + 1
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Return the heading and the rows."""
        columns = shown_columns(width)
        label = width - CELL * len(columns)
        titles = "".join(f"{title:>{CELL}}" for _, title in columns)
        shapes = self._shapes(label)
        room = label - NAMES - 2 if any(shapes) else 0
        most = max((row.values.get("max") or 0.0 for row in self.rows), default=0.0)
        span = span_of(shapes, most)
        texts = [
            shape_of(counts, span, room, self.symbols) if counts else " " * room
            for counts in shapes
        ]
        rows = (
            self._row(row, text, columns, label) for row, text in zip(self.rows, texts, strict=True)
        )
        ends = latency(index_to_value(span[0])), latency(max(most, index_to_value(span[1])))
        return [self._heading(titles, width, room, ends), *rows][:height]

    def _shapes(self, label: int) -> list[Counts]:
        """Return the histogram of each row; empty if histograms do not fit."""
        if label < NAMES + LEAST_SHAPE:
            return [()] * len(self.rows)
        return [row.counts() if row.counts is not None else () for row in self.rows]

    def _heading(self, titles: str, width: int, shape: int, ends: tuple[str, str]) -> Line:
        if not shape or len(self.heading) >= NAMES - 1:
            return rule(self.heading, titles, width)
        low, high = ends
        axis = f"{low} {'─' * (shape - len(low) - len(high) - 2)} {high}"
        lead = "─" * (NAMES - len(self.heading) - 2)
        return Line.of(
            (self.heading, "title"), (f" {lead} ", FAINT), (axis, LABEL), ("  " + titles, LABEL)
        )

    def _name_width(self, room: int) -> int:
        """Return the width of the direction's name; in full if `covers` still fits."""
        longest = max((len(row.direction) for row in self.given), default=0)
        return max(SHORT_NAME, min(longest + 1, room - COVERS))

    def _row(
        self, row: PercentileRow, shape: str, columns: Sequence[tuple[str, str]], label: int
    ) -> Line:
        cells = "".join(f"{_cell(row.values.get(key)):>{CELL}}" for key, _ in columns)
        room = NAMES if shape else label
        wide = self._name_width(room)
        runs: list[Run] = [
            (fit(row.direction, wide - 1) + " ", row.key),
            (fit(row.covers, room - wide), LABEL),
        ]
        if shape:
            runs += [(shape, row.key if row.strong else f"{row.key}*60"), ("  ", TEXT)]
        return Line.of(*runs, (cells, TEXT if row.strong else LABEL))


def _cell(value: float | None) -> str:
    """Return a latency as text, or "too few" if it is based on too few I/Os."""
    return "too few" if isinstance(value, Few) else latency_fixed(value)


def span_of(shapes: Sequence[Counts], most_ns: float = 0.0) -> tuple[int, int]:
    """Return the lowest and the highest bucket of all histograms, as their common scale.

    It ends at the slowest I/O, `most_ns`, even if no histogram has it.
    """
    known = [counts for counts in shapes if counts]
    ends = [counts[-1][0] for counts in known] or [0]
    if known and most_ns:
        ends.append(value_to_index(int(most_ns)))
    return min((counts[0][0] for counts in known), default=0), max(ends)


def shape_of(counts: Counts, span: tuple[int, int], width: int, symbols: Symbols) -> str:
    """Return a histogram as one line: latency to the right, counts upwards.

    Both axes are logarithmic, so that tails are visible. fio's buckets are nearly logarithmic, so
    the index is used as the logarithm.
    """
    low, high = span
    step = max(1e-9, (high - low + 1) / width)
    columns = [0] * width
    for index, count in counts:
        columns[min(width - 1, int((index - low) / step))] += count
    levels = [log2(count + 1) if count else None for count in columns]
    # rows of full blocks would touch
    top = max((level for level in levels if level), default=1.0) * 1.15
    return spark(levels, width, "ascii" if symbols == "ascii" else "block", high=top)


def shown_columns(width: int) -> Sequence[tuple[str, str]]:
    """Return the columns that fit; the mean is dropped first, then the median."""
    room = max(2, (width - LEAST_LABEL) // CELL)
    return COLUMNS[-room:]


SEVERITY_KEYS = {"info": LABEL, "warning": "warn", "error": "bad"}


@dataclass(frozen=True, slots=True)
class LogLine:
    """A message: seconds of the run, severity, host (empty for the engine), text."""

    t: float
    severity: str
    host: str
    text: str


class MessageLog(Lines, can_focus=True):
    """The messages of a run, the newest at the bottom.

    `scroll_back`: number of messages below the last one shown.
    """

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "MessageLog { padding: 0 1; }"

    def __init__(self, marks: dict[str, str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.marks = marks
        self.messages: Sequence[LogLine] = ()
        self.scroll_back = 0
        self.whole = False

    def show(self, messages: Sequence[LogLine]) -> None:
        """Show these messages; a scrolled position is kept."""
        if self.scroll_back:
            self.scroll_back += len(messages) - len(self.messages)
        self.messages = messages
        self._clamp(self.size.height)
        self.update_lines()

    def scroll_by(self, lines: int) -> None:
        """Scroll by this many messages to older (positive) or newer ones."""
        self.scroll_back += lines
        self._clamp(self.size.height)
        self.update_lines()

    def action_move(self, unit: Unit, direction: int) -> None:
        """Scroll to older or newer messages, or to an end."""
        lines = {"row": 1, "page": max(1, self.size.height // 2), "end": len(self.messages)}[unit]
        self.scroll_by(-direction * lines)

    def _clamp(self, height: int) -> None:
        self.scroll_back = max(0, min(self.scroll_back, len(self.messages) - (height - 1)))

    def build(self, width: int, height: int) -> list[Line]:
        """Return a heading, and the lines that fit below it."""
        end = len(self.messages) - self.scroll_back
        shown = self.messages[max(0, end - (height - 1)) : end]
        lines = [line for message in shown for line in self._lines(message, width)]
        body = lines[max(0, len(lines) - (height - 1)) :]
        return [self._heading(end, width), *body][:height]

    def _heading(self, end: int, width: int) -> Line:
        position = f"{end} of " if self.scroll_back else ""
        count = f"{position}{len(self.messages) or 'none'}"
        if self.whole or not self.messages:
            return rule("Messages", count, width)
        key: list[Run] = [(f" {count}  ", LABEL), ("L", ACCENT), (" all", LABEL)]
        return Line.of(*spread([("Messages ", TITLE)], key, width, "─", FAINT))

    def _lines(self, message: LogLine, width: int) -> list[Line]:
        """Return a message as one line; wrapped if all messages are shown."""
        stamp = f"{clock(message.t):>7} "
        mark = self.marks.get(message.severity, " ") + " "
        host = f"{message.host}  " if message.host else ""
        room = width - len(stamp) - len(mark)
        key = SEVERITY_KEYS.get(message.severity, TEXT)
        parts = textwrap.wrap(host + message.text, max(10, room)) if self.whole else []
        first, *more = parts or [fit(host + message.text, room).rstrip()]
        line = Line.of(
            (stamp, LABEL), (mark, key), (first[: len(host)], LABEL), (first[len(host) :], TEXT)
        )
        return [line, *(Line.of((" " * (width - room), LABEL), (part, TEXT)) for part in more)]

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll to older messages."""
        event.stop()
        self.scroll_by(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll to newer messages."""
        event.stop()
        self.scroll_by(-1)


class OperationsPanel(Lines):
    """Shows lines built for the current width: operations of a metadata benchmark, or a plan."""

    DEFAULT_CSS = "OperationsPanel { height: auto; padding: 0 1; display: none; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.make: Callable[[int], list[Line]] = lambda _: []

    def show(self, make: Callable[[int], list[Line]], height: int) -> None:
        """Show the lines that `make` returns for a width; `height` of them."""
        self.make = make
        self.styles.height = height
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit, without headings whose lines do not."""
        lines = self.make(width)
        shown = lines[:height]
        while len(lines) > height and shown and all(role == HEADING for _, role in shown[-1].runs):
            shown.pop()
        return shown

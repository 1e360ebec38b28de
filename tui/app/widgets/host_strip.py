"""A strip of hosts over time, which shows a slow or stalled host among hundreds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from tui.app.terminal import actions
from tui.app.widgets.graph import ASCII_FRAME, ROUND_FRAME, joined_parts
from tui.app.widgets.lines import Lines, Unit
from tui.text.heat import Look
from tui.text.line import (
    FAINT,
    LABEL,
    TEXT,
    Line,
    Run,
    fit,
    padded,
    spread,
    width_of_runs,
    with_cell,
)
from tui.text.plot import TimeAxis
from tui.text.sparkline import Symbols
from tui.view.live_hosts import (
    ALIKE,
    NOTHING,
    PLAIN,
    ROLES,
    SHADES,
    HostLevels,
    StripRow,
    role_of,
    words_of,
)

if TYPE_CHECKING:
    from tui.journal.measurement import Measurement
    from tui.journal.state import HostView

LEAST_ROWS, LEAST_COLUMNS = 2, 10
LONGEST_NAME = 14


class HostStrip(Lines, can_focus=True):
    """A row per host or group of hosts, over time; a group shows its slowest host.

    With colours, two rows share a line. `whole`: one host per line, worst first.
    """

    BINDINGS = actions.bindings("list")

    def __init__(
        self,
        symbols: Symbols,
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.symbols = symbols
        self.levels = HostLevels()
        self.hosts: Mapping[str, HostView] = {}
        self.axis = TimeAxis(0, 60)
        self.end_s = 0
        self.load: Measurement | None = None
        self.job: str | None = None
        self.whole = False
        self.top = 0

    def showing(
        self,
        hosts: Mapping[str, HostView],
        axis: TimeAxis,
        end_s: int,
        load: Measurement,
        job: str | None,
    ) -> Iterator[None]:
        """Show hosts over time, up to second `end_s` of the run; read them in parts, between which
        keys can be handled.

        `load` has the samples; `job`: only that job, None for all.
        """
        self.hosts, self.axis, self.end_s, self.load, self.job = hosts, axis, end_s, load, job
        if self.display:
            columns = self.columns_in(self.size.width)
            if columns >= LEAST_COLUMNS:
                yield from self.levels.taking(hosts, axis, columns, end_s, load, job)
            self.update_lines()

    @property
    def name_width(self) -> int:
        """Cells for the name of a host."""
        return min(LONGEST_NAME, max((len(each) for each in self.hosts), default=0))

    def columns_in(self, width: int) -> int:
        """Return the number of columns of time in a width."""
        return width - 4 - self.name_width - 1

    @property
    def look(self) -> Look:
        """How levels are drawn: colours, shades if colours cannot be blended, or ASCII."""
        if self.symbols == "ascii":
            return "ascii"
        palette = self.get_component_styles("lines--read").color.ansi is not None
        return "shade" if palette or self.app.no_color else "solid"

    def build(self, width: int, height: int) -> list[Line]:
        """Return the frame with title and legend, names with levels, and the times."""
        inner, lines = width - 4, height - 2
        name, columns = self.name_width, self.columns_in(width)
        if lines < LEAST_ROWS or columns < LEAST_COLUMNS:
            return []
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        self.levels.take(self.hosts, self.axis, columns, self.end_s, self.load, self.job)
        pairs = self._pairs(lines)
        body = [self._line(pair, name, columns) for pair in pairs]
        body += [[]] * (lines - len(body))
        framed = [
            Line.of((sides[5] + " ", FAINT), *padded(row, inner), (" " + sides[5], FAINT))
            for row in body
        ]
        foot = [(sides[2] + sides[4] * (2 + name), FAINT), *self.axis.foot(columns)]
        return [
            self._head(sides, width, lines),
            *framed,
            Line.of(*foot, (sides[4] + sides[3], FAINT)),
        ]

    def _pairs(self, lines: int) -> list[list[StripRow]]:
        """Return the rows that share each line: one, or two with colours."""
        count = len(self.hosts)
        if self.whole and count > lines:
            self.top = max(0, min(self.top, count - lines))
            return [[row] for row in self.levels.worst_first()[self.top : self.top + lines]]
        self.top = 0
        if self.look != "solid" or count <= lines:
            return [[row] for row in self.levels.rows(lines)]
        rows = self.levels.rows(2 * lines)
        both = 2 * (len(rows) - lines)  # rows that share a line; the others fill the rest
        pairs = [rows[place : place + 2] for place in range(0, both, 2)]
        return [*pairs, *([row] for row in rows[both:])]

    def _head(self, sides: str, width: int, lines: int) -> Line:
        inner, count = width - 4, len(self.hosts)
        at = ""
        if count > lines:  # a line of several hosts has the name of the slowest
            last = min(count, self.top + lines)
            at = f" {self.top + 1}–{last}/{count} " if self.whole else f" {count} in {lines} lines "
        left: list[Run] = [(" Hosts over time ", "title"), (at, LABEL)]
        marks = (
            PLAIN
            if self.look == "ascii"
            else SHADES
            if self.look == "shade"
            else dict.fromkeys(ROLES, "■")
        )
        right: list[Run] = []
        for room, words in ((left, True), (left[:1], True), (left[:1], False)):
            legend: list[list[Run]] = [
                [(f"{marks[level]} ", ROLES[level]), (word, LABEL)]
                for level, word in words_of(self.levels.used, whole=words)
            ]
            left = room
            right = joined_parts(legend, inner - width_of_runs(left) - 2)
            if len(legend) == sum(run[1] in ROLES.values() for run in right):
                break
        right = [(" ", TEXT), *right, (" ", TEXT)] if right else []
        inside = spread(left, right, inner, sides[4], FAINT)
        return Line.of((sides[0] + sides[4], FAINT), *inside, (sides[4] + sides[1], FAINT))

    def _line(self, pair: list[StripRow], name: int, columns: int) -> list[Run]:
        """Return one line: the levels, and the name of the slower row in its current colour."""
        named = max(pair, key=lambda row: row.behind)
        role = role_of(self.hosts[named.name]) if named.now < ALIKE else LABEL
        label: Run = (fit(named.name, name) + " ", role)
        first, *second = pair
        cells = (
            self._halves(first.levels, second[0].levels) if second else self._cells(first.levels)
        )
        axis = self.axis
        if axis.cursor_s is not None:
            cells = with_cell(cells, axis.column_of(axis.cursor_s, columns), ("│", "accent"))
        return [label, *cells]

    def _cells(self, levels: list[int]) -> list[Run]:
        marks = PLAIN if self.look == "ascii" else SHADES
        found: list[Run] = []
        for level, group in groupby(levels):
            count = sum(1 for _ in group)
            mark = "█" if self.look == "solid" else marks.get(level, " ")
            found.append((" " * count, TEXT) if level == NOTHING else (mark * count, ROLES[level]))
        return found

    @staticmethod
    def _halves(upper: list[int], lower: list[int]) -> list[Run]:
        found: list[Run] = []
        for (above, below), group in groupby(zip(upper, lower, strict=True)):
            count = sum(1 for _ in group)
            if NOTHING in (above, below):
                mark = " " if above == below else "▄" if above == NOTHING else "▀"
                role = TEXT if above == below else ROLES[below if above == NOTHING else above]
                found.append((mark * count, role))
            elif above == below:
                found.append(("█" * count, ROLES[above]))
            else:
                found.append(("▀" * count, f"{ROLES[above]}/{ROLES[below]}"))
        return found

    # -- scrolling, if not all hosts fit

    def scroll_to_host(self, top: int) -> None:
        """Scroll so that host number `top` is the first, at most to the last page."""
        self.top = max(0, top)
        self.update_lines()

    def action_move(self, unit: Unit, direction: int) -> None:
        """Scroll by a host, by half a page, or to an end."""
        hosts = {"row": 1, "page": self.size.height // 2, "end": self.top + len(self.hosts)}[unit]
        self.scroll_to_host(min(self.top + direction * hosts, len(self.hosts)))

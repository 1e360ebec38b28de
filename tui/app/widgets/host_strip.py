"""A strip of hosts over time, which shows a slow or stalled host among hundreds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    width_of,
    width_of_runs,
    with_cell,
)
from tui.text.names import ranges_of
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
    groups_of,
    role_of,
    words_of,
)

if TYPE_CHECKING:
    from tui.journal.measurement import Measurement
    from tui.journal.state import HostView

LEAST_ROWS, LEAST_COLUMNS = 2, 10
LONGEST_NAME = 14


class HostStrip(Lines, can_focus=True):
    """A row per host or group of hosts, over time.

    A group shows its slowest host, and is named after that host if it is far behind. If not all
    hosts fit, two rows share a line (with colours only). `whole`: one host per line, worst first.
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
        """Show hosts over time, up to second `end_s` of the run.

        Yields between parts of the work, so that keys can be handled. `load` has the samples;
        `job`: only that job, None for all.
        """
        self.hosts, self.axis, self.end_s, self.load, self.job = hosts, axis, end_s, load, job
        if self.display:
            columns = self.columns_in(self.size.width, self.size.height - 2)
            if columns >= LEAST_COLUMNS:
                yield from self.levels.taking(hosts, axis, columns, end_s, load, job)
            self.update_lines()

    def name_width(self, lines: int) -> int:
        """Return the cells for names of hosts and groups in a strip of `lines` lines."""
        names = [*self.hosts]
        shared = [] if self.whole else groups_of(len(names), max(lines, 1))
        texts = [*names, *(_together(names[first:end]) for first, end in shared)]
        return min(LONGEST_NAME, max((width_of(each) for each in texts), default=0))

    def columns_in(self, width: int, lines: int) -> int:
        """Return the number of columns of time in a width, beside the names of `lines` lines."""
        return width - 4 - self.name_width(lines) - 1

    @property
    def look(self) -> Look:
        """How levels are drawn: colours, shades if colours cannot be blended, or ASCII."""
        return self.look_of("read", self.symbols)

    def build(self, width: int, height: int) -> list[Line]:
        """Return the frame with title and legend, names with levels, and the times."""
        inner, lines = width - 4, height - 2
        name, columns = self.name_width(lines), self.columns_in(width, lines)
        if lines < LEAST_ROWS or columns < LEAST_COLUMNS:
            return []
        sides = ASCII_FRAME if self.symbols == "ascii" else ROUND_FRAME
        self.levels.take(self.hosts, self.axis, columns, self.end_s, self.load, self.job)
        head, explains = self._head(sides, width, lines)
        own_line = self.whole and not explains and lines > LEAST_ROWS
        if own_line:
            lines -= 1
            head, _ = self._head(sides, width, lines)
        pairs = self._pairs(lines)
        least = self.levels.notable
        body = [self._line(pair, name, columns, least) for pair in pairs]
        body += [[]] * (lines - len(body))
        if own_line:
            kinds = joined_parts([[kind] for kind in self.axis.legend], columns)
            body.append([(" " * (name + 1), TEXT), *kinds])
        framed = [
            Line.of((sides[5] + " ", FAINT), *padded(row, inner), (" " + sides[5], FAINT))
            for row in body
        ]
        foot = [(sides[2] + sides[4] * (2 + name), FAINT), *self.axis.foot(columns)]
        return [head, *framed, Line.of(*foot, (sides[4] + sides[3], FAINT))]

    def _pairs(self, lines: int) -> list[list[StripRow]]:
        """Return the rows that share each line: one, or two with colours."""
        count = len(self.hosts)
        if self.whole and count > lines:
            self.top = max(0, min(self.top, count - lines))
            rows = self.levels.worst_first(self.hosts)
            return [[row] for row in rows[self.top : self.top + lines]]
        self.top = 0
        if self.look != "solid" or count <= lines:
            return [[row] for row in self.levels.rows(lines)]
        rows = self.levels.rows(2 * lines)
        both = 2 * (len(rows) - lines)  # rows that share a line; the others fill the rest
        pairs = [rows[place : place + 2] for place in range(0, both, 2)]
        return [*pairs, *([row] for row in rows[both:])]

    def _head(self, sides: str, width: int, lines: int) -> tuple[Line, bool]:
        """Return title and legend, and whether the legend has all marks of the axis."""
        inner, count = width - 4, len(self.hosts)
        at = ""
        if self.whole and count > lines:
            at = f" {self.top + 1}–{min(count, self.top + lines)}/{count} "
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
        kinds = self.axis.legend
        more = joined_parts([*([kind] for kind in kinds), right], inner - width_of_runs(left) - 2)
        explains = {*kinds} <= {*more}
        right = more if explains else right
        right = [(" ", TEXT), *right, (" ", TEXT)] if right else []
        inside = spread(left, right, inner, sides[4], FAINT)
        line = Line.of((sides[0] + sides[4], FAINT), *inside, (sides[4] + sides[1], FAINT))
        return line, explains

    def _line(self, pair: list[StripRow], name: int, columns: int, least: int) -> list[Run]:
        """Return one line: the levels, and the names of its hosts.

        A host at least `least` steps behind, or slow now, has its name alone, in its current
        colour.
        """
        named = max(pair, key=lambda row: row.behind)
        is_slow = named.now < ALIKE
        role = role_of(self.hosts[named.name]) if is_slow else LABEL
        alone = is_slow or named.behind >= least
        names = [each for row in pair for each in row.names]
        text = named.name if alone else _together(names)
        label: Run = (fit(text, name) + " ", role)
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


def _together(names: Sequence[str]) -> str:
    """Return the names of neighbouring hosts as a range, or the first one if that is too long."""
    text = ranges_of(names)
    return text if len(names) == 1 or width_of(text) <= LONGEST_NAME else f"{names[0]}…"

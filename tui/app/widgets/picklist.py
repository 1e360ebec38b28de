"""A list widget with declared columns, headings, cursor and sorting.

Only visible rows are built, and only changed cells painted. The cursor belongs to a key (a host's
name, a profile's tag), never to a row number: after filtering, sorting and updates it is still on
the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from textual import events, on
from textual.message import Message

from tui.app.terminal import actions
from tui.app.widgets.lines import Lines, Unit
from tui.text.line import ACCENT, HEADING, LABEL, TEXT, Line, Run, padded
from tui.text.table import Column, column_at, fitted, head_line, table_line, widths

Row = TypeVar("Row")
MEASURED_ROWS = 500  # for fitted columns: building every cell of a very long list takes time


class Heading(Struct, frozen=True):
    """The heading of a group of rows."""

    key: str
    title: str
    note: Run = ("", LABEL)
    more: tuple[Run, ...] = ()  # after the note
    found: frozenset[int] = frozenset()  # places in the title that a filter matches


BORDER = 2  # lines above and below the list


class PickList(Lines, Generic[Row], can_focus=True):
    """A list of rows of any type.

    `columns` declares what is shown, `key` returns the key of a row.
    """

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "PickList { background: $background; overflow-x: hidden; }"

    class Moved(Message):
        """Sent when the cursor has moved to another row."""

        def __init__(self, picklist: PickList[Any], key: str) -> None:
            super().__init__()
            self.picklist = picklist
            self.key = key

        @property
        def control(self) -> PickList[Any]:
            """The list that sent the message."""
            return self.picklist

    class Clicked(Moved):
        """Sent when a row is clicked.

        `column`: the column under the pointer; `twice`: a double click.
        """

        def __init__(self, picklist: PickList[Any], key: str, column: int, twice: bool) -> None:
            super().__init__(picklist, key)
            self.column = column
            self.twice = twice

    headings_last: ClassVar[bool] = False  # sorted rows keep their headings, at the end
    # the cursor stays on the first row until the user moves it
    waits_on_top: ClassVar[bool] = False

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        key: Callable[[Row], str],
        *,
        header: bool = True,
        fits: bool = False,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self.fits = fits  # columns are no wider than their cells
        self.columns = tuple(columns)
        self.key_of: Callable[[Row | Heading], str] = lambda row: (
            row.key if isinstance(row, Heading) else key(row)
        )
        self.header = header
        self.rows: list[Row | Heading] = []
        self.top = 0
        self.sort: Column[Row] | None = None  # None: the given order
        self.reversed = False
        self.leads = False  # the cursor looks focused: another field forwards its keys
        self._given: list[Row | Heading] = []
        self._index: dict[str, int] = {}
        # of the row under the cursor, None when there are no rows
        self.cursor_key: str | None = None
        self._was_moved = False
        # of the rows given, if the columns fit their cells
        self.fitted_columns: tuple[Column[Row], ...] = ()
        self.awaits = False  # cells still arrive: declared widths are kept
        # title of the column that given rows are ordered by; None: the first one, empty: none
        self.given_order: str | None = None

    # -- rows and cursor

    @property
    def cursor_row(self) -> int:
        """Row number of the cursor; 0 without rows."""
        return self._index.get(self.cursor_key or "", 0)

    def set_rows(self, rows: Sequence[Row | Heading]) -> None:
        """Show these rows.

        The cursor stays on its key or, if that is gone, on its row number.
        """
        self._given = list(rows)
        if self.fits:
            measured = [row for row in self._given if not isinstance(row, Heading)]
            known = len(measured) <= MEASURED_ROWS and not self.awaits
            self.fitted_columns = fitted(self.columns, measured[:MEASURED_ROWS], all_rows=known)
        self.put_in_order()
        self.update_lines()

    def put_in_order(self) -> None:
        """Sort the rows again, keeping the order of equal rows."""
        before = self.cursor_row
        order = self.sort.order if self.sort is not None else None
        if self.sort is None or order is None:
            self.rows = self._given[::-1] if self.reversed else self._given
        else:
            rows = [row for row in self._given if not isinstance(row, Heading)]
            last = (
                [row for row in self._given if isinstance(row, Heading)]
                if self.headings_last
                else []
            )
            self.rows = [
                *sorted(rows, key=order, reverse=self.sort.falling != self.reversed),
                *last,
            ]
        self._index = {self.key_of(row): number for number, row in enumerate(self.rows)}
        if self.cursor_key not in self._index or (self.waits_on_top and not self._was_moved):
            first = next((n for n, row in enumerate(self.rows) if not isinstance(row, Heading)), 0)
            self._place((0 if self.waits_on_top and not self._was_moved else before) or first)
        self.reveal()

    def sort_by(self, column: Column[Row]) -> None:
        """Sort by a column; by the same column again in reverse."""
        if column.order is not None:
            self.reversed = column is self.sort and not self.reversed
            self.sort = column
            self.put_in_order()
            self.update_lines()

    def sort_by_next(self, *, reverse: bool = False) -> None:
        """Sort by the next sortable column, or reverse the order."""
        if reverse:
            self.reversed = not self.reversed
        else:
            orders = [None, *(column for column in self.columns if column.order is not None)]
            at = orders.index(self.sort) if self.sort in orders else 0  # the column may be gone
            self.sort, self.reversed = orders[(at + 1) % len(orders)], False
        self.put_in_order()
        self.update_lines()

    def move_to(self, key: str) -> None:
        """Move the cursor to the row with a key, if there is one.

        A row that was out of sight is shown in the middle.
        """
        if key not in self._index:
            return
        number = self._index[key]
        if not self.top <= number < self.top + self.room:
            self.top = number - self.room // 2
        self.move(number - self.cursor_row)

    def move(self, distance: int) -> None:
        """Move the cursor by a number of rows."""
        self._was_moved = True
        self._place(self.cursor_row + distance)
        self.reveal()
        self.update_lines()

    def _place(self, number: int) -> None:
        had = self.cursor_key
        at = max(0, min(number, len(self.rows) - 1))
        self.cursor_key = self.key_of(self.rows[at]) if self.rows else None
        if self.cursor_key is not None and self.cursor_key != had:
            self.post_message(self.Moved(self, self.cursor_key))

    # -- visible rows

    @property
    def head(self) -> int:
        """Number of lines above the rows."""
        return 1 if self.header else 0

    @property
    def room(self) -> int:
        """Number of rows that are visible at a time."""
        return max(self.size.height - self.head, 1)

    @property
    def scrolls(self) -> bool:
        """Whether there are more rows than fit."""
        return len(self.rows) > self.room

    def reveal(self) -> None:
        """Scroll so that the cursor is visible, with the heading directly above it."""
        row = self.cursor_row
        first = row - 1 if row and isinstance(self.rows[row - 1], Heading) else row
        self.top = min(max(self.top, row - self.room + 1), first)
        self.scroll_rows(0)

    def scroll_rows(self, distance: int) -> None:
        """Scroll by rows without moving the cursor."""
        self.top = max(0, min(self.top + distance, len(self.rows) - self.room))

    def resized(self) -> None:
        """Keep the cursor visible at the new size."""
        self.reveal()

    # -- keys and mouse

    def action_move(self, unit: Unit, direction: int) -> None:
        """Move the cursor by a row, by half a page, or to an end."""
        rows = {"row": 1, "page": max(self.room // 2, 1), "end": len(self.rows)}[unit]
        self.move(direction * rows)

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def wheel_turned(self, event: events.MouseScrollDown | events.MouseScrollUp) -> None:
        """Scroll with the mouse wheel."""
        event.stop()
        self.scroll_rows(1 if isinstance(event, events.MouseScrollDown) else -1)
        self.update_lines()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row and send `Clicked`.

        A click on a column title sorts by it, a click on the scroll bar scrolls.
        """
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y < self.head:
            if offset.y == self.head - 1:
                self.sort_by(
                    self.columns[column_at(self.columns, self.rooms(self.size.width), offset.x)]
                )
            return
        if self.scrolls and offset.x == self.size.width - 1:
            self.scroll_rows(round((offset.y - self.head) / self.room * len(self.rows)) - self.top)
            self.update_lines()
        elif (number := self.top + offset.y - self.head) < len(self.rows):
            self.move(number - self.cursor_row)
            column = column_at(self.columns, self.rooms(self.size.width), offset.x)
            self.post_message(
                self.Clicked(self, self.key_of(self.rows[number]), column, event.chain > 1)
            )

    def watch_has_focus(self, has_focus: bool) -> None:
        """Repaint, because the cursor looks different with the focus."""
        super().watch_has_focus(has_focus)
        self.update_lines()

    # -- painting

    def rooms(self, width: int) -> list[int]:
        """Return the widths of the columns, which leave two cells for a scroll bar if there is one.

        The column that the list is sorted by is never dropped.
        """
        columns = list(self.fitted_columns or self.columns)
        if self.sort in self.columns:
            by = self.columns.index(self.sort)
            columns[by] = replace(columns[by], drop=0)
        return widths(columns, width - 2 * int(self.scrolls))

    def build(self, width: int, height: int) -> list[Line]:
        """Return the column titles and the visible rows."""
        rooms = self.rooms(width)
        rows = []
        for row in self.rows[self.top : self.top + self.room]:
            here = self.key_of(row) == self.cursor_key
            fill = (
                "" if not here else "cursor" if self.has_focus or self.leads else "cursor-blurred"
            )
            if isinstance(row, Heading):
                rows.append(self.heading_line(row, width, fill))
            else:
                rows.append(self.row_line(row, rooms, width, fill))
        if self.scrolls:
            rows = with_scroll_bar(rows, width, self.top, self.room, len(self.rows))
        return [*self.head_lines(rooms, width), *rows][:height]

    def head_lines(self, rooms: Sequence[int], width: int) -> list[Line]:  # noqa: ARG002
        """Return the lines above the rows, as many as `head`."""
        return [self.titles(rooms)] if self.header else []

    def titles(self, rooms: Sequence[int]) -> Line:
        """Return the column titles, with a mark on the one that the list is sorted by.

        In a list that cannot be sorted, the first title is replaced by the heading of the first
        visible row while that heading is scrolled out of sight.
        """
        titled = [column for column in self.columns if column.title]
        if all(column.order is None for column in self.columns):
            above = heading_above(self.rows, self.top)
            named = {titled[0]: (above.title, HEADING)} if titled and above is not None else {}
            return head_line(self.columns, rooms, marked=named)
        given = next((column for column in titled if column.title == self.given_order), None)
        sorts = self.sort or (titled[0] if self.given_order is None else given)
        arrow = "▾▴"[self.reversed]
        marked = {
            column: (column.title + arrow, ACCENT) for column in self.columns if column is sorts
        }
        return head_line(self.columns, rooms, marked=marked)

    def row_line(self, row: Row, rooms: Sequence[int], width: int, fill: str) -> Line:  # noqa: ARG002
        """Return the line of a row. Override it for rows that look different."""
        return table_line(self.columns, rooms, row, fill)

    def heading_line(self, row: Heading, width: int, fill: str) -> Line:  # noqa: ARG002
        """Return the heading line of a group."""
        title = marked(row.title, HEADING, row.found)
        return Line.of(*title, ("  ", TEXT), row.note, *row.more, fill=fill)


def marked(text: str, role: str, places: Collection[int]) -> list[Run]:
    """Return a text with the characters at these places in the accent colour."""
    if not places:
        return [(text, role)]
    return [(letter, ACCENT if at in places else role) for at, letter in enumerate(text)]


def heading_above(rows: Sequence[object | Heading], top: int) -> Heading | None:
    """Return the heading of the row `top`, if it is above that row; otherwise None."""
    if top >= len(rows) or isinstance(rows[top], Heading):
        return None
    above = (row for row in reversed(rows[:top]) if isinstance(row, Heading))
    return next(above, None)


def wanted_width(picklist: PickList[Any]) -> int:
    """Return the cells that the rows need, in a list whose columns fit their cells."""
    columns = picklist.fitted_columns or picklist.columns
    rooms = [column.width or column.most for column in columns]
    return sum(rooms) + sum(column.gap for column in columns[1:])


def share_height(picklist: PickList[Any], room: int, others: int) -> None:
    """Make a list as tall as its rows, but leave `others` of `room` lines.

    If `others` is 0, the list takes all lines.
    """
    wanted = len(picklist.rows) + picklist.head + BORDER
    picklist.styles.height = max(BORDER + 2, min(wanted, room - others)) if others else "1fr"


def with_scroll_bar(
    rows: Sequence[Line], width: int, top: int, room: int, count: int
) -> list[Line]:
    """Return the visible rows with a scroll bar on their right.

    `room` of `count` rows are visible; the first of them is row `top`.
    """
    size = max(1, round(room * room / count))
    place = round(top / max(1, count - room) * (room - size))
    bar = [(" ", "thumb~") if place <= y < place + size else (" ", TEXT) for y in range(len(rows))]
    return [
        Line.of(*padded(row.runs, width - 1), end, fill=row.fill)
        for row, end in zip(rows, bar, strict=True)
    ]

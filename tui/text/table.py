"""Columns, declared once, for lists on screens and for tables in terminals and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tui.text.line import LABEL, TEXT, Line, Run, fit, padded, width_of, width_of_runs

Row = TypeVar("Row")
Cell = str | Run | list[Run]
"""The content of one cell: a text, shown in the column's role, one run, or several runs."""


class Column(Struct, Generic[Row], frozen=True):
    """One column: its heading, content, width, and priority.

    `width` 0: the column shares the remaining room, `least` to `most` cells, or in a `measured`
    table is as wide as its widest cell. If the columns do not fit with the cells that they `want`,
    the one with the highest `drop` shrinks to `least` and is then dropped, and so on; columns with
    `drop` 0 stay.
    """

    title: str
    value: Callable[[Row], Cell]
    width: int = 0
    least: int = 12
    wants: int = 0
    most: int = 10_000
    right: bool = False
    drop: int = 0
    role: str = TEXT
    gap: int = 2  # blanks before it, except in the first column
    order: Callable[[Row], Any] | None = None  # sort key of lists
    falling: bool = False  # sort in descending order

    def runs(self, row: Row) -> list[Run]:
        """Return a row's cell as runs."""
        cell = self.value(row)
        return (
            [(cell, self.role)]
            if isinstance(cell, str)
            else [cell]
            if isinstance(cell, tuple)
            else cell
        )


def measured(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """Return columns as wide as their widest cells.

    Use it for small tables whose rows are all in memory.
    """
    return [
        column if column.width else replace(column, width=_widest(column, rows))
        for column in columns
    ]


def fitted(
    columns: Sequence[Column[Row]], rows: Sequence[Row], *, all_rows: bool = True
) -> tuple[Column[Row], ...]:
    """Return columns no wider than their content, so that others can use the room saved.

    Columns of marks, without a heading, keep their width. `all_rows` False: `rows` are only a
    part, so declared widths are kept.
    """
    return tuple(
        column
        if column.width and not (all_rows and column.title)
        else _fitted(column, _widest(column, rows))
        for column in columns
    )


def _fitted(column: Column[Row], widest: int) -> Column[Row]:
    # room for the sort mark
    sorts = int(column.order is not None and width_of(column.title) == widest)
    if column.width:
        return replace(column, width=min(column.width, widest + sorts))
    least, wants, most = (
        min(each, widest + sorts) for each in (column.least, column.wants, column.most)
    )
    return replace(column, least=least, wants=wants, most=most)


def _widest(column: Column[Row], rows: Sequence[Row]) -> int:
    return max([width_of(column.title), 1, *(width_of_runs(column.runs(row)) for row in rows)])


def widths(columns: Sequence[Column[Row]], width: int) -> list[int]:
    """Return the width of each column in a line of `width` cells; 0 means the column is dropped."""
    shown = list(range(len(columns)))
    wanted = [column.width or max(column.least, column.wants) for column in columns]
    least = [column.width or column.least for column in columns]
    while _with_gaps(columns, shown, wanted) > width and any(columns[i].drop for i in shown):
        last = max(shown, key=lambda i: (columns[i].drop, i))
        if wanted[last] > least[last]:
            wanted[last] = least[last]
        else:
            shown.remove(last)
    taken = wanted if _with_gaps(columns, shown, wanted) <= width else least
    found = [taken[i] if i in shown else 0 for i in range(len(columns))]
    spare = width - _with_gaps(columns, shown, found)
    flexible = [i for i in shown if not columns[i].width]
    while spare > 0 and flexible:
        share = max(1, spare // len(flexible))
        for i in list(flexible):
            more = min(share, spare, columns[i].most - found[i])
            found[i] += more
            spare -= more
            if found[i] >= columns[i].most:
                flexible.remove(i)
    return found


def _with_gaps(columns: Sequence[Column[Row]], shown: Sequence[int], rooms: Sequence[int]) -> int:
    return sum(columns[i].gap for i in shown[1:]) + sum(rooms[i] for i in shown)


def table_line(
    columns: Sequence[Column[Row]], rooms: Sequence[int], row: Row, fill: str = ""
) -> Line:
    """Return one row of a table."""
    cells = [column.runs(row) if room else [] for column, room in zip(columns, rooms, strict=True)]
    return _line(columns, rooms, cells, fill)


def head_line(
    columns: Sequence[Column[Row]],
    rooms: Sequence[int],
    marked: Mapping[Column[Row], Run] | None = None,
) -> Line:
    """Return the line of headings.

    `marked` replaces the headings of some columns.
    """
    cells = [[(marked or {}).get(column, (column.title, LABEL))] for column in columns]
    return _line(columns, rooms, cells, "")


def _line(
    columns: Sequence[Column[Row]], rooms: Sequence[int], cells: Sequence[Sequence[Run]], fill: str
) -> Line:
    runs: list[Run] = []
    for column, room, cell in zip(columns, rooms, cells, strict=True):
        if room:
            gap: Run = (" " * column.gap if runs else "", TEXT)
            runs += [gap, *_cell(cell, room, column.right)]
    return Line.of(*runs, fill=fill)


def _cell(cell: Sequence[Run], room: int, right: bool) -> list[Run]:
    if len(cell) == 1:
        text, role = cell[0]
        return [(fit(text, room, right=right), role)]
    return padded(cell, room, right=right)


def column_at(columns: Sequence[Column[Row]], rooms: Sequence[int], x: int) -> int:
    """Return the index of the column at cell `x`; the gap before a column belongs to it."""
    edge = 0
    for index, (column, room) in enumerate(zip(columns, rooms, strict=True)):
        edge += room + (column.gap if edge else 0) if room else 0
        if x < edge:
            return index
    return len(columns) - 1


def text_table(
    columns: Sequence[Column[Row]], rows: Iterable[Row], width: int | None = None
) -> list[Line]:
    """Return headings and rows, each column as wide as its content.

    With `width`, columns are dropped by priority; then the widest column without a declared width
    is truncated.
    """
    rows = list(rows)
    known = measured(columns, rows)
    rooms = [column.width for column in known] if width is None else widths(known, width)
    shown = [i for i, room in enumerate(rooms) if room]
    if width is not None and (over := _with_gaps(known, shown, rooms) - width) > 0:
        open_ = [i for i, column in enumerate(columns) if not column.width and rooms[i]]
        widest = max(open_, key=lambda i: rooms[i], default=0)
        rooms[widest] = max(min(columns[widest].least, rooms[widest]), rooms[widest] - over)
    return [head_line(known, rooms), *(table_line(known, rooms, row) for row in rows)]

"""A list of rows with columns, ticks and headings that paints only the lines one can see.

The cursor belongs to a key (a host's name, a profile's tag), never to a row number: filtering and new data leave it
on the thing it was on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.app.keys import actions

Cell = tuple[str, str]  # text, and a style name: "", "dim", "bright", "ok", "warn", "bad", "accent"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A width of 0 takes the room that is left; a high `drop` goes first when there is too little."""

    title: str
    width: int = 0
    right: bool = False
    drop: int = 0
    least: int = 12  # narrowest useful width of a column that takes what is left


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its key and a cell for every column. A heading is drawn from its first two cells alone."""

    key: str
    cells: tuple[Cell, ...]
    heading: bool = False


def fit(text: str, width: int, right: bool = False, ellipsis: str = "…") -> str:
    """Return `text` in exactly `width` terminal columns; what is cut ends with the ellipsis."""
    if cell_len(text) > width:
        text = set_cell_size(text, max(width - 1, 0)) + ellipsis[: min(width, 1)]
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def layout(columns: Sequence[Column], width: int, gap: int = 2) -> list[int]:
    """Return the width of each column for a line of `width`; 0 means dropped."""
    shown = [True] * len(columns)

    def needed() -> int:
        widths = [c.width or c.least for c, show in zip(columns, shown, strict=True) if show]
        return sum(widths) + gap * max(len(widths) - 1, 0)

    while needed() > width and any(c.drop and s for c, s in zip(columns, shown, strict=True)):
        last = max((i for i, s in enumerate(shown) if s and columns[i].drop), key=lambda i: columns[i].drop)
        shown[last] = False
    spare = max(width - needed(), 0)
    flexible = [i for i, c in enumerate(columns) if shown[i] and not c.width]
    widths = [(c.width or c.least) if s else 0 for c, s in zip(columns, shown, strict=True)]
    for order, index in enumerate(flexible):
        widths[index] += spare // len(flexible) + (1 if order < spare % len(flexible) else 0)
    return widths


class PickList(ScrollView, can_focus=True):
    """The list. Border title and subtitle are the owner's."""

    BINDINGS = actions.bindings("list")
    STYLES: ClassVar[tuple[str, ...]] = ("dim", "bright", "ok", "warn", "bad", "accent")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "picklist--cursor",
        "picklist--cursor-blurred",
        "picklist--head",
        "picklist--heading",
        *(f"picklist--{name}" for name in STYLES),
    }
    DEFAULT_CSS = """
    PickList {
        background: $background; overflow-x: hidden;
        & .picklist--cursor { background: $cursor-row; color: $bright; }
        & .picklist--cursor-blurred { background: $cursor-row-blurred; }
        & .picklist--head { color: $dim; }
        & .picklist--heading { color: $secondary; text-style: bold; }
        & .picklist--dim { color: $dim; }
        & .picklist--bright { color: $bright; }
        & .picklist--ok { color: $ok; }
        & .picklist--warn { color: $warn; }
        & .picklist--bad { color: $bad; }
        & .picklist--accent { color: $accent; }
    }
    """

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, picklist: PickList, key: str) -> None:
            super().__init__()
            self.picklist = picklist
            self.key = key

        @property
        def control(self) -> PickList:
            """The list."""
            return self.picklist

    class Clicked(Moved):
        """A row was clicked; `column` is the column under the pointer, `twice` a double click."""

        def __init__(self, picklist: PickList, key: str, column: int, twice: bool) -> None:
            super().__init__(picklist, key)
            self.column = column
            self.twice = twice

    def __init__(self, columns: Sequence[Column], *, header: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.header = header
        self.rows: list[Row] = []
        self._index: dict[str, int] = {}
        self._cursor_key: str | None = None
        self._gap = 2

    # -- rows and cursor

    @property
    def cursor_key(self) -> str | None:
        """Key of the row under the cursor, None when there are no rows."""
        return self._cursor_key

    @property
    def cursor_row(self) -> int:
        """Row number of the cursor, 0 when there are no rows."""
        return self._index.get(self._cursor_key or "", 0)

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows. The cursor stays on its key, or goes to the row that took its place."""
        before = self.cursor_row
        self.rows = list(rows)
        self._index = {row.key: number for number, row in enumerate(self.rows)}
        if self._cursor_key not in self._index:
            first = next((n for n, row in enumerate(self.rows) if not row.heading), 0) if before == 0 else before
            self._place(first)
        self.virtual_size = Size(0, len(self.rows) + self._head)
        self.refresh()
        self._reveal()

    def update_row(self, row: Row) -> None:
        """Replace one row and repaint its line only."""
        number = self._index.get(row.key)
        if number is None or self.rows[number] == row:
            return
        self.rows[number] = row
        self._refresh_row(number)

    def move_to(self, key: str) -> None:
        """Put the cursor on a key, when it is there."""
        if key in self._index:
            self._place(self._index[key])
            self._reveal()

    def _place(self, number: int) -> None:
        old, had = self.cursor_row, self._cursor_key
        if not self.rows:
            self._cursor_key = None
            return
        number = max(0, min(number, len(self.rows) - 1))
        self._cursor_key = self.rows[number].key
        if self._cursor_key != had:
            self._refresh_row(old)
            self._refresh_row(number)
            self.post_message(self.Moved(self, self._cursor_key))

    def _move(self, distance: int) -> None:
        self._place(self.cursor_row + distance)
        self._reveal()

    # -- actions of the registry's scope "list"

    def action_down(self) -> None:
        """Move down."""
        self._move(1)

    def action_up(self) -> None:
        """Move up."""
        self._move(-1)

    def action_top(self) -> None:
        """Move to the first row."""
        self._move(-len(self.rows))

    def action_bottom(self) -> None:
        """Move to the last row."""
        self._move(len(self.rows))

    def action_page_down(self) -> None:
        """Move down by half of what is seen."""
        self._move(max(self._visible // 2, 1))

    def action_page_up(self) -> None:
        """Move up by half of what is seen."""
        self._move(-max(self._visible // 2, 1))

    # -- painting

    @property
    def _head(self) -> int:
        return 1 if self.header else 0

    @property
    def _room(self) -> int:
        """Columns for text: the last one stays free beside a scroll bar."""
        return self.scrollable_content_region.width - int(self.show_vertical_scrollbar)

    @property
    def _visible(self) -> int:
        return max(self.scrollable_content_region.height - self._head, 1)

    def _reveal(self) -> None:
        if not self.scrollable_content_region.height:
            return
        row, top = self.cursor_row, round(self.scroll_offset.y)
        first = row - 1 if row and self.rows[row - 1].heading else row  # a heading is seen with its first row
        if first < top:
            self.scroll_to(y=first, animate=False, force=True)
        elif row >= top + self._visible:
            self.scroll_to(y=row - self._visible + 1, animate=False, force=True)

    def _refresh_row(self, number: int) -> None:
        y = number - round(self.scroll_offset.y) + self._head
        if self._head <= y < self.scrollable_content_region.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_focus(self) -> None:
        """The cursor looks different with the focus."""
        self._refresh_row(self.cursor_row)

    def on_blur(self) -> None:
        """The cursor looks different without the focus."""
        self._refresh_row(self.cursor_row)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._reveal()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row and say so."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self._head:
            return
        number = offset.y - self._head + round(self.scroll_offset.y)
        if number < len(self.rows):
            self._place(number)
            self.post_message(self.Clicked(self, self.rows[number].key, self._column_at(offset.x), event.chain > 1))

    def _column_at(self, x: int) -> int:
        edge = 0
        widths = layout(self.columns, self._room, self._gap)
        for index, width in enumerate(widths):
            edge += width + self._gap if width else 0
            if x < edge:
                return index
        return len(widths) - 1

    def render_line(self, y: int) -> Strip:
        """Return one line of the window: the header, a row, or blank."""
        width = self.scrollable_content_region.width
        widths = layout(self.columns, self._room, self._gap)
        if y < self._head:
            return self._paint([(c.title, "head") for c in self.columns], widths, width, self.rich_style)
        number = y - self._head + round(self.scroll_offset.y)
        if number >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[number]
        base = self.rich_style + self._cursor_style(row)
        if row.heading:
            return self._paint_heading(row, widths, width, base)
        return self._paint(row.cells, widths, width, base)

    def _cursor_style(self, row: Row) -> Style:
        if row.key != self._cursor_key:
            return Style()
        name = "picklist--cursor" if self.has_focus else "picklist--cursor-blurred"
        return self.get_component_rich_style(name, partial=True)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"picklist--{name}", partial=True) if name else Style()

    def _paint(self, cells: Sequence[Cell], widths: list[int], width: int, base: Style) -> Strip:
        segments: list[Segment] = []
        for (text, style), column, room in zip(cells, self.columns, widths, strict=True):
            if room:
                segments.append(Segment(fit(text, room, column.right), base + self._style(style)))
                segments.append(Segment(" " * self._gap, base))
        return Strip(segments).adjust_cell_length(width, base)

    def _paint_heading(self, row: Row, widths: list[int], width: int, base: Style) -> Strip:
        (mark, mark_style), (title, _), *more = row.cells
        segments = [Segment(fit(mark, widths[0]) + " " * self._gap, base + self._style(mark_style))] if mark else []
        segments.append(Segment(title, base + self._style("heading")))
        segments += [Segment("  " + text, base + self._style(style)) for text, style in more if text]
        return Strip(segments).adjust_cell_length(width, base)

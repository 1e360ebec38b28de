"""Figures in large digits: tiles with a title, a number three rows high, and its unit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tui.text.line import LABEL, TEXT, VALUE, Line, Run, clip, padded, width_of
from tui.text.sparkline import Symbols

ROWS = 3
GAP = 3  # minimum number of blanks between two tiles
WIDEST_GAP = 8  # tiles farther apart no longer read as one row
SOLID = {  # five rows of pixels, two per cell
    "0": ("█▀█", "█ █", "▀▀▀"), "1": ("▀█ ", " █ ", "▀▀▀"), "2": ("▀▀█", "█▀▀", "▀▀▀"),
    "3": ("▀▀█", " ▀█", "▀▀▀"),
    "4": ("█ █", "▀▀█", "  ▀"), "5": ("█▀▀", "▀▀█", "▀▀▀"), "6": ("█▀▀", "█▀█", "▀▀▀"),
    "7": ("▀▀█", "  █", "  ▀"),
    "8": ("█▀█", "█▀█", "▀▀▀"), "9": ("█▀█", "▀▀█", "▀▀▀"), ".": (" ", " ", "▀"),
    "-": ("   ", "▀▀▀", "   "),
    "–": ("   ", "▀▀▀", "   "), "<": (" ▄▀", "▀▄ ", "  ▀"), "n": ("   ", "█▀█", "▀ ▀"),
    ":": ("▄", "▄", " "),
}  # fmt: skip
SEGMENTS = {
    "0": (" _ ", "| |", "|_|"), "1": ("   ", "  |", "  |"), "2": (" _ ", " _|", "|_ "),
    "3": (" _ ", " _|", " _|"),
    "4": ("   ", "|_|", "  |"), "5": (" _ ", "|_ ", " _|"), "6": (" _ ", "|_ ", "|_|"),
    "7": (" _ ", "  |", "  |"),
    "8": (" _ ", "|_|", "|_|"), "9": (" _ ", "|_|", " _|"), ".": (" ", " ", "."),
    "-": ("   ", " _ ", "   "),
    "–": ("   ", " _ ", "   "), "<": ("  ", "/ ", "\\ "), "n": ("   ", " _ ", "| |"),
    ":": (" ", ".", "."),
}  # fmt: skip


def large_digits(text: str, symbols: Symbols) -> list[str]:
    """Return a number as three rows of cells.

    A character without a large form appears as it is, in the last row.
    """
    known = SEGMENTS if symbols == "ascii" else SOLID
    glyphs = [known.get(each, (" ", " ", each)) for each in text]
    return [" ".join(glyph[row] for glyph in glyphs) for row in range(ROWS)]


class FigureTile(Struct, frozen=True):
    """One figure in large digits.

    When room is short, the tiles with the highest `drop` are dropped first; a tile with `drop` 0 is
    always shown. `aside`: text after the title, such as an average. `short`: the title to use if
    the tiles do not fit with their full titles; `shortest`: the title to try before the tile is
    dropped.
    """

    title: str
    number: str
    unit: str = ""
    role: str = VALUE
    aside: str = ""
    drop: int = 0
    short: str = ""
    shortest: str = ""

    def rows(self, symbols: Symbols) -> list[list[Run]]:
        """Return the title and the rows of digits, with the unit in the last row."""
        digits = large_digits(self.number, symbols)
        runs: list[list[Run]] = [[(row, self.role)] for row in digits]
        runs[-1] += [(f" {self.unit}", LABEL)] if self.unit else []
        head: list[Run] = [
            (self.title, LABEL),
            *([(f"  {self.aside}", TEXT)] if self.aside else []),
        ]
        return [head, *runs]

    @property
    def width(self) -> int:
        """Width in cells, with the wider of the symbol sets."""
        number = max(width_of(large_digits(self.number, look)[0]) for look in ("braille", "ascii"))
        head = width_of(self.title) + (2 + width_of(self.aside) if self.aside else 0)
        return max(head, number + (1 + width_of(self.unit) if self.unit else 0))


def tiles_that_fit(tiles: Sequence[FigureTile], width: int) -> list[FigureTile]:
    """Return the tiles to show side by side in `width` cells.

    Titles are shortened first. Tiles with `drop` 0, and the last tile left, stay even if they do
    not fit.
    """
    kept = list(tiles)
    if not _fit(kept, width):
        kept = [replace(tile, title=tile.short or tile.title) for tile in kept]
    while len(kept) > 1 and not _fit(kept, width):
        least = max(kept, key=lambda tile: tile.drop)
        if not least.drop:
            break
        place = kept.index(least)
        if least.shortest:
            kept[place] = replace(least, title=least.shortest, shortest="")
        else:
            del kept[place]
    return kept


def _fit(tiles: Sequence[FigureTile], width: int) -> bool:
    """Return whether tiles fit side by side."""
    return sum(tile.width for tile in tiles) + GAP * (len(tiles) - 1) <= width


def tile_lines(
    tiles: Sequence[FigureTile], width: int, symbols: Symbols, wide: int = 0
) -> list[Line]:
    """Return tiles side by side in four rows: the titles, then the digits.

    `wide`: minimum width of a tile, if there is room.
    """
    kept = tiles_that_fit(tiles, width)
    if not kept:
        return []
    rooms = [max(tile.width, wide) for tile in kept]
    if sum(rooms) + GAP * (len(kept) - 1) > width:
        rooms = [tile.width for tile in kept]
    gap = min(WIDEST_GAP, max(1, (width - sum(rooms)) // max(1, len(kept) - 1)))
    rows: list[list[Run]] = [[] for _ in range(ROWS + 1)]
    for place, (tile, room) in enumerate(zip(kept, rooms, strict=True)):
        for row, runs in zip(rows, tile.rows(symbols), strict=True):
            row += [(" " * gap, TEXT)] if place else []
            row += padded(runs, room)
    return [Line.of(*clip(row, width)) for row in rows]

"""Widgets that show styled lines: the base of most panels, and a pane that scrolls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import VerticalScroll
from textual.content import Content
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tui.app.terminal import actions
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    FAINT,
    GOOD,
    HEADING,
    LABEL,
    TEXT,
    TITLE,
    VALUE,
    WARN,
    Line,
    Run,
    width_of,
    width_of_runs,
)

if TYPE_CHECKING:
    from tui.text.heat import Look
    from tui.text.sparkline import Symbols

_COMBINED = re.compile("[\u0300-\u036f\u200d\ufe0f]")
FANCY = "─━│╭╮╰╯–…·µ▲▼▾▴›✓✗●○■↔←→┌┐└┘├┤┬┴┼┿•◆±≤≥‹↑↓"
# a sort order is + or -, as in htop: "hostv" reads like a word
PLAIN = "-=|++++-~.u^v+->+x*o#-<>+++++++++|o*~<><^v"
ASCII: dict[int, int | str] = dict(str.maketrans(FANCY, PLAIN))
ASCII |= {0x2800 + dots: "#" if dots else " " for dots in range(256)}
UPPER, LOWER = 0b00011011, 0b11100100  # dots of a braille character
BLOCK: dict[int, int | str] = dict(str.maketrans("╭╮╰╯╴╶╵╷━┿┄✓✗›‹▾▴", "┌┐└┘──││═╪-√x»«▼▲"))
BLOCK |= {0x2800 + dots: " ▀▄█"[bool(dots & UPPER) + 2 * bool(dots & LOWER)] for dots in range(256)}
LACKING: dict[str, dict[int, int | str]] = {"ascii": ASCII, "block": BLOCK}
"""Replacements for characters that the terminal cannot show, by symbol set.

Fonts of the Linux console have no braille.
"""
# of the same width; character by character, they would become " ~ ", " < "
SPACED = {" ± ": " +-", " … ": "...", " ≤ ": " <="}
# ± becomes +-, in the place of a blank beside it
WITHIN = (re.compile(r"±(\d[\d.]*) (?=\S)"), re.compile(r" ±(?=\d)()"))


def lacking(app: object) -> dict[int, int | str]:
    """Return the replacements for characters that the app's terminal cannot show."""
    return LACKING.get(getattr(getattr(app, "symbols", None), "name", ""), {})


def shown_as(text: str, table: Mapping[int, int | str]) -> str:
    """Return a text with characters replaced by `table`; its width stays the same.

    `table`: what `lacking` returns.
    """
    if table is ASCII:
        for spaced, plain in SPACED.items():
            text = text.replace(spaced, plain)
        for pattern in WITHIN if "±" in text else ():
            text = pattern.sub(r"+-\1", text)
    return text.translate(table)


def changed_span(old: Line, new: Line) -> tuple[int, int] | None:
    """Return the columns [start, end) in which two lines differ; None if they are equal."""
    if old == new:
        return None
    if old.fill != new.fill:
        return 0, 10_000
    head, tail = alike(old.runs, new.runs)
    first, rest = width_of_runs(old.runs[:head]), width_of_runs(old.runs[len(old.runs) - tail :])
    before, after = (cells(Line(each.runs[head : len(each.runs) - tail])) for each in (old, new))
    end, shorter = max(len(before), len(after)), min(len(before), len(after))
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), shorter
    )
    if len(before) != len(after):
        end += rest
    else:
        while end > start and before[end - 1] == after[end - 1]:
            end -= 1
    return (first + start, first + end) if end > start else None


def alike(old: Sequence[Run], new: Sequence[Run]) -> tuple[int, int]:
    """Return how many runs are equal at the start, and how many at the end.

    Most changes of a line are in its middle.
    """
    most = min(len(old), len(new))
    head = next((place for place in range(most) if old[place] != new[place]), most)
    # a combining character belongs to the cell before
    if any(runs[head:] and _COMBINED.match(runs[head][0]) for runs in (old, new)):
        head = 0
    left = most - head
    return head, next((place for place in range(left) if old[-1 - place] != new[-1 - place]), left)


def cells(line: Line) -> list[tuple[str, str]]:
    """Return (character, role) of every cell; the two halves of a wide character differ.

    Combining characters belong to the cell before.
    """
    found: list[tuple[str, str]] = []
    for text, role in line.runs:
        if width_of(text) == len(text) and text.isprintable() and not _COMBINED.search(text):
            found += [(character, role) for character in text]
            continue
        for start, end, taken in split_graphemes(text)[0]:
            mark = text[start:end]
            if taken:
                found += [(mark if not part else f"{mark} {part}", role) for part in range(taken)]
            elif found:
                found[-1] = (found[-1][0] + mark, found[-1][1])
    return found


class Lines(Widget):
    """A widget that shows lines.

    Derive, return the lines from `build`, and call `update_lines` after a change of the data.
    """

    DEFAULT_CSS = """
    Lines {
        .lines--text { color: $foreground; }
        .lines--value { color: $bright; text-style: bold; }
        .lines--label { color: $dim; }
        .lines--faint { color: $edge; }
        .lines--title { color: $bright; text-style: bold; }
        .lines--bright { color: $bright; }
        .lines--heading { color: $secondary; text-style: bold; }
        .lines--thumb { color: $scrollbar; }
        .lines--accent { color: $accent; text-style: bold; }
        .lines--read { color: $series-1; }
        .lines--write { color: $series-2; }
        .lines--latency { color: $series-3; }
        .lines--other { color: $series-4; }
        .lines--good { color: $ok; }
        .lines--warn { color: $warn; }
        .lines--bad { color: $bad; }
        .lines--cursor { color: $block-cursor-foreground; background: $cursor-row; }
        .lines--cursor-blurred {
            background: $cursor-row-blurred; text-style: $cursor-row-blurred-style;
        }
        .lines--badge { color: $accent; text-style: bold reverse; }
        .lines--badge-good { color: $ok; text-style: bold reverse; }
        .lines--badge-warn { color: $warn; text-style: bold reverse; }
        .lines--badge-bad { color: $bad; text-style: bold reverse; }
    }
    """
    ROLES: ClassVar[frozenset[str]] = frozenset(re.findall(r"\.(lines--[a-z-]+)", DEFAULT_CSS))

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.painted: list[Line] = []
        self._styles_by_key: dict[tuple[str, str], Style] = {}

    def get_component_styles(self, *names: str) -> RenderStyles:
        """Return the styles of roles, each created when first used.

        COMPONENT_CLASSES would create all of them for each widget.
        """
        for name in names:
            if name in self.ROLES and name not in self._component_styles:
                role = DOMNode(classes=name)
                role._attach(self)
                self.app.stylesheet.apply(role)
                self._component_styles[name] = role.styles
        return super().get_component_styles(*names)

    def look_of(self, role: str, symbols: Symbols) -> Look:
        """Return how levels of a role are drawn: colours, shades if colours cannot be blended, or
        ASCII.
        """
        if symbols == "ascii":
            return "ascii"
        palette = self.get_component_styles(f"lines--{role}").color.ansi is not None
        return "shade" if palette or self.app.no_color else "solid"

    def build(self, width: int, height: int) -> list[Line]:
        """Return the lines for this size.

        Must not change the widget.
        """
        raise NotImplementedError

    def update_lines(self) -> None:
        """Build the lines again, and repaint what differs."""
        if not self.size:
            return
        old, self.painted = self.painted, self.build(*self.size)[: self.size.height]
        blank = Line()
        for y in range(max(len(old), len(self.painted))):
            before = old[y] if y < len(old) else blank
            after = self.painted[y] if y < len(self.painted) else blank
            if span := changed_span(before, after):
                self.damage(y, *span)

    def damage(self, y: int, start: int, end: int) -> None:
        """Request that columns [start, end) of row `y` are painted again."""
        width = min(end, self.size.width) - start
        if 0 <= y < self.size.height and width > 0:
            self.refresh(Region(start, y, width, 1))  # Textual adds border and padding itself

    def on_resize(self) -> None:
        """Build the lines for the new size."""
        self.resized()
        self.painted = self.build(*self.size) if self.size else []
        self.refresh()

    def resized(self) -> None:
        """Prepare for a new size, before lines are built; does nothing unless overridden."""

    def notify_style_update(self) -> None:
        """Drop the styles of the previous theme."""
        self._styles_by_key.clear()
        self._component_styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Return one row as a strip of the widget's width."""
        line = self.painted[y] if y < len(self.painted) else Line()
        runs = merged(line.runs)
        if table := lacking(self.app):
            runs = ((shown_as(text, table), key) for text, key in runs)
        segments = [Segment(text, self.style_of(key, line.fill)) for text, key in runs]
        strip = Strip(segments, line.width)
        return strip.adjust_cell_length(self.size.width, self.style_of(TEXT, line.fill))

    def style_of(self, key: str, fill: str = "") -> Style:
        """Return the style of a role on a background."""
        style = self._styles_by_key.get((key, fill))
        if style is None:
            style = self._styles_by_key[key, fill] = self._make_style(key, fill)
        return style

    def _make_style(self, key: str, fill: str) -> Style:
        name, _, ground = key.partition("/")
        style = self._plain_style(name.removesuffix("~"), fill)
        base = ground.partition("*")[0]
        if (
            "*" in ground
            and base != name
            and self.get_component_styles(f"lines--{base}").color.ansi is not None
        ):
            # a colour of the terminal's own palette cannot be weakened: figures would be unreadable
            return style
        if ground:
            return style + Style(bgcolor=self._plain_style(ground, fill).color)
        return style + Style(reverse=True) if name.endswith("~") else style

    def _plain_style(self, key: str, fill: str) -> Style:
        name, _, strength = key.partition("*")
        styles = self.get_component_styles(f"lines--{name}")
        style = self.get_component_rich_style(f"lines--{name}")
        if fill:
            ground_style = self.get_component_rich_style(f"lines--{fill}")
            style = style + Style(bgcolor=ground_style.bgcolor, underline=ground_style.underline)
            # palette colours vanish there
            if fill == "cursor" and (styles.color.ansi is not None or name == TEXT):
                return style + Style(color=ground_style.color)
        if not strength:
            return style
        if styles.color.ansi is not None:  # a colour of the terminal's own palette cannot be mixed
            return style + Style(dim=int(strength) < 60)
        ground = (
            Color.from_rich_color(style.bgcolor) if style.bgcolor else self.background_colors[1]
        )
        return style + Style(color=ground.blend(styles.color, int(strength) / 100).rich_color)


def merged(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield runs with neighbours of one style joined, to need fewer escape sequences."""
    if not runs:
        return
    pending, key = runs[0]
    for _, (text, next_key) in pairwise(runs):
        if next_key == key or not (text.strip() or has_ground(key) or has_ground(next_key)):
            pending += text  # blanks show no foreground: they need no style of their own
        else:
            yield pending, key
            pending, key = text, next_key
    yield pending, key


def has_ground(key: str) -> bool:
    """Return whether a style is visible on a blank."""
    return key.startswith("badge") or "~" in key or "/" in key


Unit = Literal["row", "page", "end"]
"""The unit that a key of the scope "list" moves by."""
Builder = Callable[[int], Sequence[Line]]
"""Returns lines for a width."""
STYLES = {
    LABEL: "$dim",
    FAINT: "$edge",
    BRIGHT: "$bright",
    VALUE: "bold $bright",
    TITLE: "bold $bright",
}
# of charts
STYLES |= {"read": "$series-1", "write": "$series-2", "latency": "$series-3", "other": "$series-4"}
STYLES |= {
    HEADING: "bold $secondary",
    ACCENT: "bold $accent",
    GOOD: "$ok",
    WARN: "$warn",
    BAD: "$bad",
}


class TextPane(VerticalScroll, can_focus=True):
    """A scrolling pane with lines built for its width, so that values wrap beside labels."""

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = (
        "TextPane { padding: 0 0 0 1; & > Static { width: 1fr; height: auto; padding-right: 1; } }"
    )

    def __init__(self, id: str | None = None, *, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, classes="pane", can_focus=can_focus)
        self.builder: Builder = lambda _: ()
        self.more = ""  # the subtitle while not all lines fit: how to scroll
        self.fills = False  # the text depends on the height too, as charts do
        self._built_for = self._built_height = -1
        self._built: Sequence[Line] | None = None

    def compose(self) -> ComposeResult:
        """Yield the widget with the text."""
        yield Static()

    def on_mount(self) -> None:
        """Build the lines again when a scroll bar changes the width.

        Textual sends no resize event for that.
        """
        self.watch(self, "show_vertical_scrollbar", self._build_soon, init=False)

    def show(self, builder: Builder) -> None:
        """Show another text, at the same scroll position if possible."""
        self.builder = builder
        self._built_for = -1
        self._build()

    def on_resize(self) -> None:
        """Build the lines for the new width."""
        if self.fills and self.size.height != self._built_height:
            self._built_for, self._built_height = -1, self.size.height
        if self._built is None:
            self._build()
        else:
            # Textual keeps the height of a text that changes while it is laid out
            self.call_after_refresh(self._build)

    def _build_soon(self) -> None:
        self._show_scroll_keys()
        self.call_after_refresh(self._build)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show how to return to the list while the pane has the focus."""
        super().watch_has_focus(has_focus)
        self._show_scroll_keys()

    def _show_scroll_keys(self) -> None:
        if self.more:
            scrolls, back = self.show_vertical_scrollbar, "Tab back"
            how = f"j k scroll   {back}" if self.has_focus else self.more
            entitle(self, subtitle=how if scrolls else back if self.has_focus else "")

    def _build(self) -> None:
        width = self.scrollable_content_region.width - 1
        if self.is_mounted and width > 0 and width != self._built_for:
            self._built_for, before, self._built = width, self._built, list(self.builder(width))
            # a comparison is cheaper than a layout
            if self._built != before:
                palette = self.app.current_theme.ansi
                self.query_one(Static).update(
                    content_of(self._built, lacking(self.app), palette=palette)
                )

    def action_move(self, unit: Unit, direction: int) -> None:
        """Scroll by a row, by half a page, or to an end."""
        if unit == "end":
            (self.scroll_home if direction < 0 else self.scroll_end)(animate=False)
        else:
            rows = max(self.size.height // 2, 1) if unit == "page" else 1
            self.scroll_relative(y=direction * rows, animate=False)


def show_text(shown: Static, text: Content) -> None:
    """Show a text unless it is shown already.

    Comparing is faster than a new layout.
    """
    before = shown.visual
    if not (isinstance(before, Content) and before.is_same(text)):
        shown.update(text)


def entitle(pane: Widget, title: str | None = None, subtitle: str | None = None) -> None:
    """Set the title and subtitle of a pane, if they differ."""
    if title is not None and pane.border_title != title:
        pane.border_title = title
    if subtitle is not None and pane.border_subtitle != subtitle:
        pane.border_subtitle = subtitle


def key_line(*pairs: tuple[str, str]) -> Content:
    """Return keys with their labels for the border of a dialog, the keys as in the footer."""
    made = [Content.assemble((key, "bold $accent"), f" {label}") for key, label in pairs]
    return Content("   ").join(made)


def style_of(role: str, *, palette: bool) -> str:
    """Return Textual's style for a role.

    Colours of the terminal's own `palette` cannot be dimmed by a percentage.
    """
    name, _, strength = role.partition("*")
    style = STYLES.get(name, "")
    return f"{style} {strength}%" if style and strength and not palette else style


def content_of(
    lines: Iterable[Line], table: Mapping[int, int | str], *, palette: bool = False
) -> Content:
    """Return lines as Textual content, which the mouse can select.

    `table`: what `lacking` returns.
    """
    shown = (
        [(shown_as(text, table), style_of(role, palette=palette)) for text, role in line.runs]
        for line in lines
    )
    made = [Content.assemble(*runs) for runs in shown]
    return Content("\n").join(made)

"""The two lines around every screen: the steps and what is chosen above, the keys below."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar, cast

from textual.content import Content
from textual.scrollbar import ScrollBarRender
from textual.style import Style
from textual.widget import Widget

from tui.app.frame.shell import Shell
from tui.app.keys import actions
from tui.app.keys.screens import IN_BAR, Entry
from tui.app.widgets.lines import ASCII

SUPERSCRIPTS = str.maketrans("123456", "¹²³⁴⁵⁶")
ROOMY = 108  # columns from which the steps are spelled with arrows
KEYS_AT_80, KEYS_WHEN_ROOMY, KEYS_WHEN_BROAD = 7, 10, 14
BROAD = 160  # columns from which the footer has more keys


KEYS = {name: key for key, name in actions.KEY_NAMES.items()} | {"←": "left", "→": "right"}


def key_of(name: str) -> str:
    """Return Textual's name of a key that people read as `name`; empty when it is none, or several."""
    if name in KEYS or (len(name) == 1 and name.isalnum()):
        return KEYS.get(name, name)
    return name.lower() if re.fullmatch(r"F\d+|(Ctrl|Shift)\+\w+", name) else ""


def click(action: str) -> Style:
    """Return the style that makes text run a Textual action when it is clicked."""
    return Style.from_meta({"@click": action})


class PlainScrollBar(ScrollBarRender):
    """A scroll bar of whole cells: no glyphs that a font, or ASCII, may lack."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Bar(Widget):
    """One line of the chrome."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope
        self.auto_links = False  # clickable, without the look of a link

    @property
    def shell(self) -> Shell:
        """The app, with its own type."""
        return cast("Shell", self.app)


class TopBar(Bar):
    """Product name, the steps with the current one accented, and what is chosen at the right."""

    DEFAULT_CSS = "TopBar { dock: top; background: $surface; color: $dim; }"

    def render(self) -> Content:
        """Fit the steps, then as much of the choice as there is room for."""
        width = self.size.width
        left = self.steps(width)
        right = self.shell.choice_text(max(width - left.cell_length - 2, 0))  # two blanks part it from the steps
        gap = max(width - left.cell_length - Content(right).cell_length, 1)
        return Content.assemble(left, " " * gap, (right, "$foreground")).truncate(width, ellipsis=True)

    def steps(self, width: int) -> Content:
        """Return the product name and the numbered steps."""
        roomy = width >= ROOMY
        link = f" {self.shell.symbols.arrow} " if roomy else " "
        flow = Content(link).join([self.step(entry, roomy) for entry in IN_BAR if not entry.aside])
        space = "   " if roomy else " "
        aside = Content(" ").join([self.step(entry, roomy) for entry in IN_BAR if entry.aside])
        return Content.assemble(("benchtui", "bold $bright"), space, flow, space, aside)

    def step(self, entry: Entry, roomy: bool) -> Content:
        """Return one step: bright and accented when it is this one, faint when there is nothing to show yet."""
        superscript = self.shell.symbols.superscript
        number = f"{entry.key} " if roomy else entry.key.translate(SUPERSCRIPTS) if superscript else entry.key
        here = entry.name == self.scope
        style = "bold $accent" if here else "$foreground" if self.shell.can_go(entry.name) else "$dim"
        number_style = "bold $accent" if here else "$dim"
        return Content.assemble((number, number_style), (entry.title, style)).stylize(click(f"app.go('{entry.name}')"))


class KeyBar(Bar):
    """The keys that matter here: as many as fit, `?` and `q` always."""

    DEFAULT_CSS = "KeyBar { dock: bottom; background: $surface; color: $dim; }"

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.hint: tuple[tuple[str, str], ...] = ()
        self.without: frozenset[str] = frozenset()

    def leave_out(self, *ids: str) -> None:
        """Give the room of these actions to others: they have no use now."""
        if self.without != frozenset(ids):
            self.without = frozenset(ids)
            self.refresh()

    def show_hint(self, *pairs: tuple[str, str]) -> None:
        """Show these (key, label) pairs instead of the registry's, while a field has the focus; none to end it."""
        if self.hint != pairs:
            self.hint = pairs
            self.refresh()

    def render(self) -> Content:
        """Keys in the accent colour, labels beside them."""
        if self.hint:
            table = ASCII if self.shell.symbols.name == "ascii" else {}
            return Content("  ").join([hint_content(key, label, table) for key, label in self.hint])
        chosen = fitting(footer_actions(self.scope, self.without, self.size.width), self.size.width)
        return Content("  ").join(
            [key_content(actions.key_name(a.keys[0]), a.label).stylize(click(a.target)) for a in chosen]
        )


def footer_actions(scope: str, without: Collection[str] = (), width: int = 80) -> list[actions.Action]:
    """Return a screen's footer actions but for those `without`: no more than somebody reads at a glance."""
    most = KEYS_AT_80 if width < ROOMY else KEYS_WHEN_ROOMY if width < BROAD else KEYS_WHEN_BROAD
    found = [action for action in actions.footer_of(scope) if action.id not in without]
    always = [action for action in found if action.scope == "app"]
    return [action for action in found if action.scope != "app"][: most - len(always)] + always


def fitting(wanted: list[actions.Action], width: int) -> list[actions.Action]:
    """Drop the least important of a screen's own actions until the line fits in `width` columns."""
    while wanted and footer_width(wanted) > width:
        own = [action for action in wanted if action.scope != "app"] or wanted
        wanted = [action for action in wanted if action is not own[-1]]
    return wanted


def footer_width(shown: list[actions.Action]) -> int:
    """Return the columns that these actions take in the footer."""
    return sum(len(actions.key_name(a.keys[0])) + 1 + len(a.label) for a in shown) + 2 * max(len(shown) - 1, 0)


def hint_content(key: str, label: str, table: Mapping[int, int | str]) -> Content:
    """Return a key with its label, which pressed by a click do the same; of several keys each by itself."""
    parts = [key] if key_of(key) else re.findall(r"[A-Za-z]+|.", key)
    if all(part in KEYS for part in parts if part != " ") and len(parts) > 1:
        made = [Content.styled(part.translate(table), "bold $accent").stylize(pressing(part)) for part in parts]
        return Content.assemble(*made, " ", (label, "$foreground"))
    found = key_content(key.translate(table), label)
    return found.stylize(pressing(key)) if key_of(key) else found


def pressing(key: str) -> Style:
    """Return the style that makes a click do what a key does, wherever the focus is."""
    return click(f"app.simulate_key('{key_of(key)}')") if key_of(key) else Style()


def key_content(key: str, label: str) -> Content:
    """Return one key with its label."""
    return Content.assemble((key, "bold $accent"), " ", (label, "$foreground"))

"""The base of every screen: top bar, footer, notices; lists with a filter."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from msgspec.structs import replace
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.scrollbar import ScrollBarRender
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from tui.app.frame.shell import AppShell
from tui.app.terminal import actions
from tui.app.terminal.action import KEY_NAMES, Action, ScreenEntry, key_name
from tui.app.terminal.actions import BY_NAME, IN_BAR
from tui.app.terminal.driver import TightCompositor
from tui.app.terminal.leaving import CalmScreen
from tui.app.widgets.form import TextInput
from tui.app.widgets.lines import ASCII, TextPane
from tui.app.widgets.picklist import PickList

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")
SUPERSCRIPTS = str.maketrans("123456", "¹²³⁴⁵⁶")
ROOMY = 108  # columns from which steps are joined by arrows
KEYS_AT_80, KEYS_WHEN_ROOMY, KEYS_WHEN_BROAD = 7, 10, 14
BROAD = 160  # columns from which the footer has more keys


KEYS = {name: key for key, name in KEY_NAMES.items()} | {"←": "left", "→": "right"}


def key_of(name: str) -> str:
    """Return Textual's name for a displayed key.

    Empty if `name` is not exactly one key.
    """
    if name in KEYS or (len(name) == 1 and name.isalnum()):
        return KEYS.get(name, name)
    return name.lower() if re.fullmatch(r"F\d+|(Ctrl|Shift)\+\w+", name) else ""


def click(action: str) -> Style:
    """Return the style of a text that runs a Textual action on a click."""
    return Style.from_meta({"@click": action})


class PlainScrollBar(ScrollBarRender):
    """A scroll bar of whole cells, without glyphs that fonts may not have."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Bar(Widget):
    """The base of the top bar and the footer."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope
        self.auto_links = False  # clickable, without the look of a link

    @property
    def shell(self) -> AppShell:
        """The app as an `AppShell`."""
        return cast("AppShell", self.app)


class TopBar(Bar):
    """The product name, the steps with the current one highlighted, and the selection."""

    DEFAULT_CSS = "TopBar { dock: top; background: $surface; color: $dim; }"

    def render(self) -> Content:
        """Return the steps, and as much of the selection as fits."""
        width = self.size.width
        left = self.steps(width)
        # two blanks separate it from the steps
        right = self.shell.choice_text(max(width - left.cell_length - 2, 0))
        gap = max(width - left.cell_length - right.cell_length, 1)
        return Content.assemble(left, " " * gap, right.stylize_before("$foreground")).truncate(
            width, ellipsis=True
        )

    def steps(self, width: int) -> Content:
        """Return the product name and the numbered steps."""
        roomy = width >= ROOMY
        link = f" {self.shell.symbols.arrow} " if roomy else " "
        flow = Content(link).join([self.step(entry, roomy) for entry in IN_BAR if not entry.aside])
        space = "   " if roomy else " "
        aside = Content(" ").join([self.step(entry, roomy) for entry in IN_BAR if entry.aside])
        return Content.assemble(("benchtui", "bold $bright"), space, flow, space, aside)

    def step(self, entry: ScreenEntry, roomy: bool) -> Content:
        """Return one step: highlighted if current, dim if it has nothing to show yet."""
        superscript = self.shell.symbols.superscript
        number = (
            f"{entry.key} "
            if roomy
            else entry.key.translate(SUPERSCRIPTS)
            if superscript
            else entry.key
        )
        here = entry.name == self.scope
        style = (
            "bold $accent" if here else "$foreground" if self.shell.can_go(entry.name) else "$dim"
        )
        number_style = "bold $accent" if here else "$dim"
        return Content.assemble((number, number_style), (entry.title, style)).stylize(
            click(f"app.go('{entry.name}')")
        )


class KeyBar(Bar):
    """The footer: the most important keys of the screen that fit, always with `?` and `q`."""

    DEFAULT_CSS = "KeyBar { dock: bottom; background: $surface; color: $dim; }"

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.hint: tuple[tuple[str, str], ...] = ()
        self.without: frozenset[str] = frozenset()
        self.labels: Mapping[str, str] = {}

    def leave_out(self, *ids: str) -> None:
        """Hide actions that do not apply now."""
        if self.without != frozenset(ids):
            self.without = frozenset(ids)
            self.refresh()

    def relabel(self, labels: Mapping[str, str]) -> None:
        """Replace the labels of actions that now lead somewhere else; `labels` is by action id."""
        if self.labels != labels:
            self.labels = labels
            self.refresh()

    def show_hint(self, *pairs: tuple[str, str]) -> None:
        """Show (key, label) pairs in place of the registry's keys.

        Without pairs, show the registry's keys again.
        """
        if self.hint != pairs:
            self.hint = pairs
            self.refresh()

    def render(self) -> Content:
        """Return the keys in the accent colour, with their labels."""
        if self.hint:
            table = ASCII if self.shell.symbols.name == "ascii" else {}
            return Content("  ").join([hint_content(key, label, table) for key, label in self.hint])
        wanted = footer_actions(self.scope, self.without, self.size.width)
        named = [replace(each, label=self.labels.get(each.id, each.label)) for each in wanted]
        chosen = fitting(named, self.size.width)
        return Content("  ").join(
            [key_content(key_name(a.keys[0]), a.label).stylize(click(a.target)) for a in chosen]
        )


def footer_actions(scope: str, without: Collection[str] = (), width: int = 80) -> list[Action]:
    """Return the footer actions of a screen, fewer on a narrow one, with the way back from a screen
    that has no number.

    The actions in `without` are left out.
    """
    most = KEYS_AT_80 if width < ROOMY else KEYS_WHEN_ROOMY if width < BROAD else KEYS_WHEN_BROAD
    found = [action for action in actions.footer_of(scope) if action.id not in without]
    always = [action for action in found if action.scope == "app"]
    entry = actions.BY_NAME.get(scope)
    if entry is not None and entry.part_of:
        back = next(action for action in actions.in_scope("app") if action.id == "app.back")
        always = [replace(back, label=entry.back), *always]
    return [action for action in found if action.scope != "app"][: most - len(always)] + always


def fitting(wanted: list[Action], width: int) -> list[Action]:
    """Return the actions that fit into `width` columns.

    The screen's least important actions are dropped first.
    """
    while wanted and footer_width(wanted) > width:
        own = [action for action in wanted if action.scope != "app"] or wanted
        wanted = [action for action in wanted if action is not own[-1]]
    return wanted


def footer_width(shown: list[Action]) -> int:
    """Return the columns that these actions take in the footer."""
    return sum(len(key_name(a.keys[0])) + 1 + len(a.label) for a in shown) + 2 * max(
        len(shown) - 1, 0
    )


def hint_content(key: str, label: str, table: Mapping[int, int | str]) -> Content:
    """Return a key with its label; a click presses the key.

    If there are several keys, each can be clicked. `table` replaces characters.
    """
    parts = [key] if key_of(key) else re.findall(r"[A-Za-z]+|.", key)
    if all(part in KEYS for part in parts if part != " ") and len(parts) > 1:
        made = [
            Content.styled(part.translate(table), "bold $accent").stylize(pressing(part))
            for part in parts
        ]
        return Content.assemble(*made, " ", (label, "$foreground"))
    found = key_content(key.translate(table), label)
    return found.stylize(pressing(key)) if key_of(key) else found


def pressing(key: str) -> Style:
    """Return a style that makes a click on its text press `key`."""
    return click(f"app.simulate_key('{key_of(key)}')") if key_of(key) else Style()


def key_content(key: str, label: str) -> Content:
    """Return one key with its label."""
    return Content.assemble((key, "bold $accent"), " ", (label, "$foreground"))


Leave = Callable[[], Awaitable[None] | None]
"""A function to call once there is no unsaved input."""


class StepScreen(CalmScreen, Screen[None]):
    """A screen. Derive, set `SCOPE`, and yield the widgets of the body from `compose_body`.

    Bindings, footer and help come from the registry by `SCOPE`. `action_back` shows the screen
    `back`; override it if Escape must first leave a part of this screen, such as a filter or field.
    """

    SCOPE: ClassVar[str] = ""
    AUTO_FOCUS = ""  # each screen sets the focus itself, once it has its rows

    def __init__(self) -> None:
        super().__init__()
        self._compositor = TightCompositor()
        self.was_shown = False

    def __init_subclass__(cls, **options: Any) -> None:
        own = actions.bindings(cls.SCOPE) if cls.SCOPE else []
        cls.BINDINGS = [Binding("escape", "back", show=False), *own]
        super().__init_subclass__(**options)

    @property
    def shell(self) -> AppShell:
        """The app as an `AppShell`."""
        return cast("AppShell", self.app)

    def compose(self) -> ComposeResult:
        """Yield top bar, body and footer."""
        self.set_width_class()
        yield TopBar(BY_NAME[self.SCOPE].part_of or self.SCOPE)
        yield from self.compose_body()
        yield KeyBar(self.SCOPE)

    def set_width_class(self) -> None:
        """Set the width class before Textual's first resize, which would restyle everything."""
        width = self.app.size.width
        fitting = [name for least, name in self.app.HORIZONTAL_BREAKPOINTS or () if least <= width]
        self.add_class(*fitting[-1:], update=False)

    def compose_body(self) -> Iterable[Widget]:
        """Yield the widgets between top bar and footer."""
        return ()

    @property
    def back(self) -> str:
        """Name of the screen that Escape leads to."""
        return BY_NAME[self.SCOPE].back

    @property
    def unsaved(self) -> str:
        """Name of the input that is not saved; empty if there is none."""
        return ""

    @property
    def run_at_hand(self) -> Path | None:
        """Directory of the run that this screen is about; None without one."""
        return None

    def hand_over(self, take: Callable[..., None], *found: object) -> None:
        """Call `take` on the event loop with the result of this thread.

        The result is dropped if a newer worker has replaced the thread.
        """
        worker = get_current_worker()

        def newest() -> None:
            if not worker.is_cancelled:
                take(*found)

        self.app.call_from_thread(newest)

    def in_thread(self, work: Callable[[], T], then: Callable[[T], object], group: str) -> None:
        """Run `work` in a thread, then `then` with its result on the event loop.

        A newer call of the same group replaces an older one. Textual's own worker threads would
        keep a reference to their last work, and so to an ended screen with all its data.
        """
        # a coroutine made here would never be awaited if the worker is cancelled before it runs
        later = partial(self._aside, work, then)
        self.run_worker(
            later,  # type: ignore[arg-type]  # matches two types of the union
            exclusive=True,
            group=group,
            description=group,
            exit_on_error=False,
        )

    async def _aside(self, work: Callable[[], T], then: Callable[[T], object]) -> None:
        self.call_later(then, await asyncio.to_thread(work))  # not in the context of this worker

    def arrive(self, at: str) -> None:
        """Move to the place `at`, which another screen asked for; the base class has no places."""

    def show_notice(self, about: str, text: str) -> bool:  # noqa: ARG002
        """Show a permanent notice; an empty text removes it.

        `about` identifies the notice. Returns False if the screen has no place for it.
        """
        return False

    def ask_to_save(self, then: Leave) -> None:
        """Ask what to do with unsaved input, then call `then`.

        The base class has no input and calls `then` at once.
        """
        self.call_later(then)

    def notify(self, message: str, **options: Any) -> None:
        """Show a toast, without interpreting markup in host, tool and file names."""
        super().notify(message, **{"markup": False, **options})

    def refresh_chrome(self) -> None:
        """Redraw top bar and footer."""
        for bar in (*self.query(TopBar), *self.query(KeyBar)):
            bar.refresh()

    def _update_focus_styles(
        self, focused: Widget | None = None, blurred: Widget | None = None
    ) -> None:
        """Restyle the widgets that lost and got the focus, and their parents.

        Textual would restyle all their children too.
        """
        come, left = (
            set(each.ancestors_with_self) if each is not None else set()
            for each in (focused, blurred)
        )
        self.app.stylesheet.update_nodes(
            [node for node in come ^ left if node._has_focus_within], animate=True
        )

    async def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Redraw the bars, because the selection may have changed.

        At the first display the screen is already styled.
        """
        if not self.was_shown:
            self.was_shown = True
            event.refresh_styles = False
            # the screen itself came before its own style sheet
            self.app.stylesheet.update_nodes([self])
        self.refresh_chrome()

    def action_back(self) -> None:
        """Show the screen that Escape leads to."""
        self.shell.go_back()


class Bottom(CalmScreen, Screen[None]):
    """The empty screen at the bottom of the stack, which Textual requires.

    It is never visible and causes no painting.
    """

    HORIZONTAL_BREAKPOINTS = []  # noqa: RUF012  (Textual declares it so)

    def _extend_compose(self, widgets: list[Widget]) -> None:
        """Do nothing: toasts and tooltips belong to the screen above."""

    def _compositor_refresh(self) -> None:
        """Do nothing: Textual would repaint the screen above."""

    def _screen_resized(self, size: Size) -> None:
        """Do nothing: there is no layout."""

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Do nothing: there is nothing to style or to focus."""
        event.prevent_default()


FILTER_KEYS = (
    ("Enter", "done"),
    ("Esc", "clear"),
    ("Up Down", "choose"),
    ("F1", "help"),
    ("Ctrl+C", "quit"),
)


class FilteredScreen(StepScreen):
    """A screen with a list and a filter.

    Derive, yield a `PickList` and a `TextInput` of class "filter", and fill the list in
    `show_rows`.
    """

    @property
    def picklist(self) -> PickList[Any]:
        """The list that is filtered."""
        return self.query_one(PickList)

    @property
    def filter(self) -> TextInput:
        """The input for the filter."""
        return self.query_one(".filter", TextInput)

    def show_rows(self) -> None:
        """Show the rows that match the filter."""
        raise NotImplementedError

    def action_filter(self) -> None:
        """Open the filter with its text selected, so that typing replaces it."""
        self.filter.add_class("-shown")
        self.set_focus(self.filter)
        self.filter.select_all()

    def on_descendant_focus(self) -> None:
        """Show the filter's keys in the footer while the filter has the focus."""
        if self.filter.has_focus:
            self.query_one(KeyBar).show_hint(*FILTER_KEYS)
        else:
            self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the screen in the footer."""
        self.query_one(KeyBar).show_hint()

    def on_key(self, event: events.Key) -> None:
        """Move the cursor of the list with the arrow keys while the filter has the focus."""
        if self.filter.has_focus and event.key in ("down", "up"):
            event.stop()
            self.picklist.move(1 if event.key == "down" else -1)

    @on(Input.Changed, ".filter")
    def filter_typed(self) -> None:
        """Filter the list while typing.

        Textual calls decorated methods directly and ignores overrides, so this one only calls
        `filter_changed`.
        """
        self.filter_changed()

    def filter_changed(self) -> None:
        """Show the rows that match the filter."""
        self.show_rows()

    @on(Input.Submitted, ".filter")
    def filter_done(self) -> None:
        """Keep the filter and return to the list."""
        self.set_focus(self.picklist)
        self.filter.set_class(bool(self.filter.value), "-shown")

    def clear_filter(self) -> None:
        """Clear and hide the filter."""
        self.filter.value = ""
        self.filter.remove_class("-shown")

    def action_sort(self) -> None:
        """Sort by the next column; after the last column restore the given order."""
        self.picklist.sort_by_next()

    def action_reverse(self) -> None:
        """Reverse the list order."""
        self.picklist.sort_by_next(reverse=True)

    def go_to(self, key: str) -> None:
        """Put the cursor on the row with this key; clear a filter that hides it."""
        if key not in map(self.picklist.key_of, self.picklist.rows):
            self.clear_filter()
            self.show_rows()
        self.picklist.move_to(key)

    def action_back(self) -> None:
        """Leave the text pane, or clear the filter, or show the screen that Escape leads to."""
        if isinstance(self.focused, TextPane):
            self.set_focus(self.picklist)
        elif self.filter.has_class("-shown"):
            self.clear_filter()
            self.set_focus(self.picklist)
        else:
            super().action_back()


class StepScreens:
    """The screens that exist, by name; a screen keeps its state while another is shown."""

    def __init__(self, app: App[Any], make: Callable[[str], StepScreen]) -> None:
        self.app = app
        self.make = make
        self.made: dict[str, StepScreen] = {}
        self._replaced: list[StepScreen] = []  # may still be displayed

    def keep(self, name: str, screen: StepScreen) -> None:
        """Keep a screen under a name.

        The screen that it replaces ends once it is no longer displayed.
        """
        if name in self.made:
            self._replaced.append(self.made[name])
        self.made[name] = screen
        self.app.install_screen(screen, f"{name} {id(screen)}")

    def drop(self, name: str) -> None:
        """End a screen."""
        if (screen := self.made.pop(name, None)) is not None:
            self._let_go(screen)

    def show(self, name: str) -> None:
        """Show a screen; close dialogs and the too-small notice above it."""
        shown = self.app.screen_stack[1:2]
        if name not in self.made:
            self.keep(name, self.make(name))
        while len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        if len(self.app.screen_stack) == 1:  # only `Bottom`
            self.app.push_screen(self.made[name])
        else:
            self.app.switch_screen(self.made[name])
        while self._replaced:
            self._let_go(self._replaced.pop(), shown)

    def _let_go(self, screen: StepScreen, shown: Sequence[Screen[Any]] = ()) -> None:
        """End a screen, so that its widgets and data can be freed.

        Textual itself ends a screen that was `shown`.
        """
        self.app.uninstall_screen(screen)
        if screen.is_running and screen not in shown:
            screen.remove()

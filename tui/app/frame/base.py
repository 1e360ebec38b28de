"""What every step of the flow shares: the top bar, the body, the footer, the registry's bindings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from tui.app.frame.chrome import KeyBar, TopBar
from tui.app.frame.shell import Shell
from tui.app.keys import actions
from tui.app.keys.screens import BY_NAME
from tui.app.terminal.repaint import TightCompositor
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from textual.widget import Widget


Leave = Callable[[], Awaitable[None] | None]
"""What is done once nothing is unsaved."""


class StepScreen(Screen[None]):
    """A screen of the flow. Derive, set `SCOPE`, yield the body's widgets from `compose_body`.

    Bindings, footer and help come from the registry by `SCOPE`. Override `action_back` to leave something of your
    own first (a filter, a field); the default goes one step back.
    """

    SCOPE: ClassVar[str] = ""
    AUTO_FOCUS = ""  # each screen says itself what has the focus, once its rows are there

    def __init__(self) -> None:
        super().__init__()
        self._compositor = TightCompositor()
        self.was_shown = False

    def __init_subclass__(cls, **options: Any) -> None:
        own = actions.bindings(cls.SCOPE) if cls.SCOPE else []
        cls.BINDINGS = [Binding("escape", "back", show=False), *own]
        super().__init_subclass__(**options)

    @property
    def shell(self) -> Shell:
        """The app, with its own type."""
        return cast("Shell", self.app)

    def compose(self) -> ComposeResult:
        """Top bar, body, footer."""
        self.take_width()
        yield TopBar(BY_NAME[self.SCOPE].part_of or self.SCOPE)
        yield from self.compose_body()
        yield KeyBar(self.SCOPE)

    def take_width(self) -> None:
        """Be narrow or wide from the beginning: Textual says so with the first resize, and styles all anew."""
        width = self.app.size.width
        fitting = [name for least, name in self.app.HORIZONTAL_BREAKPOINTS or () if least <= width]
        self.add_class(*fitting[-1:], update=False)

    def compose_body(self) -> Iterable[Widget]:
        """Yield the widgets between top bar and footer."""
        return ()

    @property
    def back(self) -> str:
        """The screen that Escape leads to."""
        return BY_NAME[self.SCOPE].back

    @property
    def unsaved(self) -> str:
        """What was typed here and would be lost with the screen; empty when that is nothing."""
        return ""

    @property
    def run_at_hand(self) -> Path | None:
        """The run that is looked at here."""
        return None

    def is_ours(self, run_dir: Path, *, hosts: bool = False) -> bool:
        """Return whether a run may be changed, with `hosts` its plan carried out on hosts; say why when not."""
        try:
            store = self.shell.store
            (store.check_hosts_ours if hosts else store.check_ours)(run_dir)
        except UsageError as error:
            self.notify(str(error), severity="warning", markup=False)
            return False
        return True

    def arrive(self, at: str) -> None:
        """Another screen sends the user here, to look at something."""

    def show_notice(self, about: str, text: str) -> bool:  # noqa: ARG002
        """Show a line that stays in sight, none for an empty text; False where there is no place for it."""
        return False

    def ask_to_save(self, then: Leave) -> None:
        """Ask what becomes of what was typed here, then go on; nothing is kept here, so nothing is asked."""
        self.call_later(then)

    def notify(self, message: str, **options: Any) -> None:
        """Tell something in a toast. What hosts, tools and files are called is no markup."""
        super().notify(message, **{"markup": False, **options})

    def refresh_chrome(self) -> None:
        """Show again what is chosen and which keys work."""
        for bar in (*self.query(TopBar), *self.query(KeyBar)):
            bar.refresh()

    async def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Choices may have changed on another screen. What is shown for the first time was just styled as it came."""
        if not self.was_shown:
            self.was_shown = True
            event.refresh_styles = False
            self.app.stylesheet.update_nodes([self])  # the screen itself came before its own style sheet
        self.refresh_chrome()

    def action_back(self) -> None:
        """Go one step back."""
        self.shell.go_back()

"""The command palette: every action of the registry that works here, by name, with its one line of help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from tui.app.keys import actions

HIDDEN = {"app.palette", "app.interrupt", "app.back"}
MOVES = {action.action for action in actions.in_scope("list")} | {"left", "right"}


def commands_of(screen: str) -> list[actions.Action]:
    """Return what the palette offers on a screen: no cursor movement."""
    return [a for a in actions.of_screen(screen) if a.action not in MOVES and a.id not in HIDDEN]


def title_of(action: actions.Action) -> str:
    """Return ``Check  c``: label and key."""
    label = action.label[:1].upper() + action.label[1:]
    return f"{label}  {action.shown_keys}".rstrip()


class Palette(CommandPalette):
    """Textual's palette, in our colours."""

    CSS_PATH = "palette.tcss"


class ActionCommands(Provider):
    """Searches labels and help texts."""

    @property
    def found(self) -> list[actions.Action]:
        """The actions of the screen the palette was opened on."""
        return commands_of(getattr(self.screen, "SCOPE", "app"))

    def runner(self, action: actions.Action) -> Callable[[], Awaitable[bool]]:
        """Return what runs an action where the palette was opened."""
        return partial(self.app.run_action, action.target, default_namespace=self.screen)

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for action in self.found:
            yield DiscoveryHit(title_of(action), self.runner(action), action.label, action.help)

    async def search(self, query: str) -> Hits:
        """What matches, best first."""
        matcher = self.matcher(query)
        for action in self.found:
            title = title_of(action)
            score = max(matcher.match(title), matcher.match(action.help) * 0.9)
            if score > 0:
                yield Hit(score, matcher.highlight(title), self.runner(action), action.label, action.help)

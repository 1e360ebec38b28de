"""The screens of the steps: made on first use, then kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.app import App
from textual.screen import Screen

from tui.app.frame.step_screen import StepScreen


class StepScreens:
    """The screens made so far, by name."""

    def __init__(self, app: App[Any], make: Callable[[str], StepScreen]) -> None:
        self.app = app
        self.make = make
        self.made: dict[str, StepScreen] = {}
        self._replaced: list[StepScreen] = []  # may still be displayed

    def keep(self, name: str, screen: StepScreen) -> None:
        """Keep a step's screen.

        A replaced screen is dropped, if it is displayed once it is left.
        """
        if name in self.made:
            self._replaced.append(self.made[name])
        self.made[name] = screen
        self.app.install_screen(screen, f"{name} {id(screen)}")

    def drop(self, name: str) -> None:
        """Forget a step's screen."""
        if (screen := self.made.pop(name, None)) is not None:
            self._let_go(screen)

    def show(self, name: str) -> None:
        """Show a step; close dialogs and the too-small notice above it."""
        shown = self.app.screen_stack[1:2]
        if name not in self.made:
            self.keep(name, self.make(name))
        while len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        if len(self.app.screen_stack) == 1:  # the other one is at the bottom
            self.app.push_screen(self.made[name])
        else:
            self.app.switch_screen(self.made[name])
        while self._replaced:
            self._let_go(self._replaced.pop(), shown)

    def _let_go(self, screen: StepScreen, shown: Sequence[Screen[Any]] = ()) -> None:
        """End a screen, or its widgets and data stay; Textual itself ends one that was `shown`."""
        self.app.uninstall_screen(screen)
        if screen.is_running and screen not in shown:
            screen.remove()

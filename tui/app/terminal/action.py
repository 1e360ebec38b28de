"""The types of the registry: a screen and an action."""

from __future__ import annotations

from msgspec import Struct

KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "space": "Space",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "comma": ",",
    "full_stop": ".",
    "colon": ":",
    "asterisk": "*",
}


class ScreenEntry(Struct, frozen=True):
    """A screen. Screens with a `key` are steps in the top bar, in list order."""

    name: str  # the scope of its actions
    title: str
    key: str = ""
    help: str = ""
    back: str = "hosts"  # where Escape goes
    part_of: str = ""  # the screen marked in the top bar while this one is shown
    aside: bool = False  # not a step of the flow
    after_choice: bool = False  # needs hosts and a profile
    missing: str = ""  # it shows one run or file: the message while there is none
    lists: bool = True  # list keys work on it


class Action(Struct, frozen=True):
    """An action of the user.

    `call`: the Textual action, by default the last part of the id.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    footer: int = 0
    call: str = ""
    priority: bool = False  # works in fields and dialogs
    # a command on the selected run, from `tui.app.services.run_commands`
    on_run: bool = False

    @property
    def scope(self) -> str:
        """Where the action is available: "app", "list", or the name of a screen."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The name within its scope: ``zoom`` of ``live.zoom``."""
        return self.id.partition(".")[2]

    @property
    def action(self) -> str:
        """The Textual action as a string."""
        if self.on_run:
            return f"app.on_run('{self.name}')"
        return self.call or self.name.replace("-", "_")

    @property
    def target(self) -> str:
        """The Textual action with its namespace: ``screen.check``, ``app.quit``."""
        if "." in self.action.partition("(")[0]:
            return self.action
        return f"{'app' if self.scope == 'app' else 'screen'}.{self.action}"

    @property
    def shown_keys(self) -> str:
        """All keys of the action as displayed: ``j Down``."""
        return " ".join(map(key_name, self.keys))


def key_name(key: str) -> str:
    """Return a Textual key name as displayed: ``Ctrl+P`` for ``ctrl+p``."""
    if key in KEY_NAMES:
        return KEY_NAMES[key]
    if "+" in key:
        return "+".join(part.capitalize() for part in key.split("+"))
    return key.upper() if key.startswith("f") and key[1:].isdigit() else key

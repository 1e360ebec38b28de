"""A screen and an action as the registry declares them."""

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
    """One screen. Those with a `key` stand in the top bar, in the order of the list."""

    name: str  # the scope of its actions
    title: str
    key: str = ""
    help: str = ""
    back: str = "hosts"  # where Escape goes
    part_of: str = ""  # the screen that the top bar marks while this one is shown
    aside: bool = False  # not a step of the flow
    after_choice: bool = False  # has nothing to show before hosts and a profile are chosen
    missing: str = ""  # it shows one run, or one file: what is said while there is none
    lists: bool = True  # the keys of lists work on it


class Action(Struct, frozen=True):
    """One thing a user can do. `call` is the Textual action when it is not the id's last part."""

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    footer: int = 0
    call: str = ""
    priority: bool = False  # works while a field has the focus and on top of dialogs
    # it is a command about the run at hand, of `tui.app.services.run_commands`
    on_run: bool = False

    @property
    def scope(self) -> str:
        """Where it works: "app", "list", or a screen's name."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """Its name within the scope: ``zoom`` of ``live.zoom``."""
        return self.id.partition(".")[2]

    @property
    def action(self) -> str:
        """The Textual action string."""
        if self.on_run:
            return f"app.on_run('{self.name}')"
        return self.call or self.name.replace("-", "_")

    @property
    def target(self) -> str:
        """The Textual action with the namespace it lives in: ``screen.check``, ``app.quit``."""
        if "." in self.action.partition("(")[0]:
            return self.action
        return f"{'app' if self.scope == 'app' else 'screen'}.{self.action}"

    @property
    def shown_keys(self) -> str:
        """All its keys as people read them: ``j Down``."""
        return " ".join(map(key_name, self.keys))


def key_name(key: str) -> str:
    """Return a Textual key name as people read it: ``ctrl+p`` is ``Ctrl+P``, ``g,g`` stays a
    letter.
    """
    if key in KEY_NAMES:
        return KEY_NAMES[key]
    if "+" in key:
        return "+".join(part.capitalize() for part in key.split("+"))
    return key.upper() if key.startswith("f") and key[1:].isdigit() else key

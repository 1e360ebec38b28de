"""The registry of actions: complete, free of conflicts, and the one source of every list of
keys.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import tui.app
from tui.app.app import BenchtuiApp
from tui.app.dialogs.help import commands_of
from tui.app.frame.step_screen import KEYS_AT_80, fitting, footer_actions, footer_width
from tui.app.terminal import actions
from tui.app.terminal.action import Action, key_name

DOCS = Path(__file__).parents[2] / "docs" / "screens.md"
SCREEN_NAMES = list(actions.SCOPES)


@pytest.mark.parametrize("action", actions.ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_name_and_one_line_of_help(action: Action) -> None:
    assert action.label
    assert action.help[0].isupper() or action.help.startswith("$")
    assert not action.help.endswith(".")
    assert 6 <= len(action.help) <= 90


def test_ids_are_unique() -> None:
    assert [
        name
        for name, count in Counter(action.id for action in actions.ACTIONS).items()
        if count > 1
    ] == []


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_a_key_has_one_meaning_on_a_screen(screen: str) -> None:
    keys = Counter(key for action in actions.of_screen(screen) for key in action.keys)
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_the_footer_fits_in_80_columns_with_help_and_quit(screen: str) -> None:
    shown = footer_actions(screen)
    assert len(shown) <= KEYS_AT_80
    assert footer_width(shown) <= 78  # one column of padding at each side
    assert fitting(shown, 78) == shown
    assert [action.id for action in shown[-2:]] == ["app.help", "app.quit"]


@pytest.mark.parametrize("screen", SCREEN_NAMES)
def test_a_narrow_footer_drops_the_least_important_and_keeps_help_and_quit(screen: str) -> None:
    shown = fitting(footer_actions(screen), 30)
    assert footer_width(shown) <= 30
    assert [action.id for action in shown[-2:]] == ["app.help", "app.quit"]


@pytest.mark.parametrize("key", [key for action in actions.ACTIONS for key in action.keys])
def test_no_key_that_terminals_or_tmux_cannot_send(key: str) -> None:
    assert key not in {"ctrl+j", "ctrl+m", "ctrl+i", "ctrl+h", "ctrl+enter", "shift+enter"}


@pytest.mark.parametrize("scope", ["app", "list", *SCREEN_NAMES])
def test_the_documented_keys_are_those_of_the_registry(scope: str) -> None:
    found = re.search(
        rf"<!-- keys: {scope} -->\n(.*?)\n\n", DOCS.read_text(encoding="utf-8") + "\n\n", re.DOTALL
    )
    assert found, (
        f"docs/screens.md has no table of '{scope}'; run python -m tui.app.terminal.actions"
    )
    assert found[1] == actions.key_table(scope)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("space", "Space"),
        ("question_mark", "?"),
        ("ctrl+p", "Ctrl+P"),
        ("f1", "F1"),
        ("G", "G"),
        ("f", "f"),
    ],
)
def test_keys_are_shown_as_people_read_them(key: str, shown: str) -> None:
    assert key_name(key) == shown


def test_j_and_k_and_the_arrows_move_in_every_list() -> None:
    keys = {action.id: action.keys for action in actions.in_scope("list")}
    assert keys["list.down"] == ("j", "down")
    assert keys["list.up"] == ("k", "up")
    assert keys["list.top"][0] == "g"
    assert keys["list.bottom"][0] == "G"


def test_the_palette_offers_every_command_of_a_screen_and_no_movement() -> None:
    labels = {action.label for action in commands_of("result")}
    assert {"IOPS", "copy"} <= labels
    assert not labels & {"left", "right", "up", "down", "top", "bottom", "page up", "page down"}


def bound() -> Iterator[tuple[type[DOMNode], str]]:
    """Yield every class of the app with each action that a key of its own leads to."""
    for module in pkgutil.walk_packages(tui.app.__path__, "tui.app."):
        for found in vars(importlib.import_module(module.name)).values():
            if (
                isinstance(found, type)
                and issubclass(found, DOMNode)
                and found.__module__ == module.name
            ):
                for binding in Binding.make_bindings(vars(found).get("BINDINGS", ())):
                    yield found, binding.action


def test_every_key_leads_to_an_action_that_there_is() -> None:
    keys = list(bound())
    assert len(keys) > 20
    for owner, action in keys:
        target, _, name = action.partition("(")[0].rpartition(".")
        holders = {"": (owner, BenchtuiApp), "app": (BenchtuiApp,), "screen": (Screen,)}[target]
        assert any(hasattr(each, f"action_{name}") for each in holders), (
            f"{owner.__name__}: {action}"
        )

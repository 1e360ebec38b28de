"""Any keys in any order, on each screen, over text of others and in terminals that change their
size: no crash.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.app.pty_screen import PtyScreen
from tests.untrusted.stores import JUDGED
from tests.untrusted.test_screens import can_be_made_again, poisoned_home
from tui.app.terminal.actions import ACTIONS

ENDS = {"q", "ctrl+c", "ctrl+z", "escape"}  # they leave the app, or begin what other keys end
CODES = {"enter": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "up": "\x1b[A",
    "down": "\x1b[B",
         "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
             "pageup": "\x1b[5~",
         "pagedown": "\x1b[6~", "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS",
             "f5": "\x1b[15~",
         "slash": "/", "question_mark": "?", "plus": "+", "equals_sign": "=", "minus": "-",
         "asterisk": "*",
         "left_square_bracket": "[", "right_square_bracket": "]"}  # fmt: skip
SMALLEST, LARGEST = (20, 5), (300, 90)
SCREENS: Mapping[str, str] = {
    "hosts": "1", "profiles": "2", "job": "2n", "editor": "2e", "review": "6gjjr", "replay": "6gp",
    "result": "6g\r",
    "compare": "6g  c", "runs": "6",
}  # fmt: skip
AT_REST_S = 0.05
TOGETHER, KEYS, A_FEW = 25, int(os.environ.get("KEYS", "2000")), 250


def code_of(key: str) -> str:
    """Return what a terminal sends for a key of Textual's."""
    return chr(ord(key[-1]) & 0x1F) if key.startswith("ctrl+") else CODES.get(key, key)


def walk(screen: PtyScreen, way: str, keys: int) -> None:
    """Press keys at random, a few at a time.

    Come back to the screen and change the size in between.
    """
    chance = random.Random(way)
    known = sorted(
        {code_of(key) for action in ACTIONS for key in action.keys if key not in ENDS} | set("yn0a")
    )
    for _ in range(keys // TOGETHER):
        screen.resize(*(chance.randint(*both) for both in zip(SMALLEST, LARGEST, strict=True)))
        screen.press("\x1b")
        for key in (*way, *chance.choices(known, k=TOGETHER)):
            screen.press(key)
        screen.wait_until(lambda: at_rest(screen.program.process.pid), "the keys are worked off")


def at_rest(pid: int) -> bool:
    """Tell whether a process waits for something to come, now and a moment later."""

    def looked() -> tuple[str, ...]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return fields[0], *fields[11:13]  # state, time on a CPU

    before = looked()
    time.sleep(AT_REST_S)
    return before == looked() and before[0] == "S"


def walked(home: Path, tmp_path: Path, shared: Path, way: str, keys: int) -> None:
    environ = poisoned_home(home, tmp_path, shared)
    can_be_made_again(home / "runs" / JUDGED)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "fio").write_text("#!/bin/sh\nexit 1\n")  # no load begins
    (programs / "fio").chmod(0o755)
    environ |= {"PATH": f"{programs}:{os.environ['PATH']}", "EDITOR": "true"}
    with PtyScreen((120, 36), environ=environ, folder=tmp_path) as screen:
        screen.wait_for("ticked")
        walk(screen, way, keys)
        assert not screen.program.ended, screen.text
    assert [path.read_text() for path in home.glob("crash-*.log")] == []


@pytest.mark.parametrize("way", SCREENS.values(), ids=SCREENS)
@pytest.mark.slow
def test_thousands_of_keys_at_random_end_no_screen(
    way: str, home: Path, tmp_path: Path, shared: Path
) -> None:
    walked(home, tmp_path, shared, way, KEYS)


def test_keys_at_random_end_no_screen(home: Path, tmp_path: Path, shared: Path) -> None:
    walked(home, tmp_path, shared, SCREENS["runs"], A_FEW)

"""The app in a real terminal: what it leaves behind, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.tmux import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
READY = "ticked"


def assert_restored(terminal: Terminal) -> None:
    assert terminal.flag("alternate_on") == "0"
    assert terminal.flag("mouse_any_flag") == "0"
    assert terminal.flag("cursor_flag") == "1"


def test_q_leaves_and_restores_the_terminal(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.wait_for(READY)
        assert terminal.flag("alternate_on") == "1"
        terminal.keys("q")
        assert terminal.exit_code() == 0
        assert_restored(terminal)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(tmp_path: Path, number: signal.Signals) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.wait_for(READY)
        os.kill(terminal.pid(), number)
        assert terminal.exit_code() == 128 + number
        assert_restored(terminal)


def test_a_closed_terminal_ends_the_app(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.wait_for(READY)
        process = Path(f"/proc/{terminal.pid()}")
        terminal.tmux("kill-session", "-t", "t")
        terminal.wait_until(lambda: not process.exists(), "the end of the process")


def test_ctrl_c_leaves_too(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.keys("C-c")
        assert terminal.exit_code() == 0
        assert_restored(terminal)


def test_a_terminal_that_is_too_small_says_what_is_needed_and_comes_back(tmp_path: Path) -> None:
    with Terminal(tmp_path, size="50x12") as terminal:
        terminal.wait_for("terminal is 50x12; benchtui needs 60x16")
        terminal.resize(80, 24)
        terminal.wait_for(READY)
        terminal.resize(59, 24)
        terminal.wait_for("terminal is 59x24; benchtui needs 60x16")
        terminal.keys("q")
        assert terminal.exit_code() == 0


def test_no_mouse_leaves_the_mouse_to_the_terminal(tmp_path: Path) -> None:
    with Terminal(tmp_path, "--no-mouse") as terminal:
        terminal.wait_for(READY)
        assert terminal.flag("mouse_any_flag") == "0"


def test_without_utf8_everything_on_the_screen_is_ascii(tmp_path: Path) -> None:
    with Terminal(tmp_path, environ={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}) as terminal:
        terminal.wait_for(READY)
        assert terminal.screen().isascii()


@pytest.mark.parametrize("term", ["linux", "vt100"])
def test_a_terminal_of_16_colours_is_enough(tmp_path: Path, term: str) -> None:
    with Terminal(tmp_path, environ={"TERM": term}) as terminal:
        terminal.wait_for(READY)
        coloured = terminal.tmux("capture-pane", "-p", "-e", "-t", "t")
        assert "\x1b[38;2;" not in coloured
        assert "\x1b[48;2;" not in coloured


def run_without_terminal(*arguments: str, term: str = "xterm") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tui", *arguments]
    environ = {**os.environ, "TERM": term}
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, env=environ
    )


def test_no_terminal_is_refused_with_one_sentence() -> None:
    result = run_without_terminal()
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "need a terminal" in result.stderr


def test_term_dumb_is_refused_with_one_sentence(tmp_path: Path) -> None:
    with Terminal(tmp_path, environ={"TERM": "dumb"}) as terminal:
        assert terminal.exit_code() == 2
        assert "TERM is dumb" in terminal.screen()
        assert "Traceback" not in terminal.screen()

"""The app in a real terminal: what it leaves behind, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.driver import write_inventory
from tests.app.tmux import Terminal
from tests.patience import PATIENCE_S
from tui.app.terminal.driver import TerminalDriver
from tui.engine.control import request
from tui.journal.rundir import is_running

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


def test_a_terminal_that_goes_without_a_signal_ends_the_app(tmp_path: Path) -> None:
    """Nobody sends SIGHUP to a session whose terminal was opened elsewhere."""
    ours, theirs = os.openpty()
    environ = {**os.environ, "BENCHTUI_HOME": str(tmp_path), "TERM": "xterm-256color"}
    app = subprocess.Popen(
        [sys.executable, "-m", "tui"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = b""
        while b"\x1b[?1049h" not in shown:  # the alternate screen: the app has begun
            shown += os.read(ours, 65536)
        os.close(ours)
        assert app.wait(PATIENCE_S) == 128 + signal.SIGHUP
    finally:
        app.kill()


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
    with Terminal(
        tmp_path, environ={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ) as terminal:
        terminal.wait_for(READY)
        assert terminal.screen().isascii()


def test_keys_that_arrive_in_one_piece_do_what_they_would_one_by_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    write_inventory(home)
    with Terminal(tmp_path) as terminal:
        terminal.wait_for("9 ticked")
        terminal.tmux("send-keys", "-t", "t", "-l", "/mapr")  # the a must not tick all hosts
        terminal.wait_for("3 of 9 shown, 0 of 9 ticked")
        terminal.keys("Escape")
        terminal.wait_until(lambda: "shown" not in terminal.screen(), "the whole list")
        terminal.tmux("send-keys", "-t", "t", "-l", "nw1a")
        terminal.wait_for("Add hosts")
        terminal.wait_for("w1a")


@pytest.mark.parametrize("term", ["linux", "vt100"])
def test_a_terminal_of_16_colours_is_enough(tmp_path: Path, term: str) -> None:
    with Terminal(tmp_path, environ={"TERM": term}) as terminal:
        terminal.wait_for(READY)
        coloured = terminal.tmux("capture-pane", "-p", "-e", "-t", "t")
        assert "\x1b[38;2;" not in coloured
        assert "\x1b[48;2;" not in coloured


CRASH = """
from tui.app.screens.hosts import HostsScreen
from tui.cli import main

def explode(self):
    password = "hunter2-very-secret"
    raise RuntimeError("the reason")

HostsScreen.action_check = explode
main.entry()
"""


def test_a_crash_restores_the_terminal_and_says_where_the_details_are_and_nothing_else(
    tmp_path: Path,
) -> None:
    program = tmp_path / "crash.py"
    program.write_text(CRASH)
    with Terminal(tmp_path, program=[str(program)]) as terminal:
        terminal.wait_for(READY)
        terminal.keys("c")
        assert terminal.exit_code() == 1
        assert_restored(terminal)
        printed = terminal.screen()
        assert "benchtui: internal error" in printed
        assert "Traceback" not in printed
        assert "hunter2" not in printed
    log = next((tmp_path / "home").glob("crash-*.log"))
    assert "the reason" in log.read_text()
    assert "hunter2" not in log.read_text().replace('password = "hunter2-very-secret"', "")


def test_detaching_says_how_to_come_back_once_the_terminal_is_restored(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    sets = {
        "directory": str(target),
        "runtime": "60s",
        "size": "1M",
        "numjobs": "1",
        "direct": "no",
    }
    options = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    with Terminal(
        tmp_path, "--hosts", "local", "--profile", "demo/quick", "--review", *options, size="120x36"
    ) as terminal:
        terminal.wait_for("runs on local, 1 min")
        terminal.keys("Enter")
        terminal.wait_for("RUNNING")
        terminal.keys("q")
        terminal.wait_for("Detach")
        terminal.keys("Enter")
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        run_dir = next((tmp_path / "home" / "runs").iterdir())
        assert (
            f"run {run_dir.name} is still running; to watch it: benchtui attach {run_dir.name}"
            in terminal.screen()
        )
        assert is_running(run_dir)
        request(run_dir, {"verb": "abort"})
        terminal.wait_until(lambda: not is_running(run_dir), "the end of the run")


def run_without_terminal(*arguments: str, term: str = "xterm") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tui", *arguments]
    environ = {**os.environ, "TERM": term}
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environ,
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


def test_ctrl_z_suspends_and_fg_comes_back_whole_in_a_window_of_the_same_size_and_of_another(
    tmp_path: Path,
) -> None:
    shell = (
        "-c",
        "import os; os.environ['PS1'] = 'SHELL> '; os.execvp('bash', ['bash', '--norc', '-i'])",
    )
    with Terminal(tmp_path, program=shell) as terminal:
        terminal.wait_for("SHELL>")
        terminal.keys(f"{sys.executable} -m tui", "Enter")
        terminal.wait_for(READY)
        terminal.keys("C-z")
        terminal.wait_for("Stopped")
        assert_restored(terminal)
        terminal.keys("fg", "Enter")
        terminal.wait_for(READY)
        assert terminal.flag("alternate_on") == "1"
        terminal.keys("C-z")
        terminal.wait_for("Stopped")
        terminal.resize(100, 30)
        terminal.keys("fg", "Enter")
        terminal.wait_until(
            lambda: max(map(len, terminal.screen().splitlines())) == 100, "the new size"
        )
        assert terminal.flag("alternate_on") == "1"
        terminal.keys("q")
        terminal.wait_until(lambda: terminal.flag("alternate_on") == "0", "the shell")
        terminal.keys("exit", "Enter")
        assert terminal.exit_code() == 0


@pytest.mark.parametrize("suspended", [True, False])
def test_sigcont_starts_the_screens_again_only_after_they_were_suspended(suspended: bool) -> None:
    driver, started = TerminalDriver.__new__(TerminalDriver), list[str]()
    driver._auto_restart, driver._must_signal_resume = True, suspended
    driver.resume_application_mode = lambda: started.append("again")  # type: ignore[method-assign]
    driver._sigcont_application()
    assert started == ["again"] * suspended

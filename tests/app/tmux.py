"""A real terminal for tests: one tmux server a test, on a socket of its own, ended with the
test.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.patience import wait_until

OVER = "over"  # the title of the window after the end: tmux reads what is printed in order
CONF = """
set -g default-terminal "tmux-256color"
set -g escape-time 0
set -g status off
set -g remain-on-exit on
"""


class Terminal:
    """A Python program, `python -m tui`, in a tmux window.

    `wait_for` waits for text, never for time.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        size: str = "80x24",
        environ: Mapping[str, str] | None = None,
        program: Sequence[str] = ("-m", "tui"),
    ) -> None:
        self.socket = folder / "tmux.sock"
        self.conf = folder / "tmux.conf"
        self.conf.write_text(CONF)
        self.size = size
        self.code_file = folder / "code"
        self.environ = {
            "BENCHTUI_HOME": str(folder / "home"),
            "HOME": str(folder),
            **(environ or {}),
        }
        command = shlex.join([sys.executable, *program, *arguments])
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environ.items())
        # the shell outlives the program, to tell its exit code and to keep what it printed after
        # the screens
        self.command = (
            f"env {settings} {command}; echo $? > {shlex.quote(str(self.code_file))};"
            rf" printf '\033]2;{OVER}\007'; sleep 60"
        )

    def tmux(self, *arguments: str) -> str:
        """Run one tmux command and return what it prints."""
        command = ["tmux", "-S", str(self.socket), "-f", str(self.conf), *arguments]
        environ = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environ
        ).stdout

    def __enter__(self) -> Terminal:
        columns, rows = self.size.split("x")
        self.tmux("new-session", "-d", "-s", "t", "-x", columns, "-y", rows, self.command)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tmux("kill-server")

    def screen(self) -> str:
        """What is on the screen."""
        return self.tmux("capture-pane", "-p", "-t", "t")

    def flag(self, name: str) -> str:
        """A flag of the terminal, such as alternate_on."""
        return self.tmux("display-message", "-p", "-t", "t", f"#{{{name}}}").strip()

    def keys(self, *keys: str) -> None:
        """Press keys by their tmux names."""
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal."""
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        wait_until(true, lambda: f"{what}\n{self.screen()}")

    def wait_for(self, text: str) -> None:
        """Wait for text on the screen."""
        self.wait_until(lambda: text in self.screen(), text)

    def pid(self) -> int:
        """Process id of the program."""
        shell = self.flag("pane_pid")
        children = Path(f"/proc/{shell}/task/{shell}/children")
        return int(children.read_text().split()[0])

    def exit_code(self) -> int:
        """Wait until all that the program printed is shown, and return its exit code."""
        self.wait_until(lambda: self.flag("pane_title") == OVER, "the end")
        return int(self.code_file.read_text())

"""`python -m tests.long.pictures.recording [FILE]`: the real program as a recording for the docs,
in asciicast v2.

The run is made on loopback hosts. The program runs in tmux; what is recorded is what a client of it
is sent.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tests.app.pty_screen import PtyProgram
from tests.app.tmux import Terminal
from tests.lab.sshd import SshdLab
from tests.long.pictures import DOCS
from tests.patience import wait_until

HOSTS = 6
COLUMNS, LINES = 84, 30
MOST_S, MOST_BYTES = 150, 300_000
IDLE_S = 2.0  # players make longer pauses as short as that
LOOK_S = 1.2  # what a reader needs for a screen
CHOSEN = ("--profile", "demo/quick", "--set", "runtime=12s", "--set", "size=16M")
STORY: tuple[tuple[str, tuple[str, ...]], ...] = (  # a text that is there, the keys pressed then
    ("6 of ", ("Enter",)),
    ("Ten seconds of mixed", ("Enter",)),
    ("Enter runs on", ("Enter",)),
    ("within ±", ("z",)),
    ("0:06", ("Escape",)),
    ("Tab next tab", ("d",)),
    ("Defend", ("Tab",)),
    ("p99.9", ("q",)),
)


class Recorder:
    """A command in a terminal of its own; `events` are (seconds since it began, what it wrote)."""

    def __init__(self, command: list[str]) -> None:
        self.events: list[tuple[float, str]] = []
        self._began = time.monotonic()
        self._client = PtyProgram(command, self._take, (COLUMNS, LINES))

    def _take(self, text: str) -> None:
        self.events.append((time.monotonic() - self._began, text))

    def end(self) -> None:
        """End the command, and read what it wrote."""
        self._client.end()

    def written(self, title: str) -> str:
        """Return the recording."""
        header = {
            "version": 2,
            "width": COLUMNS,
            "height": LINES,
            "idle_time_limit": IDLE_S,
            "title": title,
        }
        lines = [header, *([round(at, 3), "o", text] for at, text in self.events)]
        return "".join(
            json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines
        )


def play(terminal: Terminal, deadline: float) -> None:
    """Press the keys of the story, each when its screen is there and was looked at."""
    for text, keys in STORY:
        left = max(1.0, deadline - time.monotonic())
        wait_until(lambda text=text: text in terminal.screen(), lambda: terminal.screen(), left)  # type: ignore[misc]
        for key in keys:
            time.sleep(LOOK_S)
            terminal.keys(key)
    time.sleep(LOOK_S)


def record(folder: Path) -> str:
    """Return a recording of a run on loopback hosts, from choosing hosts to its result."""
    with SshdLab(folder / "lab", hosts=HOSTS) as lab:
        hosts = ("--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config))
        target = ("--set", f"directory={folder}")
        environ = {"COLORTERM": "truecolor", "BENCHTUI_LOCKS": str(folder / "locks")}
        size = f"{COLUMNS}x{LINES}"
        with Terminal(folder, *hosts, *CHOSEN, *target, size=size, environ=environ) as terminal:
            recorder = Recorder(["tmux", "-S", str(terminal.socket), "attach", "-r"])
            try:
                play(terminal, time.monotonic() + MOST_S)
            finally:
                recorder.end()
    return recorder.written("benchtui: a run on six hosts")


def main() -> int:
    """Record, and keep it when it is small enough for a repository."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "first-run.cast"
    with tempfile.TemporaryDirectory() as folder:
        text = record(Path(folder))
    if len(text.encode()) > MOST_BYTES:
        print(
            f"the recording takes {len(text.encode())} bytes, more than {MOST_BYTES}: not kept",
            file=sys.stderr,
        )
        return 1
    file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

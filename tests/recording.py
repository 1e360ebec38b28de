"""`python -m tests.recording [FILE]`: a recording of the real program, as asciinema plays it (asciicast 2).

A run of this machine from an empty home: Hosts, Profiles, Review, Live, Result, by keys only.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

WIDTH, HEIGHT = 120, 36
STORY: Sequence[tuple[str, str]] = (  # a text that is there, a key that is pressed then
    ("this machine", "\r"),
    ("demo/quick", "\r"),
    ("Enter runs on local", "\r"),
    ("COMPLETE", "\t"),
    ("too short", "q"),
)
READ_S, WAIT_S = 1.5, 120.0  # time to read a screen before the next key; the longest wait for one
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")
FILE = Path(__file__).parents[1] / "docs" / "images" / "live.cast"


def start(home: Path) -> tuple[int, int]:
    """Start the program on a terminal of its own; return its process and the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        environ = {**os.environ, "BENCHTUI_HOME": str(home), "HOME": str(home), "TERM": "xterm-256color"}
        environ |= {"COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        environ.pop("NO_COLOR", None)
        os.execvpe(sys.executable, [sys.executable, "-m", "tui"], environ)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    return pid, terminal


def record(terminal: int) -> list[tuple[float, str]]:
    """Play the story; return what was printed, each piece with its second. Raises TimeoutError."""
    began = waited = time.monotonic()
    pieces: list[tuple[float, str]] = []
    seen, rest, story = "", b"", list(STORY)
    due: float | None = None
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        now = time.monotonic()
        if ready:
            try:
                data = rest + os.read(terminal, 65536)
            except OSError:  # the program has left
                return pieces
            text = data.decode(errors="ignore")
            rest = data[len(text.encode()):]
            pieces.append((now - began, text))
            seen += ESCAPES.sub("", text)
        if story and due is None and story[0][0] in seen:
            due, waited = now + READ_S, now
        elif due is not None and now >= due:
            os.write(terminal, story.pop(0)[1].encode())
            seen, due = "", None
        if now - waited > WAIT_S:
            raise TimeoutError(f"never seen: {story[0][0] if story else 'the end'}")


def main() -> int:
    """Record, and write the file."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    with tempfile.TemporaryDirectory() as home:
        pid, terminal = start(Path(home))
        try:
            pieces = record(terminal)
        finally:
            os.close(terminal)  # hangs the program up, if it is still there
            os.waitpid(pid, 0)
    head = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "benchtui", "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(head), *(json.dumps([round(at, 3), "o", text], ensure_ascii=False) for at, text in pieces)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

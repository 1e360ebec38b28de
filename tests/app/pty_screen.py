"""A program in a terminal of the test's own, which reads every byte that it is sent and knows what
may be among them.

tmux swallows what a terminal would obey; here it is found. What our screens send is a short
grammar: text, colours, places, a few modes, the shape of the pointer, what is copied. Everything
else is kept as `strange`.
"""

from __future__ import annotations

import base64
import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType

from rich.cells import cell_len

from tests.patience import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]
# of the sixteen: 30 to 47, 90 to 107
COLOUR = r"[34]8;2;\d{1,3};\d{1,3};\d{1,3}|[0-47]|(?:[349]|10)[0-79]"
MODES = "7|25|1000|1003|1004|1006|1015|1049|2004|2026|2048"
KNOWN = re.compile(
    rf"""
    \x1b\[(?P<row>\d+);(?P<column>\d+)H
  | (?P<break>\r\n)
  | (?P<text>[^\x00-\x1f\x7f-\x9f]+)
  | (?P<look>\x1b\[(?:{COLOUR})(?:;(?:{COLOUR}))*m)
  | (?P<mode>\x1b\[(?:\?(?:{MODES})[hl]|\?(?:2026|2048)\$p|>\d+u|<u))
  | (?P<pointer>\x1b\]22;[a-z-]+\x07)
  | \x1b\]52;c;(?P<copied>[A-Za-z0-9+/=]*)\x07
    """,
    re.VERBOSE,
)
BEGUN = re.compile(r"(?:\r|\x1b(?:\[[0-9;?<>$]*|\]52;c;[A-Za-z0-9+/=]*|\]22;[a-z-]*|\][0-9;]*)?)\Z")
AROUND = 60  # characters that are shown around what is strange


class PtyProgram:
    """A command in a pseudo terminal; `take` is given all that it writes, by a thread."""

    def __init__(
        self,
        command: Sequence[str],
        take: Callable[[str], None],
        size: tuple[int, int],
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._take = take
        self._ours, theirs = pty.openpty()
        self._name = os.ttyname(theirs)
        self.resize(*size)
        ours = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environ or {})}
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=ours,
            cwd=folder,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        while True:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            if text := decoder.decode(data):
                self._take(text)

    def type(self, text: str) -> None:
        """Send what keys send."""
        data = text.encode()
        while data:
            data = data[os.write(self._ours, data) :]

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal; the program is told."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def untaken(self) -> int:
        """Return how many bytes of what was typed the program has not read yet."""
        side = os.open(self._name, os.O_RDONLY | os.O_NOCTTY)
        try:
            count: int = struct.unpack("i", fcntl.ioctl(side, termios.FIONREAD, b"\0" * 4))[0]
            return count
        finally:
            os.close(side)

    @property
    def ended(self) -> bool:
        """Whether the program has."""
        return self.process.poll() is not None

    def exit_code(self) -> int:
        """Wait for the end of the program and return its exit code."""
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        """End the program if it still runs, and read what it wrote."""
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        os.close(self._ours)


class PtyScreen:
    """`python -m tui` in a pseudo terminal: what is on the screen, what was copied, what no
    terminal may be sent.
    """

    def __init__(
        self,
        size: tuple[int, int],
        *arguments: str,
        environ: Mapping[str, str],
        folder: Path | None = None,
    ) -> None:
        self.size = size
        self.strange: list[str] = []
        self.copied: list[str] = []
        self._lock = Lock()
        self._rest = ""
        self._row = self._column = 0
        self._cells: dict[tuple[int, int], str] = {}
        self._arguments, self._folder = arguments, folder
        self._environ = {"COLORTERM": "truecolor", "PYTHONPATH": str(ROOT), **environ}

    def __enter__(self) -> PtyScreen:
        command = (sys.executable, "-m", "tui", *self._arguments)
        self.program = PtyProgram(command, self.take, self.size, self._environ, self._folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.program.end()

    def take(self, text: str) -> None:
        """Read the program's output; keep sequences that are not expected."""
        with self._lock:
            text, at = self._rest + text, 0
            while at < len(text):
                found = KNOWN.match(text, at)
                if found is None and BEGUN.match(text, at):
                    break
                if found is None:
                    self.strange.append(text[max(at - AROUND, 0) : at + AROUND])
                else:
                    self._obey(found)
                at = found.end() if found is not None else at + 1
            self._rest = text[at:]

    def _obey(self, told: re.Match[str]) -> None:
        if told["text"]:
            self._write(told["text"])
        elif told["row"]:
            self._row, self._column = int(told["row"]) - 1, int(told["column"]) - 1
        elif told["break"]:
            self._row, self._column = self._row + 1, 0
        elif told["copied"] is not None:
            self.copied.append(base64.b64decode(told["copied"]).decode())

    def _write(self, text: str) -> None:
        for character in text:
            if not character.isprintable():
                self.strange.append(f"{character!a} in {text!a}")
            self._cells[self._row, self._column] = character
            self._column += cell_len(character)

    @property
    def text(self) -> str:
        """What is on the screen."""
        columns, rows = self.size
        with self._lock:
            lines = (
                "".join(self._cells.get((row, each), " ") for each in range(columns))
                for row in range(rows)
            )
            return "\n".join(lines)

    def keys(self, keys: str) -> None:
        """Press keys, as a terminal sends them."""
        self.program.type(keys)

    def press(self, key: str) -> None:
        """Press one key, and wait until the program has taken it: what follows is another one."""
        self.keys(key)
        self.wait_until(lambda: not self.program.untaken(), f"{key!r} is taken")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal."""
        self.size = columns, rows
        self.program.resize(columns, rows)

    def wait_until(self, true: Callable[[], object], what: str) -> None:
        """Wait for a condition.

        Fail at once when something strange was sent, or when the program has ended.
        """
        wait_until(
            lambda: self.strange or self.program.ended or true(), lambda: f"{what}\n{self.text}"
        )
        assert self.strange == []
        assert not self.program.ended, self.text

    def wait_for(self, pattern: str) -> None:
        """Wait until a regular expression is found on the screen."""
        self.wait_until(lambda: re.search(pattern, self.text), pattern)

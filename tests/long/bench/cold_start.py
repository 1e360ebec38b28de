"""A cold start: first frame of the screens, verbs without hosts, beside other terminal programs
from their packages.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import median

from tests.long.bench import peers
from tests.long.bench.kept import ROOT, Row, told

TIMES = int(os.environ.get("TIMES", "7"))
QUIET_S, LONGEST_S, FULL = 0.4, 20.0, 500
EMPTY = "from textual.app import App; App().run()"  # what no program on Textual can be faster than
VERBS = ("--help", "runs list", "profiles list", "completion bash")


def environment(home: Path) -> dict[str, str]:
    """An empty home and a terminal with all colours.

    Whatever the caller says, compiled code is kept.
    """
    own = {
        "HOME": str(home),
        "BENCHTUI_HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }
    inherited = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**inherited, **own, "PYTHONPATH": str(ROOT)}


def verb(words: Sequence[str | Path], environ: Mapping[str, str]) -> tuple[float, float]:
    """Return seconds and CPU of a program that ends by itself."""
    begun = time.monotonic()
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    process = subprocess.Popen([str(word) for word in words], env=dict(environ), **quiet)  # type: ignore[call-overload]
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - begun, used.ru_utime + used.ru_stime


def first_frame(words: Sequence[str | Path], environ: Mapping[str, str]) -> tuple[float, float]:
    """Return seconds until a program on a terminal of 120x36 has drawn, and its CPU until then.

    Drawn is the last byte before a silence of 0.4 s, once there were 500 bytes: what draws in
    several goes is whole. One that is never silent for so long has no such time: it is infinite.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(str(words[0]), [str(word) for word in words], dict(environ))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    begun = last = time.monotonic()
    drawn, cpu, now = 0, 0.0, begun
    while (now := time.monotonic()) - begun < LONGEST_S and (drawn < FULL or now - last < QUIET_S):
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                drawn += len(os.read(terminal, 65536))
            except OSError:
                break
            last, cpu = time.monotonic(), cpu_of(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return (last if now - begun < LONGEST_S else inf) - begun, cpu


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def screens() -> dict[str, Sequence[str | Path] | None]:
    """Return the programs with screens; None for one that is not installed."""
    found: dict[str, Sequence[str | Path] | None] = {
        "benchtui": [sys.executable, "-m", "tui"],
        "Textual, an empty app": [sys.executable, "-c", EMPTY],
    }
    for package, more in (
        ("posting", []),
        ("harlequin", []),
        ("dolphie", ["--host", "127.0.0.1", "--port", "9"]),
    ):
        path = peers.program(package, package)
        found[package] = [path, *more] if path else None
    btop = peers.on_path("btop")
    found["btop"] = [btop, "--utf-force"] if btop else None
    return found


def row(what: str, program: str, found: Sequence[tuple[float, float]]) -> Row:
    """Return the medians of one program; the first time compiles and does not count."""
    if not found:
        return {"what": what, "program": program, "time, ms": "not installed"}
    wall, cpu = (median(column) for column in zip(*(found[1:] or found), strict=True))
    if wall == inf:
        return {
            "what": what,
            "program": program,
            "time, ms": f"still drawing after {LONGEST_S:g} s",
        }
    return {"what": what, "program": program, "time, ms": 1000 * wall, "CPU, ms": 1000 * cpu}


def in_turn(
    programs: Mapping[str, Sequence[str | Path] | None], environ: Mapping[str, str]
) -> dict[str, list[tuple[float, float]]]:
    """Return the first frames of each, one after the other and again: machines change their
    speed.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(TIMES + 1):
        for name, words in programs.items():
            if words and not (found[name] and found[name][-1][0] == inf):  # once is enough to know
                found[name].append(first_frame(words, environ))
    return found


def main() -> int:
    """Print a row for each."""
    with tempfile.TemporaryDirectory() as home:
        environ = environment(Path(home))
        rows = [
            row("first frame", name, found) for name, found in in_turn(screens(), environ).items()
        ]
        for words in VERBS:
            ours = [sys.executable, "-m", "tui", *words.split()]
            rows.append(row(words, "benchtui", [verb(ours, environ) for _ in range(TIMES + 1)]))
    return told(
        "cold_start", rows, f"Medians of {TIMES} cold processes, compiled code on disk, empty home."
    )


if __name__ == "__main__":
    sys.exit(main())

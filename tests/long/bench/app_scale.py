"""The Live screen over many hosts: CPU, bytes a second to the terminal, key to paint, how old what
is drawn is.

The journal grows by a second of all hosts each second, of what a real fio printed. SIZES=64,256
chooses how many.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from tests.app.journal_maker import RUN_ID, RunMaker
from tests.app.measure_live import cpu_s, maker_at
from tests.long.bench.kept import Row, told

SIZES = tuple(int(word) for word in os.environ.get("SIZES", "16,64,256,512,1024").split(","))
SECONDS = float(os.environ.get("SECONDS_EACH", "20"))
WINDOW = os.environ.get("WINDOW", "160x50")
WARM_UP_S, LONGEST_START_S, BEFORE_S = 4.0, 60.0, 30
KEY_EVERY_S = 0.13  # out of step with the refresh, so that keys fall anywhere between two of them


def run_app(folder: Path, lags: Path) -> None:
    """Become the app, on Live; each paint of something new notes how old that was."""
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", BENCHTUI_HOME=str(folder))
    from tui.app.app import BenchtuiApp
    from tui.app.frame.shell import Options
    from tui.app.screens.live import LiveScreen
    from tui.cli.open_app import collect_in_short_passes
    from tui.model.paths import Paths

    run_dir = folder / "runs" / RUN_ID
    journal, painting, seen = run_dir / "journal.jsonl", LiveScreen.painting, 0

    def timed(self: LiveScreen) -> Iterator[None]:
        nonlocal seen
        yield from painting(self)
        written = journal.stat()
        if self.feed.tail.offset == written.st_size != seen:
            seen = written.st_size
            with lags.open("a") as file:
                file.write(f"{time.time() - written.st_mtime:.4f}\n")

    LiveScreen.painting = timed  # type: ignore[method-assign]
    BenchtuiApp.run_is_alive = lambda self, run_dir: True  # type: ignore[method-assign]
    app = BenchtuiApp(Options(paths=Paths.from_environ(os.environ), watch=run_dir))
    collect_in_short_passes()
    app.run()
    os._exit(0)


@contextmanager
def writing(maker: RunMaker) -> Iterator[None]:
    """Append samples on time, in a process of its own: who waits for what a key paints does nothing
    else.
    """
    pid = os.fork()
    if pid == 0:
        try:
            while True:
                time.sleep(max(0.0, maker.now + 1 - time.time()))
                maker.measure(1)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Screen:
    """The app on a terminal, and what was seen of it."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self.sent, self.paints = 0, list[float]()

    def pump(self, seconds: float, *, keys: bool = False) -> None:
        """Read what is drawn; press j and k in turn."""
        end = time.monotonic() + seconds
        pressed, next_key = 0.0, time.monotonic() + KEY_EVERY_S
        while (now := time.monotonic()) < end:
            if keys and not pressed and now >= next_key:
                os.write(self.terminal, b"jk"[len(self.paints) % 2 :][:1])
                pressed = time.monotonic()
            if select.select([self.terminal], [], [], 0.005)[0]:
                self.sent += len(os.read(self.terminal, 65536))
                if pressed:
                    self.paints.append(time.monotonic() - pressed)
                    pressed, next_key = 0.0, time.monotonic() + KEY_EVERY_S

    def await_refresh(self, lags: Path) -> None:
        """Wait for the first refresh: on a busy machine the app takes seconds to begin.

        Raises SystemExit.
        """
        end = time.monotonic() + LONGEST_START_S
        while not lags.exists():
            if time.monotonic() > end:
                raise SystemExit(f"no refresh of the screen in {LONGEST_START_S:g} s")
            self.pump(0.2)


@contextmanager
def ended(pid: int, terminal: int) -> Iterator[None]:
    """End the app at last."""
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            os.close(terminal)


def run(folder: Path, hosts: int) -> Row:
    """Show one size for a while."""
    maker = maker_at(folder, hosts, BEFORE_S + 2.0)
    maker.measure(BEFORE_S)
    lags = folder / "lags"
    pid, terminal = pty.fork()
    if pid == 0:
        run_app(folder, lags)
    width, height = map(int, WINDOW.split("x"))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    screen = Screen(terminal)
    with ended(pid, terminal), writing(maker):
        screen.await_refresh(lags)
        screen.pump(WARM_UP_S)
        screen.sent, burnt = 0, cpu_s(pid)
        lags.write_text("")
        screen.pump(SECONDS)
        burnt, sent = cpu_s(pid) - burnt, screen.sent
        screen.pump(SECONDS, keys=True)
        old = [float(line) for line in lags.read_text().split()]
    paints = sorted(screen.paints)
    return {
        "hosts": hosts,
        "CPU, % of a core": 100 * burnt / SECONDS,
        "to the terminal, kB/s": sent / SECONDS / 1000,
        "key to paint median, ms": 1000 * median(paints),
        "key to paint p99, ms": 1000 * quantiles(paints, n=100)[98],
        "behind the journal median, ms": 1000 * median(old) if old else None,
        "behind the journal max, ms": 1000 * max(old) if old else None,
    }


def main() -> int:
    """Show each size once."""
    rows = []
    for hosts in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(run(Path(folder), hosts))
            print(rows[-1], flush=True)
    return told(
        "app_scale",
        rows,
        f"Live at {WINDOW} and 1 Hz, {SECONDS:g} s without and {SECONDS:g} s with keys.",
    )

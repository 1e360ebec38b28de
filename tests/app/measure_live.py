"""What the Live screen costs: bytes and CPU of a steady minute, and the time to catch up with a
long journal.

Not a test: run ``python -m tests.app.measure_live [--hosts 64] [--size 120x36] [--seconds 20]
[--theme dark]``. A writer appends one real fio sample a host and second; the app runs in a pty of
its own.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import os
import pty
import random
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names
from tui.app.screens.live_feed import LiveFeed

WARM_UP_S = 6.0
TELEMETRY = {
    "cpu.busy": 40.0,
    "core.busy": 60.0,
    "core.softirq": 5.0,
    "core.number": 3.0,
    "cpu.steal": 0.0,
}
TELEMETRY |= {
    "gen.cpu": 100.0,
    "gen.thread": 30.0,
    "gen.procs": 4.0,
    "nic.eth0.rx": 1e9,
    "nic.eth0.tx": 1e7,
}
TELEMETRY |= {
    "dev.nvme0n1.busy": 50.0,
    "dev.nvme0n1.queue": 3.0,
    "dev.nvme0n1.rd": 1e9,
    "dev.nvme0n1.wr": 1e9,
}
# as many as a real host says
TELEMETRY |= {f"psi.made{number}.some": 1.0 * number for number in range(40)}


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=64)
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--theme", default="dark")
    parser.add_argument(
        "--telemetry", action="store_true", help="hosts say what they do, and two servers"
    )
    parser.add_argument(
        "--alike",
        action="store_true",
        help="hosts do the same within 1 %%, and one a quarter of it",
    )
    parser.add_argument(
        "--long", type=int, default=600, help="seconds of the journal to catch up with"
    )
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        steady(Path(folder), args)
    with tempfile.TemporaryDirectory() as folder:
        catch_up(Path(folder), args.hosts, args.long)
    return 0


def maker_at(folder: Path, hosts: int, passed_s: float, stream: Path = MIX) -> RunMaker:
    """Return a run that began `passed_s` ago."""
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=passed_s)
    run_dir = folder / "runs" / RUN_ID
    utc = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return RunMaker(run_dir, host_names(hosts), stream, runtime_s=600, utc=utc).begin().go()


def steady(folder: Path, args: argparse.Namespace) -> None:
    """Run the app on a growing journal and count what it sends and burns."""
    maker = maker_at(folder, args.hosts, 62.0, READS if args.alike else MIX)
    if args.alike:
        chance = random.Random(1)
        maker.together = True
        maker.pace = {host: chance.gauss(1.0, 0.008) for host in maker.hosts} | {
            maker.hosts[-1]: 0.25
        }
    if args.telemetry:
        for host in maker.hosts:
            maker.look_at(host, TELEMETRY)
        for server in ("osd-1", "osd-2"):
            maker.look_at(server, TELEMETRY, server=True)
    maker.measure(60)
    pid, terminal = pty.fork()
    if pid == 0:
        run_app(folder, args.theme)
    width, height = map(int, args.size.split("x"))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    try:
        pump(terminal, maker, WARM_UP_S)
        before = cpu_s(pid)
        sent = pump(terminal, maker, args.seconds)
        burnt = cpu_s(pid) - before
    finally:
        os.write(terminal, b"qd")
        pump(terminal, None, 2.0)
        os.close(terminal)
        os.waitpid(pid, 0)
    rate, cpu = sent / args.seconds / 1000, burnt / args.seconds
    print(f"{args.hosts} hosts, {args.size}, 1 Hz: {rate:.1f} kB/s, CPU {cpu:.2%}")


def pump(terminal: int, maker: RunMaker | None, seconds: float) -> int:
    """Read what the app draws, append samples on time; return the bytes read."""
    sent, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], min(left, 0.05))[0]:
            try:
                sent += len(os.read(terminal, 65536))
            except OSError:
                break
        if maker is not None and time.time() >= maker.now + 1:
            maker.measure(1)
    return sent


def run_app(folder: Path, theme: str) -> None:
    """Become the app, on Live."""
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", BENCHTUI_HOME=str(folder))
    from tui.app.app import BenchtuiApp
    from tui.app.frame.shell import Options
    from tui.model.paths import Paths

    BenchtuiApp.run_is_alive = lambda self, run_dir: True  # type: ignore[method-assign]
    BenchtuiApp(
        Options(paths=Paths.from_environ(os.environ), theme=theme, watch=folder / "runs" / RUN_ID)
    ).run()
    os._exit(0)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def catch_up(folder: Path, hosts: int, seconds: int) -> None:
    """Read a long journal as the screen does when it opens in the middle of a run."""
    maker = maker_at(folder, hosts, seconds + 2.0).measure(seconds)
    size = maker.journal.stat().st_size
    feed, chunks, longest = LiveFeed(maker.run_dir), 0, 0.0
    began = time.process_time()
    while True:
        start = time.process_time()
        more = feed.advance()
        longest, chunks = max(longest, time.process_time() - start), chunks + 1
        if not more:
            break
    spent = time.process_time() - began
    what = f"catch-up with {seconds} s x {hosts} hosts: {feed.events} events, {size / 1e6:.0f} MB"
    print(f"{what} in {spent:.2f} s CPU, longest pause for the keys {longest * 1000:.0f} ms")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What telemetry costs: fio alone, under benchtui without telemetry, and with it, in turn; one long
fio while telemetry is held up and let go in turn; then host, wire, engine, journal.

Medians. On a machine with other work ratios say more than figures, and the long fio most: both
sides are one process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from math import ceil, floor
from pathlib import Path
from statistics import mean, median, quantiles

from tests.e2e.command import benchtui, measures, only_run, start
from tests.lab.faults import kill, marked
from tests.patience import wait_until
from tui.engine.session.telemetry import TelemetryReader

ROUNDS, RUNTIME_S = int(os.environ.get("ROUNDS", "5")), 8  # 0: the long fio alone
BLOCK_S, BLOCKS = 4, 40  # of the long fio: telemetry runs in every other block
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
LOADS = {
    "null engine": 'ioengine: "null", rw: randread, bs: 4k, size: 1G',
    "a file": (
        'ioengine: psync, direct: 1, rw: randread, bs: 4k, size: 64M, filename: "{folder}/data"'
    ),
}
PROFILE = """\
profile: bench/telemetry
version: 1
title: What telemetry costs
tool: fio
prepare: {{layout: {layout}}}
fio:
  global: {{{options}, time_based: 1, runtime: {runtime}s}}
  jobs: {{load: {{numjobs: 1}}}}
headline: {{metric: iops, direction: read}}
"""


class Seen:
    """What the telemetry task of a run was seen to cost while it ran."""

    def __init__(self) -> None:
        self.cpu_ticks: dict[int, int] = {}
        self.spool = b""
        self.begun = self.ended = 0.0

    def look(self, home: Path) -> None:
        """Look at the processes and the spool of telemetry as they are now."""
        for run in (home / "runs").glob("*"):
            for pid in of_telemetry(run.name):
                with suppress(OSError, ValueError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    # its own, and that of children that ended
                    self.cpu_ticks[pid] = sum(map(int, fields[11:15]))
                    self.begun, self.ended = self.begun or time.monotonic(), time.monotonic()
            for spool in Path(f"/tmp/.benchtui-{os.geteuid()}/{run.name}").glob(
                "*/*.telemetry/out"
            ):
                with suppress(OSError):
                    self.spool = max(self.spool, spool.read_bytes(), key=len)

    @property
    def seconds(self) -> float:
        """How long it was seen."""
        return self.ended - self.begun


def of_telemetry(run_id: str) -> list[int]:
    """Return the pids of a run's telemetry."""
    found = []
    for pid in marked(run_id):
        with suppress(OSError):
            if b".telemetry" in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
    return found


@contextmanager
def watched(home: Path) -> Iterator[Seen]:
    """Look at telemetry twice a second."""
    seen, over = Seen(), threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            seen.look(home)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def bare(folder: Path, options: str) -> float:
    """IOPS of fio alone."""
    words = [
        f"--{word.strip().replace(': ', '=').replace(chr(34), '')}" for word in options.split(",")
    ]
    command = [
        "fio",
        "--name=load",
        "--output-format=json",
        "--time_based=1",
        f"--runtime={RUNTIME_S}",
        *words,
    ]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["jobs"][0]["read"]["iops"])


def profile_of(folder: Path, options: str, runtime_s: int = RUNTIME_S) -> Path:
    """Write the profile of a load and return its path."""
    profile = folder / "bench.yaml"
    layout = str("filename" in options).lower()
    profile.write_text(PROFILE.format(options=options, layout=layout, runtime=runtime_s))
    return profile


def led(folder: Path, options: str, *more: str) -> tuple[float, Path]:
    """IOPS of a run of benchtui, and its directory."""
    profile = profile_of(folder, options)
    done = benchtui(folder / "home", "run", profile, "--hosts", "local", "--yes", "--json", *more)
    if done.returncode:
        raise RuntimeError(done.stderr)
    record = json.loads(done.stdout)
    return float(record["headline"]["value"]), folder / "home" / "runs" / record["run_id"]


def rate_of(folder: Path, options: str, *more: str) -> float:
    """IOPS of a run of benchtui."""
    return led(folder, options, *more)[0]


def switched(folder: Path, options: str) -> list[float]:
    """Return ratios of IOPS with telemetry to IOPS with telemetry held up, of neighbouring blocks
    of one long fio.
    """
    home = Path(tempfile.mkdtemp(dir=folder))
    profile = profile_of(folder, options, BLOCK_S * (BLOCKS + 2))
    with start(home, "run", profile, "--hosts", "local", "--yes", "--json") as process:
        wait_until(lambda: any((home / "runs").glob("*")) and measures(only_run(home)), "the load")
        blocks = [held_block(only_run(home).name, number) for number in range(BLOCKS)]
        free(only_run(home).name)
        record = json.loads(process.communicate()[0])
    series = record["steps"][0]["series"]
    begun = datetime.fromisoformat(record["created_utc"]).timestamp() + series["start_s"]
    rates = next(column["iops"] for column in series["columns"] if column["host"] is None)
    means = [mean(rates[ceil(since - begun) : floor(until - begun)]) for _, since, until in blocks]
    pairs = zip(blocks[::2], means[::2], means[1::2], strict=True)
    return sorted(second / first if block[0] else first / second for block, first, second in pairs)


def held_block(run_id: str, number: int) -> tuple[bool, float, float]:
    """Let a block pass, telemetry held up in the middle two of four.

    Return whether it was, and begin and end.
    """
    held = number % 4 in (1, 2)
    for pid in of_telemetry(run_id):
        kill(pid, signal.SIGSTOP if held else signal.SIGCONT)
    since = time.time()
    time.sleep(BLOCK_S)
    return held, since, time.time()


def free(run_id: str) -> None:
    """Let telemetry go on."""
    for pid in of_telemetry(run_id):
        kill(pid, signal.SIGCONT)


def main() -> int:
    """Print medians and ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        rows = []
        for title, text in LOADS.items():
            options = text.format(folder=folder)
            led(folder, options)  # lays out the file
            kinds = {
                "fio alone": partial(bare, folder, options),
                "without telemetry": partial(rate_of, folder, options, "--no-telemetry"),
                "with telemetry": partial(rate_of, folder, options),
            }
            if ROUNDS:
                compare(title, kinds)
            rows.append(f"{title} {told_of_one(title, switched(folder, options))}")
        with watched(folder / "home") as seen:
            _, run_dir = led(folder, LOADS["a file"].format(folder=folder))
        told(seen, run_dir)
    print(
        f"row for docs/telemetry.md, beside a load of {os.getloadavg()[0]:.1f} on"
        f" {os.cpu_count()} CPUs:"
    )
    print(
        "| fio under it | one fio, telemetry held up and let go in turn, median of the ratios:"
        f" {'; '.join(rows)} |"
    )
    return 0


def told_of_one(title: str, ratios: list[float]) -> str:
    """Return the ratio of the long fio for people, and print it."""
    low, high = (quantiles(ratios, n=4)[each] for each in (0, 2))
    text = f"{median(ratios):.4f} (half of {len(ratios)} pairs {low:.3f} to {high:.3f})"
    print(f"{title}, one fio, {BLOCK_S} s with and {BLOCK_S} s without in turn: {text}", flush=True)
    return text


def compare(title: str, kinds: Mapping[str, Callable[[], float]]) -> None:
    """Measure all kinds in turn, in another order each round, and print medians, and those of the
    rounds' ratios.
    """
    seen: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(ROUNDS):
        for kind in sorted(kinds, reverse=turn % 2 == 1):
            seen[kind].append(kinds[kind]())
    figures = ", ".join(f"{kind} {median(values):,.0f}" for kind, values in seen.items())
    print(f"{title}, {ROUNDS} x {RUNTIME_S} s in turn, median IOPS: {figures}")
    for other in ("fio alone", "without telemetry"):
        ratios = sorted(
            mine / theirs for mine, theirs in zip(seen["with telemetry"], seen[other], strict=True)
        )
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"  with telemetry against {other}: {median(ratios):.3f} ({spread})", flush=True)


def told(seen: Seen, run_dir: Path) -> None:
    """Print what the last run cost host, wire, engine and journal."""
    lines = [line for line in seen.spool.splitlines() if line.startswith(b"v ")]
    cpu = sum(seen.cpu_ticks.values()) / TICKS_A_SECOND
    begun = time.process_time()
    events = list(TelemetryReader("h", 0).feed(seen.spool))
    decoding_s = time.process_time() - begun
    written = (run_dir / "journal.jsonl").read_bytes().splitlines()
    journal = [line for line in written if b'"type":"telemetry"' in line]
    print(f"telemetry of one host, {seen.seconds:.0f} s of it seen")
    print(f"  host: {cpu / seen.seconds:.2%} of a core, the program that reads /proc")
    print(f"  wire: {len(seen.spool) / max(1, len(lines)):.0f} bytes a second")
    print(f"  engine: {decoding_s / max(1, len(events)) * 1000:.3f} ms to read a line")
    print(f"  journal: {sum(map(len, journal)) / max(1, len(journal)):.0f} bytes a line")

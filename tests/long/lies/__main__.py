"""`python -m tests.long.lies`: every lie several times, clean runs beside them, and who spoke up (make lies)."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from tests import leftovers
from tests.long.lies.corpus import CORPUS
from tests.long.lies.lie import Lie
from tests.long.lies.play import Played, Player, StoppedError
from tests.long.lies.report import failures, matrix_text, row_text, summary_text, write_json
from tests.long.lies.sabotage import OWN_PIDS

Batch = Sequence[Lie]


def main() -> int:
    """Play the corpus; 1 when something was not named, or a clean run was weakened, more often than is allowed."""
    args = arguments()
    chosen = [lie for lie in CORPUS if args.only in lie.name and (os.geteuid() == 0 or not lie.root)]
    outcome: dict[Lie, list[Played]] = {lie: [] for lie in chosen}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lies-") as name:
        leftovers.begin(Path(name) / "tmp")
        player = Player(Path(name))
        try:
            for batch in batches(chosen, args.times, args.at_once):
                play(player, batch, outcome)
        except (KeyboardInterrupt, StoppedError):
            print("stopped: what was made is taken away", file=sys.stderr)
    seconds = time.monotonic() - begun
    outcome = {lie: played for lie, played in outcome.items() if played}
    print("", *matrix_text(outcome), "", summary_text(outcome), *failures(outcome), sep="\n")
    print(f"{sum(map(len, outcome.values()))} runs in {seconds / 60:.1f} min")
    if args.json:
        write_json(args.json, outcome, seconds)
    return int(player.over.is_set() or any(failures(outcome)))


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.lies")
    parser.add_argument("--times", type=int, default=1, help="how often each")
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was said of each run")
    parser.add_argument("--at-once", type=int, default=4 * (os.cpu_count() or 1), help="calm runs side by side")
    return parser.parse_args()


def batches(chosen: Sequence[Lie], times: int, at_once: int) -> Iterator[Batch]:
    """Yield runs that are played side by side: those that need the machine for themselves one by one.

    Clean runs have two cores' worth of company at most, and limits are played half as often, for one in ten is allowed.
    """
    if subprocess.run([*OWN_PIDS, "true"], capture_output=True, check=False).returncode:
        at_once = 1
    for turn in range(times):
        due = [lie for lie in chosen if lie.finding or lie.clean or turn % 2 == 0]
        for noise in ("calm", "loud"):
            yield from _pieces((lie for lie in due if lie.noise == noise and not lie.clean), at_once)
        yield from _pieces((lie for lie in due if lie.noise == "alone"), 1)
        yield from _pieces((lie for lie in due if lie.clean), min(at_once, os.cpu_count() or 1))


def _pieces(lies: Iterable[Lie], size: int) -> Iterator[Batch]:
    left = iter(lies)
    while piece := list(islice(left, size)):
        yield piece


def play(player: Player, batch: Batch, outcome: dict[Lie, list[Played]]) -> None:
    """Play runs side by side and keep what was said; interrupted, it ends them first."""
    with ThreadPoolExecutor(len(batch)) as pool:
        runs = [pool.submit(player.play, lie, alone=len(batch) == 1) for lie in batch]
        try:
            for lie, run in zip(batch, runs, strict=True):
                outcome[lie].append(run.result())
                print(row_text(lie, outcome[lie]), flush=True)
        except KeyboardInterrupt:
            player.over.set()
            raise


if __name__ == "__main__":
    sys.exit(main())

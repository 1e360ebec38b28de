"""`python -m tests.long.lies`: lies that were staged and doctored, limits, clean runs, and who
spoke up (make lies).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tests import leftovers
from tests.long.lies import compared, drawn, drawn_limits, page
from tests.long.lies.corpus import CLEAN, LIES, LIMITS
from tests.long.lies.doctored.case import JudgedCase
from tests.long.lies.doctored.every import play_doctored
from tests.long.lies.lie import Lie
from tests.long.lies.own_cpu import own_cpu
from tests.long.lies.play import Played, Player, StoppedError
from tests.long.lies.report import failures, row_text, write_json
from tests.long.lies.rivals import side_by_side
from tests.long.lies.sabotage import LOOP, OWN_PIDS, beside
from tests.long.lies.tally import Conditions, sections, when_text

SEED = 22
Batch = tuple[Sequence[Lie], int]  # runs, and how many of them side by side


def main() -> int:
    """Play everything; 1 when less was named, or more was wrong, than is allowed."""
    args = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    begun, load = time.time(), os.getloadavg()[0]
    outcome: dict[Lie, list[Played]] = {}
    doctored: list[JudgedCase] = []
    stopped = False
    rivals: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="lies-") as name, own_cpu() as own:
        leftovers.begin(Path(name) / "tmp")
        player = Player(Path(name), own)
        try:
            doctored += play_doctored(Path(name), args.doctored, args.seed, args.only)
            if args.doctored and not args.only:
                rivals += side_by_side(Path(name), args.seed)
            for batch in batches(chosen(args, args.only), args.at_once, args.clean_at_once):
                play(player, *batch, outcome)
        except (KeyboardInterrupt, StoppedError):
            stopped = True
            print("stopped: what was made is taken away", file=sys.stderr)
    seconds = time.time() - begun
    made = sections(outcome, doctored, Conditions(args.seed, begun, seconds, load))
    if rivals:
        made["rivals"] = rivals
    if args.pairs and not stopped:
        made |= {
            "compare": compared.pairs_of_runs(args.pairs),
            "ab": compared.experiments(args.pairs),
        }
    print("", page.text_of(made), *failures(outcome, doctored), sep="\n")
    if args.json:
        write_json(args.json, outcome, doctored, when_text(begun, seconds))
    if args.write and not stopped:
        page.write(made)
    return int(stopped or any(failures(outcome, doctored)))


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.lies")
    parser.add_argument("--times", type=int, default=1, help="how often each example")
    parser.add_argument("--doctored", type=int, default=10, help="doctored results of each kind")
    parser.add_argument(
        "--staged", type=int, default=1, help="staged runs of each kind, drawn from the seed"
    )
    parser.add_argument(
        "--limits", type=int, default=2, help="runs of each limit, on idle and on busy CPUs"
    )
    parser.add_argument(
        "--clean", type=int, default=60, help="clean runs, on idle and on busy CPUs"
    )
    parser.add_argument("--pairs", type=int, default=60, help="simulated comparisons of each kind")
    parser.add_argument("--seed", type=int, default=SEED, help=f"what is drawn; default {SEED}")
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was said of each run")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/truth.md")
    parser.add_argument(
        "--at-once", type=int, default=4 * (os.cpu_count() or 1), help="calm runs side by side"
    )
    parser.add_argument(
        "--clean-at-once",
        type=int,
        default=1,
        help="undisturbed clean runs of one host side by side",
    )
    return parser.parse_args()


def chosen(args: argparse.Namespace, only: str) -> list[Lie]:
    """Return all runs that are to be made, of those with `only` in their name."""
    examples = [lie for lie in (*LIES, *LIMITS) for _ in range(args.times)]
    generated = [
        *drawn.staged(args.staged, args.seed),
        *drawn_limits.limits(args.limits, args.seed),
    ]
    runs = [*examples, *generated, *clean_runs(args.clean)]
    return [lie for lie in runs if only in lie.name and (os.geteuid() == 0 or not lie.root)]


def clean_runs(count: int) -> list[Lie]:
    """Return so many clean runs, each profile in turn, and as many with busy CPUs."""
    every = [CLEAN[at % len(CLEAN)] for at in range(count)]
    return [*every, *(replace(lie, name=f"{lie.name}, busy", company=True) for lie in every)]


def batches(chosen: Sequence[Lie], at_once: int, clean_at_once: int) -> Iterator[Batch]:
    """Yield runs that are played side by side: those that need the machine for themselves one by
    one.

    Undisturbed clean runs are made one at a time unless told otherwise: a second one is foreign
    traffic to the first. Those of one host are paced and take a tenth of two cores.
    """
    if subprocess.run([*OWN_PIDS, "true"], capture_output=True, check=False).returncode:
        at_once = clean_at_once = 1
    for noise in ("calm", "loud"):
        yield from _pieces((lie for lie in chosen if lie.noise == noise and not lie.clean), at_once)
    for company in (False, True):
        alone = (
            lie
            for lie in chosen
            if lie.noise == "alone" and lie.company == company and not lie.clean
        )
        yield from _pieces(alone, 1)
    clean = [lie for lie in chosen if lie.clean and not lie.company]
    one_host = [lie for lie in clean if lie.hosts < 2]  # half as much CPU as two, and more, take
    several = [lie for lie in clean if lie.hosts >= 2]
    busy = [lie for lie in chosen if lie.clean and lie.company]
    busy_at_once = min(at_once, 3 * (os.cpu_count() or 1))
    for runs, workers in ((several, 1), (one_host, clean_at_once), (busy, busy_at_once)):
        yield from [(runs, workers)] if runs else []


def _pieces(lies: Iterable[Lie], size: int) -> Iterator[Batch]:
    left = iter(lies)
    while piece := list(islice(left, size)):
        yield piece, len(piece)


def play(
    player: Player, batch: Sequence[Lie], at_once: int, outcome: dict[Lie, list[Played]]
) -> None:
    """Play runs side by side and keep what was said; interrupted, it ends them first."""
    loops = [LOOP] * (os.cpu_count() or 1) if batch[0].company else []
    with contextlib.ExitStack() as stack:
        stack.enter_context(beside(*loops))
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        alone = at_once == 1 and not batch[0].clean
        apart = batch[0].clean and not batch[0].company  # else the CPUs are busy anyway
        runs = [pool.submit(player.play, lie, alone=alone, apart=apart) for lie in batch]
        try:
            for lie, run in zip(batch, runs, strict=True):
                played = outcome.setdefault(lie, [])
                played.append(replace(run.result(), neighbours=at_once > 1))
                print(row_text(lie, played), flush=True)
        except KeyboardInterrupt:
            player.over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


if __name__ == "__main__":
    sys.exit(main())

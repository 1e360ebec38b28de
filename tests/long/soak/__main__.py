"""The command line of the soak test."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.long.soak.kinds import BY_NAME, KINDS, PHASES
from tests.long.soak.lab import SoakLab
from tests.long.soak.trial import DRAWS, Trial, clean_run, drawn, play


def soak(
    seed: int,
    trials: list[int],
    hosts: int,
    root: Path,
    *,
    limit_s: float = 3600.0,
    only: str | None = None,
) -> list[Trial]:
    """Play trials in a lab of their own and return them; one line each on stdout."""
    home, target = root / "home", root / "target"
    home.mkdir()
    target.mkdir()
    played: list[Trial] = []
    begin = time.monotonic()
    with SoakLab(root / "lab", hosts) as lab:
        for number in trials:
            if time.monotonic() - begin > limit_s:
                print(f"time is up after {len(played)} trials", flush=True)
                break
            for draw in range(1, DRAWS + 1):
                trial = play(drawn(seed, number, lab.names, only, draw), lab, home, target)
                played.append(trial)
                tell(trial)
                if trial.counts or trial.broken:
                    break
        if problem := clean_run(lab, home, target):
            last = played[-1]
            last.broken.append(f"a run without faults afterwards: {problem}")
            print(f"    {last.broken[-1]}", flush=True)
    return played


def tell(trial: Trial) -> None:
    """Print one line for a trial, and what there is to know of one with violations."""
    print(trial.line(), flush=True)
    for text in trial.broken:
        print(f"    {text}", flush=True)
    if trial.story:
        print(trial.story, flush=True)


def summary(played: list[Trial]) -> str:
    """Return the counts of all trials: by phase and kind of their first fault, by state, and what
    was left.
    """
    hits = [trial for trial in played if trial.counts]
    lines = [f"{'phase':<11}{'kind':<28}{'hit':>5}{'missed':>8}{'violations':>12}"]
    for phase in PHASES:
        lines += [
            line_of(phase, kind.name, played) for kind in KINDS if of_cell(phase, kind.name, played)
        ]
    lines += [line_of(phase, "all", played) for phase in PHASES]
    seconds = [hit for trial in played for hit in trial.hit[1:]]
    lines.append(f"second faults, while it measures: {sum(seconds)} of {len(seconds)} hit")
    states = Counter(trial.state for trial in played)
    lines.append(
        ", ".join(f"{count} {state or 'unknown'}" for state, count in states.most_common())
    )
    latest = max((trial.ended_s for trial in played), default=0)
    kept = [trial for trial in played if trial.kept]
    lines.append(
        f"without recover: no process and no lock {latest:.0f}s after the end at the latest;"
        f" {len(kept)} trials left {sum(trial.kept for trial in kept)} directories,"
        f" {sum(trial.kept_bytes for trial in kept)} bytes"
    )
    killed = [trial for trial in played if trial.engine_killed]
    recovered = [trial for trial in killed if trial.recovery == "after the lease"]
    lines.append(
        f"engine killed in {len(killed)}, {len(recovered)} recovered after the lease: "
        f"{sum(trial.added for trial in recovered)} bytes added"
    )
    broken = sum(bool(trial.broken) for trial in played)
    lines.append(
        f"{len(played)} played, {len(hits)} hit, {len(played) - len(hits)} missed, {broken} with"
        " violations"
    )
    return "\n".join(lines)


def of_cell(phase: str, kind: str, played: list[Trial]) -> list[Trial]:
    """Return the trials whose first fault was of a kind (``all``: any) in a phase."""
    firsts = ((trial, trial.faults[0]) for trial in played)
    return [
        trial
        for trial, fault in firsts
        if fault.phase == phase and kind in (fault.kind.name, "all")
    ]


def line_of(phase: str, kind: str, played: list[Trial]) -> str:
    """Return one row of the table."""
    cell = of_cell(phase, kind, played)
    hit = sum(trial.counts for trial in cell)
    return f"{phase:<11}{kind:<28}{hit:>5}{len(cell) - hit:>8}{sum(bool(trial.broken) for trial in cell):>12}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak", description=__doc__)
    add = parser.add_argument
    add(
        "--seed",
        type=int,
        default=int(time.time()) % 100_000,
        help="what the trials are drawn from (the time)",
    )
    add("--trials", type=int, default=20, metavar="N", help="how many (20)")
    add(
        "--first",
        type=int,
        default=1,
        metavar="K",
        help="number of the first trial (1): to repeat one",
    )
    add("--hosts", type=int, default=4, help="sshd instances in the lab (4)")
    add(
        "--limit",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="begin no trial after this time (3600)",
    )
    add(
        "--only",
        choices=sorted(BY_NAME),
        metavar="KIND",
        help="the first fault of every trial is of this kind",
    )
    args = parser.parse_args()
    # labs and runs are taken down then as well
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    root = Path(tempfile.mkdtemp(prefix="benchtui-soak-"))
    numbers = list(range(args.first, args.first + args.trials))
    try:
        played = soak(args.seed, numbers, args.hosts, root, limit_s=args.limit, only=args.only)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(summary(played))
    return 1 if any(trial.broken for trial in played) else 0


if __name__ == "__main__":
    sys.exit(main())

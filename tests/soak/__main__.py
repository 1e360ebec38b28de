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

from tests.soak.kinds import BY_NAME
from tests.soak.lab import SoakLab
from tests.soak.trial import DRAWS, Trial, clean_run, drawn, play


def soak(
    seed: int, trials: list[int], hosts: int, root: Path, *, limit_s: float = 3600.0, only: str | None = None
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
    """Return the counts of all trials: by kind of fault, by state."""
    drawn_, hit, missed, bad = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for trial in played:
        for fault, did in zip(trial.faults, [*trial.hit, *[False] * len(trial.faults)], strict=False):
            drawn_[fault.kind.name] += 1
            (hit if did else missed)[fault.kind.name] += 1
            bad[fault.kind.name] += bool(trial.broken)
    states = Counter(trial.state for trial in played)
    lines = [f"{'kind':<28}{'drawn':>6}{'hit':>6}{'missed':>8}{'violations':>12}"]
    lines += [f"{name:<28}{drawn_[name]:>6}{hit[name]:>6}{missed[name]:>8}{bad[name]:>12}" for name in sorted(drawn_)]
    phases = Counter(trial.faults[0].phase for trial in played if trial.counts)
    lines.append("hit in: " + ", ".join(f"{phase} {count}" for phase, count in phases.most_common()))
    lines.append(", ".join(f"{count} {state or 'unknown'}" for state, count in states.most_common()))
    killed = [trial for trial in played if trial.engine_killed]
    recovered = [trial for trial in killed if trial.recovery == "after the lease"]
    latest, kept = max((trial.ended_s for trial in played), default=0), [trial.kept for trial in played if trial.kept]
    lines.append(
        f"without recover: clean {latest:.0f}s after the end at the latest; {len(kept)} trials kept {sum(kept)} "
        "directories for it"
    )
    lines.append(
        f"engine killed in {len(killed)}, {len(recovered)} recovered after the lease: "
        f"{sum(trial.added for trial in recovered)} bytes added"
    )
    hits = [trial for trial in played if trial.counts]
    broken = sum(bool(trial.broken) for trial in played)
    lines.append(f"{len(played)} played, {len(hits)} hit, {len(played) - len(hits)} missed, {broken} with violations")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    add = parser.add_argument
    add("--seed", type=int, default=int(time.time()) % 100_000, help="what the trials are drawn from (the time)")
    add("--trials", type=int, default=20, metavar="N", help="how many (20)")
    add("--first", type=int, default=1, metavar="K", help="number of the first trial (1): to repeat one")
    add("--hosts", type=int, default=4, help="sshd instances in the lab (4)")
    add("--limit", type=float, default=3600.0, metavar="SECONDS", help="begin no trial after this time (3600)")
    add("--only", choices=sorted(BY_NAME), metavar="KIND", help="the first fault of every trial is of this kind")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # labs and runs are taken down then as well
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

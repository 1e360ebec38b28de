"""`python -m tests.lies`: every lie several times, clean runs between them, and who spoke up (make lies)."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.lab.sshd import SshdLab
from tests.lies.corpus import CLEAN, LIES, Lie
from tests.lies.play import Played, play


def main() -> int:
    """Play the corpus; 1 when a lie was not named, or a clean run was weakened, more often than is allowed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lies")
    parser.add_argument("--times", type=int, default=1, help="how often each")
    parser.add_argument("--only", default="", help="those whose name has this in it")
    args = parser.parse_args()
    chosen = [lie for lie in (*LIES, *CLEAN) if args.only in lie.name]
    with tempfile.TemporaryDirectory(prefix="lies-") as name:
        lab = SshdLab(Path(name) / "lab", 3)
        with lab:
            return tell({lie.name: played(lie, Path(name), lab, args.times) for lie in chosen}, chosen, args.times)


def played(lie: Lie, folder: Path, lab: SshdLab, times: int) -> list[Played]:
    """Play one lie several times."""
    found = [play(lie, folder, lab) for _ in range(times)]
    print(row(lie, found), flush=True)
    return found


def row(lie: Lie, found: list[Played]) -> str:
    """Return one line of the confusion matrix: how often it was named, and what else was said."""
    named = sum(each.names(lie.finding) for each in found) if lie.finding else sum(not each.findings for each in found)
    said = Counter(name for each in found for name in each.findings if name != lie.finding)
    others = ", ".join(f"{name} {count}" for name, count in said.most_common())
    failed = next((f"  failed: {each.failed}" for each in found if each.failed), "")
    limits = Counter(each.limiter for each in found if each.limiter)
    limited = ", ".join(limits)
    return f"{lie.name:<28}{lie.finding or 'clean':<12}{named:>3} of {len(found):<4}{limited:<15}{others}{failed}"


def tell(found: dict[str, list[Played]], chosen: list[Lie], times: int) -> int:
    """Print the sum and return the exit code: a lie may be missed once in twenty times."""
    lies = [lie for lie in chosen if lie.finding]
    missed = [lie.name for lie in lies if sum(not each.names(lie.finding) for each in found[lie.name]) > times // 20]
    clean = [each for lie in chosen if not lie.finding for each in found[lie.name]]
    weakened = sum(bool(each.findings) for each in clean)
    print(f"lies: {len(lies) - len(missed)} of {len(lies)} named; clean runs weakened: {weakened} of {len(clean)}")
    return int(bool(missed) or weakened > len(clean) // 100)


if __name__ == "__main__":
    sys.exit(main())

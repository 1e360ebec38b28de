"""Damaged files in worker processes: `python -m tests.long.fuzz --cases 2000 --seed 7 --only
mdtest`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.long.fuzz.mutate import mutated
from tests.long.fuzz.targets import TARGETS, Target

HANG_S = 2.0  # of CPU
BATCH = 100  # cases of one process
MOST_BYTES = 256 << 20
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


class HangError(BaseException):
    """A case that takes more than its time of CPU."""


def case(target: Target, data: bytes, folder: Path) -> str:
    """Return what is wrong with how a file is read; empty: nothing."""
    path = folder / target.name
    path.write_bytes(data)
    out = io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            target.read(path)
    except SystemExit:
        pass
    except HangError:
        return "hang: " + traceback.format_exc().strip().splitlines()[-3].strip()
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return (
            "traceback:"
            f" {type(error).__name__} {Path(place.filename).name}:{place.lineno} {str(error)[:100]!r}"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if raw := RAW.search(out.getvalue()):
        return (
            f"raw: U+{ord(raw[0]):04X} after"
            f" {out.getvalue()[max(0, raw.start() - 40) : raw.start()]!r}"
        )
    return ""


def batch(name: str, numbers: range, seed: int, root: Path) -> list[tuple[int, str]]:
    """Return what was wrong in some cases, each drawn from its number, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        told = _worked(name, numbers, seed, root)
        with os.fdopen(writing, "w") as out:
            json.dump(told, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as result:
        text = result.read()
    _, status = os.waitpid(child, 0)
    return (
        [(number, what) for number, what in json.loads(text)]
        if text
        else [(numbers[0], f"died: {status}")]
    )


def _worked(name: str, numbers: range, seed: int, root: Path) -> list[tuple[int, str]]:
    def hangs(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, hangs)
    folder = Path(tempfile.mkdtemp(dir=root))
    os.environ["BENCHTUI_HOME"] = os.environ["HOME"] = str(folder / "home")
    target, found = TARGETS[name], []
    samples = target.samples()
    for number in numbers:
        chance = random.Random(f"{seed} {name} {number}")
        data = mutated(chance.choice(samples), chance)
        if what := case(target, data, folder):
            found.append((number, what))
            (root / f"{name.replace(' ', '-')}-{number}").write_bytes(data)
    if peak_bytes() > MOST_BYTES:
        found.append((numbers[-1], f"memory: {peak_bytes() >> 20} MiB"))
    return found


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(match[1]) * 1024 if match else 0


def fuzz(names: list[str], cases: int, seed: int, root: Path) -> dict[str, list[tuple[int, str]]]:
    """Return what was wrong, by sort of file."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        begin = time.monotonic()
        found[name] = []
        for first in range(0, cases, BATCH):
            found[name] += batch(name, range(first, min(first + BATCH, cases)), seed, root)
        kinds = Counter(what.partition(":")[0] for _, what in found[name])
        counts = "".join(
            f"{kinds[kind]:>11}" for kind in ("traceback", "hang", "memory", "raw", "died")
        )
        print(f"{name:<15}{cases:>7}{counts}{time.monotonic() - begin:>8.0f} s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.fuzz", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=2000, metavar="N", help="of each sort of file (2000)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=int(time.time()) % 100_000,
        help="what they are drawn from (the time)",
    )
    parser.add_argument(
        "--only", choices=sorted(TARGETS), action="append", help="one sort of file; may be repeated"
    )
    args = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="benchtui-fuzz-"))
    print(
        f"seed {args.seed}\n{'file':<15}{'cases':>7}  traceback       hang     memory        raw   "
        "    died",
        flush=True,
    )
    found = fuzz(args.only or list(TARGETS), args.cases, args.seed, root)
    for name, wrong in found.items():
        for what, count in Counter(
            re.sub(r"0x[0-9a-f]+", "", what) for _, what in wrong
        ).most_common(15):
            number = next(each for each, other in wrong if other.startswith(what[:40]))
            print(f"    {name} {count}x, case {number}: {what}")
    if any(found.values()):
        print(f"the files are in {root}")
        return 1
    shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

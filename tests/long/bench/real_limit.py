"""A limit that the kernel keeps, found by a search: two sshd hosts in one control group that may
read so much.

LIMITS=400,1000 are the limits in IOPS, TIMES=1 is how often each is searched for; how far
repetitions agree is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.lab.course import course
from tests.lab.sshd import SshdLab
from tui.engine.plan.search import SearchChoice
from tui.engine.run.run import execute
from tui.library.build import build_record

BLKIO = Path("/sys/fs/cgroup/blkio")
LIMITS = [int(limit) for limit in os.environ.get("LIMITS", "400,1000").split(",")]  # IOPS
TIMES = int(os.environ.get("TIMES", "1"))
# full load with 256 in flight breaks it, Poisson arrivals from 97 to 99 % of the limit on
SLO = "p99 < 200ms"
WITHIN = 0.05
PROFILE = """\
profile: bench/limit
title: Reads past the page cache
tool: fio
params:
  directory: {default: /tmp, kind: directory}
  runtime: {default: 8s, kind: duration}
  size: {default: 32M, kind: size}
  numjobs: {default: 1, kind: count}
fio:
  global: {ioengine: libaio, direct: 1, iodepth: 128, time_based: 1, runtime: "{runtime}"}
  jobs: {r: {rw: randread, bs: 4k, size: "{size}", directory: "{directory}/{host}", numjobs: "{numjobs}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
capacity: {limits: ["p99 < 200ms"], points: 15, point: 8s, most: 20s}
"""


class Interval(NamedTuple):
    """A limit that was found, in IOPS, with the ends of its interval."""

    value: float
    low: float
    high: float


@contextmanager
def limited(device: int, iops: int) -> Iterator[tuple[str, ...]]:
    """Yield what joins a process to a control group that reads this device so often a second.

    Raises OSError.
    """
    group = BLKIO / f"bench-{os.getpid()}"
    group.mkdir()
    try:
        (group / "blkio.throttle.read_iops_device").write_text(
            f"{os.major(device)}:{os.minor(device)} {iops}\n"
        )
        yield ("sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh")
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()


async def found(folder: Path, iops: int) -> Interval | None:
    """Search for one limit and print what came out; return it, None where nothing was found."""
    folder.mkdir()
    (folder / "limit.yaml").write_text(PROFILE)
    with (
        limited(folder.stat().st_dev, iops) as join,
        SshdLab(folder / "lab", 2, wrapper=join) as lab,
    ):
        begun = time.monotonic()
        wish, size = SearchChoice("capacity", (SLO,)), "32M"
        path = folder / "limit.yaml"
        async with course(
            folder, lab, "8s", hosts=2, size=size, profile=path, telemetry=False, search=wish
        ) as run:
            await execute(run.ctx)
            search = build_record(run.ctx.run_dir).search
        took = time.monotonic() - begun
    answer = search.answer if search is not None else None
    value = answer.capacity.value if answer is not None else None
    points = len(search.points) if search is not None else 0
    if answer is None or value is None:
        print(f"  limit {iops} IOPS: nothing found in {points} points")
        return None
    low, high = answer.capacity.low or 0.0, answer.capacity.high or 0.0
    known = f"{answer.state} {value:.0f} ({low:.0f} to {high:.0f}), {value / iops - 1:+.1%}"
    print(
        f"  limit {iops} IOPS over 2 hosts, {SLO}: {known}, {points} points, {took:.0f} s",
        flush=True,
    )
    return Interval(value, low, high)


def sharing(found: Sequence[Interval]) -> int:
    """Return how many intervals have one value in common, at most."""
    return max(sum(each.low <= one.low <= each.high for each in found) for one in found)


def searched(folder: Path, iops: int) -> bool:
    """Search for one limit so many times; tell whether all of it is found within 5 %."""
    answers = [asyncio.run(found(folder / f"{iops}-{number}", iops)) for number in range(TIMES)]
    got = [answer for answer in answers if answer is not None]
    near = sum(abs(answer.value / iops - 1) <= WITHIN for answer in got)
    if got and TIMES > 1:
        print(
            f"  limit {iops} IOPS: {near} of {TIMES} within {WITHIN:.0%}, {sharing(got)} intervals"
            " share a value"
        )
    return near == TIMES


def main() -> int:
    """Find each limit; 1 when one is missed."""
    print(
        "a real limit: fio on two hosts whose reads one control group throttles"
        " (blkio.throttle.read_iops_device)"
    )
    if not (BLKIO / "blkio.throttle.read_iops_device").exists() or os.geteuid():
        print("  cannot be measured here: it takes root and blkio.throttle")
        return 0
    with tempfile.TemporaryDirectory(prefix="benchtui-limit-", dir="/var/tmp") as folder:
        # each is told, also after one that is missed
        reached = [searched(Path(folder), iops) for iops in LIMITS]
    return int(not all(reached))


if __name__ == "__main__":
    main()

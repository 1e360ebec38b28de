"""What judging a run of many hosts costs, while it runs and at its end: CPU time of this process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import msgspec

from tests.app.journal_maker import MIX, RUN_ID, SYNCS, TWO_JOBS, RunMaker, host_names
from tests.long.bench import kept
from tui.journal.fold import fold
from tui.journal.reader import JournalTail
from tui.journal.state import RunState
from tui.judge import live
from tui.judge.catalogue import examine
from tui.judge.live import LiveFindings
from tui.library.build import build_record
from tui.model.plan import JobLoad, Plan
from tui.model.rundir import PLAN_FILE

HOSTS, SECONDS, REPEATS = 64, 120, 5
LOADS = {"reads and writes": MIX, "writes and syncs": SYNCS, "two jobs": TWO_JOBS}
TELEMETRY = {
    "cpu.busy": 20.0, "core.busy": 40.0, "core.number": 3.0, "cpu.steal": 0.0, "gen.thread": 50.0,
    "gen.cpu": 60.0, "gen.wait": 1.0, "gen.procs": 1.0, "gen.read_bytes": 5e7,
    "gen.write_bytes": 5e7, "dev.nvme0n1.rd": 5e7, "dev.nvme0n1.wr": 5e7, "tcp.retrans": 0.0,
}  # fmt: skip


def main() -> int:
    """Print a row for each load."""
    rows = [row(name, stream) for name, stream in LOADS.items()]
    print(f"{HOSTS} hosts, {SECONDS} s; load {os.getloadavg()[0]:.1f}", kept.table(rows), sep="\n\n")
    kept.keep("judging", rows)
    return 0


def row(name: str, stream: Path) -> kept.Row:
    """Measure one load."""
    with tempfile.TemporaryDirectory(prefix="judging-") as folder:
        run = Path(folder) / RUN_ID
        maker = RunMaker(run, host_names(HOSTS), stream, runtime_s=float(SECONDS)).begin()
        with_jobs(run)
        maker.go()
        for host in maker.hosts:
            maker.look_at(host, TELEMETRY)
        looks = looks_at(maker)
        maker.finish()
        whole, checks = [], []
        for _ in range(REPEATS):
            seconds, of_checks = at_end(run)
            whole.append(seconds)
            checks.append(of_checks)
    return {
        "load": name,
        "all checks at the end, ms": 1000 * median(checks),
        "record and checks at the end, s": median(whole),
        "one pass of the checks on Live, ms": 1000 * median(looks),
        "longest, ms": 1000 * max(looks),
    }


def with_jobs(run: Path) -> None:
    """Describe the load in the plan, which some checks need."""
    path = run / PLAN_FILE
    plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    (step,) = plan.steps
    named = tuple(name for name in step.directions if name in ("read", "write")) or ("read",)
    job = JobLoad("a", named, direct=True, bound_s=float(SECONDS), block_bytes=4096)
    plan.steps[0] = msgspec.structs.replace(step, jobs=[job], in_flight=HOSTS)
    path.write_bytes(msgspec.json.encode(plan))


def looks_at(maker: RunMaker) -> list[float]:
    """Return the CPU time of each look of Live but the first, which loads modules."""
    plan = msgspec.json.decode((maker.run_dir / PLAN_FILE).read_bytes(), type=Plan)
    state, tail, found = RunState(), JournalTail(maker.journal), LiveFindings(plan)
    share, live.SHARE = live.SHARE, float("inf")
    costs = []
    for _ in range(SECONDS):
        maker.measure(1)
        for event in tail.poll():
            fold(state, event)
        found.cost_s = 0.0
        found.update(state, state.clock.now)
        if found.cost_s:
            costs.append(found.cost_s)
    live.SHARE = share
    return costs[1:]


def at_end(run: Path) -> tuple[float, float]:
    """Return the CPU time of the record with its checks, and that of the checks alone."""
    checks = 0.0

    def timed(*args: Any, **more: Any) -> Any:
        nonlocal checks
        seconds, made = cpu(lambda: examine(*args, **more))
        checks += seconds
        return made

    with patch("tui.library.build.examine", timed):
        seconds, _ = cpu(lambda: build_record(run))
    return seconds, checks


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of a call, and its result."""
    begun = time.process_time()
    made = work()
    return time.process_time() - begun, made


if __name__ == "__main__":
    main()

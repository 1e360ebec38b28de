"""A stand-in for fio over a system of known capacity: it prints what fio would, of I/Os that a
queue was asked to do.

Layouts, versions and help are the real fio's. A timed job is simulated whole when it starts
(`tests.capacity.systems`), and told as fio tells it: cumulative json+ objects, one a second, and a
last one. Each host has a system of its own, so that hosts together have the sum. Arrivals are those
of `rate_iops`, over workers and directions; without one, each worker holds `iodepth` I/Os in
flight.
"""

from __future__ import annotations

import configparser
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from threading import Event
from typing import Any

from tests.capacity.systems import Array, System, bucket_of
from tui.metrics.buckets import PERCENTILES, index_to_value
from tui.metrics.histogram import Histogram

BLOCK = 4096
SCRIPT = """\
#!/bin/sh
for each; do
    [ -f "$each" ] && grep -q '^runtime' "$each" &&
        PYTHONPATH="{root}" exec "{python}" -m tests.lab.fio_standin "{kept}" "{real}" "$@"
done
exec "{real}" "$@"
"""


def main(spec: dict[str, Any], real: str, arguments: list[str]) -> int:
    path = next((Path(each) for each in reversed(arguments) if not each.startswith("-")), None)
    jobs = jobs_of(path) if path is not None and path.exists() else {}
    timed = {
        name: job
        for name, job in jobs.items()
        if "runtime" in job and job.get("create_only", "0") in ("0", "")
    }
    if not timed:
        os.execv(real, [real, *arguments])
    return Fio(System(**spec), timed).run()


def jobs_of(path: Path) -> dict[str, dict[str, str]]:
    """The options of each job, those of [global] in front of it among them."""
    parser = configparser.ConfigParser(
        default_section="global", strict=False, interpolation=None, allow_no_value=True
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path)
    return {
        name: {key: value or "1" for key, value in parser[name].items()}
        for name in parser.sections()
    }


def seconds(text: str) -> float:
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
    unit = next((each for each in ("us", "ms", "s", "m", "h") if text.endswith(each)), "")
    return float(text.removesuffix(unit)) * units.get(unit, 1.0)


def rates(job: dict[str, str]) -> list[float]:
    """The offered rates of one worker by read, write and trim; empty: none is offered."""
    return (
        [float(each or 0) for each in job["rate_iops"].split(",")] if job.get("rate_iops") else []
    )


class Fio:
    """One process of it: what its system did with its jobs, and when to say so."""

    def __init__(self, system: System, jobs: dict[str, dict[str, str]]) -> None:
        import numpy as np

        first = next(iter(jobs.values()))
        self.name, self.options = next(iter(jobs)), first
        self.ramp, self.length = seconds(first.get("ramp_time", "0")), seconds(first["runtime"])
        workers = [(int(job.get("numjobs", "1")), job) for job in jobs.values()]
        system.slots = sum(count * int(job.get("iodepth", "1")) for count, job in workers)
        offered = sum(count * sum(rates(job)) for count, job in workers) or None
        random = np.random.default_rng(
            [int(first.get("randseed", "1")) % 2**32, int(offered or 0), os.getpid()]
        )
        _, self.started, self.done = system.run(offered, self.ramp + self.length, random)
        self.reads = random.random(len(self.done)) < read_share(first)
        self.stopped = Event()

    def run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.stopped.set())
        self.begin = time.time()
        end = self.begin + self.ramp + self.length
        while not self.stopped.is_set() and (now := time.time()) < end:
            self.stopped.wait(max(0.0, min(end, self.begin + int(now - self.begin) + 1.0) - now))
            if not self.stopped.is_set() and time.time() < end:
                self.say()
        if self.stopped.is_set():
            print("\nfio: terminating on signal 2")
        self.say()
        return 128 if self.stopped.is_set() else 0

    def say(self) -> None:
        """Print what was done, as fio does: cumulative; in the ramp without latencies, and from its
        end on anew.
        """
        import numpy as np

        now = time.time()
        reached = min(now - self.begin, self.ramp + self.length)
        ramping = reached < self.ramp
        start = 0.0 if ramping else self.ramp
        runtime = reached - start
        seen = (self.done > start) & (self.done <= reached)
        parts = {
            "read": direction(self.started, self.done, seen & self.reads, runtime),
            "write": direction(self.started, self.done, seen & ~self.reads, runtime),
        }
        if ramping:
            for part in parts.values():
                part["clat_ns"] = part["lat_ns"] = latency(self.done[:0])
        job = {
            "jobname": self.name, "groupid": 0, "job_start": round((self.begin + start) * 1000),
            "error": 0,
            "elapsed": round(reached), "job options": self.options, **parts,
            "trim": direction(self.started, self.done, np.zeros_like(seen), 0.0),
            "sync": {"total_ios": 0},
            "job_runtime": round(runtime * 1000), "usr_cpu": 1.0, "sys_cpu": 1.0,
        }  # fmt: skip
        said = {
            "fio version": "fio-3.36",
            "timestamp": int(now),
            "timestamp_ms": int(now * 1000),
            "jobs": [job],
        }
        print(json.dumps(said, indent=2), flush=True)


def read_share(job: dict[str, str]) -> float:
    access = job.get("rw", "read")
    if "rw" in access:
        return float(job.get("rwmixread", "50")) / 100
    return 1.0 if "read" in access else 0.0


def direction(started: Array, done: Array, which: Array, runtime: float) -> dict[str, Any]:
    """One direction as fio prints it."""
    took = (done[which] - started[which]) * 1e9
    count = len(took)
    rate = count / runtime if runtime else 0.0
    slow = latency(took)
    return {
        "io_bytes": count * BLOCK, "io_kbytes": count * BLOCK // 1024,
        "bw_bytes": round(rate * BLOCK),
        "bw": round(rate * BLOCK / 1024), "iops": rate, "runtime": round(runtime * 1000),
        "total_ios": count,
        "short_ios": 0, "drop_ios": 0, "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0,
            "N": 0},
        "clat_ns": slow, "lat_ns": slow,
    }  # fmt: skip


def latency(took: Array) -> dict[str, Any]:
    import numpy as np

    if not len(took):
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    idx, n = np.unique(bucket_of(took), return_counts=True)
    counts = Histogram(dict(zip(idx.tolist(), n.tolist(), strict=True)))
    return {
        "min": int(took.min()), "max": int(took.max()), "mean": float(took.mean()), "N": len(took),
        "stddev": float(took.std(ddof=1)) if len(took) > 1 else 0.0,
        "percentile": {f"{float(each):f}": value for each,
            value in counts.percentiles(PERCENTILES).items()},
        "bins": {str(index_to_value(index)): count for index, count in counts.items()},
    }  # fmt: skip


def install(directory: Path, system: System, real: str = "") -> Path:
    """Put an executable `fio` into a directory and return its path."""
    path = directory / "fio"
    spec = {each.name: asdict(system)[each.name] for each in fields(system)}
    root = Path(__file__).parents[2]
    real = real or shutil.which("fio") or "/usr/bin/fio"
    kept = directory / "fio-system.json"
    kept.write_text(json.dumps(spec))
    path.write_text(SCRIPT.format(root=root, python=sys.executable, kept=kept, real=real))
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], sys.argv[3:]))

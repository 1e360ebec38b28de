"""Hosts that cost next to nothing: real sshd on loopback, and a stand-in for fio that prints json+
of real size.

One process writes the snapshots of all hosts, each into the FIFO that its `fio`, a `cat`, reads: so
that what is measured is the engine and the wire, not many fio on one machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.sshd import SshdLab, set_env
from tests.long.bench.sshfleet import ServedLab, on_last_core
from tui.metrics.buckets import index_to_value

SNAPSHOT_BYTES = 45_000
PIPE_BYTES = 1 << 18
IOPS = 10_000
PROFILE = """\
profile: bench/fleet
version: 1
title: A fleet of stand-ins
tool: fio
params:
  runtime: {default: 30s, kind: duration}
fio:
  global: {ioengine: "null", rw: randread, bs: 4k, iodepth: 13, size: 1G, time_based: 1, runtime: "{runtime}"}
  jobs: {load: {numjobs: 1}}
prepare: {layout: false}
headline: {metric: iops, direction: read}
"""
FIO = """\
#!/bin/sh
case " $* " in *" --status-interval=1 "*) ;; *) exec /usr/bin/fio "$@" ;; esac
pipe="$FLEET/$$.pipe"
mkfifo "$pipe.new" && mv "$pipe.new" "$pipe"
exec cat "$pipe"
"""


def latencies(second: int, bins: int) -> dict[str, Any]:
    """Return latencies of so many filled buckets: equal counts that grow by the second."""
    per_bin = IOPS // bins
    values = {str(index_to_value(400 + place)): per_bin * second for place in range(bins)}
    total, first, last = (
        per_bin * bins * second,
        index_to_value(400),
        index_to_value(400 + bins - 1),
    )
    return {
        "min": first,
        "max": last,
        "mean": (first + last) / 2,
        "stddev": last / 4,
        "N": total,
        "bins": values,
    }


def snapshot(second: int, runtime_s: int, now_s: float, bins: int) -> bytes:
    """Return what fio 3.33 would print of one job after so many seconds."""
    clat = latencies(second, bins)
    kinds, total = (
        {"slat_ns": latencies(second, bins // 2), "clat_ns": clat, "lat_ns": clat},
        clat["N"],
    )
    zero: dict[str, Any] = {"io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0,
        "runtime": 0,
                            "total_ios": 0, "short_ios": 0, "drop_ios": 0}  # fmt: skip
    none = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    idle = {**zero, "slat_ns": none, "clat_ns": none, "lat_ns": none}
    read = {**zero, "io_bytes": total * 4096, "io_kbytes": total * 4,
        "bw_bytes": total * 4096 // second,
            "total_ios": total, "bw": total * 4 // second, "iops": total / second,
            "runtime": second * 1000,
            **kinds}  # fmt: skip
    job = {
        "jobname": "load", "groupid": 0, "error": 0, "eta": max(0, runtime_s - second),
        "elapsed": second + 1,
        "job options": {"name": "load", "ioengine": "null", "rw": "randread", "bs": "4k",
            "runtime": f"{runtime_s}s"},
        "read": read, "write": idle, "trim": idle,
        "sync": {"total_ios": 0, "lat_ns": {**none, "N": 0}},
        "job_runtime": second * 1000, "usr_cpu": 10.0, "sys_cpu": 10.0, "ctx": 0, "majf": 0,
        "minf": 10,
        "iodepth_level": {"1": 100.0}, "latency_depth": 1, "latency_target": 0,
        "latency_percentile": 100.0, "latency_window": 0,
    }  # fmt: skip
    whole = {"fio version": "fio-3.33", "timestamp": int(now_s), "timestamp_ms": int(now_s * 1000),
             "time": time.ctime(now_s), "jobs": [job]}  # fmt: skip
    return (json.dumps(whole, indent=2) + "\n").encode()


def bins_for(size: int) -> int:
    """Return how many buckets make a snapshot of about that size."""
    return next(
        bins for bins in range(20, IOPS, 20) if len(snapshot(60, 60, time.time(), bins)) >= size
    )


class Pipe:
    """The FIFO of one host's stand-in, and how far it is."""

    def __init__(self, descriptor: int, begun: float) -> None:
        self.descriptor, self.begun = descriptor, begun
        self.second, self.left = 0, b""

    def write(self) -> bool:
        """Write what is left; tell whether the reader is still there."""
        try:
            self.left = self.left[os.write(self.descriptor, self.left) :] if self.left else b""
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return True


def serve(folder: Path, runtime_s: int) -> None:
    """Write snapshots into every FIFO that appears, one a second from its begin on.

    The last one ends it.
    """
    bins = bins_for(SNAPSHOT_BYTES)
    pipes: dict[str, Pipe] = {}
    texts: dict[int, tuple[float, bytes]] = {}
    done: set[str] = set()
    while True:
        for name in os.listdir(folder):  # noqa: PTH208
            if name.endswith(".pipe") and name not in pipes and name not in done:
                with contextlib.suppress(OSError):  # its reader is not there yet
                    descriptor = os.open(folder / name, os.O_WRONLY | os.O_NONBLOCK)
                    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
                    pipes[name] = Pipe(descriptor, time.time())
        for name, pipe in list(pipes.items()):
            now = time.time()
            if not pipe.left and pipe.second < runtime_s and now >= pipe.begun + pipe.second + 1:
                pipe.second += 1
                if pipe.second not in texts or now - texts[pipe.second][0] > 0.5:
                    texts[pipe.second] = (now, snapshot(pipe.second, runtime_s, now, bins))
                pipe.left = texts[pipe.second][1]
            if not pipe.write() or (pipe.second >= runtime_s and not pipe.left):
                os.close(pipe.descriptor)
                done.add(name)
                del pipes[name]
        time.sleep(0.02)


@contextmanager
def fleet(root: Path, hosts: int, runtime_s: int, *, served: bool = False) -> Iterator[SshdLab]:
    """Start so many hosts whose fio is the stand-in, and the process that feeds them.

    `served`: one is real, and a process answers for all, on the last core of this machine.
    """
    folder, bin_dir = root / "pipes", root / "bin"
    folder.mkdir()
    bin_dir.mkdir()
    (bin_dir / "fio").write_text(FIO)
    (bin_dir / "fio").chmod(0o755)
    (root / "fleet.yaml").write_text(PROFILE)
    environ = {"PATH": f"{bin_dir}:/usr/bin:/bin", "FLEET": str(folder)}
    lab = ServedLab(root / "lab", hosts, environ) if served else SshdLab(root / "lab", hosts)
    for host in lab.hosts:
        host.options = (
            set_env(host.root, *(f"{name}={value}" for name, value in environ.items())),
        )
    program = [sys.executable, "-m", "tests.long.bench.fleet", str(folder), str(runtime_s)]
    feeder = subprocess.Popen(program, cwd=Path(__file__).parents[3])
    if served:
        on_last_core(feeder)
    try:
        with lab:
            yield lab
    finally:
        feeder.kill()
        feeder.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(Path(sys.argv[1]), int(sys.argv[2]))

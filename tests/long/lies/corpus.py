"""The corpus: what each run does, and the check that must name it.

All on this machine, for seconds.
"""

from __future__ import annotations

from typing import Any

from tests.long.lies import places, remote, sabotage
from tests.long.lies.lie import Lie

SHORT = ("runtime",)
NULL = 'ioengine: "null", rw: randread, bs: 4k, size: 1G'
DIRECT = "ioengine: psync, direct: 1, rw: randread, bs: 4k, size: 32M"
QUEUED = "ioengine: libaio, iodepth: 8, direct: 1, rw: randread, bs: 4k, size: 32M"
PACED = f"{DIRECT}, rate_iops: 200"
STORED = "ioengine: psync, direct: 1, size: 32M, rate_iops: 100"
SERVED = "ioengine: nbd, rw: randread, size: 64M"
GROWING = (
    "ioengine: psync, direct: 1, rw: write, bs: 64k, size: 64M, rate_iops: 40, fallocate: none"
)

DATA: tuple[Lie, ...] = (
    Lie(
        "unwritten file",
        f"{DIRECT}, rate_iops: 2000",
        "storage-traffic",
        sabotage=sabotage.unwritten,
        layout=False,
        others=("unwritten-data",),
    ),
    Lie(
        "allocated, hardly written",
        f"{DIRECT}, rate_iops: 2000",
        "unwritten-data",
        sabotage=sabotage.partly_written,
        layout=False,
        others=("storage-traffic",),
    ),
    Lie(
        "page cache",
        "ioengine: psync, direct: 0, rw: randread, bs: 4k, size: 32M",
        "working-set",
        noise="loud",
        others=("storage-traffic", "client-cpu"),
    ),
    Lie("file system in memory", PACED, "direct-io", memory=True, others=("storage-traffic",)),
    Lie(
        "zeros",
        "ioengine: psync, direct: 1, rw: write, bs: 64k, size: 32M, rate_iops: 50, zero_buffers: 1",
        "reducible-data",
    ),
    Lie(
        "same offsets, one file",
        f"{PACED}, randseed: 7",
        "same-offsets",
        hosts=2,
        layout=False,
        shared=True,
        others=("shared-files", "storage-traffic"),
    ),
    Lie(
        "same offsets, one device",
        f"{PACED}, randseed: 7",
        "same-offsets",
        sabotage=places.one_device,
        layout=False,
        root=True,
        head="allow_device: true",
        others=("storage-traffic", "host-differences"),
    ),
)
LOAD: tuple[Lie, ...] = (
    Lie(
        "ends early",
        "ioengine: psync, direct: 1, rw: read, bs: 64k, size: 8M, time_based: 0",
        "short",
        runtime_s=60,
    ),
    Lie(
        "rate not reached",
        f"{DIRECT}, rate_iops: 100000000",
        "offered-rate",
        noise="loud",
        others=("client-cpu",),
    ),
    Lie(
        "wait in the submission",
        "ioengine: libaio, iodepth: 2, direct: 0, rw: randwrite, bs: 64k, size: 32M",
        "slat",
        noise="loud",
        head="latency: clat",
        others=("working-set", "client-cpu", "storage-traffic", "concurrency", "background-load"),
    ),
    Lie("too short", PACED, "runtime", runtime_s=2),
    Lie(
        "bound by syncs",
        "ioengine: psync, rw: write, bs: 4k, size: 8M, fdatasync: 1",
        "sync",
        noise="loud",
        others=(
            "working-set",
            "concurrency",
            "steady-state",
            "warm-up",
            "client-cpu",
            "stall",
            "storage-traffic",
        ),
    ),
    Lie(
        "throughput that drifts",
        f"{SERVED}, bs: 4k",
        "steady-state",
        runtime_s=28,
        sabotage=remote.changing_server(10, 12, 15, 19, 24, 30, every_s=5),
        others=("warm-up",),
    ),
    Lie(
        "throughput that comes and goes",
        f"{SERVED}, bs: 4k",
        "steady-state",
        runtime_s=28,
        sabotage=remote.changing_server(10, 30, every_s=7),
        others=("warm-up",),
    ),
    Lie(
        "a throttle that is changed",
        QUEUED,
        "steady-state",
        runtime_s=28,
        root=True,
        sabotage=places.throttled_to(*(kib << 10 for kib in (1024, 800, 600, 450, 350, 250))),
        others=("warm-up",),
    ),
    Lie(
        "one host held up",
        f"{DIRECT}, thinktime: 5000",
        "straggler",
        hosts=3,
        sabotage=sabotage.held_up("h3", 0.6, 0.4),
        others=("offered-rate", "stall", "missing-samples"),
    ),
    Lie(
        "one host late",
        PACED,
        "start-skew",
        sabotage=sabotage.held_back(2, "h2", 3.0),
        others=("short", "offered-rate", "stall", "planned-command"),
    ),
    Lie(
        "a frozen client",
        PACED,
        "stall",
        hosts=2,
        runtime_s=14,
        sabotage=sabotage.once("h2", 4.0, 5.0),
        others=("offered-rate", "missing-samples", "straggler"),
    ),
    Lie(
        "a rebooted client",
        PACED,
        "host-restart",
        runtime_s=11,
        sabotage=sabotage.rebooted,
        root=True,
        others=("host-loss", "tool-errors", "short", "offered-rate", "missing-samples"),
    ),
)
HOSTS: tuple[Lie, ...] = (
    Lie(
        "busy neighbour",
        PACED,
        "background-load",
        runtime_s=10,
        noise="alone",
        sabotage=sabotage.busy_cpus,
        others=("client-cpu", "offered-rate"),
    ),
    Lie(
        "client CPU busy",
        PACED,
        "client-cpu",
        runtime_s=6,
        noise="alone",
        sabotage=sabotage.busy_cpus,
        others=("background-load", "offered-rate"),
    ),
    Lie(
        "pinned to one busy core",
        NULL,
        "client-cpu",
        runtime_s=6,
        noise="alone",
        root=True,
        sabotage=sabotage.pinned,
        others=("background-load", "concurrency"),
    ),
    Lie(
        "another load generator",
        PACED,
        "other-load",
        runtime_s=6,
        noise="alone",
        sabotage=sabotage.other_generator,
        others=("background-load", "offered-rate"),
    ),
    Lie(
        "different mount options",
        PACED,
        "host-differences",
        sabotage=places.mounted_otherwise,
        root=True,
        others=("storage-traffic",),
    ),
    Lie(
        "file system that fills",
        GROWING,
        "tool-errors",
        sabotage=places.fills,
        root=True,
        layout=False,
        others=("short", "offered-rate", "target-full", "host-loss"),
    ),
    Lie("file system nearly full", PACED, "target-full", sabotage=places.nearly_full, root=True),
    Lie(
        "narrow link",
        f"{SERVED}, bs: 64k, iodepth: 8",
        "network",
        "network",
        noise="alone",
        runtime_s=6,
        sabotage=remote.narrow_link,
        root=True,
    ),
)
LIES = (*DATA, *LOAD, *HOSTS)
LIMITS: tuple[Lie, ...] = (
    Lie("limit: rate", PACED, bottleneck="rate"),
    Lie("limit: client CPU", NULL, bottleneck="client-cpu", noise="alone", runtime_s=6),
    Lie("limit: one I/O in flight", DIRECT, bottleneck="concurrency", noise="alone", runtime_s=6),
    Lie(
        "limit: the client device",
        QUEUED.replace("4k", "256k"),
        bottleneck="client-device",
        noise="alone",
        runtime_s=8,
        root=True,
        layout=False,
        head="allow_device: true",
        sabotage=places.slow_device,
    ),
    Lie(
        "limit: the control group",
        QUEUED,
        bottleneck="client-device",
        noise="alone",
        runtime_s=6,
        root=True,
        sabotage=places.throttled,
    ),
    Lie(
        "limit: the storage",
        f"{SERVED}, bs: 4k, iodepth: 8",
        bottleneck="storage",
        noise="alone",
        runtime_s=6,
        sabotage=remote.server_after(3, slots=2),
    ),
    Lie(
        "limit: the server's CPU",
        f"{SERVED}, bs: 4k, iodepth: 8",
        bottleneck="server-cpu",
        noise="alone",
        runtime_s=6,
        sabotage=remote.computing_server,
    ),
)


CHANGES_S, WINDOWS_S = 12, 28  # enough for a change of the rate; for windows and warm-up


def _full_speed(name: str, options: str, **more: Any) -> Lie:
    return Lie(f"clean: {name}", options, clean=True, runtime_s=CHANGES_S, **more)


def _clean(name: str, options: str, seconds: int = CHANGES_S, **more: Any) -> Lie:
    return Lie(f"clean: {name}", options, bottleneck="rate", clean=True, runtime_s=seconds, **more)


CLEAN: tuple[Lie, ...] = (
    _clean("paced reads", PACED, WINDOWS_S),
    _clean("paced writes", f"{STORED}, rw: randwrite, bs: 4k"),
    _clean("reads and writes", f"{STORED}, rw: randrw, bs: 8k"),
    _clean("queued reads", f"{QUEUED}, rate_iops: 400"),
    _clean("two hosts", PACED, hosts=2),
    _clean("three hosts, writes", f"{STORED}, rw: randwrite, bs: 16k", WINDOWS_S, hosts=3),
    _clean("sequential reads",
        "ioengine: psync, direct: 1, rw: read, bs: 128k, size: 64M, rate: 10m"),
    _clean("sequential writes",
        "ioengine: psync, direct: 1, rw: write, bs: 128k, size: 64M, rate: 8m"),
    _clean("70/30",
        'ioengine: psync, direct: 1, rw: randrw, rwmixread: 70, bs: 4k, size: 32M, rate_iops: "70,30"'),
    _clean("Poisson", f"{PACED}, rate_process: poisson", WINDOWS_S),
    _clean("split sizes",
        "ioengine: psync, direct: 1, rw: randread, bssplit: 4k/60:16k/40, size: 32M, rate_iops: 99"),
    _clean("synced writes", f"{STORED}, rw: randwrite, bs: 4k, fdatasync: 1"),
    _clean("four jobs", "ioengine: psync, direct: 1, rw: randread, bs: 8k, size: 32M, rate_iops: 40",
           jobs="load: {numjobs: 4}"),
    _clean("reader and writer", "ioengine: psync, direct: 1, size: 32M, bs: 4k, rate_iops: 80",
           jobs="reads: {rw: randread}, log: {rw: write, bs: 16k}"),
    _clean("over a network", f"{SERVED}, bs: 4k, rate_iops: 100", sabotage=remote.server_after(2)),
    _full_speed("full speed, one I/O in flight", f"{SERVED}, bs: 4k, iodepth: 1",
        sabotage=remote.server_after(2)),
    _full_speed("full speed, 16 in flight", f"{SERVED}, bs: 8k, iodepth: 16",
        sabotage=remote.server_after(20)),
    _full_speed("full speed, two jobs", f"{SERVED}, bs: 16k, iodepth: 4",
        jobs="load: {numjobs: 2}", sabotage=remote.server_after(10)),
    _full_speed("full speed, reads of the disk", QUEUED.replace("4k", "64k").replace("32M", "128M")),
    _full_speed("full speed, reads and writes of the disk",
        "ioengine: psync, direct: 1, rw: randrw, bs: 16k, size: 128M"),
)  # fmt: skip
CORPUS = (*LIES, *LIMITS, *CLEAN)

"""Loads with one true bottleneck, with parameters drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.long.lies import places, remote
from tests.long.lies.corpus import NULL, SERVED
from tests.long.lies.drawn import BLOCKS, Draw, reads, writes
from tests.long.lies.lie import Lie


def rate(rng: Random) -> Lie:
    """A rate that is kept."""
    return Lie(
        "limit: rate",
        rng.choice((reads, writes))(rng),
        bottleneck="rate",
        noise="alone",
        runtime_s=7,
    )


def client_cpu(rng: Random) -> Lie:
    """A load that costs the client all of a core."""
    load = NULL.replace("4k", rng.choice(("4k", "512", "16k")))
    return Lie("limit: client CPU", load, bottleneck="client-cpu", noise="alone", runtime_s=7)


def cpu_quota(rng: Random) -> Lie:
    """A load whose control group allows it a part of a core."""
    load = NULL.replace("4k", rng.choice(("4k", "16k"))) + f", numjobs: {rng.choice((1, 2, 4))}"
    return Lie("limit: CPU quota", load, bottleneck="client-cpu", noise="alone", runtime_s=7,
        root=True,
               sabotage=places.allowed_cpu(rng.uniform(0.2, 0.8)))  # fmt: skip


def concurrency(rng: Random) -> Lie:
    """A few I/Os in flight to storage that could do more."""
    depth = rng.randint(1, 4)
    load = f"{SERVED}, bs: {rng.choice(BLOCKS)}, iodepth: {depth}"
    return Lie("limit: concurrency", load, bottleneck="concurrency", noise="alone", runtime_s=7,
               sabotage=remote.server_after(rng.choice((3, 5, 10))))  # fmt: skip


def control_group(rng: Random) -> Lie:
    """A control group that allows a few MiB per second."""
    limit = rng.choice((1, 2, 4, 6)) << 20
    queue = f"ioengine: libaio, iodepth: {rng.choice((8, 16))}, direct: 1"
    load = f"{queue}, rw: randread, bs: {rng.choice(BLOCKS)}, size: 32M"
    return Lie("limit: control group", load, bottleneck="client-device", noise="alone", runtime_s=7,
        root=True,
               sabotage=places.throttled_to(limit))  # fmt: skip


def storage(rng: Random) -> Lie:
    """Storage with more I/Os in flight than it serves at a time."""
    slots = rng.randint(1, 4)
    depth = max(8, slots * rng.choice((2, 3, 4)))
    load = f"{SERVED}, bs: {rng.choice(('4k', '8k'))}, iodepth: {depth}"
    return Lie("limit: storage", load, bottleneck="storage", noise="alone", runtime_s=7,
               sabotage=remote.server_after(rng.choice((2, 3, 5)), slots))  # fmt: skip


def server_cpu(rng: Random) -> Lie:
    """A server that computes."""
    load = f"{SERVED}, bs: 4k, iodepth: {rng.choice((8, 16))}"
    return Lie("limit: server CPU", load, bottleneck="server-cpu", noise="alone", runtime_s=7,
               sabotage=remote.server_that_computes(rng.choice((1000, 2000, 4000))))  # fmt: skip


def network(rng: Random) -> Lie:
    """A narrow link."""
    load = f"{SERVED}, bs: {rng.choice(('32k', '64k', '128k'))}, iodepth: {rng.choice((8, 12))}"
    return Lie("limit: network", load, bottleneck="network", noise="alone", runtime_s=7, root=True,
               sabotage=remote.narrow_link)  # fmt: skip


LIMITS: tuple[Draw, ...] = (
    rate, client_cpu, cpu_quota, concurrency, control_group, storage, server_cpu, network
)  # fmt: skip


def limits(count: int, seed: int) -> Iterator[Lie]:
    """Yield `count` of each limit alone, and the same beside programs that keep every CPU busy."""
    rng = Random(seed)
    for turn in range(count):
        for draw in LIMITS:
            made = replace(draw(rng), generated=True)
            yield replace(made, name=f"{made.name} #{turn}")
            yield replace(made, name=f"{made.name}, busy #{turn}", company=True)

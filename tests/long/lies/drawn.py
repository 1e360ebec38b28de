"""Staged lies with parameters drawn from a seed.

One that was not used before draws what nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from tests.long.lies import places, remote, sabotage
from tests.long.lies.corpus import SERVED
from tests.long.lies.lie import Lie

BLOCKS = ("4k", "8k", "16k", "32k", "64k")
Draw = Callable[[Random], Lie]
# what may be said beside
AROUND = ("storage-traffic", "offered-rate", "client-cpu", "background-load")


def _load(rng: Random, access: str, *, most: int = 400) -> str:
    """Draw a load that is held at a rate, which every disk keeps."""
    engine = rng.choice(("psync", "pvsync2", "libaio"))
    depth = f", iodepth: {rng.choice((2, 4, 8))}" if engine == "libaio" else ""
    rate = rng.randint(50, most)
    return (
        f"ioengine: {engine}{depth}, direct: 1, rw: {access}, bs: {rng.choice(BLOCKS)}, size: 32M,"
        f" rate_iops: {rate}"
    )


def reads(rng: Random) -> str:
    return _load(rng, rng.choice(("read", "randread")))


def writes(rng: Random) -> str:
    return _load(rng, rng.choice(("write", "randwrite")), most=150)


# -- what the data is, and where


def unwritten(rng: Random) -> Lie:
    """A file of holes."""
    return Lie("unwritten", reads(rng), "storage-traffic", sabotage=sabotage.unwritten,
        layout=False,
               accepted=("unwritten-data",))  # fmt: skip


def partly_written(rng: Random) -> Lie:
    """A file that was written in part."""
    share = rng.uniform(0.02, 0.9)
    return Lie(
        f"{share:.0%} written",
        reads(rng),
        "unwritten-data",
        sabotage=sabotage.partly(share),
        layout=False,
    )


def buffered(rng: Random) -> Lie:
    """A file that the page cache holds."""
    load = reads(rng).replace("direct: 1", "direct: 0").replace("libaio", "psync")
    return Lie("buffered", load, "working-set", accepted=("storage-traffic",))


def hot(rng: Random) -> Lie:
    """Reads that come back to a small part of a file, or to a small file, which a cache behind the
    client holds.
    """
    load = f"ioengine: psync, direct: 1, rw: randread, bs: 4k, rate_iops: {rng.randint(600, 1200)}"
    chosen = rng.choice(("zipf:1.4", "zipf:2", "zoned:95/2:5/98", ""))
    if not chosen:
        size = rng.choice((1, 2, 4))
        return Lie(
            f"a file of {size} MiB", f"{load}, size: {size}M", "hot-set", accepted=("working-set",)
        )
    return Lie(f"hot set, {chosen}", f'{load}, size: 32M, random_distribution: "{chosen}"',
        "hot-set",
               accepted=("working-set",))  # fmt: skip


def same_offsets(rng: Random) -> Lie:
    """Hosts with the same random offsets in one file."""
    load = f"{_load(rng, 'randread', most=150)}, randseed: {rng.randint(1, 10**6)}"
    return Lie("same offsets", load, "same-offsets", hosts=2, layout=False, shared=True,
               others=("shared-files", *AROUND))  # fmt: skip


def one_file_in_order(rng: Random) -> Lie:
    """Workers that all read one file in the same order."""
    load = _load(rng, "read", most=100)
    jobs = f"load: {{numjobs: {rng.randint(2, 6)}}}"
    return Lie("one file in order", load, "same-offsets", jobs=jobs,
               accepted=("hot-set",), others=AROUND)  # fmt: skip


def not_as_planned(rng: Random) -> Lie:
    """A load with direct I/O switched on or off in its job file, unlike the plan."""
    planned = rng.choice("01")
    load = _load(rng, rng.choice(("randread", "randwrite")), most=120)
    load = load.replace("direct: 1", f"direct: {planned}")
    if planned == "0":
        load = load.replace("libaio", "psync")
    ran = "1" if planned == "0" else "0"
    return Lie(f"direct={planned} that is {ran}", load, "direct-io",
        root=True,
               sabotage=sabotage.another_job("direct", planned, ran),
               others=("working-set", "no-flush", *AROUND))  # fmt: skip


def another_job(rng: Random) -> Lie:
    """A program in the load generator's place that changes the job and prints the planned one."""
    load = _load(rng, rng.choice(("randread", "randwrite")), most=120)
    planned = dict(each.split(": ") for each in load.split(", "))
    option, ran = rng.choice((
        ("rw", planned["rw"].removeprefix("rand")), ("size", f"{rng.choice((2, 4, 8))}M"),
        ("bs", "2k"), ("rate_iops", str(int(planned["rate_iops"]) + rng.randint(10, 60))),
    ))  # fmt: skip
    change = sabotage.another_job(option, planned[option], ran)
    return Lie(f"{option}={planned[option]} that is {ran}", load, "planned-command", root=True,
               sabotage=change, others=("size-mismatch", "hot-set", "no-flush", *AROUND))  # fmt: skip


def restored_job(rng: Random) -> Lie:
    """As `another_job`, with the planned job file in its place again while the load runs."""
    load = _load(rng, rng.choice(("randread", "randwrite")), most=120)
    planned = dict(each.split(": ") for each in load.split(", "))
    option, ran = rng.choice((
        ("rw", planned["rw"].removeprefix("rand")), ("size", f"{rng.choice((2, 4, 8))}M"),
    ))  # fmt: skip
    change = sabotage.another_job(option, planned[option], ran, restored=True)
    return Lie(f"{option}={planned[option]} that was {ran}", load, "planned-command", root=True,
               sabotage=change, others=("size-mismatch", "hot-set", "no-flush", *AROUND))  # fmt: skip


def other_library(rng: Random) -> Lie:
    """A library of the I/O engine from another directory than the system's."""
    load = _load(rng, rng.choice(("randread", "randwrite")), most=120)
    return Lie("a library from elsewhere", load, "planned-command",
               sabotage=sabotage.other_library, others=("hot-set", "no-flush", *AROUND))  # fmt: skip


def in_memory(rng: Random) -> Lie:
    """A file system in memory."""
    return Lie("tmpfs", reads(rng), "direct-io", memory=True)


def memory_below(rng: Random) -> Lie:
    """A file system on a device whose file is in memory."""
    return Lie(
        "loop device in memory", reads(rng), "direct-io", root=True, sabotage=places.memory_below
    )


def memory_layer(rng: Random) -> Lie:
    """An overlay that has the file in a layer in memory."""
    return Lie("layer in memory", reads(rng), "direct-io", root=True, sabotage=places.layered,
               others=("storage-traffic",))  # fmt: skip


def full(rng: Random) -> Lie:
    """A file system that is nearly full."""
    share = rng.uniform(0.8, 0.91)
    return Lie(
        f"{share:.0%} full", writes(rng), "target-full", root=True, sabotage=places.filled(share)
    )


def shared(rng: Random) -> Lie:
    """Hosts that share a file and should not."""
    return Lie("shared file", writes(rng), "shared-files", hosts=2, shared=True)


def reducible(rng: Random) -> Lie:
    """Data that can be stored as less."""
    share = rng.randint(5, 100)
    options = rng.choice((
        "zero_buffers: 1", f"buffer_compress_percentage: {share}, refill_buffers: 1",
        f"dedupe_percentage: {share}",
        f"buffer_pattern: \"0x{rng.randrange(1, 2**32):08x}\"", "scramble_buffers: 0",
    ))  # fmt: skip
    return Lie(options.partition(",")[0], f"{writes(rng)}, {options}", "reducible-data")


def without_barriers(rng: Random) -> Lie:
    """Flushes on a mount without barriers."""
    sync = rng.choice(("fsync", "fdatasync"))
    load = (
        f"ioengine: psync, rw: randwrite, bs: {rng.choice(BLOCKS)}, size: 16M, rate_iops: 30,"
        f" {sync}: 1"
    )
    return Lie(
        f"{sync} without barriers", load, "flush-no-op", root=True, sabotage=places.no_barriers
    )


def flush_in_memory(rng: Random) -> Lie:
    """Flushes of a file system that has no device."""
    sync = rng.choice(("fsync", "fdatasync"))
    load = (
        f"ioengine: psync, rw: write, bs: {rng.choice(BLOCKS)}, size: 16M, rate_iops: 100,"
        f" {sync}: 1"
    )
    return Lie(f"{sync} in memory", load, "flush-no-op", memory=True, accepted=("direct-io",))


def never_flushed(rng: Random) -> Lie:
    """Writes that nobody makes durable."""
    return Lie("never flushed", writes(rng), "no-flush")


# -- the load, and its time


def too_much(rng: Random) -> Lie:
    """More than the storage can do, by its delay and the depth."""
    delay, depth = rng.choice((5, 10, 20)), rng.choice((1, 2, 4))
    rate = round(1000 / delay * depth * rng.uniform(1.1, 4))
    load = f"{SERVED}, bs: 4k, iodepth: {depth}, rate_iops: {rate}"
    return Lie(
        f"rate {rate} of {1000 // delay * depth}",
        load,
        "offered-rate",
        sabotage=remote.server_after(delay),
    )


def depth_in_vain(rng: Random) -> Lie:
    """A queue depth that the engine does not keep."""
    engine = rng.choice(("psync", "pvsync2", "sync"))
    load = (
        f"ioengine: {engine}, iodepth: {rng.choice((4, 16, 64))}, direct: 1, rw: randread, bs:"
        f" {rng.choice(BLOCKS)}"
    )
    return Lie("depth in vain", f"{load}, size: 32M, rate_iops: {rng.randint(50, 300)}", "depth")


def short(rng: Random) -> Lie:
    """A load that ends with its data, long before its runtime."""
    load = (
        f"ioengine: psync, direct: 1, rw: read, bs: 64k, size: {rng.choice((4, 8, 16))}M,"
        " time_based: 0"
    )
    return Lie("ends with its data", load, "short", runtime_s=rng.randint(30, 300))


def too_short(rng: Random) -> Lie:
    """A measurement of a few seconds."""
    seconds = rng.randint(2, 8)
    return Lie(f"{seconds} s", reads(rng), "runtime", runtime_s=seconds, accepted=("short",))


def late(rng: Random) -> Lie:
    """A host that starts late."""
    by = rng.uniform(1.6, 5.0)
    return Lie(f"{by:.1f} s late", reads(rng), "start-skew",
        sabotage=sabotage.held_back(2, "h2", by),
               accepted=("short", "end-skew"), others=("planned-command",))  # fmt: skip


def ended(rng: Random) -> Lie:
    """A host whose load is ended early."""
    after = rng.uniform(1.5, 5.5)
    return Lie(f"ended after {after:.1f} s", reads(rng), "end-skew", hosts=2, runtime_s=9,
               sabotage=sabotage.interrupted("h2", after),
               accepted=("host-loss", "tool-errors"))  # fmt: skip


def role_short(rng: Random) -> Lie:
    """A role whose load is over long before the other's."""
    ours, theirs = 12, rng.randint(3, 9)
    if rng.random() < 0.5:
        ours, theirs = theirs, ours
    return Lie(f"roles of {ours} and {theirs} s", reads(rng), "roles-overlap", hosts=2,
               runtime_s=ours, beside=writes(rng), beside_s=theirs)  # fmt: skip


def role_late(rng: Random) -> Lie:
    """A role that is held back when the other one starts."""
    by = rng.uniform(2.5, 6)
    return Lie(f"a role {by:.1f} s late", reads(rng), "roles-overlap", runtime_s=14,
               beside=writes(rng), beside_s=14,
               sabotage=sabotage.held_back(2, rng.choice(("h1", "h2")), by),
               accepted=("stall",), others=("planned-command",))  # fmt: skip


def role_ended(rng: Random) -> Lie:
    """A role whose load is ended early."""
    after = rng.uniform(2, 7)
    return Lie(f"a role ended after {after:.1f} s", reads(rng), "roles-overlap", hosts=2,
               runtime_s=12, beside=writes(rng), beside_s=12,
               sabotage=sabotage.interrupted(rng.choice(("h1", "h2")), after),
               accepted=("host-loss", "tool-errors"))  # fmt: skip


# -- hosts and other processes on them


def limit_lifted(rng: Random) -> Lie:
    """An I/O limit of the control group that is lifted for most of the load and put back before its
    end: what other users get is the limit.
    """
    low, every_s = rng.choice((2, 4, 8)) << 20, rng.uniform(1.5, 2.5)
    load = f"ioengine: libaio, iodepth: 8, direct: 1, rw: randread, bs: {rng.choice(BLOCKS)}"
    return Lie(f"limit of {low >> 20} MiB/s lifted", f"{load}, size: 32M", "io-limit",
               noise="alone", runtime_s=round(6 * every_s), root=True,
               sabotage=places.throttled_to(low, *[1 << 40] * 3, low, every_s=every_s),
               others=("steady-state", "stall", "warm-up"))  # fmt: skip


def held_by_group(rng: Random) -> Lie:
    """A load that its control group holds to a rate of a device."""
    access, what = rng.choice(("read", "write")), rng.choice(("bps", "iops"))
    limit = rng.choice((1, 2, 4)) << 20 if what == "bps" else rng.randint(50, 300)
    load = (
        f"ioengine: libaio, iodepth: {rng.choice((8, 16))}, direct: 1, rw: rand{access}, bs:"
        f" {rng.choice(BLOCKS)}, size: 32M"
    )
    loop = rng.random() < 0.5
    where = "a loop device" if loop else "the disk"
    return Lie(f"{access} {what} of {where} held to {limit}", load, "io-limit", noise="alone",
               root=True, runtime_s=9,
               sabotage=places.allowed_io(f"{access}_{what}", limit, loop=loop))  # fmt: skip


def little_memory(rng: Random) -> Lie:
    """Buffered reads of files that fit into the memory of the host, and not into that of its
    control group.
    """
    size = rng.choice((96, 128, 160))
    limit = round(size * rng.uniform(0.5, 0.85))
    load = (
        f"ioengine: {rng.choice(('psync', 'pvsync2', 'sync'))}, direct: 0, rw:"
        f" {rng.choice(('read', 'randread'))}, bs: {rng.choice(BLOCKS)}, size: {size}M, rate_iops:"
        f" {rng.randint(50, 300)}"
    )
    return Lie(f"{limit} MiB of memory for {size}", load, "memory-limit", root=True,
               sabotage=places.allowed_memory(limit << 20))  # fmt: skip


def slow_host(rng: Random) -> Lie:
    """A host that is held up again and again."""
    stopped, running = rng.uniform(0.4, 0.9), rng.uniform(0.3, 0.5)
    load = (
        f"ioengine: psync, direct: 1, rw: randread, bs: {rng.choice(BLOCKS)}, size: 32M, thinktime:"
        " 5000"
    )
    return Lie(f"held up for {stopped / (stopped + running):.0%}", load, "straggler", hosts=3,
               sabotage=sabotage.held_up(f"h{rng.randint(1, 3)}", stopped, running),
               accepted=("stall", "missing-samples"))  # fmt: skip


def other_generator(rng: Random) -> Lie:
    """Another load generator on the host."""
    return Lie(
        "another generator",
        reads(rng),
        "other-load",
        noise="alone",
        sabotage=sabotage.other_generator,
    )


def busy(rng: Random) -> Lie:
    """Other programs on every CPU."""
    return Lie("busy CPUs", reads(rng), "background-load", noise="alone",
        sabotage=sabotage.busy_cpus,
               accepted=("client-cpu",), runtime_s=10)  # fmt: skip


def unlike(rng: Random) -> Lie:
    """Hosts with other mount options."""
    option = rng.choice(("sync", "dirsync", "nobarrier", "data=journal"))
    return Lie(f"mounted with {option}", reads(rng), "host-differences", root=True,
               sabotage=places.mounted_with("defaults", option))  # fmt: skip


def two_names(rng: Random) -> Lie:
    """Two host names of one machine."""
    return Lie("two names of one machine", reads(rng), "one-machine", hosts=2)


# -- over time


def frozen(rng: Random) -> Lie:
    """A host that is frozen for seconds."""
    seconds = rng.uniform(4.5, 7)
    return Lie(f"frozen for {seconds:.1f} s", reads(rng), "stall", hosts=2, runtime_s=16,
               sabotage=sabotage.once(f"h{rng.randint(1, 2)}", rng.uniform(2, 6), seconds),
               accepted=("missing-samples",))  # fmt: skip


def frozen_at_once(rng: Random) -> Lie:
    """A host that is frozen for seconds from its first second on."""
    seconds = rng.uniform(3.5, 6)
    return Lie(f"frozen for {seconds:.1f} s at once", reads(rng), "stall", hosts=2, runtime_s=16,
               sabotage=sabotage.once(f"h{rng.randint(1, 2)}", rng.uniform(0.2, 1.0), seconds),
               accepted=("missing-samples", "start-skew"))  # fmt: skip


def drifts(rng: Random) -> Lie:
    """Storage that becomes slower, or quicker, every five seconds."""
    by = rng.uniform(1.1, 1.5)
    delays = [10 * by**at for at in range(6)]
    if rng.random() < 0.5:
        delays.reverse()
    return Lie(f"delay x {by:.2f} every 5 s", f"{SERVED}, bs: 4k", "steady-state", runtime_s=28,
               sabotage=remote.changing_server(*delays, every_s=5),
               accepted=("warm-up",))  # fmt: skip


def comes_and_goes(rng: Random) -> Lie:
    """Storage that changes to and fro."""
    by = rng.uniform(1.6, 5)
    return Lie(f"delay x {by:.1f} to and fro", f"{SERVED}, bs: 4k", "steady-state", runtime_s=28,
               sabotage=remote.changing_server(10, 10 * by, every_s=rng.choice((5, 7))),
               accepted=("warm-up",))  # fmt: skip


def limit_lowered(rng: Random) -> Lie:
    """An I/O limit of the control group that becomes lower while the load runs, and is set back
    later: facts before and after are the same.
    """
    high = rng.choice((6, 8, 12)) << 20
    low = int(high * rng.uniform(0.4, 0.72))
    seconds = rng.randint(14, 22)
    at_s = rng.uniform(5.5, seconds - 6.5)
    load = f"ioengine: libaio, iodepth: 8, direct: 1, rw: randread, bs: {rng.choice(BLOCKS)}"
    return Lie(f"limit x {low / high:.2f} after {at_s:.1f} s", f"{load}, size: 32M", "steady-state",
               noise="alone", runtime_s=seconds, root=True,
               sabotage=places.throttled_to(high, low, every_s=at_s),
               others=("io-limit", "warm-up"))  # fmt: skip


def storage_slows_once(rng: Random) -> Lie:
    """Storage that becomes slower, or quicker, once: burst credits that end, another load."""
    by, seconds = rng.uniform(1.45, 4), rng.randint(14, 22)
    delays = [float(rng.choice((4, 8, 12)))]
    delays.append(delays[0] * by)
    if rng.random() < 0.5:
        delays.reverse()
    at_s = rng.uniform(5.5, seconds - 6.5)
    return Lie(f"delay {delays[0]:.0f} to {delays[1]:.0f} ms once", f"{SERVED}, bs: 4k",
        "steady-state", runtime_s=seconds,
               sabotage=remote.changing_server(delays[0], *[delays[1]] * 4, every_s=at_s),
               accepted=("warm-up",))  # fmt: skip


def warming_up(rng: Random) -> Lie:
    """Storage that is slow for the first seconds."""
    delays = [10 * rng.uniform(1.5, 4)] + [10.0] * 14
    return Lie("slow at first", f"{SERVED}, bs: 4k", "warm-up", runtime_s=28,
               sabotage=remote.changing_server(*delays, every_s=rng.choice((2, 3))),
               accepted=("steady-state",))  # fmt: skip


def few(rng: Random) -> Lie:
    """So few I/Os that their percentiles are chance."""
    rate = rng.randint(5, 60)
    load = f"ioengine: psync, direct: 1, rw: randread, bs: {rng.choice(BLOCKS)}, size: 32M"
    return Lie(f"{rate} I/Os per second", f"{load}, rate_iops: {rate}", "few-samples")


def zeros_read(rng: Random) -> Lie:
    """Reads of a file that was written completely, with zeros or one block again and again."""
    block = bytes(4096) if rng.random() < 0.5 else rng.randbytes(4096)
    what = "zeros" if not any(block) else "one block"
    return Lie(f"reads of {what}", reads(rng), "content", layout=False,
               sabotage=sabotage.filled_with(block))  # fmt: skip


def other_writer(rng: Random) -> Lie:
    """A program, unlike any load generator, that writes to the disk under test."""
    return Lie("another writer", reads(rng), "other-traffic", noise="alone",
               sabotage=sabotage.writer(rng.choice((256, 1024))),
               accepted=("other-load",))  # fmt: skip


def lost(rng: Random) -> Lie:
    """A host that is gone in the middle of the load."""
    after = rng.uniform(1.5, 5)
    return Lie(f"a host gone after {after:.1f} s", reads(rng), "host-loss", runtime_s=9,
               sabotage=sabotage.gone(after))  # fmt: skip


def one_after_the_other(rng: Random) -> Lie:
    """A host that starts when the other one is done."""
    seconds = rng.randint(4, 6)
    return Lie("one after the other", reads(rng), "never-together", runtime_s=seconds,
               sabotage=sabotage.held_back(2, "h2", seconds + rng.uniform(2, 4)),
               accepted=("start-skew",), others=("planned-command",))  # fmt: skip


def shallower(rng: Random) -> Lie:
    """A load at full speed with another depth in its job file than the planned one."""
    planned, ran = rng.choice(((8, 2), (16, 4), (4, 1), (2, 8)))
    load = f"{SERVED}, bs: {rng.choice(BLOCKS)}, iodepth: {planned}"
    return Lie(f"iodepth={planned} that is {ran}", load, "concurrency", root=True,
               sabotage=remote.served(sabotage.another_job("iodepth", str(planned), str(ran)), 10),
               accepted=("above-depth", "planned-command"))  # fmt: skip


def other_program(rng: Random) -> Lie:
    """A load generator that is not the one its package installed."""
    return Lie("another program", _load(rng, "randread"), "changed-program", root=True,
               sabotage=sabotage.other_program)  # fmt: skip


def hardly_random(rng: Random) -> Lie:
    """Random reads of which most follow the one before."""
    option = rng.choice(
        (f"randread:{rng.randint(3, 32)}", f"randread, percentage_random: {rng.randint(1, 45)}")
    )
    load = _load(rng, "randread").replace("randread", option)
    return Lie(option.replace("randread, ", ""), load, "random-share")


def no_io(rng: Random) -> Lie:
    """An engine that reports I/O and does none."""
    load = f'ioengine: "null", rw: {rng.choice(("randread", "write"))}, bs: 4k, size: 1G'
    return Lie("no I/O", f"{load}, rate_iops: {rng.randint(100, 5000)}", "no-storage")


LIES: tuple[Draw, ...] = (
    unwritten, partly_written, buffered, hot, same_offsets, one_file_in_order, not_as_planned,
    another_job,
    in_memory, memory_below, memory_layer, full, shared,
    reducible, reducible,
    without_barriers, flush_in_memory, never_flushed, too_much, depth_in_vain, short, too_short,
    late, ended, role_short, role_late, role_ended, held_by_group, little_memory,
    slow_host, other_generator, busy, unlike, two_names, frozen, drifts, comes_and_goes,
    limit_lowered, storage_slows_once,
)  # fmt: skip


def two_at_once(rng: Random) -> Lie:
    """Data that shrinks, and something about its place or time."""
    data, other = (
        reducible(rng),
        rng.choice((in_memory, full, shared, late, frozen, too_short))(rng),
    )
    return replace(
        other, name=f"{data.name} and {other.name}", options=data.options, second="reducible-data"
    )


def staged(count: int, seed: int) -> Iterator[Lie]:
    """Yield `count` of each lie, and three times as many pairs."""
    rng = Random(seed)
    for turn in range(count):
        # what is new comes last, so that a seed draws the same of the others
        new = (frozen_at_once, restored_job, other_library, warming_up, few, zeros_read,
            other_writer, lost, one_after_the_other, shallower, other_program,
            limit_lifted, hardly_random, no_io)  # fmt: skip
        for at, draw in enumerate((*LIES, *[two_at_once] * 3, *new)):
            made = draw(rng)
            yield replace(made, name=f"{made.name} #{turn}.{at}", generated=True)

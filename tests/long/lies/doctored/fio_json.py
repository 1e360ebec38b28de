"""Lies in fio's JSON. Each function changes a copy and derives, from what it changed, who must name
it.

Resolution: fio prints runtimes in whole ms and rates of these very numbers; latencies by buckets
1/64 wide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.long.lies.classes import Kind
from tests.long.lies.doctored import fio_asked, fio_own
from tests.long.lies.doctored.case import SMALLEST, UNSEEN, Case, factor, thinned
from tests.long.lies.doctored.change import Lie, Lied, aims, pick
from tests.long.lies.doctored.documents import (
    Document,
    Source,
    doctored_copy,
    imported,
    latencies_of,
    option,
    parts_of,
)

BUCKETS = 1 / 16  # four buckets: no rounding of ranks and edges comes to that
SETTLED_S = 5.0  # of a shorter load begin and end are too large a part for Little's law
SPARE_NS = 30_000.0  # what a worker may take from one I/O to the next
COUNTS = ("total_ios", "io_bytes", "io_kbytes")
RATES = ("iops", "bw_bytes", "bw")


def _scale(part: Document, by: float, *names: str) -> None:
    for name in names:
        if name in part:
            part[name] = type(part[name])(part[name] * by)


def _scale_counts(part: Document, by: float) -> None:
    """Count more I/Os with the same latencies: all buckets grow alike."""
    _scale(part, by, *COUNTS)
    for _, latency in latencies_of(part):
        if "bins" in latency:
            edges = sorted(latency["bins"], key=int)
            counts = thinned([latency["bins"][edge] for edge in edges], by)
            latency["bins"] = {
                edge: count for edge, count in zip(edges, counts, strict=True) if count
            }
            latency["N"] = sum(latency["bins"].values())
        else:
            latency["N"] = int(latency["N"] * by)
    counted = {latency["N"] for kind, latency in latencies_of(part) if "bins" in latency}
    if counted:
        block = part["io_bytes"] / part["total_ios"]
        part["total_ios"] = counted.pop()
        part["io_bytes"] = round(part["total_ios"] * block)


def _set_rates(part: Document) -> None:
    """Print the rates that the counts make."""
    seconds = part["runtime"] / 1000
    part["iops"], part["bw_bytes"] = part["total_ios"] / seconds, int(part["io_bytes"] / seconds)
    part["bw"] = part["bw_bytes"] // 1024


def _resolution(part: Document, places: int = 1) -> float:
    """Return how well count, rate and time are known together: a millisecond, and the I/Os in
    flight at either end.
    """
    return 1 / float(part["runtime"]) + places / float(part["total_ios"])


def _flying(job: Document) -> float:
    """Return the I/Os that a job has in flight in the mean."""
    waited = 0.0
    for name in ("read", "write", "trim"):
        part = job.get(name) or {}
        kinds = dict(latencies_of(part)) if part else {}
        latency = kinds.get("lat_ns") or kinds.get("clat_ns")
        if latency:
            waited += latency["N"] * latency["mean"] / 1e6 / part["runtime"]
    return waited


def _places(document: Document, job: Document) -> int:
    engine = option(document, job, "ioengine", "psync")
    depth = (
        int(option(document, job, "iodepth", "1"))
        if engine in ("libaio", "posixaio", "io_uring")
        else 1
    )
    return depth * int(option(document, job, "numjobs", "1"))


def _timed(document: Document, job: Document) -> bool:
    """Tell whether a job ends by time; fio prints a flag that is set as an empty text."""
    return "time_based" in {**document.get("global options", {}), **job["job options"]}


def _paced(document: Document, job: Document) -> bool:
    return any(option(document, job, name) for name in ("rate", "rate_iops", "thinktime"))


def _edges(job: Document) -> float:
    """Return by which share more fits into places x time: the wait of one I/O at the begin of each
    place.
    """
    parts = [job[name] for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    longest = max(
        (latency["max"] for part in parts for _, latency in latencies_of(part)), default=0
    )
    return float(longest / 1e6 / max(part["runtime"] for part in parts))


# -- counts, rates, time


def _one_of(names: Sequence[str], first: str) -> Lie:
    def lie(rng: Random, document: Document, _: Source) -> Lied | None:
        if (found := pick(rng, document)) is None:
            return None
        job, direction, part = found
        by = factor(rng, max(SMALLEST, 4 * _resolution(part, _places(document, job))))
        if "runtime" in names:
            by = max(by, 200 / part["runtime"])  # of less, a millisecond is more than the lie
        _scale(part, by, *names)
        return Lied(f"{direction} {', '.join(names)} x {by:.4g}", aims(first))

    return lie


def all_counts(rng: Random, document: Document, _: Source) -> Lied | None:
    """Counts and rates of a direction, and not how many latencies were counted."""
    if (found := pick(rng, document)) is None:
        return None
    by = factor(rng, max(SMALLEST, 4 * _resolution(found[2], _places(document, found[0]))))
    _scale(found[2], by, *COUNTS, *RATES)
    return Lied(f"{found[1]} counts and rates x {by:.4g}", aims("latency-mismatch"))


def more_done(rng: Random, document: Document, _: Source) -> Lied | None:
    """All counts, those of latencies too: only Little's law is left."""
    if (found := pick(rng, document)) is None:
        return None
    job, direction, _part = found
    by = 1 + math.exp(rng.uniform(math.log(0.05), math.log(9)))
    places, edges = _places(document, job), _edges(job)
    for name in ("read", "write"):
        if job.get(name, {}).get("total_ios"):
            _scale_counts(job[name], by)
            _set_rates(job[name])
    over = _flying(job) > places * (1 + edges) * 1.04
    offered = _above_rate(document, job)
    what = f"{direction} of job {job['jobname']}: everything counted x {by:.4g}"
    if over or offered:
        return Lied(what, aims("above-depth" if over else "above-offered"))
    return Lied(what, (), "queue not full: this load could have done more")


def _above_rate(document: Document, job: Document) -> bool:
    rate = option(document, job, "rate_iops")
    if not rate.isdigit():
        return False
    workers = int(option(document, job, "numjobs", "1"))
    parts = [job[name] for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    return any(
        part["iops"] > int(rate) * workers * 1.02 + workers * 1000 / part["runtime"]
        for part in parts
    )


def other_latency(rng: Random, document: Document, _: Source) -> Lied | None:
    """All latencies of a job, consistently: longer ones do not fit its places, shorter ones leave
    them empty.
    """
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    by, places, paced = factor(rng, 0.03), _places(document, job), _paced(document, job)
    parts = [job[name] for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    rate = sum(part["iops"] for part in parts)
    for part in parts:
        for _kind, latency in latencies_of(part):
            _scale_latency(latency, by)
    flying, seconds = _flying(job), max(part["runtime"] for part in parts) / 1000
    what = f"all latencies of job {job['jobname']} x {by:.4g}"
    if flying > places * (1 + _edges(job)) * 1.04:
        return Lied(what, aims("above-depth"))
    between_ns = (places - flying) / rate * 1e9
    closed = (
        not paced and seconds >= SETTLED_S and len(document["jobs"]) == 1 and _timed(document, job)
    )
    if closed and flying < 0.96 * places and between_ns > SPARE_NS * 1.05:
        return Lied(what, aims("concurrency"))
    return Lied(
        what, (), "Little's law allows it: a paced, short or fast load does not fill its queue"
    )


def _scale_latency(latency: Document, by: float) -> None:
    for name in ("min", "max", "mean", "stddev"):
        latency[name] = type(latency[name])(latency[name] * by)
    for name, value in latency.get("percentile", {}).items():
        latency["percentile"][name] = _middle(value * by)
    if "bins" in latency:
        moved: dict[str, int] = {}
        for edge, count in latency["bins"].items():
            key = str(_middle(int(edge) * by))
            moved[key] = moved.get(key, 0) + count
        latency["bins"] = moved
        latency["max"] = max(latency["max"], max(map(int, moved)))
        latency["min"] = min(latency["min"], min(map(int, moved)))


def _middle(value: float) -> int:
    """Return the middle of the bucket of a value, as fio prints it."""
    from tui.metrics.buckets import index_to_value, value_to_index

    return index_to_value(value_to_index(max(1, int(value))))


# -- what the job says


def other_block(rng: Random, document: Document, _: Source) -> Lied | None:
    """Another block size beside the same figures."""
    if (found := pick(rng, document)) is None or option(document, found[0], "bssplit"):
        return None
    job, _direction, part = found
    real = round(part["io_bytes"] / part["total_ios"])
    block = rng.choice(
        [size << 10 for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024) if size << 10 != real]
    )
    job["job options"]["bs"] = str(block)
    return Lied(f"bs={block} beside I/Os of {real} bytes", aims("size-mismatch"))


def fewer_places(rng: Random, document: Document, _: Source) -> Lied | None:
    """A smaller queue depth beside the same figures."""
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    name = "iodepth" if int(option(document, job, "iodepth", "1")) > 1 else "numjobs"
    had = int(option(document, job, name, "1"))
    if had < 2:
        return None
    less = rng.randint(1, had - 1)
    job["job options"][name] = str(less)
    what = f"{name}={less} of a load with {had}"
    if _flying(job) > _places(document, job) * (1 + _edges(job)) * 1.04:
        return Lied(what, aims("above-depth"))
    return Lied(what, (), "queue not full: fewer I/Os would have been enough")


def other_rate(rng: Random, document: Document, _: Source) -> Lied | None:
    """An offered rate that the figures do not fit: less than was done, or more than was reached."""
    if (found := pick(rng, document)) is None:
        return None
    job, direction, part = found
    done = [name for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    if option(document, job, "rate") or len(done) > 1:
        return None
    workers = int(option(document, job, "numjobs", "1"))
    off = math.exp(rng.uniform(math.log(0.03), math.log(9)))
    above = rng.random() < 0.5
    rate = part["iops"] / workers / (1 + off) if above else part["iops"] / workers * (1 + off)
    if rate < 5:
        return None
    job["job options"]["rate_iops"] = str(round(rate))
    what = f"rate_iops={round(rate)} beside {direction} of {part['iops'] / workers:.0f} IOPS a job"
    if not above:
        return Lied(
            what, ("offered-rate",) if round(rate) * 0.985 > part["iops"] / workers else (), UNSEEN
        )
    seen = part["iops"] > workers * (round(rate) * 1.01 + 2000 / part["runtime"])
    return Lied(what, aims("above-offered") if seen else (), UNSEEN)


def other_direction(rng: Random, document: Document, _: Source) -> Lied | None:
    """Reads that are shown as writes, of a job that writes nothing."""
    if (found := pick(rng, document)) is None:
        return None
    job, direction, part = found
    other = {"read": "write", "write": "read"}[direction]
    if job.get(other, {}).get("total_ios") or not option(document, job, "rw"):
        return None
    job[other], job[direction] = part, job[other]
    what = f"{direction}s of a job with rw={option(document, job, 'rw')} shown as {other}s"
    if other == "write":
        return Lied(what, aims("size-mismatch"))
    return Lied(what, (), "a job that writes may read to verify")


# -- latencies


def _with_latency(rng: Random, document: Document, need: str) -> tuple[str, Document] | None:
    """Draw a latency that has buckets, or percentiles."""
    found = [
        (f"{direction} {kind}", latency)
        for _, direction, part in parts_of(document)
        for kind, latency in latencies_of(part)
        if need in latency
    ]
    return rng.choice(found) if found else None


def swapped(rng: Random, document: Document, _: Source) -> Lied | None:
    """Two percentiles in each other's place."""
    if (found := _with_latency(rng, document, "percentile")) is None:
        return None
    where, latency = found
    marks = latency["percentile"]
    one, other = rng.sample(sorted(marks), 2)
    if marks[one] == marks[other]:
        return None
    marks[one], marks[other] = marks[other], marks[one]
    return Lied(f"{where}: p{float(one):g} and p{float(other):g} swapped", aims("latency-mismatch"))


def other_percentile(rng: Random, document: Document, _: Source) -> Lied | None:
    """One percentile, smaller or larger."""
    if (found := _with_latency(rng, document, "percentile")) is None:
        return None
    where, latency = found
    marks = latency["percentile"]
    names = sorted(marks, key=float)
    middle = [
        at
        for at, name in enumerate(names)
        if 3 < latency["N"] * float(name) / 100 < latency["N"] - 3
    ]
    if not middle:
        return None
    at = rng.choice(middle)  # of fewer I/Os beyond it, its rank may be that of the next one
    by = factor(rng, BUCKETS)
    value = int(marks[names[at]] * by)
    marks[names[at]] = value
    what = f"{where}: p{float(names[at]):g} x {by:.4g}"
    low = marks[names[at - 1]] if at else latency["min"] * (1 - BUCKETS)
    high = marks[names[at + 1]] if at + 1 < len(names) else latency["max"] * (1 + BUCKETS)
    if "bins" in latency or not low <= value <= high:
        return Lied(what, aims("latency-mismatch"))
    return Lied(
        what, (), "without a histogram a percentile may lie anywhere between its neighbours"
    )


def foreign_histogram(rng: Random, document: Document, source: Source) -> Lied | None:
    """The buckets of another result."""
    if (found := _with_latency(rng, document, "bins")) is None:
        return None
    where, latency = found
    others = [
        each["bins"]
        for host in source.hosts
        for _, _, part in parts_of(host)
        for _, each in latencies_of(part)
        if "bins" in each and sum(each["bins"].values()) != latency["N"]
    ]
    if not others:
        return None
    latency["bins"] = dict(rng.choice(others))
    return Lied(f"{where}: histogram of another host or direction", aims("latency-mismatch"))


def foreign_percentiles(rng: Random, document: Document, source: Source) -> Lied | None:
    """The percentiles of another result, beside the own histogram."""
    if (found := _with_latency(rng, document, "bins")) is None:
        return None
    where, latency = found
    others = [
        each["percentile"]
        for host in source.hosts
        for _, _, part in parts_of(host)
        for _, each in latencies_of(part)
        if "percentile" in each and _apart(each["percentile"], latency["percentile"]) > BUCKETS
    ]
    if not others:
        return None
    latency["percentile"] = dict(rng.choice(others))
    return Lied(f"{where}: percentiles of another host or direction", aims("latency-mismatch"))


def _apart(one: Document, other: Document) -> float:
    both = set(one) & set(other)
    return max(
        (abs(one[name] / other[name] - 1) for name in both if other[name] and float(name) < 99),
        default=0.0,
    )


def _of_latency(name: str) -> Lie:
    def lie(rng: Random, document: Document, _: Source) -> Lied | None:
        if (found := _with_latency(rng, document, "bins")) is None:
            return None
        where, latency = found
        by = factor(rng, BUCKETS if name != "N" else 4 / latency["N"])
        if not latency[name] or int(latency[name] * by) == int(latency[name]):
            return None
        latency[name] = type(latency[name])(latency[name] * by)
        return Lied(f"{where} {name} x {by:.4g}", aims("latency-mismatch"))

    return lie


def deviation(rng: Random, document: Document, _: Source) -> Lied | None:
    """Another deviation: its histogram leaves it the width of buckets, more of a narrow
    distribution.
    """
    if (found := _with_latency(rng, document, "bins")) is None:
        return None
    where, latency = found
    by = factor(rng, BUCKETS)
    told = latency["stddev"] = latency["stddev"] * by
    what = f"{where} stddev x {by:.4g}"
    square = sum(count * int(edge) ** 2 for edge, count in latency["bins"].items()) / latency["N"]
    width = square / 32  # two buckets' halves on either side, of the mean of squares
    variance = told * told * (1 - 1 / latency["N"])
    if abs(variance + latency["mean"] ** 2 - square) > width:
        return Lied(what, aims("latency-mismatch"))
    return Lied(what, (), "within the width of the histogram's buckets")


# -- time


def short_of_runtime(rng: Random, document: Document, _: Source) -> Lied | None:
    """A runtime beside the figures that the load did not come to."""
    if (found := pick(rng, document)) is None or len(document["jobs"]) > 1:
        return None
    ran = found[2]["runtime"] / 1000
    said = math.ceil(ran * (1 + math.exp(rng.uniform(math.log(0.1), math.log(20)))))
    found[0]["job options"]["runtime"] = str(said)
    return Lied(
        f"runtime={said} of a load that ran {ran:.1f} s",
        ("short",) if ran < 0.94 * said else (),
        UNSEEN,
    )


def job_ended(rng: Random, document: Document, _: Source) -> Lied | None:
    """One of several timed jobs that ended early, at the rate that it had."""
    jobs = [job for job in document["jobs"] if _timed(document, job)]
    if len(jobs) < 2 or len({job["jobname"] for job in jobs}) < len(jobs):
        return None
    job, share = rng.choice(jobs), rng.uniform(0.05, 0.99)
    for name in ("read", "write", "trim"):
        part = job.get(name) or {}
        if part.get("total_ios"):
            _scale_counts(part, share)
            part["runtime"] = round(part["runtime"] * share)
            _set_rates(part)
    job["job_runtime"] = round(job.get("job_runtime", 0) * share)
    ran = max(job[name]["runtime"] for name in ("read", "write") if name in job) / 1000
    wanted = float(option(document, job, "runtime").rstrip("s"))
    what = f"job {job['jobname']} ran {ran:.1f} of {wanted:.1f} s"
    return (
        Lied(what, ("job-time", "short"))
        if ran < 0.94 * wanted
        else Lied(what, (), "a job may end 5 % early")
    )


LIES: dict[str, tuple[Kind, Lie]] = {
    "IOPS": ("identities", _one_of(("iops",), "rate-mismatch")),
    "bandwidth": ("identities", _one_of(("bw", "bw_bytes"), "rate-mismatch")),
    "I/Os and IOPS": ("identities", _one_of(("total_ios", "iops"), "size-mismatch")),
    "bytes and bandwidth": (
        "identities",
        _one_of(("io_bytes", "io_kbytes", "bw", "bw_bytes"), "size-mismatch"),
    ),
    "runtime": ("identities", _one_of(("runtime",), "rate-mismatch")),
    "counts and rates": ("identities", all_counts),
    "everything counted": ("identities", more_done),
    "all latencies": ("identities", other_latency),
    "block size": ("identities", other_block),
    "queue depth": ("identities", fewer_places),
    "direction": ("identities", other_direction),
    "percentiles swapped": ("identities", swapped),
    "one percentile": ("identities", other_percentile),
    "histogram of another": ("identities", foreign_histogram),
    "percentiles of another": ("identities", foreign_percentiles),
    "mean": ("identities", _of_latency("mean")),
    "minimum": ("identities", _of_latency("min")),
    "maximum": ("identities", _of_latency("max")),
    "deviation": ("identities", deviation),
    "count of latencies": ("identities", _of_latency("N")),
    "offered rate": ("load", other_rate),
    "runtime that was not reached": ("time", short_of_runtime),
    "a job that ended early": ("time", job_ended),
    **{name: ("identities", lie) for name, lie in fio_own.LIES.items()},
    **{name: ("identities", lie) for name, lie in fio_asked.LIES.items()},
}


OF_COUNTS = (
    "IOPS",
    "bandwidth",
    "I/Os and IOPS",
    "bytes and bandwidth",
    "runtime",
    "counts and rates",
    "block size",
)
OF_LATENCIES = (
    "percentiles swapped",
    "one percentile",
    "mean",
    "minimum",
    "maximum",
    "deviation",
    "all latencies",
)


def _judge(hosts: Sequence[Document]) -> Callable[[Path], frozenset[str]]:
    return lambda folder: imported(folder, hosts)


def draw(rng: Random, source: Source, before: frozenset[str], name: str) -> Case | None:
    """Doctor one host of a source; None where this lie has nothing to change there."""
    document = doctored_copy(rng.choice(source.hosts))
    lied = LIES[name][1](rng, document, source)
    if lied is None or (lied.aims and lied.aims[0] in before):
        return None
    return case_of(name, source, lied, [document], before)


def case_of(
    name: str, source: Source, lied: Lied, hosts: Sequence[Document], before: frozenset[str]
) -> Case:
    """Return the case of what was done to a source's output."""
    unseen = "" if lied.aims else lied.unseen
    return Case(
        LIES[name][0], name, f"{source.name}: {lied.what}", lied.aims, _judge(hosts), before, unseen
    )


def draw_two(rng: Random, source: Source, before: frozenset[str]) -> Case | None:
    """Doctor one host twice, so that one lie may hide the other."""
    document = doctored_copy(rng.choice(source.hosts))
    names = [rng.choice(OF_COUNTS), rng.choice(OF_LATENCIES)]
    done = [lied for name in names if (lied := LIES[name][1](rng, document, source)) is not None]
    aims = tuple(dict.fromkeys(aim for lied in done for aim in lied.aims))
    if len(done) < 2 or not aims:
        return None
    what = " and ".join(lied.what for lied in done)
    return Case(
        "identities", "two at once", f"{source.name}: {what}", aims, _judge([document]), before
    )

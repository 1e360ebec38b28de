"""Lies in what fio's JSON prints beside the result: samples, shares, mix, entries, date."""

from __future__ import annotations

import datetime
from random import Random

from tests.long.lies.doctored.case import UNSEEN, factor
from tests.long.lies.doctored.change import Lie, Lied, aims, pick
from tests.long.lies.doctored.documents import (
    Document,
    Source,
    doctored_copy,
    latencies_of,
    option,
)
from tui.metrics.buckets import index_to_value, value_to_index
from tui.model.quantities import parse_size

KIB = 1024
FILLED = 0.25  # the least share of I/Os that is moved: percentiles are at most 0.1 apart
SIGMAS = 6.0
OWN = "own-figures"
FEW = "few full buckets"
SOLID = 100  # I/Os of a bucket
COUNTED = (
    "iops_min",
    "iops_max",
    "iops_mean",
    "iops_stddev",
    "bw_min",
    "bw_max",
    "bw_mean",
    "bw_dev",
)


def kib(rng: Random, document: Document, _: Source) -> Lied | None:
    """An amount in KiB, and not the same amount in bytes."""
    if (found := pick(rng, document)) is None:
        return None
    _job, direction, part = found
    name, amount = rng.choice((("bw", part.get("bw_bytes", 0)), ("io_kbytes", part["io_bytes"])))
    if not amount:
        return None
    part[name] = round(part[name] * factor(rng, max(0.02, 4 * KIB / amount)))
    return Lied(f"{direction} {name} without its bytes", aims(OWN))


def sample_mean(rng: Random, document: Document, _: Source) -> Lied | None:
    """A mean of samples beyond their smallest or largest one."""
    if (found := pick(rng, document)) is None:
        return None
    _job, direction, part = found
    kind = rng.choice(("iops", "bw"))
    low, high = part.get(f"{kind}_min", 0), part.get(f"{kind}_max", 0)
    if not part.get(f"{kind}_samples") or low < 10:
        return None
    away = 1 + rng.uniform(0.05, 2)
    part[f"{kind}_mean"] = high * away + 2 if rng.random() < 0.5 else low / away - 2
    what = f"{direction} {kind}_mean {part[f'{kind}_mean']:.6g} outside {low} to {high}"
    return Lied(what, aims(OWN))


def _shares_of(job: Document) -> dict[tuple[str, str], float]:
    """Return the shares of latencies that are not 0, by unit and upper end, ascending."""
    units = ("latency_ns", "latency_us", "latency_ms")
    return {
        (unit, end): share for unit in units for end, share in job.get(unit, {}).items() if share
    }


def _alone(job: Document) -> bool:
    """Return whether a job has one direction, whose completion latencies are all counted."""
    done = [job[name] for name in ("read", "write", "trim") if job.get(name, {}).get("total_ios")]
    return len(done) == 1 and done[0].get("clat_ns", {}).get("N") == done[0]["total_ios"]


def share(rng: Random, document: Document, _: Source) -> Lied | None:
    """One share of latencies: the shares no longer add up."""
    if (found := pick(rng, document)) is None or not _alone(found[0]):
        return None
    job = found[0]
    shares = _shares_of(job)
    large = [key for key, value in shares.items() if value > 10]
    if not large:
        return None
    unit, end = rng.choice(large)
    job[unit][end] *= rng.choice((rng.uniform(0.1, 0.6), rng.uniform(1.5, 3)))
    return Lied(f"share of {unit} up to {end} made {job[unit][end]:.4g} %", aims(OWN))


def moved_share(rng: Random, document: Document, _: Source) -> Lied | None:
    """A share of latencies that is moved to faster ones: the sum is kept, not the percentiles."""
    if (found := pick(rng, document)) is None or not _alone(found[0]):
        return None
    job, direction, part = found
    if len(part["clat_ns"].get("percentile", {})) < 10:
        return None
    (unit, end), most = max(_shares_of(job).items(), key=lambda each: each[1])
    moved = rng.uniform(FILLED, 0.9) * 100
    if moved > most:
        return None
    job[unit][end] -= moved
    job["latency_ns"]["2"] = job["latency_ns"].get("2", 0.0) + moved
    return Lied(f"{moved:.3g} % of {direction}s moved from {unit} {end} to below 2 ns", aims(OWN))


def syncs(rng: Random, document: Document, _: Source) -> Lied | None:
    """More syncs than latencies of syncs."""
    jobs = [job for job in document["jobs"] if job.get("sync", {}).get("lat_ns", {}).get("N")]
    if not jobs or not jobs[0]["sync"].get("total_ios"):
        return None
    told = jobs[0]["sync"]
    told["total_ios"] = round(told["total_ios"] * (1 + rng.uniform(0.01, 9))) + 1
    return Lied(f"{told['total_ios']} syncs", aims(OWN))


def mix(rng: Random, document: Document, _: Source) -> Lied | None:
    """Another mix of reads and writes beside the same figures."""
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    reads, writes = (job[name].get("total_ios", 0) for name in ("read", "write"))
    rates = ("rate", "rate_iops", "loops", "io_size", "verify")
    if option(document, job, "rw") not in ("randrw", "rw") or not reads or not writes:
        return None
    if any(option(document, job, name) for name in rates):
        return None
    real, total = reads / (reads + writes), reads + writes
    said = rng.randint(1, 99)
    job["job options"]["rwmixread"] = str(said)
    numjobs = int(option(document, job, "numjobs", "1"))
    flying = int(option(document, job, "iodepth", "1")) * numjobs
    block = (job["read"]["io_bytes"] + job["write"]["io_bytes"]) / total
    size = option(document, job, "size")  # each pass over the files may draw the same
    workers = numjobs / len(document["jobs"])
    drawn = min(total / workers, parse_size(size or "64m") / block)
    variance = max(share * (1 - share) for share in (said / 100, real))
    by_chance = SIGMAS * (variance / drawn) ** 0.5 + 0.02 + flying / total
    what = f"rwmixread={said} beside {100 * real:.3g} % reads"
    return Lied(what, aims(OWN) if abs(real - said / 100) > by_chance else (), UNSEEN)


def left_out(rng: Random, document: Document, _: Source) -> Lied | None:
    """One entry of several workers, left out."""
    named: dict[str, list[Document]] = {}
    for job in document["jobs"]:
        named.setdefault(job["jobname"], []).append(job)
    several = [each for each in named.values() if len(each) > 1]
    if not several:
        return None
    gone = rng.choice(rng.choice(several))
    document["jobs"].remove(gone)
    return Lied(f"an entry of {gone['jobname']} left out", aims(OWN))


def copied(rng: Random, document: Document, _: Source) -> Lied | None:
    """One worker's entry in the place of another's."""
    jobs = [job for job in document["jobs"] if not job["error"] and job["read"].get("total_ios")]
    if len(jobs) < 2:
        return None
    one, other = rng.sample(jobs, 2)
    copy = doctored_copy(one)
    for name in ("read", "write", "trim"):
        other[name] = copy[name]
    return Lied(f"latencies of {one['jobname']} twice", aims(OWN))


def date(rng: Random, document: Document, _: Source) -> Lied | None:
    """A date on which the time stamp beside it was not."""
    if "time" not in document or "timestamp" not in document:
        return None
    was = datetime.datetime.fromtimestamp(document["timestamp"], datetime.UTC)
    shift = datetime.timedelta(days=rng.randint(2, 900), minutes=rng.randint(0, 1439))
    document["time"] = (was - shift).strftime("%a %b %d %H:%M:%S %Y")
    return Lied(f"time {document['time']} beside timestamp {document['timestamp']}", aims(OWN))


def multiplied(rng: Random, document: Document, source: Source) -> Lied | None:
    """A faster run: more I/Os, and all latencies shorter by the same factor, in every figure."""
    if not source.has_histograms or (found := pick(rng, document)) is None:
        return None
    job, _direction, _part = found
    parts = [job[name] for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    kinds = [dict(latencies_of(part)) for part in parts]
    if len(document["jobs"]) > 1 or any("bins" not in each.get("clat_ns", {}) for each in kinds):
        return None
    by = rng.uniform(1.12, 1.6)
    seen = any(_fills_octaves(each["clat_ns"]["bins"]) for each in kinds)
    for gone in ("latency_ns", "latency_us", "latency_ms", "sync"):
        job.pop(gone, None)
    document.pop("disk_util", None)
    for part in parts:
        _speed_up(part, by)
    return Lied(f"I/Os x {by:.3f}, latencies shorter by as much", aims(OWN) if seen else (), FEW)


def _speed_up(part: Document, by: float) -> None:
    block, seconds = part["io_bytes"] / part["total_ios"], part["runtime"] / 1000
    for name in COUNTED:
        if name in part:
            part[name] = type(part[name])(part[name] * by)
    for _, latency in latencies_of(part):
        _shorten(latency, by)
        latency["N"] = part["clat_ns"]["N"]
    part["total_ios"] = part["clat_ns"]["N"]
    part["io_bytes"] = round(part["total_ios"] * block)
    part["io_kbytes"] = part["io_bytes"] // KIB
    part["iops"] = part["total_ios"] / seconds
    part["bw_bytes"] = int(part["io_bytes"] / seconds)
    part["bw"] = part["bw_bytes"] // KIB
    part.pop("bw_agg", None)


def _shorten(latency: Document, by: float) -> None:
    """Divide latencies by a factor, and multiply their counts by it."""
    bins: dict[str, int] = {}
    for key, count in latency.get("bins", {}).items():
        to = str(index_to_value(value_to_index(round(int(key) / by))))
        bins[to] = bins.get(to, 0) + round(count * by)
    for name in ("min", "max", "mean", "stddev"):
        latency[name] = type(latency[name])(latency[name] / by)
    shares = latency.get("percentile", {})
    for name, value in shares.items():
        shares[name] = index_to_value(value_to_index(round(value / by)))
    if bins:
        latency["bins"] = bins
        latency["N"] = sum(bins.values())


def _fills_octaves(bins: dict[str, int]) -> bool:
    """Return whether each bucket of three powers of two in a row has many I/Os."""
    counts = {value_to_index(int(key)): count for key, count in bins.items()}
    solid = [min(counts.get(64 * at + each, 0) for each in range(64)) >= SOLID for at in range(29)]
    return any(all(solid[at : at + 3]) for at in range(6, 25))


LIES: dict[str, Lie] = {
    "a faster run": multiplied,
    "KiB": kib,
    "mean of samples": sample_mean,
    "a share of latencies": share,
    "a share moved": moved_share,
    "syncs": syncs,
    "mix": mix,
    "an entry left out": left_out,
    "an entry twice": copied,
    "date": date,
}

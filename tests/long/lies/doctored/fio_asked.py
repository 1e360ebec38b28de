"""Lies in fio's JSON about what the job asked for, how long it ran, and on what."""

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
    parts_of,
)
from tui.model.quantities import parse_size

OWN = "own-figures"
BUCKETS = 32  # so many counts have a common factor by chance once in 10^9
SYNCS = 40
DAY_S = 86_400
WRITTEN = ("write",)


def _only_writer(document: Document) -> Document | None:
    """Return the one job of a document, of one worker or a group of them, if it only writes."""
    if len(document["jobs"]) != 1:
        return None
    job: Document = document["jobs"][0]
    done = [name for name in ("read", "write", "trim") if job.get(name, {}).get("total_ios")]
    return job if done == ["write"] else None


def syncs_asked(rng: Random, document: Document, _: Source) -> Lied | None:
    """Another number of writes before a sync, or syncs of a job that had none."""
    job = _only_writer(document)
    if job is None or option(document, job, "ramp_time") or option(document, job, "fdatasync"):
        return None
    had, writes = job["sync"]["lat_ns"]["N"], job["write"]["total_ios"]
    every = rng.choice((1, 2, 4, 16, 32, 64, 128))
    job["job options"]["fsync"] = str(every)
    what = f"fsync={every} beside {had} syncs of {writes} writes"
    seen = abs(had - writes / every) > SYNCS * int(option(document, job, "numjobs", "1"))
    return Lied(what, aims(OWN) if seen else (), UNSEEN)


def longer_pause(rng: Random, document: Document, _: Source) -> Lied | None:
    """A longer thinktime than the I/Os leave time for."""
    if (found := pick(rng, document)) is None or len(document["jobs"]) > 1:
        return None
    job, _direction, part = found
    if option(document, job, "numjobs", "1") != "1" or option(document, job, "rate_iops"):
        return None
    apart_us = part["runtime"] * 1000 / part["total_ios"]
    if option(document, job, "ioengine", "psync") != "psync" or apart_us < 2:
        return None
    pause = round(apart_us * (1 + rng.uniform(0.1, 9)))
    job["job options"]["thinktime"] = str(pause)
    others = sum(job[name].get("total_ios", 0) for name in ("read", "write"))
    seen = others * pause > (part["runtime"] * 1000 + 4 * pause) * 1.01
    return Lied(
        f"thinktime={pause} of I/Os {apart_us:.0f} µs apart", aims(OWN) if seen else (), UNSEEN
    )


def deeper(rng: Random, document: Document, _: Source) -> Lied | None:
    """A larger queue depth than the one that was used."""
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    alone = option(document, job, "numjobs", "1") == "1"
    if not alone or option(document, job, "ioengine") not in ("libaio", "io_uring", "posixaio"):
        return None
    had = int(option(document, job, "iodepth", "1"))
    said = had * rng.choice((2, 3, 4, 8, 32))
    job["job options"]["iodepth"] = str(said)
    if "latency_depth" not in job or rng.random() < 0.5:
        job["latency_depth"] = said
    return Lied(f"iodepth={said} of a load with {had}", aims(OWN))


def more_workers(rng: Random, document: Document, _: Source) -> Lied | None:
    """More workers than a group had."""
    if (found := pick(rng, document)) is None:
        return None
    job, _direction, part = found
    had = int(option(document, job, "numjobs", "1"))
    if had < 2 or len(document["jobs"]) > 1 or not option(document, job, "runtime"):
        return None
    said = had + max(1, round(had * rng.uniform(0.1, 3)))
    job["job options"]["numjobs"] = str(said)
    what = f"numjobs={said} of a group of {had}"
    moved = sum(job[name].get("io_bytes", 0) for name in ("read", "write"))
    size = option(document, job, "io_size") or option(document, job, "size")
    again = bool(size) and moved > 1.01 * said * parse_size(size)
    timed = again or option(document, job, "time_based") == "1"
    reached = part["runtime"] >= 950 * float(option(document, job, "runtime").rstrip("s"))
    seen = timed and reached and job["job_runtime"] < 0.93 * said * part["runtime"]
    return Lied(
        what, aims(OWN) if seen else (), "a worker that ends early takes its counts with it"
    )


def smaller_files(rng: Random, document: Document, _: Source) -> Lied | None:
    """Less data than the job moved, and no time after which it ends."""
    if (found := pick(rng, document)) is None or len(document["jobs"]) > 1:
        return None
    job = found[0]
    if option(document, job, "numjobs", "1") != "1" or option(document, job, "ramp_time"):
        return None
    moved = sum(job[name].get("io_bytes", 0) for name in ("read", "write"))
    ios = sum(job[name].get("total_ios", 0) for name in ("read", "write"))
    said = round(moved / (1 + rng.uniform(0.02, 9)))
    for options in (job["job options"], document.get("global options", {})):
        for name in ("runtime", "time_based", "io_size", "filesize"):
            options.pop(name, None)
    job["job options"]["size"] = str(said)
    flying = 20 * moved / ios * int(option(document, job, "iodepth", "1"))
    seen = moved - said > flying
    return Lied(f"size={said} of {moved} bytes", aims(OWN) if seen else (), UNSEEN)


def never_verified(_: Random, document: Document, __: Source) -> Lied | None:
    """A verification of which there are no reads."""
    job = _only_writer(document)
    if job is None or option(document, job, "ramp_time"):
        return None
    for options in (job["job options"], document.get("global options", {})):
        options.pop("runtime", None)
    job["job options"]["verify"] = "crc32c"
    workers, ran = int(option(document, job, "numjobs", "1")), job["write"]["runtime"]
    one_job = workers == 1 or workers * 0.95 * ran <= job["job_runtime"] <= workers * (ran + 20)
    return Lied(
        "verify=crc32c of a job without reads",
        aims(OWN) if one_job else (),
        "another job of a group may end those that verify",
    )


# -- time, samples, processor, version


def multiplied(rng: Random, document: Document, _: Source) -> Lied | None:
    """A run that was a few times as long, at the same rate."""
    by, seen = rng.randint(2, 20), False
    for job in document["jobs"]:
        job["job_runtime"] = job.get("job_runtime", 0) * by
        job["elapsed"] = job.get("elapsed", 0) * by
        for name in ("read", "write", "trim"):
            part = job.get(name) or {}
            for figure in (
                "total_ios",
                "io_bytes",
                "io_kbytes",
                "runtime",
                "iops_samples",
                "bw_samples",
            ):
                part[figure] = part.get(figure, 0) * by
            for _kind, latency in latencies_of(part):
                latency["N"] *= by
                bins = latency.get("bins", {})
                latency.get("bins", {}).update({key: count * by for key, count in bins.items()})
                seen = seen or len(bins) >= BUCKETS
        if option(document, job, "runtime"):
            ran = float(option(document, job, "runtime").rstrip("s"))
            job["job options"]["runtime"] = f"{ran * by:g}"
    for device in document.get("disk_util", []):
        for name in ("read_ios", "write_ios", "read_merges", "write_merges"):
            device[name] = device.get(name, 0) * by
    return Lied(
        f"everything counted x {by}", aims(OWN) if seen else (), "no histogram of many buckets"
    )


def longer(rng: Random, document: Document, _: Source) -> Lied | None:
    """A runtime that is longer than its fio was old."""
    if (found := pick(rng, document)) is None or not found[0].get("elapsed"):
        return None
    job, _direction, part = found
    by = 1 + rng.uniform(0.5, 9)
    before, most = part["runtime"], job["elapsed"] * 1000
    for name in ("read", "write", "trim"):
        if job.get(name, {}).get("runtime"):
            job[name]["runtime"] = round(job[name]["runtime"] * by)
            for rate in ("iops", "bw", "bw_bytes"):
                job[name][rate] = type(job[name].get(rate, 0))(job[name].get(rate, 0) / by)
    job["job_runtime"] = round(job.get("job_runtime", 0) * by)
    seen = part["runtime"] > most + 200
    return Lied(
        f"runtime {part['runtime']} ms instead of {before}", aims(OWN) if seen else (), UNSEEN
    )


def calm(rng: Random, document: Document, _: Source) -> Lied | None:
    """Samples that hardly deviate, between a minimum and a maximum that do."""
    if (found := pick(rng, document)) is None:
        return None
    job, direction, part = found
    kind, name = rng.choice((("iops", "iops_stddev"), ("bw", "bw_dev")))
    low, high, count = (part.get(f"{kind}_{each}", 0) for each in ("min", "max", "samples"))
    if name not in part or count < 2 or high - low < 20:
        return None
    least = (((high - low) ** 2) / 2 / (count - 1)) ** 0.5
    part[name] = part[name] * rng.uniform(0.0, 0.9)
    what = f"{direction} {name} made {part[name]:.4g} beside {low} to {high}"
    if option(document, job, "numjobs", "1") != "1":
        return Lied(what, (), "deviations of several workers, which are added")
    return Lied(what, aims(OWN) if part[name] < 0.95 * least - 3 else (), UNSEEN)


def no_processor(rng: Random, document: Document, _: Source) -> Lied | None:
    """Buffered I/O that took hardly any CPU time."""
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    engine = option(document, job, "ioengine", "psync")
    if option(document, job, "direct", "0") != "0" or engine not in ("psync", "sync", "pvsync"):
        return None
    job["usr_cpu"] = job["sys_cpu"] = rng.uniform(0, 0.02)
    moved = sum(job[name].get("io_bytes", 0) for name in ("read", "write"))
    ios = sum(job[name].get("total_ios", 0) for name in ("read", "write"))
    spent = 2 * job["usr_cpu"] / 100 * job.get("job_runtime", 0) / 1000 + 0.002
    seen = spent * 1.01 < moved / 100e9 + ios * 50e-9
    return Lied(
        f"{job['usr_cpu']:.3g} % CPU", aims(OWN) if seen else (), "few I/Os take little CPU time"
    )


def several_processors(rng: Random, document: Document, _: Source) -> Lied | None:
    """More CPU time than a worker's one thread can use."""
    if (found := pick(rng, document)) is None:
        return None
    job = found[0]
    engine = option(document, job, "ioengine", "psync")
    if engine not in ("psync", "sync", "pvsync", "libaio") or job.get("job_runtime", 0) <= 1000:
        return None
    if option(document, job, "thread", "0") != "0":
        return None
    job["usr_cpu"], job["sys_cpu"] = rng.uniform(5, 150), rng.uniform(50, 150)
    whole = job["usr_cpu"] + job["sys_cpu"]
    seen = whole > 103
    return Lied(
        f"{whole:.0f} % CPU", aims(OWN) if seen else (), "a thread may be busy all the time"
    )


def older(rng: Random, document: Document, _: Source) -> Lied | None:
    """A version that could not print what is here."""
    if not any(True for _ in parts_of(document)):
        return None
    document["fio version"] = (
        f"fio-{rng.choice(('2.1.10', '2.2.10', '2.21', '3.1', '3.7', '3.12'))}"
    )
    return Lied(f"{document['fio version']} with counts of latencies", aims(OWN))


def earlier(rng: Random, document: Document, _: Source) -> Lied | None:
    """A day before this version of fio was released."""
    if "timestamp" not in document or "fio-3" not in document.get("fio version", ""):
        return None
    to = datetime.datetime(rng.randint(2000, 2019), rng.randint(1, 6), 1, tzinfo=datetime.UTC)
    moved = round(to.timestamp()) - document["timestamp"]
    document["timestamp"] += moved
    document["timestamp_ms"] = document.get("timestamp_ms", 0) + moved * 1000
    day = datetime.datetime.fromtimestamp(document["timestamp"], datetime.UTC)
    document["time"] = day.strftime("%a %b %d %H:%M:%S %Y")
    for job in document["jobs"]:
        if job.get("job_start"):
            job["job_start"] += moved * 1000
    return Lied(f"{document['fio version']} in {to.year}", aims(OWN))


def not_of_devices(rng: Random, document: Document, _: Source) -> Lied | None:
    """Fewer requests of the devices than direct I/Os."""
    if not document.get("disk_util"):
        return None
    if any(option(document, job, "direct", "0") != "1" for job in document["jobs"]):
        return None
    by, seen = rng.uniform(0.05, 0.95), False
    for name in ("read", "write"):
        counted = 0
        for device in document["disk_util"]:
            for kind in (f"{name}_ios", f"{name}_merges"):
                device[kind] = round(device.get(kind, 0) * by)
                counted += device[kind]
        parts = [job[name] for job in document["jobs"] if job.get(name, {}).get("total_ios")]
        asked = sum(part["total_ios"] for part in parts)
        longest = max((part["runtime"] for part in parts), default=0) / 1000 or 1.0
        least = max(min(0.9, 1 - 0.5 / longest), 0.5)
        seen = seen or (asked >= 100 and counted < least * asked * 0.99)
    any_left = any(
        device.get("read_ios") or device.get("write_ios") for device in document["disk_util"]
    )
    told = aims(OWN) if seen and any_left else ()
    return Lied(f"requests of devices x {by:.2g}", told, UNSEEN)


def bytes_of_devices(rng: Random, document: Document, _: Source) -> Lied | None:
    """Sectors of the devices, as fio prints them since 3.36, that are fewer than the bytes."""
    if not document.get("disk_util"):
        return None
    if any(option(document, job, "direct", "0") != "1" for job in document["jobs"]):
        return None
    by, seen = rng.uniform(0.05, 1.0), False
    for name in ("read", "write"):
        parts = [job[name] for job in document["jobs"] if job.get(name, {}).get("total_ios")]
        moved = sum(part["io_bytes"] for part in parts)
        longest = max((part["runtime"] for part in parts), default=0) / 1000 or 1.0
        for at, device in enumerate(document["disk_util"]):
            device[f"{name}_sectors"] = 0 if at else round(by * moved / 512)
        many = sum(part["total_ios"] for part in parts) >= 100
        seen = seen or (many and by < 0.98 * max(min(0.9, 1 - 0.5 / longest), 0.5))
    document["fio version"] = "fio-3.36"
    return Lied(f"bytes of devices x {by:.2g}", aims(OWN) if seen else (), UNSEEN)


def with_noise(rng: Random, document: Document, _: Source) -> Lied | None:
    """One worker's histogram in another's entry, with other moments."""
    jobs = [
        job
        for job in document["jobs"]
        if not job["error"]
        and job["read"].get("total_ios")
        and sum(0 < count <= 8 for count in job["read"]["clat_ns"].get("bins", {}).values()) >= 16
    ]
    if len(jobs) < 2:
        return None
    one, other = rng.sample(jobs, 2)
    other["read"] = doctored_copy(one)["read"]
    noise = 1 + rng.uniform(1e-4, 2e-3)
    for _kind, latency in latencies_of(other["read"]):
        for name in ("mean", "stddev"):
            latency[name] *= noise
    return Lied(f"latencies of {one['jobname']} twice, x {noise:.4f}", aims(OWN))


# -- parts of a latency


def submission(rng: Random, document: Document, _: Source) -> Lied | None:
    """A submission that took longer than the whole I/O."""
    if (found := pick(rng, document)) is None:
        return None
    _job, direction, part = found
    kinds = dict(latencies_of(part))
    if "slat_ns" not in kinds or "lat_ns" not in kinds or "bins" in kinds["slat_ns"]:
        return None
    slat, lat = kinds["slat_ns"], kinds["lat_ns"]
    if slat["N"] != lat["N"]:
        return None
    slat["max"] = round(lat["max"] * (1 + rng.uniform(0.1, 5))) + 5000
    return Lied(
        f"{direction} slat up to {slat['max']} of lat {lat['max']}", aims("latency-mismatch")
    )


def spread(rng: Random, document: Document, _: Source) -> Lied | None:
    """A deviation of the whole that its parts do not allow."""
    if (found := pick(rng, document)) is None:
        return None
    _job, direction, part = found
    kinds = dict(latencies_of(part))
    if len(kinds) < 3 or len({each["N"] for each in kinds.values()}) > 1:
        return None
    if any("bins" in kinds[name] for name in ("lat_ns", "slat_ns")):
        return None
    slat, clat, lat = (kinds[name] for name in ("slat_ns", "clat_ns", "lat_ns"))
    lat["stddev"] *= factor(rng, 0.1, 4)
    high, low = slat["stddev"] + clat["stddev"], abs(slat["stddev"] - clat["stddev"])
    seen = lat["stddev"] > high * 1.03 + 6000 or lat["stddev"] < low * 0.97 - 2000
    what = f"{direction} lat stddev {lat['stddev']:.4g} of {low:.4g} to {high:.4g}"
    return Lied(what, aims("latency-mismatch") if seen else (), UNSEEN)


LIES: dict[str, Lie] = {
    "syncs asked for": syncs_asked,
    "thinktime": longer_pause,
    "a deeper queue": deeper,
    "more workers": more_workers,
    "less data": smaller_files,
    "a verification": never_verified,
    "a multiple": multiplied,
    "a longer run": longer,
    "calm samples": calm,
    "CPU time": no_processor,
    "CPU time of one thread": several_processors,
    "an older version": older,
    "an earlier day": earlier,
    "requests of devices": not_of_devices,
    "bytes of devices": bytes_of_devices,
    "an entry twice, with noise": with_noise,
    "a longer submission": submission,
    "a spread of parts": spread,
}

"""Lies in the output of several hosts of one load: copies, hosts that were late, early, or slow."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from tests.long.lies.classes import Kind
from tests.long.lies.doctored.case import UNSEEN, Case
from tests.long.lies.doctored.change import Lied
from tests.long.lies.doctored.documents import (
    Document,
    Source,
    doctored_copy,
    latencies_of,
    parts_of,
)
from tests.long.lies.doctored.fio_json import _judge, _scale_counts, _set_rates

SKEW_S = 1.0  # hosts may start and end so far apart
STRAGGLER = 0.8
MANY = 100  # buckets, of which chance leaves few equal
Lie = Callable[[Random, list[Document]], Lied | None]


def beside(source: Source) -> list[Document]:
    """Return copies of a source's hosts, as if all had started at the same moment."""
    hosts = [doctored_copy(host) for host in source.hosts]
    for host in hosts:
        _end_at(host, hosts[0]["timestamp_ms"])
    return hosts


def _end_at(host: Document, stamp_ms: int) -> None:
    moved = stamp_ms - host["timestamp_ms"]
    host["timestamp_ms"], host["timestamp"] = stamp_ms, stamp_ms // 1000
    for job in host["jobs"]:
        if "job_start" in job:
            job["job_start"] += moved


def copied(rng: Random, hosts: list[Document]) -> Lied | None:
    """One host's output under another name; who copies may change what nobody looks at."""
    source = rng.choice(hosts)
    if sum(part["total_ios"] for _, _, part in parts_of(source)) < 500:
        return None
    copy = doctored_copy(source)
    _end_at(copy, copy["timestamp_ms"] + rng.randint(-500, 500))
    copy["jobs"][0]["usr_cpu"] = rng.uniform(0, 50)
    copy["disk_util"] = []
    hosts.append(copy)
    return Lied(f"the output of a host as that of a {len(hosts)}. one", ("copied-output",))


def noisy(rng: Random, hosts: list[Document]) -> Lied | None:
    """One host's output as another's, with noise on the counts of its large buckets."""
    copy = doctored_copy(rng.choice(hosts))
    bins = [latency["bins"] for _, _, part in parts_of(copy) for _, latency in latencies_of(part)
            if latency.get("bins")]  # fmt: skip
    if not bins or max(map(len, bins)) < MANY:
        return None
    by = 10 ** rng.uniform(-3, -1.5)
    for counts in bins:
        for at, count in counts.items():
            counts[at] = round(count * rng.uniform(1 - by, 1 + by)) or 1
    _end_at(copy, copy["timestamp_ms"] + rng.randint(-500, 500))
    hosts.append(copy)
    return Lied(f"noise of {100 * by:.2g} % on the counts of a copy", ("copied-output",))


def scaled(rng: Random, hosts: list[Document]) -> Lied | None:
    """One host's output as another's, with all latencies times a factor."""
    copy, by = (
        doctored_copy(rng.choice(hosts)),
        1 + rng.choice((-1, 1)) * 10 ** rng.uniform(-3, -0.5),
    )
    found = [latency for _, _, part in parts_of(copy) for _, latency in latencies_of(part)]
    if not any(
        min(each["mean"], each["stddev"], each["max"] - each["mean"]) > 2000 for each in found
    ):
        return None
    for latency in found:
        for name in ("mean", "stddev"):
            latency[name] = round(latency[name] * by, 6)
        for name in ("min", "max"):
            latency[name] = round(latency[name] * by)
        latency.pop("bins", None)
        latency.pop("percentile", None)
    _end_at(copy, copy["timestamp_ms"] + rng.randint(-500, 500))
    hosts.append(copy)
    return Lied(f"latencies of a copy x {by:.4g}", ("copied-output",))


def late(rng: Random, hosts: list[Document]) -> Lied | None:
    """A host that ran at another time."""
    by = rng.choice((-1, 1)) * math.exp(rng.uniform(math.log(0.2), math.log(600)))
    at = rng.randrange(len(hosts))
    if "timestamp_ms" not in hosts[at]:
        return None
    _end_at(hosts[at], hosts[at]["timestamp_ms"] + round(by * 1000))
    what = f"host {at + 1} moved by {by:+.2f} s"
    if abs(by) > SKEW_S * 1.1 + 0.1:
        return Lied(what, ("start-skew", "never-together"))
    return Lied(what, (), "hosts may start within a second of each other")


def early_end(rng: Random, hosts: list[Document]) -> Lied | None:
    """A host that measured for a part of the time, at the same rate."""
    at, share = rng.randrange(len(hosts)), rng.uniform(0.1, 0.95)
    jobs = hosts[at]["jobs"]
    found = [
        job[name]
        for job in jobs
        for name in ("read", "write")
        if job.get(name, {}).get("total_ios")
    ]
    longest = max(part["runtime"] for part in found)
    for part in found:
        rate = part["iops"]
        _scale_counts(part, share)
        part["runtime"] = round(part["total_ios"] / rate * 1000)
        _set_rates(part)
    for job in jobs:
        job["job_runtime"] = round(job.get("job_runtime", longest) * share)
    less_ms = longest - max(part["runtime"] for part in found)
    _end_at(hosts[at], hosts[at]["timestamp_ms"] - less_ms)
    what = f"host {at + 1} ran for {less_ms / 1000:.2f} s less than the others"
    if less_ms / 1000 > SKEW_S * 1.05 + 0.05:
        return Lied(what, ("end-skew", "short"))
    return Lied(what, (), "hosts may end within a second of each other")


def slow(rng: Random, hosts: list[Document]) -> Lied | None:
    """A host that did less, with the latencies of the others."""
    if len(hosts) < 3:
        return None
    at, by = rng.randrange(len(hosts)), rng.uniform(0.05, 0.95)
    for _, _, part in parts_of(hosts[at]):
        _scale_counts(part, by)
        _set_rates(part)
    rates = [sum(part["iops"] for _, _, part in parts_of(host)) for host in hosts]
    middle = sorted(rates)[len(rates) // 2]
    share = rates[at] / middle
    if share < STRAGGLER - 0.01:
        return Lied(
            f"host {at + 1} does {share:.0%} of the median",
            ("straggler", "concurrency", "offered-rate"),
        )
    return Lied(f"host {at + 1} does {share:.0%} of the median", (), "hosts may differ by a fifth")


def other_version(rng: Random, hosts: list[Document]) -> Lied | None:
    """A host whose output another version of fio has printed."""
    at, version = rng.randrange(len(hosts)), f"fio-3.{rng.randint(1, 99)}"
    if len(hosts) < 2 or version == hosts[at]["fio version"]:
        return None
    hosts[at]["fio version"] = version
    return Lied(f"host {at + 1} ran {version}", ("host-differences",))


LIES: dict[str, tuple[Kind, Lie]] = {
    "output of another host": ("identities", copied),
    "a copy with noise": ("identities", noisy),
    "a copy times a factor": ("identities", scaled),
    "a host at another time": ("time", late),
    "a host that ended early": ("time", early_end),
    "a host that did less": ("hosts", slow),
    "a host with another version": ("hosts", other_version),
}
FOR_SEVERAL = ("a host at another time", "a host that ended early", "a host that did less")


def draw(rng: Random, source: Source, before: frozenset[str], name: str) -> Case | None:
    """Doctor one host among several.

    None where a source has too few, or has the finding already.
    """
    kind, lie = LIES[name]
    if name in FOR_SEVERAL and len(source.hosts) < 2:
        return None
    hosts = beside(source)
    lied = lie(rng, hosts)
    if lied is None or (lied.aims and lied.aims[0] in before):
        return None
    unseen = "" if lied.aims else lied.unseen or UNSEEN
    return Case(kind, name, f"{source.name}: {lied.what}", lied.aims, _judge(hosts), before, unseen)

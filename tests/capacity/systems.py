"""Systems of known capacity that a search can measure: queues, simulated I/O by I/O, as fio on
several hosts sees them.

Arrivals are Poisson at the offered rate, or `slots` I/Os at a time without one. What comes out is
what the product gets of a run: totals and histograms in fio's buckets, second by second and whole.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, factorial, log

import numpy as np

from tui.capacity.answer import CapacityAnswer, answer
from tui.capacity.next_point import next_offer
from tui.capacity.points import PointData, clearly_over, judge
from tui.metrics.buckets import PLAT_BITS, PLAT_VAL, TOP_BUCKET
from tui.metrics.series import ClusterSecond
from tui.model.event import Buckets, DirectionResult, LatencyResult
from tui.model.search import Limit, Offer, Search, SearchPoint

Array = np.ndarray
BLOCK = 4096


@dataclass
class System:
    """A station with `servers` and exponential service of `service_s` in the mean.

    `stall_every_s`, `stall_s`: it stands still now and then. `thrash_above`: arrivals in the last
    second above which, or in closed loop always, service takes `thrash` times as long. `noise`:
    deviation of its speed from second to second, correlated by `memory`. `drift`: share by which it
    is slower after `drift_s`. `slots`: I/Os at a time.
    """

    service_s: float = 0.0005
    servers: int = 1
    slots: int = 64
    stall_every_s: float = 0.0
    stall_s: float = 0.0
    thrash_above: float = 0.0
    thrash: float = 4.0
    noise: float = 0.0
    memory: float = 0.5
    drift: float = 0.0
    drift_s: float = 300.0
    clock: float = field(default=0.0)  # seconds of load before, for the drift

    def run(
        self, rate: float | None, seconds: float, random: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Return intended starts, actual starts and completions of all I/Os that were completed in
        time, in s.
        """
        most = int((rate or self.servers / self.service_s) * seconds * 1.5 + 1000)
        due = np.zeros(most) if rate is None else np.cumsum(random.exponential(1 / rate, most))
        due = due[due < seconds]
        service = random.exponential(self.service_s, len(due)) * self._slowness(
            due, rate, seconds, random
        )
        done = (
            self._served(due, service, random, seconds)
            if self.servers == 1
            else self._by_several(due, service)
        )
        freed = np.concatenate((np.zeros(self.slots), np.sort(done)[: -self.slots]))[: len(done)]
        started = np.minimum(np.maximum(due, freed), done)
        self.clock += seconds
        kept = done < seconds
        return due[kept], started[kept], done[kept]

    def _slowness(
        self, due: Array, rate: float | None, seconds: float, random: np.random.Generator
    ) -> Array:
        """Return by how much longer each I/O is served than usual."""
        when = due if rate is not None else np.arange(len(due)) * self.service_s / self.servers
        found = 1 + self.drift * (self.clock + when) / self.drift_s
        if self.noise:
            steps = random.normal(0, 1, int(seconds * 2) + 2)
            level = np.empty_like(steps)
            level[0] = steps[0]
            for at in range(1, len(steps)):
                level[at] = self.memory * level[at - 1] + np.sqrt(1 - self.memory**2) * steps[at]
            found = (
                found
                / np.maximum(1 + self.noise * level, 0.2)[
                    np.minimum(when.astype(int), len(level) - 1)
                ]
            )
        if self.thrash_above:
            recent = (
                np.arange(len(due)) - np.searchsorted(due, due - 1.0)
                if rate is not None
                else np.inf
            )
            expected = np.minimum(np.maximum(due, 0.2), 1.0)
            found = np.where(recent > self.thrash_above * expected, self.thrash * found, found)
        return found

    def _served(
        self, due: Array, service: Array, random: np.random.Generator, seconds: float
    ) -> Array:
        """Return completions of one server in order of arrival.

        A stall is an arrival that nobody counts.
        """
        if not self.stall_every_s:
            return _one_after_the_other(due, service)
        if not due.any():  # closed loop: stalls lie at their time of service
            done = np.cumsum(service)
            stalls = int(done[-1] / self.stall_every_s) + 1
            held = np.searchsorted(done, np.sort(random.uniform(0, done[-1], stalls)))
            slower = np.bincount(held, minlength=len(service) + 1)[: len(service)] * self.stall_s
            return np.asarray(np.cumsum(service + slower))
        begins = np.sort(random.uniform(0, seconds, random.poisson(seconds / self.stall_every_s)))
        when = np.concatenate((due, begins))
        order = np.argsort(when, kind="stable")
        lasts = np.concatenate((service, np.full(len(begins), self.stall_s)))[order]
        done = np.empty(len(when))
        done[order] = _one_after_the_other(when[order], lasts)
        return done[: len(due)]

    def _by_several(self, due: Array, service: Array) -> Array:
        free = [0.0] * self.servers
        done = np.empty(len(due))
        for at, (when, lasts) in enumerate(zip(due.tolist(), service.tolist(), strict=True)):
            done[at] = end = max(when, free[0]) + lasts
            heapq.heapreplace(free, end)
        return done


def _one_after_the_other(due: Array, service: Array) -> Array:
    """Return completions of one server by Lindley's recursion."""
    total = np.cumsum(service)
    found: Array = total + np.maximum.accumulate(due - total + service)
    return found


# -- what is seen of it


def bucket_of(values_ns: Array) -> Array:
    """Return fio's bucket of each latency (fio stat.c, plat_val_to_idx)."""
    values = np.maximum(values_ns.astype(np.int64), 0)
    msb = np.frexp(np.maximum(values, 1).astype(float))[1] - 1
    bits = np.maximum(msb - PLAT_BITS, 0)
    found = np.where(
        msb <= PLAT_BITS, values, ((bits + 1) << PLAT_BITS) + ((values >> bits) & (PLAT_VAL - 1))
    )
    return np.minimum(found, TOP_BUCKET)


def buckets_of(indices: Array) -> Buckets:
    """Return a histogram of bucket indices."""
    idx, n = np.unique(indices, return_counts=True)
    return Buckets(idx.tolist(), n.tolist())


def seconds_of(started: Array, done: Array, length: int) -> list[ClusterSecond]:
    """Return what was completed in each second."""
    indices = bucket_of((done - started) * 1e9)
    place = done.astype(int)
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(length + 1))
    return [
        ClusterSecond({"read": int(end - begin)}, {"read": buckets_of(indices[order[begin:end]])})
        for begin, end in pairwise(cuts)
    ]


def result_of(started: Array, done: Array, length: float) -> DirectionResult:
    """Return the whole point as fio counts it."""
    took = (done - started) * 1e9
    n = len(took)
    lat = LatencyResult(
        n, int(took.min()), int(took.max()), float(took.mean()), float(took.std(ddof=1)),
        buckets=buckets_of(bucket_of(took)),
    )  # fmt: skip
    return DirectionResult(n, n * BLOCK, length, n / length, n * BLOCK / length, lat=lat, clat=lat)


def measure(
    system: System, search: Search, offer: Offer, step: int, random: np.random.Generator
) -> SearchPoint:
    """Return a point as a run would measure it, ended early where it is clearly over."""
    length = int(offer.seconds)
    _, started, done = system.run(offer.rate_iops, offer.seconds, random)
    seconds = seconds_of(started, done, length)
    ended = next(
        (at for at in range(1, length) if clearly_over(search, offer, seconds[:at])), length
    )
    if ended < length:
        started, done, seconds = started[done < ended], done[done < ended], seconds[:ended]
        system.clock -= length - ended
    dirs = {"read": result_of(started, done, float(ended))}
    return judge(search, offer, PointData(step, dirs, seconds, 2, cut=ended < length))


def searched(system: System, search: Search, seed: int) -> tuple[CapacityAnswer, list[SearchPoint]]:
    """Return what a search finds on a system, and the points it took."""
    points: list[SearchPoint] = []
    while (offer := next_offer(search, points)) is not None:
        points.append(
            measure(system, search, offer, len(points), np.random.default_rng([seed, len(points)]))
        )
    return answer(search, points), points


# -- what is true


def p99_limit(ms: float, percentile: float = 99.0) -> Limit:
    return Limit(f"read.p{percentile:g} < {ms:g}ms", "read", "latency", percentile, ms * 1e6)


def tail_of_mmc(rate: float, servers: int, service_s: float, t: float) -> float:
    """Return the share of I/Os of an M/M/c queue that take longer than t (Erlang's C, and the sum
    with the service).
    """
    load, mu = rate * service_s, 1 / service_s
    last = load**servers / factorial(servers) * servers / (servers - load)
    waits = last / (sum(load**k / factorial(k) for k in range(servers)) + last)
    if abs(servers - 1 - load) < 1e-9:
        return exp(-mu * t) * (1 + waits * mu * t)
    return exp(-mu * t) * (
        1 + waits * (1 - exp(-mu * t * (servers - 1 - load))) / (servers - 1 - load)
    )


def capacity_of_mmc(
    servers: int, service_s: float, limit_s: float, percentile: float = 99.0
) -> float:
    """Return the rate at which a percentile of an M/M/c queue reaches a limit."""
    if servers == 1:
        return 1 / service_s + log(1 - percentile / 100) / limit_s
    low, high = 0.0, servers / service_s
    for _ in range(60):
        middle = (low + high) / 2
        over = tail_of_mmc(middle, servers, service_s, limit_s) > 1 - percentile / 100
        low, high = (low, middle) if over else (middle, high)
    return low


def capacity_by_simulation(
    system: System, limit_s: float, percentile: float = 99.0, seconds: float = 4000.0
) -> float:
    """Return the same by simulation, with the same random numbers at each rate."""
    top = system.servers / system.service_s
    low, high = 0.2 * top, top
    for _ in range(12):
        middle = (low + high) / 2
        system.clock = 0.0
        _, started, done = system.run(middle, seconds, np.random.default_rng(99))
        over = (
            np.percentile(done - started, percentile) > limit_s
            or len(done) < middle * seconds * 0.99
        )
        low, high = (low, middle) if over else (middle, high)
    return (low + high) / 2

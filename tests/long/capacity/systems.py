"""Systems whose load has to be held to be judged: credits, cache tiers, rare stalls, drift, cliffs.

Simulated time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp

import numpy as np

from tests.capacity.systems import Array, System, result_of, seconds_of
from tui.capacity.answer import CapacityAnswer, answer
from tui.capacity.next_point import next_offer
from tui.capacity.points import PointData, clearly_over, judge
from tui.model.search import Offer, Search, SearchPoint


@dataclass
class LastingSystem(System):
    """One server whose speed depends on what was asked of it before, I/O by I/O.

    `credits`: fast I/Os left of `most_credits`, `refill` a second; without one service takes
    `slow_s`. `period_s`, `pause_s`: it stands still so long, once a period. `drift`: share by which
    service is longer after a long time, approached with the constant `drift_s`.
    """

    slow_s: float = 0.0
    most_credits: float = 0.0
    refill: float = 0.0
    period_s: float = 0.0
    pause_s: float = 0.0
    credits: float = field(default=0.0)

    def rest(self, seconds: float) -> None:
        """Let time pass without load."""
        self.clock += seconds
        self.credits = min(self.most_credits, self.credits + self.refill * seconds)

    def run(
        self, rate: float | None, seconds: float, random: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Return intended starts, actual starts and completions of all I/Os that were completed in
        time, in s.
        """
        if self.thrash_above or self.noise:
            return super().run(rate, seconds, random)
        most = int((rate or 1.2 / self.service_s) * seconds * 1.2 + 1000)
        due = np.zeros(most) if rate is None else np.cumsum(random.exponential(1 / rate, most))
        due = due[due < seconds]
        done = self._one_by_one(due.tolist(), random.exponential(1.0, len(due)).tolist(), seconds)
        due = due[: len(done)]
        freed = np.concatenate((np.zeros(self.slots), done[: -self.slots]))[: len(done)]
        started = np.minimum(np.maximum(due, freed), done)
        self.clock += seconds
        kept = done < seconds
        return due[kept], started[kept], done[kept]

    def _one_by_one(self, due: list[float], work: list[float], seconds: float) -> Array:
        free, last, done = 0.0, 0.0, []
        for when, amount in zip(due, work, strict=True):
            begin = max(when, free)
            if begin >= seconds:
                break
            if self.period_s:
                into = (self.clock + begin) % self.period_s
                begin += max(0.0, self.pause_s - into)
            lasts = self.service_s
            if self.most_credits:
                self.credits = min(self.most_credits, self.credits + self.refill * (begin - last))
                last = begin
                fast = self.credits >= 1
                self.credits -= 1.0 if fast else 0.0
                lasts = self.service_s if fast else self.slow_s
            if self.drift:
                lasts *= 1 + self.drift * (1 - exp(-(self.clock + begin) / self.drift_s))
            free = begin + amount * lasts
            done.append(free)
        if self.most_credits and last < seconds:
            self.credits = min(self.most_credits, self.credits + self.refill * (seconds - last))
        return np.array(done)


def measure(
    system: System, search: Search, offer: Offer, step: int, random: np.random.Generator
) -> SearchPoint:
    """Return a point as a run measures it: pause, load that is not measured, load that is.

    Ended early like a run.
    """
    if isinstance(system, LastingSystem):
        system.rest(offer.settle_s)
    if offer.lead_s:
        system.run(offer.rate_iops, offer.lead_s, random)
    before = (system.clock, getattr(system, "credits", 0.0))
    state = random.bit_generator.state
    length = int(offer.seconds)
    _, started, done = system.run(offer.rate_iops, offer.seconds, random)
    seconds = seconds_of(started, done, length)
    ended = next(
        (at for at in range(1, length) if clearly_over(search, offer, seconds[:at])), length
    )
    # the same load again, so that what it did to the system is what so many seconds do
    if ended < length:
        random.bit_generator.state = state
        system.clock = before[0]
        if isinstance(system, LastingSystem):
            system.credits = before[1]
        system.run(offer.rate_iops, float(ended), random)
        started, done, seconds = started[done < ended], done[done < ended], seconds[:ended]
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


def sustained(
    make: Callable[[], System], limit_s: float, seconds: float = 3000.0, percentile: float = 99.0
) -> float:
    """Return the rate whose percentile reaches a limit once the system has been loaded for so long,
    by simulation.
    """
    low, high = 0.0, 1.2 / make().service_s
    for _ in range(13):
        rate = (low + high) / 2
        system, random = make(), np.random.default_rng(99)
        if isinstance(system, LastingSystem):
            system.credits = 0.0
            system.clock = 20 * system.drift_s if system.drift else 0.0
        due, _, done = system.run(rate, seconds, random)
        late = np.percentile(done - due, percentile) > limit_s or len(done) < rate * seconds * 0.99
        low, high = (low, rate) if late else (rate, high)
    return (low + high) / 2

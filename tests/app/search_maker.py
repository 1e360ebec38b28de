"""Journals of searches: a queue of known capacity, its points made as the engine would journal
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path

import msgspec

from tests.app.journal_maker import RUN_ID, distributed, host_names
from tests.app.matrix_maker import MatrixMaker
from tui.metrics.buckets import index_to_value, label, value_to_index
from tui.metrics.histogram import Histogram
from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostProblem,
    HostResult,
    HostState,
    LatencyResult,
    PointDecided,
    PointOffered,
    StepEnded,
)
from tui.model.operands import Clause, clause
from tui.model.plan import Headline
from tui.model.rundir import PLAN_FILE
from tui.model.search import Knob, Limit, MeasuredLimit, Offer, Search, SearchPoint, Verdict

MOST_IOPS = 61_000.0
LIMIT = Limit("p99.9 < 2ms", "", "latency", 99.9, 2e6)
SEARCH = Search("capacity", limits=(LIMIT,), points=12, within_s=1800.0)
BASE_NS, SERVICE_NS = 180_000.0, 60_000.0


def _between(low: float, high: float) -> Clause:
    return clause("capacity-between", low_iops=low * MOST_IOPS, high_iops=high * MOST_IOPS)


OFFERS = (  # share of the maximum, role, why
    (None, "maximum", clause("full-load")),
    (0.5, "search", clause("least-load")),
    (0.9, "search", _between(0.5, 1.0)),
    (0.75, "search", _between(0.5, 0.9)),
    (0.8, "search", _between(0.75, 0.9)),
    (0.77, "confirm", _between(0.75, 0.8)),
    (0.76, "confirm", clause("slightly-lower")),
)


def tail_ns(rate: float | None, percentile: float) -> float:
    """Return a percentile of a queue with that arrival rate: a base, and an exponential tail."""
    load = 0.985 if rate is None else min(rate / MOST_IOPS, 0.985)
    return BASE_NS + SERVICE_NS / (1 - load) * -log(1 - percentile / 100)


def latencies(rate: float | None, count: int) -> LatencyResult:
    """Return the latencies of `count` I/Os in fio's buckets."""
    mean = tail_ns(rate, 100 * (1 - exp(-1))) - BASE_NS
    counts: dict[int, int] = {}
    # finer at the tail
    edges = [place / 200 * 0.99 for place in range(200)]
    edges += [0.99 + place / 200 * 0.01 for place in range(201)]
    for low, high in pairwise(edges):
        index = value_to_index(int(BASE_NS - mean * log(1 - (low + high) / 2)))
        counts[index] = counts.get(index, 0) + round(count * high) - round(count * low)
    counts = {index: each for index, each in counts.items() if each}
    whole = Histogram(counts)
    mean_ns = sum(index_to_value(at) * each for at, each in whole.items()) / whole.total
    return distributed(whole, mean_ns, whole.percentiles())


@dataclass
class SearchMaker(MatrixMaker):
    """A run that searches: `points` offers of it are measured, then one may be open."""

    def plan_search(self, search: Search = SEARCH) -> SearchMaker:
        """Give the run as many slots as the search may measure points."""
        self.search = search
        steps = [
            msgspec.structs.replace(
                self.first_step, name=f"lab/oltp point {place + 1}", directions=["read"]
            )
            for place in range(search.points)
        ]
        self.plan_matrix(steps, search=search, headline=Headline("iops", "read"))
        self.begin()
        return self

    def offer(self, place: int, offer: Offer) -> SearchMaker:
        """Journal what a slot offers, and begin it."""
        step = self.plan.steps[place]
        tasks = step.tasks[: offer.knobs.get("hosts", len(self.hosts))]
        planned = msgspec.structs.replace(
            step, name=f"lab/oltp {offer.role} {place + 1}", tasks=tasks
        )
        self.add(PointOffered(t=self.t + 0.1, step=place, offer=offer, planned=planned))
        self.runtime_s = offer.seconds
        self.start_step(place)
        return self

    def load(self, seconds: int, rate: float | None) -> SearchMaker:
        """Have every host report once a second."""
        start, share = self.t, (rate or MOST_IOPS) / len(self.hosts)
        found = latencies(rate, round(share))
        buckets = found.buckets or Buckets()
        part = DirectionSample(
            found.n, found.n * 4096, int(found.mean_ns * found.n), found.max_ns, buckets
        )
        for second in range(seconds):
            self.add(
                *(
                    self._sample(host, start + second + 1, "measure", {"read": part})
                    for host in self.hosts
                )
            )
        return self

    def decide(self, place: int, offer: Offer, *, lost: Sequence[str] = ()) -> SearchMaker:
        """End a slot with results, and what the search takes from them."""
        rate = min(offer.rate_iops or MOST_IOPS, MOST_IOPS)
        self.t += offer.seconds
        alive = [host for host in self.hosts if host not in lost]
        for host in lost:
            problem = HostProblem(
                t=self.t, host=host, phase="measure", code="host-lost", message="host lost"
            )
            self.add(problem, HostState(t=self.t, host=host, state="lost"))
        self.add(*(self._result(host, place, rate / len(self.hosts), offer) for host in alive))
        self.add(StepEnded(t=self.t + 0.5, step=place, ok=not lost))
        self.add(PointDecided(t=self.t, point=self.point(place, offer, rate, lost)))
        return self

    def grow(self, place: int, offer: Offer, contention: float) -> SearchMaker:
        """End a slot at full load with so many hosts: 9 k IOPS a host, less by contention."""
        count = offer.knobs["hosts"]
        rate = 9000.0 * count / (1 + contention * (count - 1))
        self.t += offer.seconds
        self.add(*(self._result(host, place, rate / count, offer) for host in self.hosts[:count]))
        self.add(StepEnded(t=self.t, step=place))
        point = SearchPoint(
            place,
            offer,
            offer.seconds,
            rate,
            rate * 4096,
            verdict="meets",
            hosts=count,
            deviation=0.01,
        )
        self.add(PointDecided(t=self.t, point=point))
        return self

    def _result(self, host: str, place: int, rate: float, offer: Offer) -> HostResult:
        # no two take the same time
        seconds = offer.seconds + self.hosts.index(host) / 1000 + place / 10_000
        ios = round(rate * seconds)
        found = latencies(offer.rate_iops, ios)
        read = DirectionResult(ios, ios * 4096, seconds, rate, rate * 4096, clat=found, lat=found)
        return HostResult(
            t=self.t, host=host, step=place, dirs={"read": read}, tool_version="fio-3.33"
        )

    def point(self, place: int, offer: Offer, rate: float, lost: Sequence[str] = ()) -> SearchPoint:
        """Return a point as it is decided, by each limit on a latency."""
        measured = [self._measured(limit, offer.rate_iops) for limit in self.search.limits]
        verdict: Verdict = "void" if lost else "meets"
        for each in measured:
            verdict = each.verdict if verdict == "meets" and each.verdict != "meets" else verdict
        intended = {} if offer.rate_iops is None else {
            label(p): tail_ns(offer.rate_iops, p) * 1.04 for p in (50.0, 99.0, 99.9)
        }  # fmt: skip
        return SearchPoint(
            step=place, offer=offer, seconds=offer.seconds, iops=rate, bw_bytes_per_s=rate * 4096,
            measured=tuple(measured), verdict=verdict,
            why=clause("hosts-lost", hosts=[*lost]) if lost else "",
            hosts=len(self.hosts) - len(lost), lost=tuple(lost), deviation=0.01, intended=intended,
            intended_why="closed-loop" if offer.rate_iops is None else "",
        )  # fmt: skip

    @staticmethod
    def _measured(limit: Limit, rate: float | None) -> MeasuredLimit:
        value = tail_ns(rate, limit.percentile or 50.0)
        low, high = value * 0.96, value * 1.04
        verdict: Verdict = (
            "meets" if high < limit.most else "breaks" if low >= limit.most else "unclear"
        )
        return MeasuredLimit(
            limit.text, "read", value, low, high, verdict, share_error=0.1, slope=0.14
        )

    def measure_points(self, count: int = len(OFFERS)) -> SearchMaker:
        """Measure so many points of the usual search."""
        for place, offer in enumerate(offers()[:count]):
            self.offer(place, offer).decide(place, offer)
        return self


def offers() -> list[Offer]:
    """Return the points of the usual search."""
    return [
        Offer(None if share is None else round(MOST_IOPS * share), 10.0, role=role, why=why)  # type: ignore[arg-type]
        for share, role, why in OFFERS
    ]


def search_in(
    home: Path, search: Search = SEARCH, hosts: int = 4, tag: str = "lab/oltp"
) -> SearchMaker:
    """Return a run that searches, on some hosts, with nothing measured yet."""
    maker = SearchMaker(home / "runs" / RUN_ID, host_names(hosts), runtime_s=10.0, tag=tag)
    return maker.plan_search(search)


def curve_in(home: Path, measured: int | None = None) -> SearchMaker:
    """Return a run with a load curve: whole, or its first points `measured` and one begun."""
    maker = search_in(home, Search("curve", points=11))
    for place, share in enumerate((None, 0.4, 0.9, 0.1, 0.7, 1.0, 0.3, 0.6, 0.2, 0.8, 0.5)):
        offer = Offer(
            share and round(MOST_IOPS * share), 10.0, role="curve" if share else "maximum"
        )
        maker.offer(place, offer)
        if place == measured:
            return maker.load(4, offer.rate_iops)
        maker.decide(place, offer)
    maker.finish()
    return maker


def scaling_in(
    home: Path,
    hosts: Sequence[int] = (1, 2, 4, 8),
    *,
    contention: float = 0.04,
    measured: int | None = None,
) -> SearchMaker:
    """Return a run over numbers of hosts, 9 k IOPS a host: whole, or its first points `measured`
    and one begun.
    """
    maker = search_in(
        home, Search("scaling", over=(Knob("hosts", tuple(hosts)),), points=len(hosts)), max(hosts)
    )
    for place, count in enumerate(hosts):
        offer = Offer(
            None,
            10.0,
            {"hosts": count},
            "maximum",
            why=clause("hosts-at-full-load", hosts=count, again=False),
        )
        maker.offer(place, offer)
        if place == measured:
            return maker
        maker.grow(place, offer, contention)
    maker.finish()
    return maker


__all__ = [
    "LIMIT",
    "OFFERS",
    "PLAN_FILE",
    "SEARCH",
    "SearchMaker",
    "curve_in",
    "offers",
    "scaling_in",
    "search_in",
]

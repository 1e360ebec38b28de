"""Whether the hosts did the same: stragglers, fairness, and latency of one against the others'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean, median, pstdev

from tui.journal.loss import names_of
from tui.metrics import units
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.registry import each_io_once
from tui.model.step_record import DirectionRecord, StepRecord
from tui.model.thresholds import default
from tui.results.findings.check import Found, StepEvidence, UnknownError, step_check

STRAGGLER = default("V14.rate")  # of the median host
STRAGGLER_HOSTS = 3  # with fewer there is no median to speak of
TAIL_OF_MEDIAN = default("V14.tail")  # p99 of a host, in medians of all
FAIR, SPREAD = 0.95, 0.10  # Jain's index, and standard deviation of the hosts' rates against their mean


@step_check(
    "V14",
    "Stragglers",
    rule=f"every host reaches {units.share(STRAGGLER)} of the median host's IOPS, its p99 stays below "
    f"{TAIL_OF_MEDIAN:g} x the median host's, and the hosts' rates spread by less than {units.share(SPREAD)} "
    f"(Jain's index {FAIR:g} or more)",
    advice="Look at the host that is named: its link, its CPU, its path. The total is the slow host's too.",
    source="results of each host; Jain, Chiu and Hawe 1984",
)
def stragglers(at: StepEvidence) -> Iterator[Found]:
    """Hosts far behind the median hold the others' figures down, or measure something else."""
    if len(at.record.results.per_host) < STRAGGLER_HOSTS:
        raise UnknownError(f"fewer than {STRAGGLER_HOSTS} hosts: there is no median to compare with")
    for name in each_io_once(at.record.results.aggregate):
        yield from _of_direction(at, name)


def _of_direction(at: StepEvidence, name: str) -> Iterator[Found]:
    rates = rates_of(at.record, name)
    middle = median(rates.values()) if rates else 0.0
    slow = sorted((host for host in rates if rates[host] < at.limit("V14.rate") * middle), key=lambda host: rates[host])
    if slow:
        named = names_of([f"{host} {units.share(rates[host] / middle)}" for host in slow])
        message = f"{name} IOPS far below the median host's {units.iops(middle)}: {named}"
        scope = {"direction": name, "hosts": " ".join(slow)}
        yield Found("warning", message, round(rates[slow[0]] / middle, 4), at.limit("V14.rate"), {**scope})
    elif len(rates) >= STRAGGLER_HOSTS and (unfair := unfairness(rates)):
        yield Found("warning", f"{name}: {unfair}", round(jain(rates), 4), FAIR, {"direction": name})
    yield from _slow_tails(at, name)


def rates_of(record: StepRecord, name: str) -> dict[str, float]:
    """Return IOPS by host, where they are known."""
    rates = {host: dirs[name].iops for host, dirs in record.results.per_host.items() if name in dirs}
    return {host: rate for host, rate in rates.items() if rate is not None}


def jain(rates: Mapping[str, float]) -> float:
    """Return Jain's index of fairness: 1 when all do the same, 1/n when one does everything."""
    squares = sum(rate * rate for rate in rates.values())
    return sum(rates.values()) ** 2 / (len(rates) * squares) if squares else 1.0


def unfairness(rates: Mapping[str, float]) -> str:
    """Return how far the hosts are apart; empty when they do about the same."""
    mean = fmean(rates.values())
    spread = pstdev(rates.values()) / mean if mean else 0.0
    if spread <= SPREAD and jain(rates) >= FAIR:
        return ""
    low, high = min(rates, key=lambda host: rates[host]), max(rates, key=lambda host: rates[host])
    said = f"from {units.iops(rates[low])} IOPS ({low}) to {units.iops(rates[high])} ({high})"
    return f"hosts are {units.share(spread)} apart, {said}; Jain's index {jain(rates):.3f}"


def _slow_tails(at: StepEvidence, name: str) -> Iterator[Found]:
    kind = at.run.plan.latency_kind_of(at.step)
    tails = {host: _p99(dirs, name, kind) for host, dirs in at.record.results.per_host.items() if name in dirs}
    known = {host: tail for host, tail in tails.items() if tail}
    if len(known) < STRAGGLER_HOSTS:
        return
    middle = median(known.values())
    most = at.limit("V14.tail") * middle
    slow = sorted((host for host in known if known[host] > most), key=lambda host: -known[host])
    if slow:
        named = names_of([f"{host} {units.latency(known[host])}" for host in slow])
        message = f"{name} p99 far above the median host's {units.latency(middle)}: {named}"
        scope = {"direction": name, "hosts": " ".join(slow)}
        yield Found("warning", message, round(known[slow[0]] / middle, 2), at.limit("V14.tail"), {**scope})


def _p99(dirs: Mapping[str, DirectionRecord], name: str, kind: str) -> int | None:
    latency = latency_of(dirs[name], name, kind)
    value = shown_percentile(latency, 99.0)
    return None if isinstance(value, units.Few) else value


CHECKS = (stragglers,)

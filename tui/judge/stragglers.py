"""Check that hosts are alike: rates, fairness, tails of latencies."""

from __future__ import annotations

from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING

from tui.judge.ahead import recovered
from tui.judge.chance import SIGMAS, SPREAD_OF_SEVERAL, deviation, dispersion
from tui.judge.check import (
    CheckResult,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
)
from tui.metrics import units
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.registry import direction, each_io_once
from tui.metrics.so_far import sure_percentile
from tui.model.criteria import default
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tui.model.figure_record import DirectionRecord
    from tui.model.step_record import MetadataRecord, Scalar, StepRecord

STRAGGLER = default("straggler.rate")  # of the median host
STRAGGLER_HOSTS = 3  # with fewer a median means little
TAIL_OF_MEDIAN = default("straggler.tail")  # p99 of a host, in medians of all
NOISE_S = 0.1  # between ranks of a short phase
# Jain's index, and standard deviation of the hosts' rates against their mean
FAIR, SPREAD = 0.95, 0.10


@of_hosts_in_step(lambda at, host: _why_no_tail(at, host.name))
@step_check(
    "straggler",
    "Stragglers",
    rule=(
        f"every host reaches {units.share(STRAGGLER)} of the median host's IOPS, its p99 stays"
        f" below {TAIL_OF_MEDIAN:g} x the median host's, and the standard deviation of"
        f" the hosts' rates is at most {units.share(SPREAD)} of their mean, or no more than chance"
        " explains",
        "in an MPI program over all hosts, the slowest rank of each host takes at most"
        f" {1 / STRAGGLER:.3g} x the median host's time, or {NOISE_S:g} s longer if that is more",
    ),
    advice="Check the link, CPU and path of that host; it lowers the total.",
    source="results of each host, or times of all ranks; Jain, Chiu and Hawe (1984)",
)
def stragglers(at: StepEvidence) -> Iterator[CheckResult]:
    """A host far behind the median drags the total down, or does not do the same work."""
    if at.record.metadata is not None:
        yield from _slow_ranks(at, at.record.metadata)
        return
    if len(at.record.results.per_host) < STRAGGLER_HOSTS:
        raise UnknownError("few-hosts", least=STRAGGLER_HOSTS)
    for name in each_io_once(at.record.results.aggregate):
        yield from _of_direction(at, name)


def _of_direction(at: StepEvidence, name: str) -> Iterator[CheckResult]:
    rates = rates_of(at.record, name)
    middle = median(rates.values()) if rates else 0.0
    off = deviation(middle * (at.record.measured_s or 0.0), dispersion(at.step.jobs, name))
    least = min(at.limit("straggler.rate"), 1 - SIGMAS * off) * middle
    behind = sorted((host for host in rates if rates[host] < least), key=lambda host: rates[host])
    at_best = recovered(at, name, rates) if behind else rates
    slow = [host for host in behind if at_best[host] < least]
    if slow:
        operands: Operands = {
            "direction": name,
            "counted": direction(name).counted,
            "median": middle,
            "shares": [(host, rates[host] / middle) for host in slow],
        }
        yield CheckResult(
            "warning",
            "rate",
            round(rates[slow[0]] / middle, 4),
            at.limit("straggler.rate"),
            {"direction": name, "hosts": " ".join(slow)},
            operands,
        )
    elif not behind and (spread := _spread(at, rates, SPREAD_OF_SEVERAL * off)):
        fair = jain(rates)
        ends = [(find(rates, key=rates.__getitem__)) for find in (min, max)]
        operands = {
            "direction": name,
            "counted": direction(name).counted,
            "spread": spread,
            "jain": fair,
            "ends": [(host, rates[host]) for host in ends],
        }
        yield CheckResult("warning", "unfair", round(fair, 4), FAIR, {"direction": name}, operands)
    yield from _slow_tails(at, name)


def _spread(at: StepEvidence, rates: Mapping[str, float], chance: float) -> float:
    """Return the spread of the hosts' rates; 0 if they are similar, differ only by chance, or would
    be similar at the end if they were equal from now on.
    """
    if len(rates) < STRAGGLER_HOSTS:
        return 0.0
    mean = fmean(rates.values())
    evened = {host: at.at_end(rate, mean) for host, rate in rates.items()}
    return unfairness(rates, chance) if unfairness(evened, chance) else 0.0


def _slow_ranks(at: StepEvidence, metadata: MetadataRecord) -> Iterator[CheckResult]:
    """Yield hosts whose slowest rank takes too long; all ranks move the same amount, and the
    slowest one ends a phase.
    """
    known = {
        name: each.host_seconds
        for name, each in metadata.operations.items()
        if len(each.host_seconds) >= STRAGGLER_HOSTS
    }
    if not known:
        raise UnknownError("few-hosts", least=STRAGGLER_HOSTS)
    least = at.limit("straggler.rate")
    for name, seconds in known.items():
        middle = median(seconds.values())
        most = max(middle / least, middle + NOISE_S)
        slow = sorted((host for host in seconds if seconds[host] > most), key=seconds.__getitem__)
        if slow:
            scope: dict[str, Scalar] = {"operations": name, "hosts": " ".join(slow[::-1])}
            share = round(middle / seconds[slow[-1]], 4)
            operands: Operands = {
                "operation": name,
                "median_ns": middle * 1e9,
                "slow_ns": [(host, seconds[host] * 1e9) for host in slow[::-1]],
            }
            yield CheckResult("warning", "ranks", share, least, scope, operands)


def rates_of(record: StepRecord, name: str) -> dict[str, float]:
    """Return the known IOPS of each host in one direction."""
    rates = {
        host: dirs[name].iops for host, dirs in record.results.per_host.items() if name in dirs
    }
    return {host: rate for host, rate in rates.items() if rate is not None}


def jain(rates: Mapping[str, float]) -> float:
    """Return Jain's index of fairness: 1 if all hosts are equal, 1/n if one does everything."""
    squares = sum(rate * rate for rate in rates.values())
    return sum(rates.values()) ** 2 / (len(rates) * squares) if squares else 1.0


def unfairness(rates: Mapping[str, float], chance: float = 0.0) -> float:
    """Return the spread of the hosts' rates as a share of their mean; 0 if they are similar or
    differ only by chance.
    """
    mean = fmean(rates.values())
    spread = pstdev(rates.values()) / mean if mean else 0.0
    if spread <= max(SPREAD, chance) and (spread <= chance or jain(rates) >= FAIR):
        return 0.0
    return spread


def _slow_tails(at: StepEvidence, name: str) -> Iterator[CheckResult]:
    kind = at.run.plan.latency_kind_of(at.step)
    tails = {
        host: _p99(dirs, name, kind)
        for host, dirs in at.record.results.per_host.items()
        if name in dirs
    }
    known = {host: tail for host, tail in tails.items() if tail}
    if len(known) < STRAGGLER_HOSTS:
        return
    middle = median(known.values())
    most = at.limit("straggler.tail") * middle
    slow = sorted((host for host in known if known[host] > most), key=lambda host: -known[host])
    if at.passed < 1.0:
        dirs = at.record.results.per_host
        slow = [host for host in slow if (_sure_p99(at, dirs[host], name, kind) or 0) > most]
    if slow:
        slow_ns = [(host, known[host]) for host in slow]
        operands: Operands = {"direction": name, "median_ns": middle, "slow_ns": slow_ns}
        yield CheckResult(
            "warning",
            "tail",
            round(known[slow[0]] / middle, 2),
            at.limit("straggler.tail"),
            {"direction": name, "hosts": " ".join(slow)},
            operands,
        )


def _why_no_tail(at: StepEvidence, host: str) -> str:
    """Return, as a code, why a host's tails are not compared: it has no latency in a direction in
    which others have one; empty otherwise.
    """
    kind, per_host = at.run.plan.latency_kind_of(at.step), at.record.results.per_host
    own = per_host.get(host, {})
    untimed = [name for name in each_io_once(own) if latency_of(own[name], name, kind) is None]
    timed = any(
        latency_of(dirs[name], name, kind) is not None
        for name in untimed
        for dirs in per_host.values()
        if name in dirs
    )
    return "latencies" if timed else ""


def _p99(dirs: Mapping[str, DirectionRecord], name: str, kind: str) -> int | None:
    latency = latency_of(dirs[name], name, kind)
    value = shown_percentile(latency, 99.0)
    return None if isinstance(value, units.Few) else value


def _sure_p99(
    at: StepEvidence, dirs: Mapping[str, DirectionRecord], name: str, kind: str
) -> int | None:
    """Return a time below which p99 cannot fall by the end; None if unknown."""
    latency, most = latency_of(dirs[name], name, kind), sure_percentile(99.0, at.passed)
    known = [float(each) for each in latency.percentiles_ns] if latency is not None else []
    value = shown_percentile(latency, max((each for each in known if each <= most), default=0.0))
    return None if isinstance(value, units.Few) else value


STRAGGLER_CHECKS = (stragglers,)

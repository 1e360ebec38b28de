"""Checks of the time of hosts: start and end skew, clocks, lost hosts, stalls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import sqrt
from operator import add
from statistics import median, quantiles
from typing import TYPE_CHECKING, cast

from tui.judge.ahead import zeros_to_come
from tui.judge.chance import SIGMAS, Chance, chance_of
from tui.judge.check import (
    CheckResult,
    RunEvidence,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts,
    run_check,
    step_check,
    two_hosts,
)
from tui.judge.pace import LATE_S, PAUSED_S, late_reports, paces
from tui.metrics import units
from tui.metrics.registry import direction
from tui.model.criteria import default
from tui.model.event import ALLOCATION_ENDED
from tui.model.operands import Operands, clause

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tui.model.figure_record import SeriesColumns, SeriesRecord
    from tui.model.host_record import HostRecord
    from tui.model.plan import JobLoad
    from tui.model.step_record import Scalar, StepRecord, TimingRecord

Rates = Sequence[float | None]
"""One value per second; None if unknown."""


START_SKEW_S = default("start-skew.skew_s")
START_SKEW_SHARE = 0.02  # of the runtime
CLOCK_OFFSET_S = default("clock-offset.offset_s")
STALL_SHARE = 0.25  # of the host's own median second
# of its best quarter of seconds: a host may stall for most of a run
STALL_OF_GOOD = 0.08
ANSWERED = 0.01  # of the usual rate
STOPPED = 0.04  # of the best seconds: burst credits and full caches leave more
BEST_S = 10  # seconds in a row, with their mean
LEAST_MISSING = 30  # I/Os: random arrivals and long ones leave out fewer
STALL_S = 3  # seconds in a row
AROUND_S = 3  # samples begin before the first whole second, and a late one ends after its second
SLICE = 64  # hosts whose seconds are looked at in one go
SHORTEST_S = 8  # with fewer seconds the median means little: only the best quarter counts


@step_check(
    "start-skew",
    "Start skew",
    rule=(
        f"hosts start within {START_SKEW_S:g} s of each other (error above"
        f" {units.share(START_SKEW_SHARE)} of the runtime, if the clocks are accurate enough)"
    ),
    advice=(
        "Find out what delayed the late hosts (layout, busy CPU, slow login). The figures of"
        " the common window include all hosts."
    ),
    source="first measured I/O of each host, corrected for clock offsets",
)
def start_skew(at: StepEvidence) -> Iterator[CheckResult]:
    """Until the last host has started, the first ones have the storage to themselves."""
    timing = at.record.timing
    if timing is None or timing.start_skew_s is None:
        raise two_hosts(len(at.step.tasks), "host-times")
    allowed_s = at.limit("start-skew.skew_s")
    # of a running load, the times will be known better
    open_s = timing.start_skew_uncertainty_s or 0.0 if at.record.state == "running" else 0.0
    if timing.start_skew_s - open_s <= allowed_s:
        return
    runtime_s = at.step.runtime_s or at.left_s + max(
        host.end_s - host.start_s for host in timing.hosts.values()
    )
    sure_s = timing.start_skew_s - (timing.start_skew_uncertainty_s or 0.0)
    heavy = sure_s > max(allowed_s, START_SKEW_SHARE * runtime_s)
    late = _late(timing, allowed_s)
    operands: Operands = {
        "skew_s": timing.start_skew_s,
        "uncertainty_s": timing.start_skew_uncertainty_s,
        "own_clocks": at.run.foreign,
        "late_s": list(late.items()),
        "together_s": timing.window.length_s if timing.window is not None else None,
    }
    severity: Severity = "error" if heavy else "warning"
    scope: dict[str, Scalar] = {"hosts": " ".join(late)}
    yield CheckResult(severity, "apart", timing.start_skew_s, allowed_s, scope, operands)


def _late(timing: TimingRecord, allowed_s: float) -> dict[str, float]:
    """Return hosts that started later than the allowed skew, with their delay in seconds, latest
    first.
    """
    first = min(host.start_s for host in timing.hosts.values())
    behind = {name: host.start_s - first for name, host in timing.hosts.items()}
    late = {name: delay for name, delay in behind.items() if delay > allowed_s}
    return dict(sorted(late.items(), key=lambda each: -each[1]))


@of_hosts(lambda host: "" if _is_compared(host) else "clocks")
@run_check(
    "clock-offset",
    "Clock offset",
    rule=f"each host's clock is within {CLOCK_OFFSET_S * 1000:g} ms of the jump host's",
    advice=(
        "Synchronise the host's clock (chrony, ntpd). Times in the record are corrected;"
        " times in the host's own logs are not."
    ),
    source="fastest of seven exchanges over the open connection",
)
def clock_offsets(evidence: RunEvidence) -> Iterator[CheckResult]:
    """The record corrects for a clock that is off; the host's own logs do not."""
    compared = {
        host.name: host.clock
        for host in evidence.hosts
        if host.clock is not None and _is_compared(host)
    }
    if not compared:
        raise UnknownError("clocks")
    allowed_s = evidence.limit("clock-offset.offset_s")
    off = {
        name: clock.offset_s
        for name, clock in compared.items()
        if clock.offset_s is not None
        and abs(clock.offset_s) > max(allowed_s, clock.uncertainty_s or 0.0)
    }
    if off:
        worst = sorted(off, key=lambda name: -abs(off[name]))
        scope: dict[str, Scalar] = {"hosts": " ".join(worst)}
        operands: Operands = {"offsets_s": [(name, off[name]) for name in worst]}
        yield CheckResult("warning", "off", off[worst[0]], allowed_s, scope, operands)


def _is_compared(host: HostRecord) -> bool:
    """Return whether a host's clock was compared with the jump host's."""
    return host.clock is not None and host.clock.method == "exchange"


@of_hosts(lambda host: "" if _is_compared(host) else "clocks")
@run_check(
    "clock-step",
    "Clock set during the run",
    rule="no clock is set between the comparison and the end of the run",
    advice="Configure the time service to slew the clock during runs, not to step it.",
    source="time stamps of samples, compared with their arrival",
)
def clock_steps(evidence: RunEvidence) -> Iterator[CheckResult]:
    """The clock was set during the run: later samples are placed by their arrival time instead."""
    if not any(map(_is_compared, evidence.hosts)):
        raise UnknownError("clocks")
    for host, step in evidence.seen.clock_steps.items():
        operands: Operands = {"host": host, "size_s": step.size_s}
        yield CheckResult("warning", "set", round(step.size_s, 3), 0.0, {"host": host}, operands)


@step_check(
    "host-loss",
    "Hosts measure to the end",
    rule="every host measures to the end",
    advice=(
        "Repair the host or exclude it, or request a longer allocation, and measure again."
        " Until then, quote the figures of"
        " the common window."
    ),
    source="samples and results of each host",
)
def host_loss(at: StepEvidence) -> Iterator[CheckResult]:
    """If a host is lost part-way, the total covers a changing number of hosts."""
    ended = {error.host: error.told for error in at.record.errors if error.code == ALLOCATION_ENDED}
    if not at.record.coverage and not ended:
        raise UnknownError("samples")
    if at.record.lost_hosts or ended:
        hosts, of, missing = _left(at, ended)
        parts = [
            clause(
                "left",
                left=part.hosts,
                total=part.of,
                from_s=part.start_s - at.record.coverage[0].start_s,
                missing=part.missing,
            )
            for part in at.record.coverage
            if part.missing
        ]
        every = [*ended.values()]
        quotes = [quote for place, quote in enumerate(every) if quote not in every[:place]]
        operands: Operands = {"parts": parts, "quotes": quotes}
        blamed = " ".join(host for host in missing if host not in ended)
        scope: dict[str, Scalar] = {"hosts": blamed} if blamed else {}
        yield CheckResult("error", "lost", hosts, of, scope, operands)
    if idle := idle_hosts(at.record):
        yield CheckResult("error", "idle", len(idle), 0, {"hosts": " ".join(idle)}, {"hosts": idle})


def _left(at: StepEvidence, ended: Collection[str]) -> tuple[int, int, list[str]]:
    """Return how many of a step's hosts measured to the end, the number of hosts, and the rest."""
    if at.record.lost_hosts:
        last = at.record.coverage[-1]
        return last.hosts, last.of, last.missing
    of = len(at.step.tasks)
    return of - len(ended), of, list(ended)


def idle_hosts(record: StepRecord) -> list[str]:
    """Return hosts whose load generator exited without an error but did no I/O while others did."""
    did = record.results.per_host
    if not did or record.state != "done":
        return []
    ended = (
        host
        for host, task in record.tasks.items()
        if task.final and not task.errors and not task.exit_code
    )
    return [host for host in ended if host not in did]


@step_check(
    "never-together",
    "A common window",
    rule="there is a time in which all hosts measure",
    advice="Use a runtime longer than the start skew.",
    source="start and end of each host",
    when="ended",
)
def never_together(at: StepEvidence) -> Iterator[CheckResult]:
    """The hosts never all measured at the same time, so the total adds up loads that did not run
    together.
    """
    timing = at.record.timing
    if timing is None or timing.start_skew_s is None:
        raise two_hosts(len(at.step.tasks), "host-times")
    if len(timing.hosts) > 1 and timing.window is None:
        scope: dict[str, Scalar] = {"hosts": " ".join(timing.hosts)}
        yield CheckResult("error", "never", 0.0, 0.0, scope, {})


@step_check(
    "stall",
    "Seconds with little I/O",
    rule=(
        f"for {STALL_S} seconds in a row (the first and last count by the missing I/O), no host"
        f" stays below {units.share(STALL_SHARE)} of its median rate (if it has {SHORTEST_S}"
        f" seconds or more), below {units.share(STALL_OF_GOOD)} of its third quartile or, with"
        f" direct I/O, below {units.share(STOPPED)} of its best {BEST_S} seconds, unless chance and"
        " I/Os in flight explain it (Poisson arrivals, mixed block sizes); no per-second report is"
        f" more than {LATE_S:g} s late after subtracting the load's p99 and the delay of the"
        " agent's own telemetry (only a note if the rate did not fall); a report and the telemetry"
        f" of the same time are never both more than {PAUSED_S:g} s late while there are fewer I/Os"
    ),
    advice=(
        "Check the logs of the storage and the host at that time (failover, frozen host, full"
        " journal)."
    ),
    source="I/Os and bytes per second; lengths of the intervals of samples and telemetry",
)
def stall(at: StepEvidence) -> Iterator[CheckResult | None]:
    """A host did little I/O for seconds: it may have been frozen, limited or out of CPU, or its
    storage did not answer.

    The last seconds of a size-bound load are excluded: its jobs end one after the other.
    """
    series = at.record.series
    if series is None:
        raise UnknownError("samples")
    tail = at.step.runtime_s is not None
    chance = chance_of(at.step.jobs)
    by_host = _by_host(series)
    found: dict[str, list[int]] = {}
    zeros = zeros_to_come(at, len(series.columns[0].iops))
    for host, columns in by_host.items():
        rates = [each.iops for each in columns], [each.bw_bytes_per_s for each in columns]
        low = (
            [] if zeros is None else stalled_seconds(*rates, tail=tail, chance=chance, zeros=zeros)
        )
        none = stopped_seconds(*rates, tail=tail, chance=chance) if _goes_on(at.step.jobs) else []
        found[host] = sorted({*low, *none})
        if len(found) % SLICE == 0:
            yield None
    stood = {host: seconds for host, seconds in found.items() if seconds}
    if stood:
        longest = sorted(stood, key=lambda host: -len(stood[host]))
        slow = all(_answered(at, host, by_host[host], stood[host]) for host in stood)
        spans = [(host, len(stood[host]), stood[host][0]) for host in longest]
        once = len(spans) == len(found) > 1 and len({span[1:] for span in spans}) == 1
        operands: Operands = {
            "spans_s": spans,
            "of_s": len(series.columns[0].iops),
            "all_hosts": once,
        }
        yield CheckResult(
            "warning",
            "slow" if slow else "stalled",
            float(len(stood[longest[0]])),
            float(STALL_S),
            {"hosts": " ".join(longest)},
            operands,
        )
    if at.record.state != "running":  # what follows may explain late reports
        usual = {host: _usual(columns) for host, columns in by_host.items() if host not in stood}
        yield from late_reports(at, usual)


def _goes_on(jobs: Sequence[JobLoad]) -> bool:
    """Return whether nothing in these jobs explains seconds without I/O: think time, the page
    cache, or syncs of many writes.
    """
    return bool(jobs) and all(
        (job.direct or job.fileless)
        and job.synced_every <= 1
        and (not job.paced or bool(job.rate_iops or job.rate_bytes_per_s))
        for job in jobs
    )


def _answered(
    at: StepEvidence, host: str, columns: Sequence[SeriesColumns], seconds: Sequence[int]
) -> bool:
    """Return whether a host's reports show I/O in each of these seconds: it was slow, not stopped.

    False if a report of that time was late: it would spread its I/Os over seconds that had none.
    """
    pace = paces(at).get(host)
    late = any(
        each.from_s - at.step.ramp_s < seconds[-1] + AROUND_S
        and each.from_s - at.step.ramp_s + each.interval_s > seconds[0] - AROUND_S
        for each in (pace.late if pace is not None else ())
    )
    rates = _sums([each.iops for each in columns])
    least = ANSWERED * _usual(columns)
    return not late and all((rates[s] or 0.0) > least for s in seconds)


def _usual(columns: Sequence[SeriesColumns]) -> float:
    """Return the median I/Os per second of these columns together; 0 if unknown."""
    known = [value for value in _sums([each.iops for each in columns]) if value is not None]
    return median(known) if known else 0.0


def _by_host(series: SeriesRecord) -> dict[str, list[SeriesColumns]]:
    """Return, by host, the columns that count towards its total I/O."""
    found: dict[str, list[SeriesColumns]] = {}
    for column in series.columns:
        if column.host is not None:
            own = found.setdefault(column.host, [])
            if direction(column.direction).in_total:
                own.append(column)
    return found


def stopped_seconds(
    ios: Sequence[Rates], bandwidths: Sequence[Rates], *, tail: bool, chance: Chance
) -> list[int]:
    """Return the indices of seconds in which the sum of the columns is almost nothing compared with
    its best seconds so far, whatever it usually is: later seconds cannot change that.

    Excludes the same stretches as `stalled_seconds`.
    """
    if _is_even(ios):
        return []
    sums = [(rates, _best(rates)) for rates in (_sums(ios), _sums(bandwidths))]
    none = [
        second
        for second in range(len(sums[0][0]))
        if all(value is not None and value < STOPPED * best
               for rates, best in sums for value in [rates[second]])
    ]  # fmt: skip
    (_, best_ios), (amounts, best_bytes) = sums
    return [
        second
        for row in _long(_in_a_row(none), ios, tail=tail)
        if best_ios * len(row) >= LEAST_MISSING
        and best_bytes * len(row) - sum(amounts[each] or 0.0 for each in row) > chance.flying_bytes
        for second in row
    ]


def _best(rates: Rates) -> float:
    """Return the highest mean of BEST_S known seconds in a row; 0 without any."""
    best, total, known = 0.0, 0.0, 0
    for second, value in enumerate(rates):
        total, known = (0.0, 0) if value is None else (total + value, known + 1)
        if known > BEST_S:
            total, known = total - (rates[second - BEST_S] or 0.0), BEST_S
        if known == BEST_S:
            best = max(best, total / BEST_S)
    return best


def stalled_seconds(
    ios: Sequence[Rates],
    bandwidths: Sequence[Rates],
    *,
    tail: bool,
    chance: Chance,
    zeros: int = 0,
) -> list[int]:
    """Return the indices of seconds in which the sum of the columns is far below its usual value,
    both by operations and by bytes: a job that switches to larger blocks does fewer operations.

    Excludes stretches shorter than STALL_S, stretches that chance explains, and, without `tail`,
    one that lasts to the end. `zeros`: seconds without I/O that count towards the usual value.
    """
    if _is_even(ios):
        return []
    by_ios = _low(ios, zeros)
    by_bytes = _low(bandwidths, zeros) if any(by_ios) else by_ios
    low = [both for both in range(len(by_ios)) if by_ios[both] and by_bytes[both]]
    rows = [
        _with_ends(row, ios, zeros) if len(row) == STALL_S - 1 else row for row in _in_a_row(low)
    ]
    return [
        second
        for row in _long(rows, ios, tail=tail)
        if not _few_arrived(ios, row, chance, zeros)
        and not _large_waits(bandwidths, row, chance, zeros)
        for second in row
    ]


def _in_a_row(seconds: Sequence[int]) -> list[list[int]]:
    """Return the stretches of consecutive seconds."""
    groups = groupby(enumerate(seconds), lambda each: each[1] - each[0])
    return [[second for _, second in row] for _, row in groups]


def _long(
    rows: Sequence[list[int]], columns: Sequence[Rates], *, tail: bool
) -> Iterator[list[int]]:
    """Yield stretches of STALL_S or more; without `tail`, not one that lasts to the end."""
    last = max((len(each) - 1 - next((at for at, value in enumerate(reversed(each))
                                      if value is not None), len(each))
                for each in columns), default=-1)  # fmt: skip
    yield from (row for row in rows if len(row) >= STALL_S and (tail or row[-1] < last))


def _with_ends(row: list[int], columns: Sequence[Rates], zeros: int) -> list[int]:
    """Return a row extended by the seconds in which a stall of STALL_S began or ended, if there was
    one. A stall rarely begins on a whole second, and reports cover slightly more than one.
    """
    sums = _sums(columns)
    usual = median([*(value for value in sums if value is not None), *[0.0] * zeros])
    ends = (row[0] - 1, row[-1] + 1)
    values = {at: sums[at] for at in ends if 0 <= at < len(sums)}
    missing = {at: 1 - value / usual for at, value in values.items() if value is not None and usual}
    if len(row) + sum(each for each in missing.values() if each > 0) < STALL_S:
        return row
    return sorted([*row, *(at for at, each in missing.items() if each >= 0.5)])


def _few_arrived(columns: Sequence[Rates], row: Sequence[int], chance: Chance, zeros: int) -> bool:
    """Return whether chance explains the low number of I/Os in these seconds."""
    if not chance.poisson:
        return False
    usual, did = _usual_and_done(columns, row, zeros)
    return did > usual - SIGMAS * sqrt(usual)


def _large_waits(columns: Sequence[Rates], row: Sequence[int], chance: Chance, zeros: int) -> bool:
    """Return whether the bytes missing in these seconds may belong to I/Os in flight."""
    usual, did = _usual_and_done(columns, row, zeros)
    return usual - did <= chance.flying_bytes


def _usual_and_done(
    columns: Sequence[Rates], row: Sequence[int], zeros: int
) -> tuple[float, float]:
    """Return the usual amount for this many seconds, and the amount done in these seconds."""
    sums = _sums(columns)
    known = [value for value in sums if value is not None]
    usual = len(row) * sum(known) / (len(known) + zeros)
    return usual, sum(sums[second] or 0.0 for second in row)


def _is_even(columns: Sequence[Rates]) -> bool:
    """Return whether the columns are clearly even: even the sum of their minima is not far below
    that of their maxima.

    A quick test; False is not conclusive.
    """
    if not all(columns) or any(None in column for column in columns):
        return False
    known = cast(Sequence[Sequence[float]], columns)
    return sum(map(min, known)) >= STALL_SHARE * sum(map(max, known))


def _low(columns: Sequence[Rates], zeros: int) -> list[bool]:
    """Return, for each second, whether the sum of the columns is far below its usual value; False
    if unknown.
    """
    sums = _sums(columns)
    known = sorted([*[0.0] * zeros, *(value for value in sums if value is not None)])
    least = known[zeros] if len(known) > zeros else 0.0
    if len(known) - zeros <= STALL_S:
        return [False] * len(sums)
    if least >= max(STALL_SHARE, STALL_OF_GOOD) * known[-1]:
        return [False] * len(sums)
    limit = STALL_OF_GOOD * quantiles(known, n=4)[2]
    if len(known) - zeros >= SHORTEST_S:
        limit = max(limit, STALL_SHARE * median(known))
    if least >= limit:
        return [False] * len(sums)
    return [value is not None and value < limit for value in sums]


def _sums(columns: Sequence[Rates]) -> Sequence[float | None]:
    """Return the sum of the columns for each second; None if unknown."""
    if len(columns) == 1:
        return columns[0]
    if not any(None in column for column in columns):
        known = cast(Sequence[Sequence[float]], columns)
        if len(known) == 2:  # reads and writes, of each of many hosts
            return [*map(add, *known)]
        return [*map(sum, zip(*known, strict=True))]
    rows = [[value for value in row if value is not None] for row in zip(*columns, strict=True)]
    return [sum(row) if row else None for row in rows]


OVERLAP_CHECKS = (start_skew, clock_offsets, clock_steps, host_loss, never_together, stall)

"""Checks of a load's pace: its clock against the jump host's, and reports that came late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.chance import chance_of
from tui.judge.check import (
    CheckResult,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
)
from tui.metrics import units
from tui.metrics.figures import latency_of, shown_percentile
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tui.journal.step import Late, Pace, Ticks

CLOCK, LEAST_TICKS, LEAST_S = 0.05, 8, 0.5  # of the time; samples; drift over all of them
LINEAR = 10.0  # drift per distance from the line: at most 6 for one jump, such as a late poll
LATE_S = 0.4  # beyond the second that a report is due after
WAITS, ARRIVALS = 4.0, 10.0  # mean times of an I/O; mean times between random arrivals
PAUSED_S = 1.0  # both late by this much; busy CPUs delay an agent by a quarter of it
LAST = 2  # reports that may wait for the final sync


@of_hosts_in_step(lambda at, host: "" if clock_of(at, host.name) is not None else "samples")
@step_check(
    "tool-clock",
    "Clock of the load generator",
    rule=(
        f"over {LEAST_TICKS} or more samples, the slope of arrival times against the load"
        f" generator's clock is 1 within {units.share(CLOCK)}, apart from drift that the host's"
        f" telemetry shows too; drifts below {LEAST_S:g} s or {LINEAR:g} x the residuals of the"
        " fitted line do not count; and by the host's time of day, a load with a runtime does I/O"
        f" for no more seconds than it measured (warning beyond {units.share(CLOCK)} and"
        f" {LEAST_S:g} s, if all or none of the samples are late)"
    ),
    advice=(
        "Rates and latencies are wrong by this factor: run the load generator without preloaded"
        " libraries, time namespaces or an odd clocksource, and measure again."
    ),
    source=(
        "arrival of the samples at the jump host, against the intervals that they cover; length of"
        " the samples with I/O, against the measured time"
    ),
    when="ended",
)
def tool_clock(at: StepEvidence) -> Iterator[CheckResult]:
    """Rates are I/Os by the load generator's clock: a clock at half speed doubles them."""
    rates = {host: rate for host in paces(at) if (rate := clock_of(at, host)) is not None}
    if not rates:
        raise UnknownError("samples")
    for host, ran_s, own_s in _ran_longer(at):
        if rates.get(host) == 1.0:
            operands: Operands = {"host": host, "ran_s": ran_s, "measured_s": own_s}
            yield CheckResult("warning", "slow", ran_s, round(own_s, 3), {"hosts": host}, operands)
    for host, rate in rates.items():
        if rate != 1.0:
            operands = {"host": host, "second_s": rate}
            yield CheckResult("error", "factor", round(rate, 4), 1.0, {"hosts": host}, operands)


def is_on_time(at: StepEvidence, host: str) -> bool:
    """Return whether nothing shows that a host's load generator has a wrong clock."""
    late = any(name == host for name, _, _ in _ran_longer(at))
    return not late and clock_of(at, host) in (None, 1.0)


def _ran_longer(at: StepEvidence) -> Iterator[tuple[str, float, float]]:
    """Yield hosts with more seconds of I/O than their load measured, and both times.

    Samples have the host's time of day; the end of a load with a runtime, and its rates, follow its
    monotonic clock. Jobs that start later are part of the planned runtime, and I/Os that end later
    part of the measured time.
    """
    told_s, measured_s = at.record.runtime_s, at.record.measured_s
    if not told_s or not measured_s or len({job.wave for job in at.step.jobs}) > 1:
        return
    own_s = max(told_s, measured_s)
    for host, pace in paces(at).items():
        # a load that is held now and then has some late samples; a slow clock, all or none
        held = 0 < 2 * len(pace.late) <= pace.load.count
        if not held and pace.moving_s > max(own_s * (1 + CLOCK), own_s + LEAST_S):
            yield host, pace.moving_s, own_s


def paces(at: StepEvidence) -> Mapping[str, Pace]:
    """Return the pace of each host's samples; empty for imported results."""
    return {} if at.run.foreign else at.run.seen.state.at_step(at.step.index).paces


def clock_of(at: StepEvidence, host: str) -> float | None:
    """Return the real seconds per second of a host's load generator, exactly 1 if they agree; None
    if unknown.
    """
    pace = paces(at).get(host)
    slope = _slope(pace.load) if pace is not None else None
    if pace is None or slope is None:
        return None
    # what delays telemetry as well is the connection, or the jump host
    beyond = abs(slope - 1) - abs((_slope(pace.agent) or 1.0) - 1)
    return slope if beyond > CLOCK else 1.0


def _slope(ticks: Ticks) -> float | None:
    """Return the slope of the line of arrivals, exactly 1 unless it clearly differs; None with too
    few samples.
    """
    line = ticks.line() if ticks.count >= LEAST_TICKS else None
    if line is None:
        return None
    slope, rms_s = line
    return slope if abs(slope - 1) * ticks.x > max(LEAST_S, LINEAR * rms_s) else 1.0


def late_reports(at: StepEvidence, usual: Mapping[str, float]) -> Iterator[CheckResult]:
    """Yield hosts whose load generator reported late because it, or one of its workers, was
    stopped, alone or with the agent.

    `usual`: I/Os per second of each host.
    """
    paused = set()
    for result in _paused(at):
        paused.add(result.scope["hosts"])
        yield result
    if any(job.paced and not (job.rate_iops or job.rate_bytes_per_s) for job in at.step.jobs):
        return  # workers may sleep between I/Os
    for host, pace in paces(at).items():
        rate = usual.get(host)
        ends = pace.load.count - LAST
        late = [each for each in pace.late if each.place < ends]
        if not rate or host in paused or 2 * len(late) > pace.load.count:
            continue
        waits_s = _longest_usual_s(at, host, rate)
        held = [each for each in late if _lateness_s(pace, each) > LATE_S + waits_s]
        if held:
            yield _held(host, max(held, key=lambda each: each.interval_s), rate)


def _paused(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield hosts on which neither the load nor the agent's telemetry ran for a while: storage
    under test that does not answer would not stop telemetry.
    """
    for host, pace in paces(at).items():
        held = [(seconds, late) for late in pace.late if (seconds := _both_late_s(pace, late))]
        # an agent that is always late has too little CPU, not a gap
        held = [each for each in held if each[0] > PAUSED_S]
        if not held or 2 * len(pace.agent_late) > pace.agent.count:
            continue
        ios = sum(part.ios for part in at.record.results.per_host.get(host, {}).values())
        held = [(seconds, late) for seconds, late in held if not _went_on(at, seconds, late, ios)]
        if not held:
            continue
        paused_s, late = max(held, key=lambda each: each[0])
        operands: Operands = {"host": host, "paused_s": paused_s, "from_s": late.from_s}
        operands["of_s"] = at.record.measured_s
        yield CheckResult("warning", "paused", round(paused_s, 3), 0.0, {"hosts": host}, operands)


def _went_on(at: StepEvidence, seconds: float, late: Late, ios: int) -> bool:
    """Return whether a load did its usual I/Os in a time in which only its reports were late."""
    rest_s = (at.record.measured_s or 0.0) - late.interval_s
    return rest_s > 0 and late.ios > (late.interval_s - seconds / 2) * (ios - late.ios) / rest_s


def _both_late_s(pace: Pace, late: Late) -> float:
    """Return for how many seconds both a sample and a line of telemetry were overdue."""
    begin_ms = late.end_ms - 1000 * late.interval_s
    shared = (
        min(seconds - 1, late.interval_s - 1)
        for end_ms, seconds in pace.agent_late
        if min(end_ms, late.end_ms) - max(end_ms - 1000 * seconds, begin_ms) > 1000
    )
    return max(shared, default=0.0)


def _held(host: str, late: Late, rate: float) -> CheckResult:
    stopped_s = late.interval_s - 1
    fell = late.ios < rate * (late.interval_s - stopped_s / 2)
    # without the I/Os of others, one worker alone may have waited
    severity: Severity = "warning" if fell else "info"
    code = "held" if fell else "worker-held"
    operands: Operands = {"host": host, "interval_s": late.interval_s, "from_s": late.from_s}
    return CheckResult(severity, code, round(late.interval_s, 3), 1.0, {"hosts": host}, operands)


def _lateness_s(pace: Pace, late: Late) -> float:
    """Return how late a sample was, less how late the host's own telemetry was at that time."""
    begin_ms = late.end_ms - 1000 * late.interval_s
    agent_s = [
        seconds
        for end_ms, seconds in pace.agent_late
        if end_ms > begin_ms and end_ms - 1000 * seconds < late.end_ms
    ]
    return late.interval_s - max(agent_s, default=1.0)


def _longest_usual_s(at: StepEvidence, host: str, rate: float) -> float:
    """Return the longest usual wait for one I/O in seconds: p99, plus several mean waits by
    Little's law.
    """
    kind = at.run.plan.latency_kind_of(at.step)
    tails = [
        shown_percentile(latency_of(result, name, kind), 99.0)
        for name, result in at.record.results.per_host.get(host, {}).items()
    ]
    known = [tail / 1e9 for tail in tails if isinstance(tail, int | float)]
    waits = ARRIVALS if chance_of(at.step.jobs).poisson else WAITS
    return max(known, default=0.0) + waits * sum(job.at_most for job in at.step.jobs) / rate


PACE_CHECKS = (tool_clock,)

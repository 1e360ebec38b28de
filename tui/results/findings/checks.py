"""Validity checks over what a run left: whether hosts started together, told the same time, and kept up."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tui.journal.loss import names_of
from tui.metrics import units
from tui.metrics.registry import MIXED, direction
from tui.model.plan import Plan, Step
from tui.model.record import Finding, HostRecord, RecordState, Verdict
from tui.model.step_record import StepRecord, TimingRecord
from tui.results.findings.together import never_together, shared_files, stalls
from tui.results.record.journal import JournalData
from tui.results.record.metadata import operation_findings
from tui.results.text.judged import SHORT_S, ended_early, is_short, length_text

START_SKEW_S = 1.0
START_SKEW_SHARE = 0.02  # of the runtime
CLOCK_OFFSET_S = 0.1
STRAGGLER = 0.8  # of the median host
STRAGGLER_HOSTS = 3  # with fewer there is no median to speak of


def find(plan: Plan, seen: JournalData, hosts: Sequence[HostRecord], steps: Sequence[StepRecord]) -> list[Finding]:
    """Return what the checks found. What cannot be known from the run is not judged."""
    found = [*shared_files(plan, hosts), *_clock_offsets(hosts), *_clock_steps(seen)]
    for step, record in zip(plan.steps, steps, strict=True):
        found += [*never_together(record), *_start_skew(step, record), *_host_loss(record)]
        found += [*_stragglers(record), *stalls(step, record), *_short(record)]
        found += operation_findings(seen.state.at_step(step.index).metadata, record)
    return found


def checks_made(hosts: Sequence[HostRecord], steps: Sequence[StepRecord]) -> list[str]:
    """Return the ids of the checks that the run left evidence for."""
    rates = [len(step.results.per_host) for step in steps if step.results.aggregate]
    made = {
        "V12": (several := any(step.timing is not None and step.timing.start_skew_s is not None for step in steps)),
        "V13": (compared := any(host.clock is not None and host.clock.method == "exchange" for host in hosts)),
        "V14": max(rates, default=0) >= STRAGGLER_HOSTS,
        "clock-step": compared,
        "host-loss": any(step.coverage for step in steps),
        "shared-files": len(hosts) > 1,
        "never-together": several,
        "stall": any(step.series is not None for step in steps),
        "short": any(step.measured_s is not None for step in steps),
        "rank-shift": any(step.metadata is not None and step.metadata.shift_ranks is not None for step in steps),
    }
    return [name for name, evidence in made.items() if evidence]


def verdict_of(state: RecordState, steps: Sequence[StepRecord], findings: Sequence[Finding]) -> Verdict | None:
    """Return what the findings say together; None when nothing was measured. Only a complete run is valid."""
    if not any(step.results.aggregate or step.metadata for step in steps):
        return None
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "invalid"
    return "valid" if state == "complete" and "warning" not in severities else "valid-with-warnings"


def _start_skew(step: Step, record: StepRecord) -> list[Finding]:
    """V12: hosts that start late measure another load than the rest."""
    timing = record.timing
    if timing is None or timing.start_skew_s is None or timing.start_skew_s <= START_SKEW_S:
        return []
    runtime_s = step.runtime_s or max(host.end_s - host.start_s for host in timing.hosts.values())
    sure_s = timing.start_skew_s - (timing.start_skew_uncertainty_s or 0.0)
    heavy = sure_s > max(START_SKEW_S, START_SKEW_SHARE * runtime_s)
    return [
        Finding(
            id="V12",
            severity="error" if heavy else "warning",
            scope={"step": record.index, "hosts": " ".join(_late(timing))},
            measured=timing.start_skew_s,
            threshold=START_SKEW_S,
            message=_skew_message(timing),
        )
    ]


def _late(timing: TimingRecord) -> dict[str, float]:
    """Return hosts that started more than the allowed skew after the first one, and how much, latest first."""
    first = min(host.start_s for host in timing.hosts.values())
    behind = {name: host.start_s - first for name, host in timing.hosts.items()}
    late = {name: delay for name, delay in behind.items() if delay > START_SKEW_S}
    return dict(sorted(late.items(), key=lambda each: -each[1]))


def _skew_message(timing: TimingRecord) -> str:
    late = [f"{name} {delay:+.2f} s" for name, delay in _late(timing).items()]
    known = timing.start_skew_uncertainty_s
    error = f" (± {known:.2f} s)" if known is not None else " (by arrival: clocks were not compared)"
    together = f"{timing.window.length_s:.1f} s" if timing.window is not None else "not at any time"
    return f"started {timing.start_skew_s:.2f} s apart{error}: {names_of(late)}; all measured together: {together}"


def _clock_offsets(hosts: Sequence[HostRecord]) -> list[Finding]:
    """V13: a clock that is off is allowed for in all times of the record, but not in the host's own logs."""
    compared = {host.name: host.clock for host in hosts if host.clock is not None and host.clock.method == "exchange"}
    off = {
        name: clock.offset_s
        for name, clock in compared.items()
        if clock.offset_s is not None and abs(clock.offset_s) > max(CLOCK_OFFSET_S, clock.uncertainty_s or 0.0)
    }
    if not off:
        return []
    worst = sorted(off, key=lambda name: -abs(off[name]))
    named = names_of([f"{name} {off[name]:+.3f} s" for name in worst])
    return [
        Finding(
            id="V13",
            severity="warning",
            scope={"hosts": " ".join(worst)},
            measured=off[worst[0]],
            threshold=CLOCK_OFFSET_S,
            message=f"clocks differ from the jump host's: {named}; times here are corrected by it",
        )
    ]


def _clock_steps(seen: JournalData) -> list[Finding]:
    """A clock that was set during the run: what it says after that is placed by arrival."""
    return [
        Finding(
            id="clock-step",
            severity="warning",
            scope={"host": host},
            measured=round(step.size_s, 3),
            threshold=0.0,
            message=f"{host}: its clock, or the jump host's, was set by about {step.size_s:+.1f} s after they had been "
            "compared; times are placed by arrival instead",
        )
        for host, step in seen.clock_steps.items()
    ]


def _host_loss(record: StepRecord) -> list[Finding]:
    if not record.coverage_text:
        return []
    last = record.coverage[-1]
    return [
        Finding(
            id="host-loss",
            severity="error",
            scope={"step": record.index, "hosts": " ".join(last.missing)},
            measured=last.hosts,
            threshold=last.of,
            message=f"not all hosts measured to the end: {record.coverage_text}",
        )
    ]


def _short(record: StepRecord) -> list[Finding]:
    """A load that ended before its time has done something else than was asked for, and 0.1 s says nothing."""
    if record.warmup or record.state == "cut" or not is_short(record):
        return []
    return [
        Finding(
            id="short",
            severity="warning",
            scope={"step": record.index},
            measured=record.measured_s,
            threshold=record.runtime_s if ended_early(record.measured_s, record.runtime_s) else SHORT_S,
            message=f"{length_text(record.measured_s, record.runtime_s)}: too little to stand for the load",
        )
    ]


def _stragglers(record: StepRecord) -> list[Finding]:
    """V14: hosts far behind the median hold the others' figures down, or measure something else."""
    counted = [name for name in record.results.aggregate if direction(name).in_total]
    directions = [MIXED] if MIXED in counted else counted
    return [finding for name in directions for finding in _stragglers_of(record, name)]


def _stragglers_of(record: StepRecord, name: str) -> list[Finding]:
    per_host = record.results.per_host
    rates = {host: dirs[name].iops for host, dirs in per_host.items() if name in dirs}
    known = {host: rate for host, rate in rates.items() if rate is not None}
    if len(known) < STRAGGLER_HOSTS:
        return []
    middle = median(known.values())
    slow = sorted((host for host in known if known[host] < STRAGGLER * middle), key=lambda host: known[host])
    if not slow:
        return []
    named = names_of([f"{host} {known[host] / middle:.0%}" for host in slow])
    return [
        Finding(
            id="V14",
            severity="warning",
            scope={"step": record.index, "direction": name, "hosts": " ".join(slow)},
            measured=round(known[slow[0]] / middle, 4),
            threshold=STRAGGLER,
            message=f"{name} IOPS far below the median host's {units.iops(middle)}: {named}",
        )
    ]

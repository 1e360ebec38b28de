"""Checks of durations: how long hosts, and the jobs of a host, ran compared with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Moot,
    Severity,
    StepEvidence,
    UnknownError,
    step_check,
    two_hosts,
)
from tui.judge.counted import Counted, counted
from tui.metrics import units
from tui.model.criteria import default
from tui.model.operands import Operands
from tui.record.headline import ended_early

if TYPE_CHECKING:
    from tui.model.step_record import Scalar, TimingRecord

END_SKEW_S = default("end-skew.skew_s")
END_SKEW_SHARE = 0.02  # of the time of the longest host
TOGETHER = 0.9  # of the time of the longest host, for loads that end with their data


@step_check(
    "end-skew",
    "End skew",
    rule=(
        f"in a timed load, no host stops more than {END_SKEW_S:g} s before the longest-running"
        f" one (error above {units.share(END_SKEW_SHARE)} of its time, if the clocks are"
        " accurate enough); in a size-bound load whose hosts run together for less"
        f" than {units.share(TOGETHER)} of the longest-running one's time, no host runs for less"
        " than that"
    ),
    advice=(
        "Find out what ended the load on that host (stderr under raw/, kernel log, files)."
        " Quote the figures of the common window, in which all hosts ran."
    ),
    source="first and last measured I/O of each host, corrected for clock offsets",
    when="ended",
)
def end_skew(at: StepEvidence) -> Iterator[CheckResult]:
    """Hosts' rates are added up.

    If one host stopped early, the others had the storage to themselves from then on, and the sum is
    a rate that never existed."""
    timing = at.record.timing
    if timing is None or len(timing.hosts) < 2:
        raise two_hosts(len(at.step.tasks), "host-times")
    if at.record.state == "cut":
        raise UnknownError("stopped")
    # these have a finding of their own
    lost = {host for part in at.record.coverage for host in part.missing}
    ran_s = {
        host: span.end_s - span.start_s for host, span in timing.hosts.items() if host not in lost
    }
    longest_s = max(ran_s.values(), default=0.0)
    if at.step.runtime_s is None:
        yield from _apart(timing, ran_s, longest_s)
        return
    allowed_s = at.limit("end-skew.skew_s")
    short = {
        host: longest_s - seconds
        for host, seconds in ran_s.items()
        if longest_s - seconds > allowed_s
    }
    if short:
        worst = max(short, key=lambda host: short[host])
        sure_s = (
            short[worst]
            - (timing.start_skew_uncertainty_s or 0.0)
            - (timing.end_skew_uncertainty_s or 0.0)
        )
        heavy = sure_s > max(allowed_s, END_SKEW_SHARE * longest_s)
        operands = _ran(timing, {host: ran_s[host] for host in short}, longest_s)
        severity: Severity = "error" if heavy else "warning"
        scope: dict[str, Scalar] = {"hosts": " ".join(short)}
        yield CheckResult(severity, "shorter", round(short[worst], 3), allowed_s, scope, operands)


def _apart(
    timing: TimingRecord, ran_s: dict[str, float], longest_s: float
) -> Iterator[CheckResult]:
    """Yield hosts of a size-bound load that ran together for only part of the time."""
    together_s = timing.window.length_s if timing.window is not None else 0.0
    if longest_s <= 0 or together_s >= TOGETHER * longest_s:
        return
    short = {host: seconds for host, seconds in ran_s.items() if seconds < TOGETHER * longest_s}
    if short:
        yield CheckResult(
            "warning",
            "shorter",
            round(together_s / longest_s, 4),
            TOGETHER,
            {"hosts": " ".join(sorted(short))},
            _ran(timing, short, longest_s),
        )


def _ran(timing: TimingRecord, short: dict[str, float], longest_s: float) -> Operands:
    return {
        "longest_s": longest_s,
        "short_s": sorted(short.items(), key=lambda each: each[1]),
        "together_s": timing.window.length_s if timing.window is not None else None,
    }


@step_check(
    "job-time",
    "Jobs run to the end",
    rule="if any timed job runs for 95 % of its runtime, all do",
    advice=(
        "Find out what ended the job: an error in stderr under raw/, a size or io_size limit,"
        " or a full disk."
    ),
    source="runtime of each job as printed by the load generator",
    when="ended",
)
def job_time(at: StepEvidence) -> Iterator[CheckResult]:
    """When a job ends early, the others have the host to themselves from then on: the figures mix
    two loads.
    """
    if at.record.state == "cut":
        raise UnknownError("stopped")
    jobs: dict[tuple[str, str], list[Counted]] = {}
    for each in counted(at):
        if each.job and each.loads and all(load.bound_s for load in each.loads):
            jobs.setdefault((each.host, each.job), []).append(each)
    if len(jobs) < 2:
        raise UnknownError("timed-jobs")
    early = {
        key: parts for key, parts in jobs.items() if ended_early(_ran_s(parts), _bound_s(parts))
    }
    if len(early) == len(jobs):
        return  # the whole load was short: another finding
    for (host, job), parts in early.items():
        ran_s, bound_s = _ran_s(parts), _bound_s(parts)
        scope: dict[str, Scalar] = {"hosts": host, "job": job}
        operands: Operands = {"host": host, "job": job, "ran_s": ran_s, "bound_s": bound_s}
        yield CheckResult("error", "early", round(ran_s, 3), round(bound_s, 3), scope, operands)


def _ran_s(parts: Sequence[Counted]) -> float:
    return max(part.figures.runtime_s or 0.0 for part in parts)


def _bound_s(parts: Sequence[Counted]) -> float:
    return max(load.bound_s or 0.0 for part in parts for load in part.loads)


@step_check(
    "roles-overlap",
    "Overlap of roles",
    rule=(
        "each role runs concurrently with every other one for at least"
        f" {units.share(TOGETHER)} of its measured time"
    ),
    advice=(
        "Use the same runtime and ramp for all roles and lay out files first; state the overlap"
        " with the figures."
    ),
    source="first and last measured I/O of each step, on the jump host's clock",
    when="ended",
)
def roles_overlap(at: StepEvidence) -> Iterator[CheckResult]:
    """A role's figures describe storage that serves the other roles too.

    If another role started late or ended early, part of the measurement ran without it."""
    if not at.step.together:
        raise UnknownError(Moot.ALONE)
    own, others = _span(at), {step.step.role: _span(step) for step in at.beside}
    if own is None:
        raise UnknownError("nothing-measured")
    start_s, end_s = own
    for role, other in others.items():
        both_s = (
            max(0.0, min(end_s, other[1]) - max(start_s, other[0])) if other is not None else 0.0
        )
        if both_s < TOGETHER * (end_s - start_s):
            ran_s = end_s - start_s
            scope: dict[str, Scalar] = {"hosts": " ".join(at.step.hosts)}
            operands: Operands = {
                "role": at.step.role,
                "other": role,
                "both_s": both_s,
                "ran_s": ran_s,
            }
            yield CheckResult(
                "warning", "alone", round(both_s / ran_s, 3), TOGETHER, scope, operands
            )


def _span(at: StepEvidence) -> tuple[float, float] | None:
    """Return start and end of a step's measurement, from its hosts or else from its measure phase;
    None if unknown.
    """
    if at.record.timing is not None and at.record.timing.hosts:
        spans = at.record.timing.hosts.values()
        return min(span.start_s for span in spans), max(span.end_s for span in spans)
    measured = [phase for phase in at.record.phases if phase.name == "measure"]
    if not measured or measured[-1].start_s is None or measured[-1].end_s is None:
        return None
    return measured[-1].start_s, measured[-1].end_s


TIME_CHECKS = (end_skew, job_time, roles_overlap)

"""All checks in the order in which findings are shown, and the verdict that follows from
findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui.judge import (
    commands,
    contents,
    data,
    durability,
    durations,
    errors,
    hosts,
    hot_set,
    interference,
    limits,
    load,
    machines,
    objects,
    observed,
    operations,
    options,
    pace,
    steadiness,
    stragglers,
    traffic,
    whole_results,
)
from tui.judge.check import Check, RunEvidence, UnknownError, Unread
from tui.judge.gaps import left_out, withheld
from tui.judge.severity import did_no_io
from tui.model.operands import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.figure_record import CodedText
    from tui.model.record import (
        Finding,
        HostsNotChecked,
        RecordState,
        StepsNotChecked,
        Verdict,
    )
    from tui.model.step_record import StepRecord

CHECKS: tuple[Check, ...] = (
    *errors.ERROR_CHECKS,
    *whole_results.IDENTITY_CHECKS,
    whole_results.own_figures,
    *hosts.OVERLAP_CHECKS,
    *durations.TIME_CHECKS,
    commands.planned_command,
    *pace.PACE_CHECKS,
    *load.LOAD_CHECKS,
    data.written,
    contents.content,
    *data.DATA_CHECKS,
    contents.reducible,
    *options.OPTION_CHECKS,
    *durability.DURABILITY_CHECKS,
    *hot_set.HOT_SET_CHECKS,
    *steadiness.STEADINESS_CHECKS,
    *data.PRECONDITION_CHECKS,
    traffic.storage_traffic,
    *observed.TELEMETRY_CHECKS,
    *objects.OBJECT_CHECKS,
    *limits.LIMIT_CHECKS,
    *interference.INTERFERENCE_CHECKS,
    *stragglers.STRAGGLER_CHECKS,
    *machines.MACHINE_CHECKS,
    *operations.OPERATION_CHECKS,
    *steadiness.REPETITION_CHECKS,
)
WHOLE: tuple[RecordState, ...] = ("complete", "imported", "baseline")
BY_ID = {check.id: check for check in CHECKS}


class Examination(Struct, frozen=True):
    """Result of all checks: findings, names of checks that ran, reasons why others had no data,
    and the steps and hosts for which checks that ran had no data.
    """

    findings: list[Finding] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    not_made: dict[str, CodedText | str] = field(default_factory=dict)
    steps_not_checked: dict[str, list[StepsNotChecked]] = field(default_factory=dict)
    hosts_not_checked: dict[str, list[HostsNotChecked]] = field(default_factory=dict)


def examine(evidence: RunEvidence, *, running: bool = False) -> Examination:
    """Run every check that has evidence; with `running`, skip checks that need a finished run."""
    outcome, kinds = Examination(), withheld(evidence)
    for check in CHECKS:
        try:
            if running and not check.live:
                raise UnknownError("running")
            findings, missed = check.examine_all(evidence)
        except UnknownError as why:
            outcome.not_made[check.id] = _reason(why)
        else:
            outcome.findings.extend(findings)
            outcome.made.append(check.id)
            missed += left_out(check, missed, kinds)
            if steps := steps_by_reason(missed):
                outcome.steps_not_checked[check.id] = steps
            if hosts := hosts_by_reason(missed):
                outcome.hosts_not_checked[check.id] = hosts
    return outcome


def steps_by_reason(missed: Sequence[Unread]) -> list[StepsNotChecked]:
    """Return the steps for which a check had no data on any host, by reason."""
    from tui.model.record import StepsNotChecked  # loaded only when there is a run

    found: list[StepsNotChecked] = []
    for gap in (each for each in missed if not each.hosts):
        why = _reason(gap.why)
        same = next((each for each in found if each.why == why), None)
        if same is None:
            found.append(StepsNotChecked(steps=list(gap.steps), why=why))
        else:
            same.steps += gap.steps
    return found


def hosts_by_reason(missed: Sequence[Unread]) -> list[HostsNotChecked]:
    """Return the hosts for which a check had no data although it had data for others, by reason."""
    from tui.model.record import HostsNotChecked  # loaded only when there is a run

    found: list[HostsNotChecked] = []
    for gap in (each for each in missed if each.hosts):
        why, hosts = _reason(gap.why), list(gap.hosts)
        same = next((each for each in found if (each.why, each.hosts) == (why, hosts)), None)
        if same is None:
            found.append(HostsNotChecked(hosts=hosts, steps=list(gap.steps), why=why))
        else:
            same.steps += gap.steps
    return found


def _reason(error: UnknownError) -> CodedText:
    """Return why a check had no data, as records store it."""
    from tui.model.figure_record import CodedText  # loaded only when there is a run

    return CodedText(code=error.code, operands=listed(error.operands))


def verdict_of(
    state: RecordState, steps: Sequence[StepRecord], findings: Sequence[Finding]
) -> Verdict | None:
    """Return the verdict; None if no I/O completed except in warm-ups and fills.

    Only a complete, imported or published run can be valid. A running one is invalid or has no
    verdict.
    """
    if not any(
        (step.results.aggregate or step.metadata) and not step.warmup and not did_no_io(step)
        for step in steps
    ):
        return None
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "invalid"
    if state == "running":
        return None
    return "valid" if state in WHOLE and "warning" not in severities else "valid-with-warnings"

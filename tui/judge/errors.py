"""Checks of errors: failures of the load generator, and hosts that restarted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    RunEvidence,
    StepEvidence,
    UnknownError,
    of_hosts,
    run_check,
    step_check,
)
from tui.metrics.registry import BOTH, MIXED
from tui.model.hostfacts import boot_of
from tui.model.operands import Operands, clause

if TYPE_CHECKING:
    from tui.model.step_record import Scalar

RESTARTED = ("host-rebooted",)


@step_check(
    "tool-errors",
    "Load generator errors",
    rule="every host ends without errors, short or dropped I/Os",
    advice=(
        "Check the host's stderr under raw/ and its kernel log; discard figures that include"
        " failed I/O."
    ),
    source="error numbers, short and dropped I/Os, exit codes",
)
def tool_errors(at: StepEvidence) -> Iterator[CheckResult]:
    """Failed I/O did not do its work, but counts with its time: often a very short one."""
    record = at.record
    if not record.tasks:
        raise UnknownError("exit-status")
    errors = {
        host: clause("errors", numbers=list(task.errors))
        for host, task in record.tasks.items()
        if task.errors
    }
    codes = {
        host: clause("exit-code", exit_code=task.exit_code)
        for host, task in record.tasks.items()
        if task.exit_code
    }
    results = at.run.seen.state.at_step(at.step.index).results
    failed = {
        host: clause("failed-ios", ios=result.failed_ios)
        for host, result in results.items()
        if result.failed_ios
    }
    wrong = (codes if record.state != "cut" else {}) | failed | errors
    if at.run.foreign:  # no other check covers the tool's own errors
        own = [each for each in record.errors if each.fatal and not each.is_contradiction]
        reported = {error.host: clause("reported", quote=error.told) for error in own}
        wrong = reported | wrong
    if wrong:
        operands: Operands = {"wrong": list(wrong.items())}
        yield CheckResult("error", "failed", len(wrong), 0, {"hosts": " ".join(wrong)}, operands)
    yield from _short_ios(at)


def _short_ios(at: StepEvidence) -> Iterator[CheckResult]:
    by_host = at.step.jobs_by_host
    for host, dirs in at.record.results.per_host.items():
        own = by_host.get(host, at.step.jobs)
        for name, result in dirs.items():
            blocks = {job.block_bytes for job in own if name in (*job.directions, BOTH, MIXED)}
            # fio counts sync_file_range as a short I/O of the job
            whole = result.bytes in {result.ios * block for block in blocks if block}
            synced = (dirs["sync"].ios or 0) if "sync" in dirs and name != "read" else 0
            short = 0 if whole else max((result.short_ios or 0) - synced, 0)
            lost = short + (result.drop_ios or 0)
            if lost:
                scope: dict[str, Scalar] = {"hosts": host, "direction": name}
                operands: Operands = {"host": host, "direction": name, "ios": lost}
                yield CheckResult("error", "short-ios", lost, 0, scope, operands)


@of_hosts(lambda host: "" if boot_of(host.facts) else "host-facts")
@run_check(
    "host-restart",
    "No host restarts",
    rule="no host restarts during the run",
    advice="Measure again: caches, clocks and mounts may differ from those at the start.",
    source="/proc/sys/kernel/random/boot_id",
)
def restarted(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A host that restarted during a run measured with two sets of caches, mounts and clocks."""
    if not any(boot_of(host.facts) for host in evidence.hosts):
        raise UnknownError("host-facts")
    again = [
        host.name
        for host in evidence.hosts
        if any(each.code in RESTARTED for each in host.problems)
    ]
    if again:
        scope: dict[str, Scalar] = {"hosts": " ".join(again)}
        yield CheckResult("error", "restarted", len(again), 0, scope, {"hosts": again})


ERROR_CHECKS = (tool_errors, restarted)

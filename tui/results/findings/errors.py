"""Whether everything worked: errors of the load generator, I/Os that moved too little, hosts that were restarted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from tui.journal.loss import names_of
from tui.model.hostfacts import boot_of
from tui.model.step_record import StepRecord
from tui.results.findings.check import Evidence, Found, StepEvidence, UnknownError, run_check, step_check

RESTARTED = ("host-rebooted",)


@step_check(
    "V01",
    "Errors of the load generator",
    rule="every host ends without an error, a short or a dropped I/O",
    advice="Look at the host's stderr under raw/ and its kernel log; a figure of I/O that failed is none.",
    source="error numbers, short and dropped I/Os, exit codes",
)
def tool_errors(at: StepEvidence) -> Iterator[Found]:
    """I/O that failed is not I/O: it is quick, and it moves nothing."""
    record = at.record
    if not record.tasks:
        raise UnknownError("how the load generator ended is not known")
    said = {host: ", ".join(map(_error_text, task.errors)) for host, task in record.tasks.items() if task.errors}
    codes = {host: f"exit code {task.exit_code}" for host, task in record.tasks.items() if task.exit_code}
    wrong = (codes if record.state != "cut" else {}) | said
    if at.run.foreign:  # nobody else has judged what its tool complained of
        wrong = {error.host: error.message for error in record.errors if error.fatal} | wrong
    if wrong:
        named = names_of([f"{host} {text}" for host, text in wrong.items()])
        yield Found("error", f"the load generator failed: {named}", len(wrong), 0, {"hosts": " ".join(wrong)})
    yield from _short_ios(record)


def _short_ios(record: StepRecord) -> Iterator[Found]:
    for host, dirs in record.results.per_host.items():
        for name, result in dirs.items():
            lost = (result.short_ios or 0) + (result.drop_ios or 0)
            if lost:
                message = f"{host}: {lost} {name} I/Os were short or dropped"
                yield Found("error", message, lost, 0, {"hosts": host, "direction": name})


def _error_text(number: int) -> str:
    name = errno.errorcode.get(number)
    return f"{name} ({os.strerror(number)})" if name else f"error {number}"


@run_check(
    "V29",
    "Hosts stay the same",
    rule="no host is restarted while a run goes on",
    advice="Measure again: caches, clocks and mounts are not what they were at the start.",
    source="/proc/sys/kernel/random/boot_id",
)
def restarted(evidence: Evidence) -> Iterator[Found]:
    """A host that was restarted in a run has measured with two sets of caches, mounts and clocks."""
    if not any(boot_of(host.facts) for host in evidence.hosts):
        raise UnknownError("the hosts have no boot id")
    again = [host.name for host in evidence.hosts if any(each.code in RESTARTED for each in host.problems)]
    if again:
        message = f"restarted while it was measured: {names_of(again)}"
        yield Found("error", message, len(again), 0, {"hosts": " ".join(again)})


CHECKS = (tool_errors, restarted)

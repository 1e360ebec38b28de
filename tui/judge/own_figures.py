"""Compare a result with other figures in the same output: samples, shares, sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.judge.check import CheckResult, Severity, StepEvidence, UnknownError, step_check
from tui.model.operands import Operands

if TYPE_CHECKING:
    from tui.model.event import Contradiction
    from tui.model.step_record import Scalar

# other devices may have done the I/O, and other reasons may have ended the job
DOUBTFUL = ("devices", "bytes", "off-cpu", "sample-pause", "too-early", "connected")
# without I/O until the end of the others, or with stats=0
NOTED = ("started",)


@step_check(
    "own-figures",
    "Consistent output",
    rule=(
        "other figures in the load generator's output agree with its result and with the job: KiB"
        " and bytes, samples, latency shares and counts, syncs, directions, their mix and their"
        " sum, bytes, queue depth, workers, thinktime, verification, limits, steady state, CPU"
        " time, age, earlier states, depth shares, group lines, failed and started jobs, entries,"
        " sum over clients, version, date, time stamp and logs"
        " (error); direct I/Os reached the devices, a size-bound job moved all its data, and"
        " samples, context switches and date are plausible (warning)"
    ),
    advice=(
        "Error: ask for the original output; figures were changed, or entries copied or"
        " removed. Warning: check for files that were never written, and for the reason why"
        " the job stopped."
    ),
    source="all figures in the load generator's own output, including those not in the record",
    when="ended",
)
def own_figures(at: StepEvidence) -> Iterator[CheckResult]:
    """A figure that was edited by hand usually contradicts others of the same I/Os."""
    results = at.run.seen.state.at_step(at.step.index).results
    by_host = {
        host: result.contradictions
        for host, result in results.items()
        if result.final and result.contradictions is not None
    }
    wrong = [each for each in at.record.errors if each.is_contradiction]
    if not by_host and not wrong:
        raise UnknownError("own-figures")
    for error in wrong:
        scope: dict[str, Scalar] = {"hosts": error.host}
        operands: Operands = {"host": error.host, "quote": error.message}
        yield CheckResult("error", "earlier", None, None, scope, operands)
    for host, found in by_host.items():
        seen: list[CheckResult] = []
        for each in found:
            result = _result(host, each, at.record.tool)
            if result not in seen:
                seen.append(result)
                yield result


def _result(host: str, each: Contradiction, tool: str | None) -> CheckResult:
    severity: Severity = (
        "info" if each.about in NOTED else "warning" if each.about in DOUBTFUL else "error"
    )
    scope: dict[str, Scalar] = {"hosts": host}
    if each.direction:
        scope["direction"] = each.direction
    if each.job:
        scope["job"] = each.job
    operands: Operands = {
        "host": host,
        "job": each.job,
        "direction": each.direction,
        "tool": tool,
        "about": each.about,
        "names": list(each.names),
        "told": each.told,
        "other": each.expected,
    }
    return CheckResult(severity, "contradiction", each.told, each.expected, scope, operands)

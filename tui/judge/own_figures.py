"""Compare a result with other figures in the same output: samples, shares, sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.judge.check import CheckResult, Severity, StepEvidence, UnknownError, step_check
from tui.metrics import units
from tui.model.event import Contradiction, ContradictionKind

if TYPE_CHECKING:
    from tui.model.step_record import Scalar

TEXTS: dict[ContradictionKind, str] = {
    "units": "KiB are {times:.3g} x the bytes",
    "sample-order": "mean of the samples, {told:.6g}, is beyond their extreme, {other:.6g}",
    "samples": "samples add up to {times:.3g} x the total",
    "share-sum": "latency shares add up to {told:.4g} %",
    "share": (
        "{told:.3g} % of the I/Os are below a limit according to the latency shares,"
        " {other:.3g} % according to the percentiles"
    ),
    "syncs": "{told:.0f} syncs, but {other:.0f} sync latencies",
    "syncs-due": "{told:.0f} syncs, but the job requests {other:.0f}",
    "no-ios": "0 I/Os, but {told:.0f} other figures are not 0",
    "direction": "{told:.0f} I/Os, but the job has none in this direction",
    "bytes": (
        "{told:.0f} bytes, but the job ends after {other:.0f}: it was stopped, or a figure"
        " was changed"
    ),
    "mix": "{told:.3g} % of the I/Os are reads, but the job has {other:g} %",
    "entries": "{told:.0f} entries for {other:.0f} workers",
    "copies": "two workers have the same {told:.0f} latencies, to the nanosecond",
    "clients": "{told:.0f} in the sum over all clients, but the clients add up to {other:.0f}",
    "date": "date and time stamp are {apart} apart, which is not a time zone offset",
    "devices": (
        "{other:.0f} direct I/Os, but {told:.0f} reached the devices: a cache served the"
        " rest, or their blocks were never written"
    ),
}
# other devices may be the ones, and other reasons may end a job
DOUBTFUL: tuple[ContradictionKind, ...] = ("devices", "bytes")


@step_check(
    "own-figures",
    "Consistent output",
    rule=(
        "other figures in the load generator's output agree with its result: KiB and bytes,"
        " samples, latency shares, syncs, directions and their mix, entries and workers, sum"
        " over clients, date and time stamp (error); direct I/Os reached the devices, and a"
        " size-bound job moved all its data (warning)"
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
    told = at.run.seen.state.at_step(at.step.index).results
    looked = {
        host: result.contradictions
        for host, result in told.items()
        if result.final and result.contradictions is not None
    }
    if not looked:
        raise UnknownError("the output has no such figures")
    for host, found in looked.items():
        seen: set[str] = set()
        for each in found:
            result = _result(host, each)
            if result.message not in seen:
                seen.add(result.message)
                yield result


def _result(host: str, each: Contradiction) -> CheckResult:
    where = [host, each.job and f"job {each.job}", each.direction]
    text = TEXTS[each.about].format(
        told=each.told,
        other=each.expected,
        times=each.told / max(each.expected, 1.0),
        apart=units.seconds(abs(each.told - each.expected)),
    )
    message = f"{', '.join(filter(None, where))}: {text}"
    severity: Severity = "warning" if each.about in DOUBTFUL else "error"
    scope: dict[str, Scalar] = {"hosts": host}
    if each.direction:
        scope["direction"] = each.direction
    if each.job:
        scope["job"] = each.job
    return CheckResult(severity, message, each.told, each.expected, scope)

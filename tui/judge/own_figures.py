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
    "units": "its KiB are {times:.3g} x its bytes",
    "sample-order": "the mean of its samples, {told:.6g}, is beyond their extreme, {other:.6g}",
    "samples": "its samples add up to {times:.3g} x its total",
    "share-sum": "its shares of latencies add up to {told:.4g} %",
    "share": (
        "{told:.3g} % of its I/Os are below a limit by its shares of latencies, {other:.3g} % by"
        " its percentiles"
    ),
    "syncs": "{told:.0f} syncs, but {other:.0f} latencies of syncs",
    "syncs-due": "{told:.0f} syncs, but its job asks for {other:.0f}",
    "no-ios": "0 I/Os, but {told:.0f} of its other figures are not 0",
    "direction": "{told:.0f} I/Os, but its job does none in this direction",
    "bytes": (
        "{told:.0f} bytes, but its job ends after {other:.0f}: it was stopped, or a figure was"
        " changed"
    ),
    "mix": "{told:.3g} % of its I/Os are reads, but its job has {other:g} %",
    "entries": "{told:.0f} entries of {other:.0f} workers",
    "copies": "two workers have the same {told:.0f} latencies, to the nanosecond",
    "clients": "{told:.0f} in the sum over all clients, but {other:.0f} by the clients",
    "date": "its date is {apart} from its time stamp, which is no time zone",
    "devices": (
        "{other:.0f} direct I/Os, but {told:.0f} reached the devices: a cache served the others, or"
        " their blocks were never written"
    ),
}
# other devices may be the ones, and other reasons may end a job
DOUBTFUL: tuple[ContradictionKind, ...] = ("devices", "bytes")


@step_check(
    "own-figures",
    "Output agrees with itself",
    rule=(
        "what the load generator prints beside its result fits it: KiB and bytes, samples, shares"
        " of latencies, syncs, directions and their mix, entries and workers, the sum over clients,"
        " date and time stamp (error); direct I/Os reached the devices, and a job that ends with"
        " its data moved all of it (warning)"
    ),
    advice=(
        "Error: ask for the output as the load generator wrote it; figures were changed, entries"
        " copied or left out. Warning: look for files that were never written, or for what stopped"
        " the job."
    ),
    source="all figures of the load generator's own output, also those that no record keeps",
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
        raise UnknownError("no output with figures of its own")
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

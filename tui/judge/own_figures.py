"""Compare a result with other figures in the same output: samples, shares, sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tui import workloads
from tui.judge.check import CheckResult, Severity, StepEvidence, UnknownError, step_check
from tui.metrics import units

if TYPE_CHECKING:
    from tui.model.event import Contradiction
    from tui.model.step_record import Scalar

# of outputs of several hosts or formats; a load generator has texts of its own
TEXTS = {
    "total-bandwidth": "total {told:bandwidth}, but directions add up to {other:bandwidth}",
    "total-iops": "total {told:iops} IOPS, but directions add up to {other:iops}",
    "hosts": "total {0} is {told:.4g} x the average of hosts",
    "average-bandwidth": "average {told:bandwidth}, but a host has {other:bandwidth}",
    "average-iops": "average {told:iops} IOPS, but a host has {other:iops}",
    "formats": "{told:.0f} {0} in {1}, but {other:.0f} in {2} of the same measurement",
}
OTHER = "{about} {told:.6g}, but {other:.6g}"
# other devices may be the ones, and other reasons may end a job
DAY_S = 86_400
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
    told = at.run.seen.state.at_step(at.step.index).results
    looked = {
        host: result.contradictions
        for host, result in told.items()
        if result.final and result.contradictions is not None
    }
    wrong = [each for each in at.record.errors if each.is_contradiction]
    tool = workloads.find(at.record.tool or "")
    texts = {**TEXTS, **(tool.contradiction_texts() if tool is not None else {})}
    if not looked and not wrong:
        raise UnknownError("the output has no such figures")
    for error in wrong:
        scope: dict[str, Scalar] = {"hosts": error.host}
        yield CheckResult("error", f"{error.host}: {error.message}", None, None, scope)
    for host, found in looked.items():
        seen: set[str] = set()
        for each in found:
            result = _result(host, each, texts)
            if result.message not in seen:
                seen.add(result.message)
                yield result


class _Figure(float):
    """A figure that a text may format as one of `SHOWN`."""

    def __format__(self, form: str) -> str:
        shown = SHOWN.get(form)
        return shown(float(self)) if shown is not None else super().__format__(form)


def _result(host: str, each: Contradiction, texts: Mapping[str, str]) -> CheckResult:
    where = [host, each.job and f"job {each.job}", each.direction]
    text = texts.get(each.about, "")
    if not text or len(each.names) < text.count("{0}") + text.count("{1}") + text.count("{2}"):
        text = OTHER  # of another version, or its load generator is not installed here
    text = text.format(
        *each.names,
        about=each.about,
        told=_Figure(each.told),
        other=_Figure(each.expected),
        times=each.told / max(each.expected, 1.0),
        apart=_Figure(abs(each.told - each.expected)),
    )
    message = f"{', '.join(filter(None, where))}: {text}"
    severity: Severity = (
        "info" if each.about in NOTED else "warning" if each.about in DOUBTFUL else "error"
    )
    scope: dict[str, Scalar] = {"hosts": host}
    if each.direction:
        scope["direction"] = each.direction
    if each.job:
        scope["job"] = each.job
    return CheckResult(severity, message, each.told, each.expected, scope)


def _version(number: float) -> str:
    """Return a version that is one number: 1000 times the major one, plus the minor one."""
    major, minor = divmod(int(number), 1000)
    return f"{major}.{minor}"


SHOWN: Mapping[str, Callable[[float], str]] = {
    "size": units.size,
    "time": units.seconds,
    "bandwidth": units.bandwidth,
    "iops": units.iops,
    "days": lambda seconds: f"{seconds / DAY_S:.0f}",
    "version": _version,
}

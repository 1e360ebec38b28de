"""Checks of one MPI program over all hosts: rank placement, iterations, bytes and times."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from tui import workloads
from tui.judge.check import CheckResult, Moot, StepEvidence, UnknownError, step_check
from tui.metrics import units
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from tui.model.step_record import MetadataRecord, OperationRecord, Scalar

DIGIT = 0.001  # digits of printed rates
HUNDREDTH, TEN_THOUSANDTH, MILLIONTH, MIB = 0.01, 1e-4, 1e-6, 1 << 20
SHOWN = 3  # reasons
SAME = 1e-4  # of the rate: iterations of metadata operations differ by per cents


@step_check(
    "rank-shift",
    "Rank shift",
    rule="each phase accesses files that another host created",
    advice=(
        "Place ranks in blocks by host and shift by the number of ranks per host (stride:"
        " next-client), so that client caches cannot serve the data. This is impossible with"
        " a single host."
    ),
    source="ranks per host, and the rank shift between phases",
)
def rank_shift(at: StepEvidence) -> Iterator[CheckResult]:
    """A host that stats and reads its own files may be answered by its own cache, not by the
    storage.
    """
    metadata = at.record.metadata
    if metadata is None or metadata.shift_ranks is None:
        raise UnknownError(Moot.SHIFT)
    view = at.run.seen.state.at_step(at.step.index).metadata
    result = view.result if view is not None else None
    tool = workloads.find(result.tool) if result is not None else None
    known = tool.operation_findings(result) if tool is not None and result is not None else ()
    for each in known:
        scope: dict[str, Scalar] = {"phases": " ".join(each.phases)}
        told: Operands = {"tool": metadata.tool, "about": each.code, **each.operands}
        yield CheckResult("warning", "by-generator", each.measured, each.threshold, scope, told)


@step_check(
    "iterations",
    "Different iterations",
    rule=(
        f"the rates of iterations differ by more than {units.share(SAME, 2)} if printed with"
        " enough digits; minimum, mean, maximum and standard deviation are consistent, and"
        " rate x seconds equals the planned bytes (otherwise an error)"
    ),
    advice=(
        "Use the rates of the individual iterations (verbose mode of the load generator), or"
        " repeat the whole run."
    ),
    source="largest and smallest rate of each operation",
)
def iterations(at: StepEvidence) -> Iterator[CheckResult]:
    """Repeated measurements differ.

    If the highest and lowest rates of several iterations agree to many digits, they are one
    measurement timed by several clocks, and their spread means nothing.
    """
    metadata = at.record.metadata
    spans = {
        name: (each.max, each.max / each.min - 1)
        for name, each in (metadata.operations if metadata is not None else {}).items()
        if each.max and each.min and (each.max / each.min - 1 >= SAME or _has_digits(each))
    }
    known = metadata.operations.items() if metadata is not None else ()
    most = _rates_of(metadata)
    wrong = {
        name: how
        for name, each in known
        if (how := unlike(each, most) or unmoved(each, metadata) or unlisted(each, metadata))
    }
    apart = [(name, each) for name, each in known if name in wrong]
    for name, each in apart:
        operands: Operands = {"operation": name, "how": wrong[name]}
        yield CheckResult("error", "apart", each.mean, each.max, {"operations": name}, operands)
    if metadata is None or metadata.iterations < 2 or not spans:
        if apart:
            return
        raise UnknownError(Moot.ITERATIONS)
    same = {name: apart for name, (_, apart) in spans.items() if apart < SAME}
    if same:
        widest = max(same.values())
        scope: dict[str, Scalar] = {"operations": " ".join(same)}
        operands = {"operations": list(same), "count": metadata.iterations, "apart": widest}
        yield CheckResult("warning", "same", widest, SAME, scope, operands)


def _has_digits(each: OperationRecord) -> bool:
    """Return whether rates are printed with enough digits to distinguish two measurements; 7.65
    MiB/s has too few.

    Data rates have two decimals, in I/Os per second for I/Os below 1 MiB and otherwise in MiB/s;
    metadata rates have three.
    """
    digit = HUNDREDTH if each.bytes_per_op else DIGIT
    printed = (each.max or 0.0) * max(each.bytes_per_op / MIB, 1)
    return digit < SAME / 10 * printed


def _rates_of(metadata: MetadataRecord | None) -> int:
    """Return the maximum number of rates behind a summary: iterations x ranks; 0 if unknown."""
    return metadata.iterations * (metadata.tasks or 0) if metadata is not None else 0


def unlike(rates: OperationRecord, count: int = 0) -> Clause | None:
    """Return figures that no set of rates can have, such as a mean outside the extremes; None if
    possible.

    The upper limit of the deviation is that of Bhatia and Davis, divided by n - 1 with n = 2. The
    extremes are two of at most `count` rates, which limits the mean, and the deviation from below.
    """
    high, low, mean, deviation = rates.max, rates.min, rates.mean, rates.stddev
    if high is None or low is None or mean is None:
        return None
    ends = {"low": low, "high": high}
    off = DIGIT + SAME * max(high, low)
    if low > high + off:
        return clause("ends", **ends)
    if not low - off <= mean <= high + off:
        return clause("mean-outside", mean=mean, **ends)
    if count > 1:
        least, top = (low * (count - 1) + high) / count, (low + high * (count - 1)) / count
        if not least - off <= mean <= top + off:
            return clause("mean", count=count, mean=mean, **ends)
        apart = sqrt(((high - mean) ** 2 + (mean - low) ** 2) / count)
        if deviation is not None and deviation < apart - off:
            return clause("deviation-below", count=count, deviation=deviation, **ends)
    most = sqrt(2 * max(high - mean + off, 0.0) * max(mean - low + off, 0.0))
    if deviation is not None and deviation > most + off:
        return clause("deviation-above", deviation=deviation, **ends)
    return None


def unmoved(each: OperationRecord, metadata: MetadataRecord | None) -> Clause | None:
    """Return the first iteration whose rate x time differs from the planned bytes; None if there
    is none.

    Seconds and MiB/s are printed with two decimals if 1 or more, otherwise with four or six.
    """
    if metadata is None or not metadata.files or not each.bytes_per_op:
        return None
    for number, (rate, seconds) in enumerate(
        zip(each.iterations, each.seconds, strict=False), start=1
    ):
        printed = (seconds, rate * each.bytes_per_op / MIB)
        slack = SAME * 10 + sum(_digit(value) / value for value in printed if value)
        if abs(rate * seconds / metadata.files - 1) > slack:
            moved, wanted = (
                round(ios * each.bytes_per_op) for ios in (rate * seconds, metadata.files)
            )
            return clause("moved", iteration=number, moved_bytes=moved, planned_bytes=wanted)
    return None


def unlisted(each: OperationRecord, metadata: MetadataRecord | None) -> Clause | None:
    """Return a summary figure that contradicts its iterations; None if none does, or if these do
    not cover all ranks.

    Tolerance as in `unmoved`.
    """
    listed = each.iterations
    if metadata is None or metadata.iterations_of != "all ranks" or not listed or not all(listed):
        return None
    if len(listed) != metadata.iterations or not each.bytes_per_op or each.from_iterations:
        return None
    slack = SAME * 10 + max(
        _digit(printed) / printed for rate in listed if (printed := rate * each.bytes_per_op / MIB)
    )
    for name, shown, expected in (
        ("largest", each.max, max(listed)),
        ("smallest", each.min, min(listed)),
        ("mean-listed", each.mean, fmean(listed)),
    ):
        if shown is not None and abs(shown / expected - 1) > slack:
            return clause(name, told=shown, expected=expected)
    return None


def _digit(value: float) -> float:
    """Return the value of one unit in the last printed digit."""
    if value >= 1:
        return HUNDREDTH
    return TEN_THOUSANDTH if round(value, 4) == value else MILLIONTH


@step_check(
    "own-verdict",
    "Verdict of the benchmark",
    rule="the benchmark calls its own result valid",
    advice=(
        "Fix the reported problems and run the benchmark again: its rules require certain"
        " settings and enough data for a submission."
    ),
    source="verdict printed by the load generator",
)
def own_verdict(at: StepEvidence) -> Iterator[CheckResult]:
    """A benchmark with its own rules reports whether a result follows them."""
    metadata = at.record.metadata
    if metadata is None or not (metadata.printed or metadata.invalid):
        raise UnknownError(Moot.VERDICT)
    if metadata.invalid:
        operands: Operands = {"tool": metadata.tool, "count": len(metadata.invalid)}
        operands["quotes"] = metadata.invalid[:SHOWN]
        yield CheckResult("error", "invalid", len(metadata.invalid), 0, operands=operands)


OPERATION_CHECKS = (rank_shift, iterations, own_verdict)

"""Consistency of whole results with their intervals, each other, the run's duration, and other
figures in the same output.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from tui.judge.check import (
    CheckResult,
    RunEvidence,
    Severity,
    StepEvidence,
    UnknownError,
    run_check,
    step_check,
)
from tui.judge.copies import Fingerprint, copied, fingerprint, how, pairs
from tui.judge.counted import Counted, counted
from tui.judge.identities import (
    FIGURE_CHECKS,
    KIB,
    LEAST_IOS,
    STARTING_S,
    whole_latency,
)
from tui.judge.latencies import COUNTED, PRINTED
from tui.metrics.registry import direction
from tui.model.operands import Operands

if TYPE_CHECKING:
    from tui.model.event import Contradiction
    from tui.model.figure_record import SeriesColumns
    from tui.model.record import CopyRecord
    from tui.model.step_record import Scalar

DAY_S = 86_400.0


@step_check(
    "series-mismatch",
    "Intervals add up",
    rule=(
        "I/Os and bytes of all intervals of a host add up to its result, except for one"
        " interval at each end"
    ),
    advice=(
        "Check the samples in the journal and the tool's own output: one of the two is from"
        " another load."
    ),
    source="samples and result of each host",
    when="ended",
)
def series_mismatch(at: StepEvidence) -> Iterator[CheckResult]:
    """If a host's intervals do not add up to its result, one of the two is from another load."""
    checked = False
    series = at.record.series
    columns = {(one.host, one.direction): one for one in series.columns} if series else {}
    for each in counted(at):
        if each.job or not direction(each.name).in_total:
            continue
        column = columns.get((each.host, each.name))
        for name in ("ios", "bytes"):
            found = _added_up(at, each, column, name) if column is not None else None
            if found is None:
                continue
            checked = True
            (total, slack), result = found, float(getattr(each.figures, name))
            if abs(total - result) > slack + each.slack(name) * result:
                yield each.error(name, result, total, total=round(total), told=round(result))
    if not checked:
        raise UnknownError("whole-samples")


def _added_up(
    at: StepEvidence, each: Counted, column: SeriesColumns, name: str
) -> tuple[float, float] | None:
    """Return the I/Os or bytes summed over all intervals, and their possible error.

    None if most intervals are missing or have no such counts. A second without a sample may have
    had as many I/Os as the best one. fio's logs have whole KiB.
    """
    assert at.record.series is not None
    step_s = at.record.series.step_s
    measurement = at.run.seen.state.at_step(at.step.index).measurement
    values = column.iops if name == "ios" else column.bw_bytes_per_s
    seen = [value for value in values if value is not None]
    missing, result = len(values) - len(seen), getattr(each.figures, name)
    if missing >= len(seen) or not result or not any(seen):
        return None
    most = max(seen) * step_s
    if (
        measurement is not None
        and (leaf := measurement.hosts.get(each.host, {}).get(each.name)) is not None
    ):
        total, printed = (leaf.ios, 1.0) if name == "ios" else (leaf.bytes, KIB * len(seen))
        return float(total), (missing + 1) * most + printed
    return sum(seen) * step_s, (missing + 2) * most + PRINTED * result


@run_check(
    "copied-output",
    "Distinct results",
    rule=(
        "no two hosts or steps have the same counts, times and latencies; in imports, no two"
        " runs do either, and no two results share rare latencies, exactly or scaled by a common"
        " factor"
    ),
    advice=(
        "One output is a copy of another: find the original of each host, then import or"
        " measure again."
    ),
    source="counts, runtimes and latencies of all hosts and steps",
    when="ended",
)
def copied_output(evidence: RunEvidence) -> Iterator[CheckResult]:
    """Two measurements hardly ever agree in all counts, times and latencies, or share rare ones.

    A result that appears twice, with or without changes, was probably measured once, and the total
    counts it twice. Equal counts are reported if chance explains them for less than one pair in
    10^12, assuming independent I/Os."""
    seen: dict[bytes, list[str]] = {}
    found: list[Fingerprint] = []
    for step, record in zip(evidence.plan.steps, evidence.steps, strict=True):
        at = StepEvidence(evidence, step, record)
        alone = len(evidence.steps) == 1
        for host, parts in _parts_of(at).items():
            name = host if alone else f"{host} ({step.name})"
            if (mark := _mark_of(parts)) is not None:
                seen.setdefault(mark, []).append(name)
            own = fingerprint(name, {each.name: each.figures for each in parts})
            found += [own] if own is not None and evidence.foreign else []
    if not seen and not evidence.copies:
        raise UnknownError("latencies")
    same = [names for names in seen.values() if len(names) > 1]
    for names in same:
        scope: dict[str, Scalar] = {"hosts": " ".join(names)}
        operands: Operands = {"count": len(names), "names": names}
        yield CheckResult("error", "identical", len(names), 1, scope, operands)
    if not evidence.foreign:
        return  # its journal shows who measured what
    yield from _alike(found, {frozenset(pair) for names in same for pair in combinations(names, 2)})
    yield from map(_of_other_run, evidence.copies)


def _alike(found: Sequence[Fingerprint], known: Container[frozenset[str]]) -> Iterator[CheckResult]:
    """Yield results that are copies of an earlier one with changes, except known ones."""
    reported: set[int] = set()
    for one, other in pairs(found):
        names = found[one].name, found[other].name
        if other in reported or frozenset(names) in known:
            continue
        if (copy := copied(found[one], found[other])) is not None:
            reported.add(other)
            yield CheckResult(
                "error",
                "copies",
                copy.factor if copy.factor is not None else copy.equal,
                1 if copy.factor is not None else round(copy.expected, 1),
                {"hosts": " ".join(names)},
                {"names": list(names), "how": how(copy)},
            )


def _of_other_run(copy: CopyRecord) -> CheckResult:
    return CheckResult(
        "error",
        "copy-of-run",
        copy.factor if copy.factor is not None else copy.figures or copy.equal,
        1 if copy.factor is not None else round(copy.expected, 1),
        {"hosts": copy.host, "step": copy.step},
        {"host": copy.host, "run": copy.of, "how": how(copy)},
    )


def _parts_of(at: StepEvidence) -> dict[str, list[Counted]]:
    """Return the directions of each host of a step."""
    try:
        found = counted(at)
    except UnknownError:
        return {}
    hosts: dict[str, list[Counted]] = {}
    for each in found:
        if not each.job:
            hosts.setdefault(each.host, []).append(each)
    return hosts


def _mark_of(parts: Sequence[Counted]) -> bytes | None:
    """Return a fingerprint of a host's result; None if it has few I/Os or no latencies."""
    latencies = [
        latency
        for each in parts
        if (latency := whole_latency(each)) is not None and latency.mean_ns
    ]
    if sum(latency.n for latency in latencies) < LEAST_IOS:
        return None
    counts = [
        (each.name, each.figures.ios, each.figures.bytes, each.figures.runtime_s) for each in parts
    ]
    moments = [
        (each.n, each.min_ns, each.max_ns, each.mean_ns, each.stddev_ns) for each in latencies
    ]
    return msgspec.json.encode((counts, moments))


@step_check(
    "impossible-time",
    "Measured within the run",
    rule=(
        "no host measures for longer than the phase lasted, or after the end of the run (error);"
        " no imported result is dated more than a day after the import (warning)"
    ),
    advice=(
        "The result is from another run, or its times were changed: compare it with the journal."
        " Imports: the client's clock was wrong, or the date was changed."
    ),
    source=(
        "runtime of each result; start and end of the phase by the jump host's clock; imports:"
        " dates in the output, and the time of the import"
    ),
    when="ended",
)
def impossible_time(at: StepEvidence) -> Iterator[CheckResult]:
    """A result that took longer than its run is from a different run."""
    yield from _dated_later(at) if at.run.foreign else _longer_than_its_run(at)


def _dated_later(at: StepEvidence) -> Iterator[CheckResult]:
    """Yield hosts whose output is dated after its import: by a day, as dates have no time zone.

    Compares with the time of the import, so that the answer is the same whenever it is sought.
    """
    timing, imported_s = at.record.timing, at.run.imported_s
    if timing is None or not timing.hosts or imported_s is None:
        raise UnknownError("measured-time")
    for host, each in timing.hosts.items():
        last_s = max(each.start_s, each.end_s)
        if (apart_s := last_s - imported_s) > DAY_S:
            told = {"host": host, "apart": apart_s}
            yield CheckResult("warning", "later", last_s, imported_s, {"hosts": host}, told)


def _longer_than_its_run(at: StepEvidence) -> Iterator[CheckResult]:
    seen = at.run.seen.state.at_step(at.step.index)
    # an engine that died did not end any
    spans = [span for span in seen.phases if span.name == "measure"]
    ends = [span.end_t for span in spans if span.end_t is not None]
    if not ends or not seen.results:
        raise UnknownError("measured-time")
    went_s = max(ends) - min(span.start_t for span in spans)
    for each in counted(at):
        seconds = each.figures.runtime_s or 0.0
        waves = len({load.wave for load in each.loads}) or 1
        if seconds > went_s * (1 + COUNTED) + STARTING_S * waves:
            yield each.error("longer", seconds, went_s, measured_s=seconds, phase_s=went_s)


IDENTITY_CHECKS = (*FIGURE_CHECKS, series_mismatch, copied_output, impossible_time)


# other devices may have done the I/O, and other reasons may have ended the job
DOUBTFUL = (
    "devices", "device-bytes", "bytes", "longer", "off-cpu", "sample-pause", "too-early",
    "connected",
)  # fmt: skip
# without I/O until the end of the others, or with stats=0
NOTED = ("started",)


@step_check(
    "own-figures",
    "Consistent output",
    rule=(
        "other figures in the load generator's output agree with its result and with the job:"
        " KiB and bytes, samples, latency shares, counts and histograms, syncs, directions,"
        " their mix and their sum, bytes, queue depth, workers, thinktime, verification, limits,"
        " steady state, CPU time, age, earlier states, depth shares, group lines, failed and"
        " started jobs, entries, sum over clients, version, date, time stamp and logs (error);"
        " direct I/Os and their bytes reached the devices, a size-bound job moved all its data, no"
        " job measured longer than its runtime, all servers of the client have results, and"
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
        operands: Operands = {"host": error.host, "quote": error.told}
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

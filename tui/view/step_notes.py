"""Notes next to the figures of a step: preconditioning, length, checks, problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median_high
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.judge.severity import MOOT, did_no_io, submission_waits
from tui.metrics import units
from tui.metrics.figures import Latency, latency_of
from tui.metrics.registry import BOTH, METRICS, MIXED, in_order, meaning
from tui.metrics.repeat import shows_ci
from tui.metrics.units import plural
from tui.model.criteria import THRESHOLDS
from tui.model.plain import some
from tui.model.plan import Headline
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.record.cells import steps_of
from tui.record.headline import coverage_text, ended_early
from tui.text.comparison_texts import NOT_AS_SEALED
from tui.text.line import LABEL, SEVERITY_MARKS, TEXT, VALUE, Line, Run, labelled
from tui.text.run_texts import rounds_text, run_text
from tui.text.search import caveats

if TYPE_CHECKING:
    from tui.model.figure_record import AggregateRecord
    from tui.model.record import AttestationRecord, Finding, HeadlineRecord
    from tui.model.step_record import FillRecord, RoundsRecord

LEFT_OUT = "skipped at launch, although the profile requires it"
POINTS_SHOWN = 6
FIGURES_SHOWN = 10
MPI_WAITS = "MPI ranks keep a core busy even while they wait"
OFTEN = {1: "once", 2: "twice"}


def precondition_texts(record: RunRecord) -> list[str]:
    """Return whether preconditioning was skipped, the fills, and the rounds of the first points,
    unsteady ones first; empty if the run has none.
    """
    found = record.precondition
    if found is None:
        return []
    several = len(found.rounds) > 1
    ordered = sorted(found.rounds, key=lambda each: each.attained is True)
    rounds = [_rounds_text(record, each, several=several) for each in ordered[:POINTS_SHOWN]]
    left = len(ordered) - POINTS_SHOWN
    more = [f"and {plural(left, 'more point')}"] if left > 0 else []
    return [*([LEFT_OUT] if found.left_out else []), *map(_fill_text, found.fills), *rounds, *more]


def _fill_text(fill: FillRecord) -> str:
    size = f", {units.size(fill.bytes)} in total" if fill.bytes is not None else ""
    took = f", in {units.duration(fill.duration_s)}" if fill.duration_s is not None else ""
    often = OFTEN.get(fill.times, f"{fill.times} times")
    return f"filled {often}{size}{took}" if fill.whole else f"fill {often}{size}: incomplete"


def _rounds_text(record: RunRecord, rounds: RoundsRecord, *, several: bool) -> str:
    name = (
        f"{rounds.cell.removeprefix(record.profile.tag).strip() or rounds.cell}: "
        if several
        else ""
    )
    figures = _figures(_headline_of(record, rounds), rounds.values)
    return f"{name}{rounds_text(rounds)}{f'; {figures}' if figures else ''}"


def _figures(headline: HeadlineRecord | None, values: Sequence[float | None]) -> str:
    """Return the last figures of the rounds, oldest first: ``write IOPS 402, 400, 401``."""
    if headline is None or not values:
        return ""
    shown = [METRICS[headline.metric].text(value) for value in values[-FIGURES_SHOWN:]]
    cut = ["..."] if len(values) > FIGURES_SHOWN else []
    return (
        f"{meaning(Headline(headline.metric, headline.direction, headline.percentile))} "
        f"{', '.join([*cut, *shown])}"
    )


def _headline_of(record: RunRecord, rounds: RoundsRecord) -> HeadlineRecord | None:
    cells = record.matrix.cells if record.matrix is not None else []
    return (
        next((cell.headline for cell in cells if cell.key == rounds.cell), None) or record.headline
    )


def step_label(record: RunRecord, step: StepRecord) -> str:
    """Return a step's place within its point: ``fill``, ``round 4``, ``warm-up``, ``#2``.

    Empty for the first repetition of a point.
    """
    found = record.precondition
    if found is not None and any(step.index == fill.step for fill in found.fills):
        return "fill"
    rounds = found.rounds if found is not None else []
    if number := next(
        (each.steps.index(step.index) + 1 for each in rounds if step.index in each.steps), 0
    ):
        return f"round {number}"
    return "warm-up" if step.warmup else f"#{step.repetition}" if step.repetition > 1 else ""


def attest_texts(record: RunRecord) -> list[str]:
    """Return each attested condition with its answer and author.

    Conditions not answered with yes come first.
    """
    order = ("no", "unknown", "yes")
    return [
        _attest_text(each)
        for each in sorted(record.attested, key=lambda each: order.index(each.answer))
    ]


def _attest_text(each: AttestationRecord) -> str:
    said = ", ".join(_signature(each))
    return f"{each.answer}: {each.question} ({said})"


def _signature(each: AttestationRecord) -> Iterator[str]:
    yield each.id
    yield from (each.by,) if each.by else ()
    yield from (each.utc,) if each.utc else ()


VERDICTS: dict[str, str] = {
    "valid": "valid",
    "valid-with-warnings": "valid with warnings",
    "invalid": "INVALID",
}


def submission_text(step: StepRecord, kind: str) -> str:
    """Return how much of the latency is submission wait; empty if it is small."""
    said = "lat includes the" if kind == "lat" else "clat excludes the"
    waits = (
        f"{said} submission wait: {name} mean slat {units.latency(slat)}, mean lat"
        f" {units.latency(lat)}"
        for name, slat, lat in submission_waits(step)
    )
    return next(waits, "")


def checks_text(record: RunRecord) -> str:
    """Return the verdict, the findings, how many checks ran, and whether the record is not the
    sealed one; empty if the run was not judged and is as sealed.

    ``valid: no findings; 21 checks ran, 6 do not apply, 3 had no data``. Records of older versions
    have only the findings, or also the number of checks.
    """
    since = NOT_AS_SEALED if record.not_as_sealed else ""
    return "; ".join(part for part in (*_checks_texts(record), since) if part)


def _checks_texts(record: RunRecord) -> tuple[str, ...]:
    if record.verdict is None or record.checks is None:
        return (verdict_text(record),)
    if record.checks_not_made is None:
        return (f"{ran_text(record)}, {verdict_text(record)}",)
    return verdict_text(record), ran_text(record), thresholds_text(record)


def verdict_text(record: RunRecord) -> str:
    """Return the verdict and the number of findings; empty if the run was not judged.

    ``valid: no findings``. Records of older versions have only the findings.
    """
    if record.verdict is None:
        return ""
    found = found_text([finding.severity for finding in record.findings])
    if record.checks is None or record.checks_not_made is None:
        return found
    weak = ", ".join(caveats(record.search) if record.verdict != "invalid" else ())
    return f"{VERDICTS[record.verdict]}{f', but {weak}' if weak else ''}: {found}"


def thresholds_text(record: RunRecord) -> str:
    """Return the thresholds that the profile changed; empty if there are none."""
    changed = [
        f"{name} {value:g} (default {_usual(name)})" for name, value in record.thresholds.items()
    ]
    return f"changed thresholds: {', '.join(changed)}" if changed else ""


def ran_text(record: RunRecord, *, brief: bool = False) -> str:
    """Return how many checks ran, do not apply, had no data; empty in records of older versions.

    Reasons stored as texts by older versions count as missing data. `brief`: how many ran of all.
    """
    if record.checks is None or record.verdict is None:
        return ""
    if brief:
        count = len(record.checks) + len(record.checks_not_made or {})
        return f"{len(record.checks)} of {count} checks ran"
    codes = [
        "" if isinstance(why, str) else why.code for why in (record.checks_not_made or {}).values()
    ]
    moot = sum(code in MOOT for code in codes)
    parts = [f"{plural(len(record.checks), 'check')} ran"]
    parts += [f"{moot} {'does' if moot == 1 else 'do'} not apply"] if moot else []
    parts += [f"{len(codes) - moot} had no data"] if len(codes) > moot else []
    return ", ".join(parts)


def _usual(name: str) -> str:
    known = THRESHOLDS.get(name)
    return f"{known.value:g}" if known is not None else "?"


def found_text(severities: Sequence[str]) -> str:
    """Return the number of findings by severity: ``1 error, 2 warnings, 1 note``."""
    words = (("error", "error"), ("warning", "warning"), ("info", "note"))
    counts = [(severities.count(severity), word) for severity, word in words]
    return ", ".join(plural(count, word) for count, word in counts if count) or "no findings"


NAMED_STEPS = 3  # of a finding; more are counted


def finding_place(record: RunRecord, finding: Finding) -> str:
    """Return the steps that a finding is about: ``on 8 of 20 steps``, or the names of a few.

    Empty if the run has one step, or the finding is about the run.
    """
    count = len(record.steps)
    steps = [step for step in steps_of(finding.scope) if step < count]
    if count < 2 or not steps:
        return ""
    if len(steps) > NAMED_STEPS or len(steps) == record.steps_run:
        return f"on {len(steps)} of {record.steps_run} steps"
    return ", ".join(record.steps[step].name for step in steps)


def repeated_text(record: RunRecord) -> str:
    """Return the number of repetitions of the headline, and their spread.

    Empty if it was measured once.
    """
    found, matrix = record.headline, record.matrix
    if found is None or found.step is None or matrix is None:
        return ""
    cell = next((cell for cell in matrix.cells if found.step in cell.steps), None)
    values = [value for value in cell.values if value is not None] if cell is not None else []
    if cell is None or len(values) < 2:
        return ""
    text = METRICS[found.metric].text
    if shows_ci(values, cell.ci_relative):
        return (
            f"median of {len(values)}; mean {text(fmean(values))} ±"
            f" {(cell.ci_relative or 0.0) * 100:.1f} % (95 %)"
        )
    return f"median of {len(values)}, from {text(min(values))} to {text(max(values))}"


WORTH_TELLING = 0.01  # a difference of rates


def note_texts(step: StepRecord, kind: str) -> Iterator[str]:
    """Yield notes: names of requests, submission wait, rebuilt figures, bucket error, lost hosts,
    windows, skew.
    """
    yield from request_texts(step)
    yield from filter(None, (submission_text(step, kind),))
    if any(
        result.from_samples for dirs in step.results.per_host.values() for result in dirs.values()
    ):
        yield "~ rebuilt from samples: no result from the tool"
    shown = {
        name: latency_of(result, name, kind) for name, result in step.results.aggregate.items()
    }
    yield from bucket_texts(shown)
    if step.lost_hosts:
        yield f"coverage: {coverage_text(step.coverage)}"
    yield from window_texts(step, step.results.aggregate)
    yield from timing_texts(step)


def request_texts(step: StepRecord) -> list[str]:
    """Return the directions that requests of a store count as; empty for files and devices."""
    named = [f"{request} counts as {name}" for name, request in step.requests.items()]
    return [f"in findings and limits, {', '.join(named)}"] if named else []


def window_texts(step: StepRecord, dirs: Mapping[str, AggregateRecord]) -> Iterator[str]:
    """Yield the rate while all hosts measured, where it differs from the whole step's rate, and a
    note if reads and writes have no total.
    """
    if {"read", "write"} <= dirs.keys() and not {MIXED, BOTH} & dirs.keys():
        yield "read and write did not run at the same time: no mixed total"
    for direction, result in dirs.items():
        if result.interval is not None and abs(result.window_difference or 0.0) > WORTH_TELLING:
            span = units.seconds(result.interval.end_s - result.interval.start_s)
            window = (
                f"{units.iops(result.iops_window)} IOPS"
                f" ({(result.window_difference or 0.0) * 100:+.1f} %)"
            )
            yield f"{step.called(direction)}: {window} while all hosts measured ({span})"


def bucket_texts(found: Mapping[str, Latency | None]) -> list[str]:
    """Return the bucket error of percentiles by direction, for tools with their own buckets."""
    known = {name: None if each is None else each.bucket_width for name, each in found.items()}
    return width_texts({name: width for name, width in known.items() if width is not None})


def width_texts(found: Mapping[str, float]) -> list[str]:
    """Return the bucket error of percentiles, from the width of the buckets by direction."""
    widths: dict[float, list[str]] = {}
    for name, width in found.items():
        widths.setdefault(width, []).append(name)
    return [
        f"percentiles of {', '.join(names)}: upper edges of the load generator's buckets, up to "
        f"{width * 100:.{0 if width >= 0.1 else 1}f} % above the true value"
        for width, names in widths.items()
    ]


def length_text(measured_s: float | None, runtime_s: float | None) -> str:
    """Return the measured time as text: ``measured 30.0 s``, ``ended after 0.2 s of 30 s``; empty
    if unknown.
    """
    if measured_s is None:
        return ""
    if ended_early(measured_s, runtime_s):
        return f"ended after {units.seconds(measured_s)} of {units.seconds(runtime_s)}"
    return f"measured {units.seconds(measured_s)}"


def length_texts(step: StepRecord) -> Iterator[str]:
    """Yield the measured time of a step, if known."""
    yield from filter(None, (length_text(step.measured_s, step.runtime_s),))


def timing_texts(step: StepRecord) -> Iterator[str]:
    """Yield start skew, end skew and common window of the hosts; nothing for one host."""
    timing = step.timing
    if timing is None or timing.start_skew_s is None:
        return
    start = f"start skew {_skew(timing.start_skew_s, timing.start_skew_uncertainty_s)}"
    end = f"end skew {_skew(timing.end_skew_s, timing.end_skew_uncertainty_s)}"
    window = (
        f"common window {timing.window.length_s:.1f} s"
        if timing.window is not None
        else "no common window"
    )
    yield f"{start}, {end}; {window}"


def _skew(value_s: float | None, uncertainty_s: float | None) -> str:
    if value_s is None:
        return units.UNKNOWN
    if uncertainty_s is None:
        return f"about {value_s:.1f} s"
    return f"{value_s:.3f} s ± {uncertainty_s:.3f} s"


NOT_MERGEABLE = "printed by the tool each second; cannot be merged over hosts"


def printed_lines(step: StepRecord) -> list[tuple[str, str]]:
    """Return the percentiles that the tool itself printed, as (host and direction, text).

    Empty if it printed none.
    """
    found = {}
    for column in step.series.columns if step.series is not None else ():
        if column.host is not None and (text := _percentiles_text(column.printed_ns)):
            found[column.host, column.direction] = text
    names = in_order({name for _, name in found})
    hosts = dict.fromkeys(host for host, _ in found)
    return [
        (f"{host} {name}", found[host, name])
        for host in hosts
        for name in names
        if (host, name) in found
    ]


def _percentiles_text(printed: Mapping[str, list[int | None]]) -> str:
    parts = []
    for name in sorted(printed, key=float):
        if values := [value for value in printed[name] if value is not None]:
            parts.append(
                f"p{name} median {units.latency(median_high(values))}, max"
                f" {units.latency(max(values))}"
            )
    return "; ".join(parts)


def now_text(printed_ns: Mapping[str, int]) -> str:
    """Return the percentiles printed for one interval: ``p99 1.20 ms, p99.9 3.10 ms``.

    Empty if there are none.
    """
    return ", ".join(
        f"p{name} {units.latency(printed_ns[name])}" for name in sorted(printed_ns, key=float)
    )


class SharedProblem(Struct, frozen=True):
    """A problem, and the hosts that have it."""

    hosts: list[str]
    phase: str
    code: str
    message: str
    fatal: bool


def shared_problems(record: RunRecord) -> list[SharedProblem]:
    """Return each problem on hosts once, with its hosts, in the order of the record."""
    found: dict[tuple[str, str, str, bool], list[str]] = {}
    for host in record.hosts:
        for each in host.problems:
            told = (each.phase, each.code, run_text(each.message), each.fatal)
            found.setdefault(told, []).append(host.name)
    return [SharedProblem(list(dict.fromkeys(hosts)), *what) for what, hosts in found.items()]


def problem_lines(record: RunRecord, width: int, *, every: bool = False) -> list[Line]:
    """Return the problems on hosts with a few names; if `every`, with all names and the code."""
    lines: list[Line] = []
    for each in shared_problems(record):
        mark, role = SEVERITY_MARKS["error" if each.fatal else "warning"]
        names = some(each.hosts, len(each.hosts)) if every else some(each.hosts)
        said: list[Run] = [(f"{names}  ", VALUE), (each.message, TEXT)]
        code: list[Run] = [(f"  {each.code}", LABEL)] if every and each.code else []
        lines += labelled([(f"{mark} ", role)], [*said, *code], width)
    return lines


def unjudged_text(step: StepRecord) -> str:
    """Return why the bottleneck of a step is not judged; empty if it is, or if that is unknown."""
    is_unjudged = step.metadata is not None and step.bottleneck is None
    return f"not judged: {MPI_WAITS}" if is_unjudged else ""


def nothing_text(reason: str) -> str:
    """Return the text that nothing was measured, and why if known."""
    return f"nothing was measured: {reason}" if reason else "nothing was measured"


def measured_nothing(record: RunRecord) -> bool:
    """Return whether a run failed without a completed I/O: host facts then explain no figures."""
    return record.state == "failed" and not any(
        (step.results.aggregate or step.metadata) and not did_no_io(step) for step in record.steps
    )

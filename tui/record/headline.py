"""Headlines of steps and runs, measured durations, operations of MPI benchmarks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from tui import workloads
from tui.journal.progress import MetadataView, rank
from tui.metrics import figures
from tui.metrics.registry import METRICS, figure_text, rate_of_operation
from tui.model.event import ONE_RANK, MetadataResult, OperationResult
from tui.model.operands import Clause, clause, several
from tui.model.plan import Headline, Step
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.metrics.registry import HeadlineFigure
    from tui.model.figure_record import AggregateRecord, CodedText
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.search_record import SearchRecord
    from tui.model.step_record import CoverageRecord, MetadataRecord, OperationRecord, StepRecord

SHORT_SHARE = 0.95  # of the requested runtime
SHORT_S = 1.0  # anything shorter is no measurement, whatever was requested


def ended_early(measured_s: float | None, runtime_s: float | None) -> bool:
    """Return whether a step ran for less time than requested; False if either duration is
    unknown.
    """
    return measured_s is not None and runtime_s is not None and measured_s < SHORT_SHARE * runtime_s


def is_short(step: StepRecord) -> bool:
    """Return whether a step ran for less time than requested, or for too little to count."""
    seconds = step.measured_s
    return seconds is not None and (seconds < SHORT_S or ended_early(seconds, step.runtime_s))


def shortest_phase_s(step: StepRecord) -> float | None:
    """Return the duration of the shortest data phase of an MPI program, in seconds; None if it
    moves no data.
    """
    moving = [
        each
        for each in (step.metadata.operations if step.metadata else {}).values()
        if each.bytes_per_op
    ]
    return min((seconds for each in moving for seconds in each.seconds), default=None)


def operation_seconds(step: StepRecord) -> dict[str, float]:
    """Return the duration of each metadata operation of an MPI program in seconds, by name.

    It is that of the shortest iteration as printed, else items / best rate. Excludes operations on
    a directory tree, because there are only a few of them.
    """
    found: dict[str, float] = {}
    metadata = step.metadata
    for name, each in (metadata.operations if metadata is not None else {}).items():
        if each.bytes_per_op or name.startswith("tree-") or metadata is None:
            continue
        fastest = max([*each.iterations, each.max or 0.0])
        if each.seconds:
            found[name] = min(each.seconds)
        elif metadata.files and fastest:
            found[name] = metadata.files / fastest
    return found


def metadata_record(view: MetadataView | None, step: Step) -> MetadataRecord | None:
    """Return the results of an MPI benchmark so far; None if there are none."""
    from tui.model.step_record import MetadataRecord  # only MPI runs need it

    if view is None or step.mpi is None:
        return None
    result = view.result
    operations = result.operations if result is not None else view.operations
    parts = {name: _operation(operations[name], step) for name in sorted(operations, key=rank)}
    if not any(part.mean is not None for name, part in parts.items() if name not in ONE_RANK):
        return None
    launch, hosts, tool = step.mpi, len(step.tasks), workloads.find(step.tool)
    tasks = result.tasks if result is not None else launch.ranks(hosts)
    version = result.version if result is not None else None
    return MetadataRecord(
        tool=step.tool,
        version=version,
        tasks=tasks or None,  # an import may not state it
        nodes=(result.nodes or None) if result is not None else None,
        ranks_per_host=launch.ranks_per_host or None,
        items_per_rank=launch.items or None,
        files=tasks * launch.items or None,
        iterations=launch.iterations,
        shift_ranks=result.shift if result is not None and result.shift >= 0 else None,
        shift_text=_spread(step.tool, result) if result is not None else "",
        nodemap=result.nodemap if result is not None else "",
        final=result is not None and result.final,
        iterations_of=tool.iterations_of if tool else "all ranks",
        scores=dict(result.scores) if result is not None else {},
        printed=list(result.printed) if result is not None else [],
        invalid=list(result.invalid) if result is not None else [],
        mpi=result.mpi if result is not None else "",
        operations=parts,
    )


def _spread(name: str, result: MetadataResult) -> CodedText | str:
    from tui.model.figure_record import CodedText

    tool = workloads.find(name)
    found = tool.spread(result) if tool is not None else None
    if found is None:
        return ""
    about = {"tool": name, "about": found["code"]}
    return CodedText(code="by-generator", operands={**about, **found["operands"]})


def _operation(result: OperationResult, step: Step) -> OperationRecord:
    """Return the record of one operation; without a summary from the tool, from the finished
    iterations.
    """
    from tui.model.step_record import OperationRecord

    rates = result.iterations
    record = OperationRecord(**asdict(result), host_seconds=_by_host(result.rank_seconds, step))
    if result.mean is not None or not rates:
        return record
    record.max, record.min, record.mean = max(rates), min(rates), round(fmean(rates), 3)
    record.stddev = round(stdev(rates), 3) if len(rates) > 1 else None
    record.from_iterations = True
    return record


def losses_of(covered: Sequence[CoverageRecord]) -> Iterator[Clause]:
    """Yield the losses of hosts in a step, oldest first."""
    for part in covered:
        if part.missing:
            yield clause(
                "hosts-left",
                left=part.hosts,
                total=part.of,
                from_s=part.start_s - covered[0].start_s,
                missing=part.missing,
            )


def coverage_text(covered: Sequence[CoverageRecord]) -> str:
    """Return a step's losses of hosts as text, oldest first; empty if there are none."""
    return run_text(several(*losses_of(covered)))


def iteration_values(operation: OperationRecord | None, metric: str) -> list[float]:
    """Return the values of an operation's iterations in the unit of a metric: rates or
    bandwidths.
    """
    times = operation.bytes_per_op if operation is not None and metric == "bandwidth" else 1
    return [rate * times for rate in operation.iterations] if operation is not None else []


def _by_host(rank_seconds: Sequence[float], step: Step) -> dict[str, float]:
    """Return the seconds of each host's slowest rank.

    Ranks are placed in blocks, in host order.
    """
    each = step.mpi.ranks_per_host if step.mpi is not None else 0
    if not each or len(rank_seconds) != each * len(step.hosts):
        return {}
    return {
        host: max(rank_seconds[place * each : (place + 1) * each])
        for place, host in enumerate(step.hosts)
    }


def operation_value(
    operation: OperationRecord | OperationResult | None, metric: str
) -> float | None:
    """Return an operation's mean rate, or the bandwidth at that rate, depending on the metric; None
    if unknown.
    """
    if operation is None or metric == "latency" or (metric != "ops" and not operation.bytes_per_op):
        return None
    return (
        rate_of_operation(operation.mean, operation.bytes_per_op)
        if metric == "bandwidth"
        else operation.mean
    )


def meanings(metadata: MetadataRecord) -> dict[str, str]:
    """Return the meaning of max and min (`meaning`), and of the latencies (`latency_meaning`), in
    an MPI benchmark; empty texts if unknown.
    """
    found = {"meaning": metadata.meaning or "", "latency_meaning": metadata.latency_meaning or ""}
    tool, parts = workloads.find(metadata.tool), metadata.operations.values()
    if tool is None:
        return found
    if metadata.version and not found["meaning"]:
        made = any(part.from_iterations for part in parts)
        found["meaning"] = tool.meaning(metadata.version, from_iterations=made)
    if any(part.latency_s for part in parts) and not found["latency_meaning"]:
        found["latency_meaning"] = tool.latency_meaning
    return found


def step_value(
    headline: Headline | None,
    aggregate: Mapping[str, AggregateRecord],
    latency_kind: str,
    metadata: MetadataRecord | None = None,
) -> float | None:
    """Return a step's headline figure; None if it was not measured."""
    if headline is None:
        return None
    if metadata is not None:
        if headline.metric == "score":
            return metadata.scores.get(headline.direction)
        return operation_value(metadata.operations.get(headline.direction), headline.metric)
    return figures.value_of(headline, aggregate, latency_kind)


def run_headline(
    headline: Headline | None,
    steps: Sequence[StepRecord],
    kind: str = "clat",
    wrong: Collection[int] = (),
) -> HeadlineRecord | None:
    """Return the headline of a run: the median of repetitions, or the best point of a sweep.

    None for a suite. `kind` is the run's latency kind. Points with a step in `wrong`, and points
    that are too short, count only if there are no others.
    """
    if headline is None:
        return None
    record = blank(headline)
    groups = [group for group in figures_by_point(steps) if group]
    unfit = {*wrong, *(step.index for step in steps if is_short(step))}
    fit = [group for group in groups if not unfit & {index for _, index in group}]
    points = [middle(group) for group in fit or groups]
    if points:
        value, index = METRICS[headline.metric].best(points)
        put_figure(record, headline, value, steps[index], kind)
    return record


def put_figure(
    record: HeadlineRecord, headline: Headline, value: float, step: StepRecord, kind: str
) -> None:
    """Set the figure of a headline; for a percentile, also the number of samples beyond it."""
    record.value, record.step = float(value), step.index
    record.behind = figures.headline_behind(
        headline, step.results.aggregate, step.latency_kind or kind
    )
    record.request = step.requests.get(headline.direction, "")


def headline_texts(found: HeadlineFigure | None, search: SearchRecord | None) -> tuple[str, str]:
    """Return the headline of a run (for a search, its answer) as text, and a short form of a long
    text.

    Empty without a figure. Older records store the texts themselves; return them unchanged.
    """
    if found is None:
        return "", ""
    if search is None or found.text is not None:
        return figure_text(found), found.short or ""
    from tui.text.search import headline_text, short_text  # only runs with a search need it

    return headline_text(search), short_text(search)


def told_headline(record: RunRecord) -> str:
    """Return the headline of a run as text; empty without a figure."""
    return headline_texts(record.headline, record.search)[0]


def blank(headline: Headline) -> HeadlineRecord:
    """Return a headline without a figure."""
    from tui.model.record import HeadlineRecord

    return HeadlineRecord(**asdict(headline), unit=METRICS[headline.metric].unit)


def figures_by_point(steps: Sequence[StepRecord]) -> list[list[tuple[float, int]]]:
    """Return the steps with a figure as (figure, step index), grouped by point, without warm-ups.

    The group of a point without a figure is empty.
    """
    repeated = any(step.repetition > 1 for step in steps)
    groups: dict[object, list[tuple[float, int]]] = {}
    for step in steps:
        if step.warmup:
            continue
        key = step.cell or (
            tuple(sorted((k, str(v)) for k, v in step.params.items())) if repeated else step.index
        )
        group = groups.setdefault(key, [])
        if step.headline is not None:
            group.append((step.headline, step.index))
    return list(groups.values())


def middle(group: list[tuple[float, int]]) -> tuple[float, int]:
    """Return the median figure of a group, and the step closest to it."""
    value = median(figure for figure, _ in group)
    return value, min(group, key=lambda each: abs(each[0] - value))[1]

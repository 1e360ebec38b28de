"""Metadata benchmarks over MPI: what one measured, for the record and as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, stdev

from tui.journal.metadata import MetadataView, rank
from tui.metrics import units
from tui.model.event import ONE_RANK, MetadataResult, OperationResult
from tui.model.plan import Step
from tui.model.record import Finding, MetadataRecord, OperationRecord, StepRecord
from tui.workloads.mdtest.shift import Placement, Shift, shift_warning
from tui.workloads.mdtest.version import iterations_meaning, summary_meaning

NAME_WIDTH = 14
ITERATIONS_SHOWN = 4
WORDS = {"create": "creates", "stat": "stats", "read": "reads", "remove": "removals"}


def metadata_record(view: MetadataView | None, step: Step) -> MetadataRecord | None:
    """Return what was measured, as far as it came; None when nothing was."""
    if view is None or step.mpi is None:
        return None
    result = view.result
    operations = result.operations if result is not None else view.operations
    parts = {name: _operation(operations[name]) for name in sorted(operations, key=rank)}
    if not any(part.mean is not None for name, part in parts.items() if name not in ONE_RANK):
        return None
    launch, hosts = step.mpi, len(step.tasks)
    tasks = result.tasks if result is not None else launch.ranks(hosts)
    version = result.version if result is not None else None
    return MetadataRecord(
        tool=step.tool,
        version=version,
        meaning=_meaning(version, parts.values()) if version else "",
        tasks=tasks,
        nodes=result.nodes if result is not None else None,
        ranks_per_host=launch.ranks_per_host,
        items_per_rank=launch.items,
        files=tasks * launch.items,
        iterations=launch.iterations,
        shift_ranks=result.shift if result is not None and result.shift >= 0 else None,
        shift_text=shift.text() if result is not None and (shift := shift_of_result(result)) is not None else "",
        nodemap=result.nodemap if result is not None else "",
        final=result is not None and result.final,
        operations=parts,
    )


def _meaning(version: str, parts: Iterable[OperationRecord]) -> str:
    """Return what max and min are: of the tool's own summary, or of iterations when it came to none."""
    made = any(part.from_iterations for part in parts)
    return iterations_meaning(version) if made else summary_meaning(version)


def _operation(result: OperationResult) -> OperationRecord:
    """Return one operation; without the tool's own summary, it is made of the iterations that ended."""
    rates = result.iterations
    record = OperationRecord(iterations=list(rates), seconds=list(result.seconds))
    if result.mean is not None or not rates:
        record.max, record.min, record.mean, record.stddev = result.max, result.min, result.mean, result.stddev
        return record
    record.max, record.min, record.mean = max(rates), min(rates), round(fmean(rates), 3)
    record.stddev = round(stdev(rates), 3) if len(rates) > 1 else None
    record.from_iterations = True
    return record


def shift_of_result(result: MetadataResult) -> Shift | None:
    """Return the rank shift of a result; None when it is not known."""
    if result.shift < 0 or result.nodes < 1 or result.ranks_per_node < 1:
        return None
    return Shift(0, result.shift, Placement(result.nodes, result.ranks_per_node))


def shift_findings(view: MetadataView | None, step: StepRecord) -> list[Finding]:
    """Return a warning when a phase met files that the same client had made: its cache may have answered."""
    result = view.result if view is not None else None
    shift = shift_of_result(result) if result is not None else None
    if shift is None:
        return []
    own = shift.own_client()
    if not own:
        return []
    text = shift_warning(shift).replace("-N 0 moves on by ", "ranks move on by ")
    return [
        Finding(
            id="rank-shift",
            severity="warning",
            scope={"step": step.index, "phases": " ".join(own)},
            measured=shift.ranks,
            threshold=shift.placement.per_node,
            message=text,
        )
    ]


def operation_value(metadata: MetadataRecord, direction: str) -> float | None:
    """Return the headline figure: the mean of an operation."""
    operation = metadata.operations.get(direction)
    return operation.mean if operation is not None else None


def metadata_lines(metadata: MetadataRecord) -> list[str]:
    """Return the table of operations for 80 columns: max, min, mean, standard deviation, and each iteration."""
    shown = min(max((len(each.iterations) for each in metadata.operations.values()), default=0), ITERATIONS_SHOWN)
    header = f"{'operations/s':<{NAME_WIDTH}}{'max':>9}{'min':>9}{'mean':>9}{'std dev':>9} "
    lines = [header + "".join(f"{f'it. {number}':>9}" for number in range(1, shown + 1))]
    for name, each in metadata.operations.items():
        mark = "~" if each.from_iterations else ""
        figures = "".join(f"{_rate(value):>9}" for value in (each.max, each.min, each.mean, each.stddev))
        rates = "".join(f"{_rate(value):>9}" for value in each.iterations[:shown])
        lines.append(f"{name + mark:<{NAME_WIDTH}}{figures} {rates}")
    return lines


def metadata_remarks(metadata: MetadataRecord) -> list[str]:
    """Return what must be known to read the table right."""
    version = f"{metadata.tool} {metadata.version}" if metadata.version else f"{metadata.tool} of unknown version"
    nodes = f" on {metadata.nodes} nodes" if metadata.nodes else ""
    files = f"{metadata.items_per_rank} files each, {metadata.files} in all"
    remarks = [f"{version}: {metadata.tasks} ranks{nodes}, {files}"]
    made = any(each.from_iterations for each in metadata.operations.values())
    if metadata.meaning:
        remarks.append(metadata.meaning if made else f"{metadata.meaning}; iterations are rank 0's own times")
    if metadata.shift_text:
        remarks.append(f"rank shift: {metadata.shift_text}")
    if made:
        remarks.append("~ made of the iterations that ended: the tool gave no summary")
    return remarks


def _rate(value: float | None) -> str:
    return units.UNKNOWN if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"

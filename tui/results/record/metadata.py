"""Metadata benchmarks over MPI: what one measured, for the record and as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from tui import workloads
from tui.journal.metadata import MetadataView, rank
from tui.metrics import units
from tui.model.event import ONE_RANK, OperationResult
from tui.model.plan import Step
from tui.model.step_record import MetadataRecord, OperationRecord

NAME_WIDTH = 14
FIGURE_WIDTH = 11
RANK_0 = "iterations are the rate of rank 0 times the ranks, not of the slowest, and may lie outside of min and max"


def metadata_record(view: MetadataView | None, step: Step) -> MetadataRecord | None:
    """Return what was measured, as far as it came; None when nothing was."""
    if view is None or step.mpi is None:
        return None
    result = view.result
    operations = result.operations if result is not None else view.operations
    parts = {name: _operation(operations[name]) for name in sorted(operations, key=rank)}
    if not any(part.mean is not None for name, part in parts.items() if name not in ONE_RANK):
        return None
    launch, hosts, tool = step.mpi, len(step.tasks), workloads.find(step.tool)
    made = any(part.from_iterations for part in parts.values())
    tasks = result.tasks if result is not None else launch.ranks(hosts)
    version = result.version if result is not None else None
    return MetadataRecord(
        tool=step.tool,
        version=version,
        meaning=tool.meaning(version, from_iterations=made) if tool and version else "",
        tasks=tasks or None,  # an import may not tell it
        nodes=(result.nodes or None) if result is not None else None,
        ranks_per_host=launch.ranks_per_host or None,
        items_per_rank=launch.items or None,
        files=tasks * launch.items or None,
        iterations=launch.iterations,
        shift_ranks=result.shift if result is not None and result.shift >= 0 else None,
        shift_text=tool.spread_text(result) if tool and result is not None else "",
        nodemap=result.nodemap if result is not None else "",
        final=result is not None and result.final,
        operations=parts,
    )


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


def operation_value(metadata: MetadataRecord, direction: str) -> float | None:
    """Return the headline figure: the mean of an operation."""
    operation = metadata.operations.get(direction)
    return operation.mean if operation is not None else None


def metadata_lines(metadata: MetadataRecord, width: int = 80) -> list[str]:
    """Return the tables of operations as lines."""
    return [line for table in metadata_tables(metadata, width) for line in table]


def metadata_tables(metadata: MetadataRecord, width: int = 80) -> list[list[str]]:
    """Return the tables of operations, each with its titles first: the figures, then the iterations.

    A table of its own, because the tool's figures are of the slowest rank and its lines of iterations of rank 0: one of
    these, times the ranks, may lie above the maximum. There are as many iterations as there is room for; where there
    are more, the last title tells how many. A single one is not repeated.
    """
    titles = "".join(f"{title:>{FIGURE_WIDTH}}" for title in ("max", "min", "mean", "std dev"))
    tables = [[f"{'operations/s':<{NAME_WIDTH}}{titles}"]]
    for name, each in metadata.operations.items():
        tables[0].append(_row(name, each, [each.max, each.min, each.mean, each.stddev]))
    most = max((len(each.iterations) for each in metadata.operations.values()), default=0)
    shown = min(most, max(1, (width - NAME_WIDTH) // FIGURE_WIDTH))
    if most < 2:
        return tables
    numbers = [f"it. {number}" for number in range(1, shown + 1)]
    numbers[-1] += f"/{most}" if shown < most else ""
    head = "".join(f"{title:>{FIGURE_WIDTH}}" for title in numbers)
    rows = [_row(name, each, each.iterations[:shown]) for name, each in metadata.operations.items()]
    return [*tables, [f"{iterations_title(metadata):<{NAME_WIDTH}}{head}", *rows]]


def iterations_title(metadata: MetadataRecord) -> str:
    """Return whose rates those of the iterations are."""
    made = any(each.from_iterations for each in metadata.operations.values())
    return "iterations" if made else rank_0_text(metadata)


def rank_0_text(metadata: MetadataRecord) -> str:
    """Return what the rate of an iteration is made of: one rank's, times their number."""
    return f"rank 0 x {metadata.tasks}" if metadata.tasks else "rank 0 x all"


def _row(name: str, each: OperationRecord, values: Sequence[float | None]) -> str:
    mark = "~" if each.from_iterations else ""
    return f"{name + mark:<{NAME_WIDTH}}" + "".join(f"{_rate(value):>{FIGURE_WIDTH}}" for value in values)


def metadata_remarks(metadata: MetadataRecord) -> list[str]:
    """Return what must be known to read the table right."""
    version = f"{metadata.tool} {metadata.version}" if metadata.version else f"{metadata.tool} of unknown version"
    nodes = f" on {metadata.nodes} nodes" if metadata.nodes else ""
    files = f"{metadata.items_per_rank} files each, {metadata.files} in all" if metadata.files else "files unknown"
    remarks = [f"{version}: {metadata.tasks or 'an unknown number of'} ranks{nodes}, {files}"]
    made = any(each.from_iterations for each in metadata.operations.values())
    if metadata.meaning:
        remarks.append(metadata.meaning if made else f"{metadata.meaning}; {RANK_0}")
    if metadata.shift_text:
        remarks.append(f"rank shift: {metadata.shift_text}")
    if made:
        remarks.append("~ made of the iterations that ended: the tool gave no summary")
    return remarks


def _rate(value: float | None) -> str:
    return units.UNKNOWN if value is None else units.exact(round(value)) if value >= 100 else f"{value:.3g}"
